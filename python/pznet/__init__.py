"""pznet: trained convolutional networks, compiled into small libraries that run fast on CPUs.

    >>> import pznet
    >>> pznet.compile("net.onnx", "net.so")         # or: pznet.compile(torch_module, example_input, "net.so")
    >>> net = pznet.load("net.so")
    >>> y = net(x)                                  # x: a NumPy array or PyTorch tensor of the shape net.inputs[0] says
"""

from typing import TYPE_CHECKING, Any

from . import _net
from ._net import Error
from .compiling import compile, progress_left, tune, tune_fit
from .network import Network, Port, PZNet, load

if TYPE_CHECKING:
    from .inferring import infer

__all__ = ["Error", "Network", "PZNet", "Port", "compile", "infer", "load", "progress_left", "tune", "tune_fit"]
__version__: str = _net.version()


def __getattr__(name: str) -> Any:
    """`infer` is imported when it is asked for: a process that only runs networks does without half a megabyte."""
    if name == "infer":
        from .inferring import infer

        return infer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
