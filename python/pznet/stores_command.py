"""`pznet infer` of volumes in stores: the command hands over its options as JSON, and what is said and how it ends are as there.

python -m pznet.stores_command '{"network": ..., "input": ..., "output": ..., "quiet": false, "json": null, "options": {...}}'
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from . import inferring, stores
from . import __version__
from ._net import Error
from .itk import ImageError
from .network import Network
from .places import is_case_folder, is_store

USAGE, INPUT, RUN, INTERRUPTED = 2, 3, 1, 130  # pz_status, and what shells have for Ctrl-C


shown: list[str] = []  # notes


def say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def size(n: float) -> str:
    for unit in "B", "kB", "MB":
        if n < 1000:
            return f"{n:.3g} {unit}"
        n /= 1000
    return f"{n:.3g} GB"


def planned(plan: dict[str, Any]) -> None:
    shapes = (" x ".join(str(n) for n in plan[name]["shape"]) for name in ("input", "output"))
    say("volume {}, output {}, {} patches, peak memory about {}".format(*shapes, plan["patches"], size(plan["peak_bytes"])))
    if plan["blocks"] > 1 and plan["repeated"] > 0:  # not columns of exact tiles
        say(f"{plan['blocks']} blocks, since memory does not suffice for whole planes: {100 * plan['repeated']:.0f}% of the patches again")
    for note in plan.get("notes", []):
        say(f"pznet: note: {note}")
    shown.extend(plan.get("notes", []))


def told(asked: dict[str, Any], report: dict[str, Any]) -> None:
    dtype = asked["options"]["dtype"]
    clipped = ("beyond 65504 clipped by --dtype f16; --dtype f32 holds them" if dtype == "f16"
               else f"outside of 0..1 clipped by --dtype {dtype}; --sigmoid and --softmax make probabilities")
    for name, what in (("clipped", clipped),
                       ("not_finite", "not a number or infinite, as --nan propagate lets pass")):
        if report[name]:
            say(f"pznet: warning: {asked['output']}: {report[name]} value{'s' * (report[name] != 1)} {what}")
    for note in report.get("notes", [])[len(shown) :]:
        say(f"pznet: note: {note}")
    if "rounded" in report:
        say(f"pznet: warning: {asked['input']}: {report['rounded']['text']}")
    if report["finished_before"]:
        say(f"{asked['output']}: was finished before; nothing was done")
        return
    say("{}: {} patches in {:.1f} s, {:.2f} Mvoxels/s".format(asked["output"], report["patches"], report["seconds"]["total"], 1e-6 * report["voxels_per_second"]))


class JsonLines:
    """--progress json: a line of JSON each time."""

    def __call__(self, what: str, done: int, total: int, seconds: float) -> None:
        say(json.dumps({"what": what, "done": done, "total": total, "seconds": seconds, "left": inferring.progress_left()}))


def write_report(path: str, report: dict[str, Any]) -> None:
    text = json.dumps(report, indent=2) + "\n"
    if path == "-":
        sys.stdout.write(text)
        return
    with open(f"{path}.pznet-part", "w") as file:
        file.write(text)
    os.replace(f"{path}.pznet-part", path)


def main(text: str) -> int:
    asked = json.loads(text)
    if asked.get("recipe") or is_case_folder(asked["input"]):
        from .cases import command

        return command.main(asked)
    try:
        if any(is_store(asked[name]) for name in ("input", "output")):
            stores.tensorstore()
        progress: Any = False if asked["quiet"] and asked["progress"] != "json" else JsonLines() if asked["progress"] == "json" else True
        if asked["version"] != __version__:
            raise stores.StoreError(f"this command is of pznet {asked['version']}, the Python package of {__version__}: install both of one version")
        net = Network(asked["network"], asked["options"]["threads"], digest=asked["digest"])
        report, _ = inferring.run(asked["input"], net, asked["output"], progress=progress,
                                  on_plan=None if asked["quiet"] else planned, **asked["options"])
        for name in "input", "output":
            report[name]["path"] = asked[name]
        if "mask" in report:
            report["mask"]["path"] = asked["options"]["mask"]
        if not asked["quiet"]:
            told(asked, report)
        if asked["json"]:
            write_report(asked["json"], report)
        return 0
    except KeyboardInterrupt:
        say("pznet: interrupted; the same command with --resume goes on from what was recorded")
        return INTERRUPTED
    except (stores.StoreError, ImageError) as error:
        say(f"pznet: {error}")
        return INPUT
    except ValueError as error:
        say(f"pznet: {error}")
        return USAGE
    except Error as error:
        say(f"pznet: {error}")
        return INPUT
    except (MemoryError, OSError, RuntimeError, KeyError) as error:
        say(f"pznet: {error or type(error).__name__}")
        return RUN


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
