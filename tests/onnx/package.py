"""The pznet package of a build folder."""

import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"


def add_option(parser):
    parser.add_argument("--build", type=pathlib.Path, default=BUILD, help="build folder with the Python package (default: build)")


def load(build):
    """pznet, of the build folder where it is there, else an installed one. One thread for each library: tests run side by side."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    sys.path.insert(0, str((build / "python").resolve()))
    try:
        import pznet
    except ImportError as error:
        sys.exit(f"{build}/python: {error}: run make first, or name the build folder with --build")
    return pznet
