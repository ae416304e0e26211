"""Medical cases: images of patients to labels, by the recipe of nnU-Net's plans or of a MONAI bundle (doc/cases.md)."""

from __future__ import annotations

import os
from typing import Any, Sequence, Union

Path = Union[str, "os.PathLike[str]"]


def infer_cases(
    source: Path,
    net: Path,
    output: Path,
    *,
    recipe: Path | None = None,
    configuration: str | None = None,
    ensemble: Sequence[Path] = (),
    mask: Path | None = None,
    previous: Path | None = None,
    preview: Path | None = None,
    memory: int = 0,
    threads: int | None = None,
    overwrite: bool = True,
    progress: bool = True,
    **options: Any,
) -> dict[str, Any]:
    """What `pznet infer SOURCE --recipe RECIPE` does: cases of a folder, or the one of a file, to labels in `output`; finished cases are passed over.

    source: a folder, whose files are channels called CASE_0000.nii.gz, CASE_0001.nii.gz and so on; or the first channel of one case.
    net: the path of a network file; ensemble: of others, whose results are averaged with it. output: a folder, or the labels' file of one case.
    recipe: nnU-Net's plans.json with dataset.json beside it, or a MONAI bundle; None: results are as of `pznet.infer`, with its options.
    configuration: of plans, as "3d_fullres". mask: labels outside are 0; a file, or a folder with one of each case's name.
    previous: of a cascade's second stage, the labels of the first likewise.
    preview: a picture, or with several cases their folder. memory: a limit in bytes, obeyed, or the case is refused.
    options: what a recipe leaves open, as augment="none", overlap=0.5, sums="float".
    Returns the report: "cases", of each its paths, patches, labels (voxels of each), seconds; "failed", how many had errors, which are printed.
    Raises `Error` or ValueError for what concerns all cases, as a recipe that does not fit the network.
    """
    from .. import __version__
    from .command import Run, defaults

    plain = defaults()
    for name in options:
        if name not in plain:
            raise TypeError(f"infer_cases() got an unexpected keyword argument {name!r}")
    of_path = lambda path: None if path is None else os.fspath(path)  # noqa: E731
    given = plain | options | {"ensemble": [os.fspath(path) for path in ensemble], "mask": of_path(mask), "preview": of_path(preview), "memory": memory,
                               "threads": threads, "overwrite": overwrite}
    run = Run({"network": os.fspath(net), "input": os.fspath(source), "output": os.fspath(output), "recipe": of_path(recipe), "configuration": configuration, "previous": of_path(previous),
               "quiet": not progress, "progress": "bar", "json": None, "digest": None, "version": __version__, "options": given})
    run.all()
    return run.report()
