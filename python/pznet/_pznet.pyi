from typing import Any, Callable, Sequence

from ._net import Net

def compile(
    model: Any,
    output: Any,
    weights: str | None,
    isa: str | None,
    cc: str | None,
    emit_c: str | None,
    disable: str | None,
    inputs: Sequence[str],
    progress: Callable[[str, int, int, float], object] | None,
    effort: str | None,
    tuning: str | None,
    threads: int,
    precision: str | None,
    max_error: float,
    target: str | None = None,
    input_types: Sequence[str] = ...,
    output_types: Sequence[str] = ...,
    cache: str | None = None,
    budget: float | None = None,
    tiling: str | None = None,
    patch: str | None = None,
    volume: str | None = None,
    memory: int = 0,
) -> str: ...
def infer(net: Net, options: tuple[Any, ...], /) -> str: ...
def preview(path: Any, plane: Any, result: Any, labels: bool, /) -> None: ...
def tune(
    network: Any,
    budget: float,
    effort: str | None,
    database: str | None,
    cc: str | None,
    cache: str | None,
    threads: int,
    progress: Callable[[str, int, int, float], object] | None,
    target: str | None = None,
    /,
) -> str: ...
def progress_left() -> float | None: ...
