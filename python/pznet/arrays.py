"""Arrays as they come and go: NumPy's, PyTorch's, and of any other library that speaks DLPack or the buffer protocol."""

from __future__ import annotations

import sys
import warnings
from typing import Any, Callable

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Give = Callable[[Array], Any]


def is_tensor(value: object) -> bool:
    """Whether it is a PyTorch tensor. PyTorch is not imported for that."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def tensor_view(tensor: Any, name: str) -> npt.NDArray[Any]:
    """A PyTorch tensor on the CPU as an array over the same memory; of float32 where it is bfloat16, which NumPy lacks."""
    torch = sys.modules["torch"]
    if tensor.device.type != "cpu" or tensor.layout != torch.strided:
        raise ValueError(f"'{name}' is a {tensor.layout} tensor on {tensor.device}: give a dense one on the CPU, as by .cpu()")
    plain = tensor.detach().as_subclass(torch.Tensor)
    if plain.dtype == torch.bfloat16:
        plain = plain.to(torch.float32)
    view: npt.NDArray[Any] = plain.resolve_neg().numpy()
    return view


def take(value: Any, name: str, dtype: np.dtype[Any] = np.dtype(np.float32)) -> Array:
    """The value as an array in C order, over the same memory where it is one of that dtype already. name: the port's, for errors.

    Numbers of any type become float32. Another dtype takes what it holds exactly. Integers that float32 does not hold exactly are told
    for int32 too: the network computes with float32.
    """
    if is_tensor(value):
        value = tensor_view(value, name)
    elif not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__"):
        value = np.from_dlpack(value)
    if np.iscomplexobj(value):
        raise ValueError(f"'{name}' wants real values, not {np.asarray(value).dtype}")
    given = np.asarray(value)
    if dtype != np.float32 and not np.can_cast(given.dtype, dtype, "safe"):
        raise ValueError(f"'{name}' wants values of {dtype}, not of {given.dtype}")
    array = np.asarray(value, dtype=dtype, order="C")
    if given.dtype.kind in "iu" and given.dtype.itemsize >= 4:
        warn_of_rounding(given, array, name)
    return array


def warn_of_rounding(given: npt.NDArray[Any], taken: Array, name: str) -> None:
    """Integers that float32 does not hold exactly. Floats are not looked at: that NumPy makes them of 64 bits says nothing."""
    limits = np.iinfo(given.dtype)
    if not given.size or max(-int(given.min()), int(given.max())) <= 1 << 24:
        return
    back = taken.astype(np.float32).astype(np.float64)
    inside = (back >= float(limits.min)) & (back < float(limits.max))
    wrong = ~inside | (np.where(inside, back, 0).astype(given.dtype) != given)
    count = int(np.count_nonzero(wrong))
    if count:
        warnings.warn(f"'{name}': {count} values of {given.dtype} are not exact in float32", stacklevel=5)


def same_kind(values: tuple[Any, ...]) -> Give:
    """What turns a result into the kind of array that came in: a PyTorch tensor, an array of another library of the array
    API standard, or NumPy's own. The result shares the array's memory. The first one of a foreign kind decides."""
    for value in values:
        if is_tensor(value):
            give: Give = sys.modules["torch"].from_numpy
            return give
        if not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__") and hasattr(value, "__array_namespace__"):
            give = value.__array_namespace__().from_dlpack
            return give
    return lambda array: array


def to_bfloat16(array: Array) -> npt.NDArray[np.uint16]:
    """float32 values as the bits of the nearest bfloat16, of two the even one."""
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    nearest = ((bits + (0x7FFF + (bits >> 16 & 1))) >> 16).astype(np.uint16)
    return np.where(np.isnan(array), (bits >> 16 | 0x40).astype(np.uint16), nearest)


def from_bfloat16(bits: npt.NDArray[np.uint16], out: Array) -> None:
    """The numbers that they stand for."""
    out[...] = (bits.astype(np.uint32) << 16).view(np.float32)


def writable(value: Any) -> npt.NDArray[Any] | None:
    """The array or PyTorch tensor as an array over the same memory; None where it is neither, or not on the CPU."""
    if isinstance(value, np.ndarray):
        return value
    if is_tensor(value) and value.device.type == "cpu" and value.dtype != sys.modules["torch"].bfloat16:
        return tensor_view(value, "out")
    return None
