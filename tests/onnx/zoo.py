#!/usr/bin/env python3
"""A zoo of networks of MONAI, nnU-Net and torchvision: exported by both exporters of PyTorch, compiled, compared with PyTorch.

    pip install torch torchvision onnx onnxscript monai dynamic_network_architectures
    tests/onnx/zoo.py                             all of it, --jobs networks side by side
    tests/onnx/zoo.py --only unet,vgg             networks whose names contain one of these
    tests/onnx/zoo.py --exporters torchscript     one exporter alone
    tests/onnx/zoo.py --write doc/zoo.md          the table, of what --json knows after this run

Sizes are small, weights random (seed 1). A network *works* where the relative L2 distance to PyTorch's output is at
most 1e-4. The exit status is 1 where one does not work, unless PyTorch itself could not export it.
"""
import argparse
import json
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import forked  # noqa: E402
import package  # noqa: E402

EXPORTERS = ["torchscript", "dynamo"]
BOUND = 1e-4


# ---------------------------------------------------------------- one network

def outputs(found):
    """A list of tensors, of whatever the network returns."""
    return [t for part in found for t in outputs(part)] if isinstance(found, (list, tuple)) else [found]


def distance(found, expected):
    """The greatest relative L2 distance of the outputs; infinite where one has another shape or is not finite."""
    import torch
    if [f.shape for f in found] != [e.shape for e in expected]:
        return float("inf")
    pairs = [(f.double(), e.double()) for f, e in zip(found, expected)]
    far = [float((f - e).norm() / max(float(e.norm()), 1e-300)) for f, e in pairs]
    return max(far) if all(torch.isfinite(f).all() for f, _ in pairs) else float("inf")


def compare(name, exporter, path):
    import pznet
    import pznet.export
    import torch
    import zoo_networks
    torch.set_num_threads(1)
    net, x = zoo_networks.build(name)
    with torch.no_grad():
        expected = outputs(net(x))
    row = {"input": list(x.shape), "parameters": sum(p.numel() for p in net.parameters())}
    try:
        pznet.export.to_onnx(net, x, str(path), exporter)
    except pznet.Error as error:
        return {**row, "state": "not exported", "detail": str(error)}
    start = time.monotonic()
    try:
        compiled = pznet.compile(path, effort="estimate", tuning="none", threads=1)
    except pznet.Error as error:
        return {**row, "state": "refused" if error.status == 3 else "failed", "detail": str(error)}
    row["compile_seconds"] = time.monotonic() - start
    row["difference"] = distance(outputs(compiled(x)), expected)
    return {**row, "state": "works" if row["difference"] <= BOUND else "wrong", "detail": ""}


def run_network(argument):
    """In a process of its own."""
    name, exporter = argument
    with tempfile.TemporaryDirectory(prefix="pznet-zoo-") as folder:
        path = pathlib.Path(folder, "model.onnx")
        try:
            row = compare(name, exporter, path)
        except Exception as error:
            row = {"state": "failed", "detail": f"{type(error).__name__}: {error}"}
        return {**row, "detail": row["detail"].replace(str(path), "model.onnx").split("\n")[0][:300]}


# ---------------------------------------------------------------- the table

INTRODUCTION = """# The zoo

Networks as MONAI, nnU-Net (dynamic_network_architectures) and torchvision build them. Each is exported by both of PyTorch's
exporters, `torch.onnx.export` with `dynamo=False` and with `dynamo=True`, and compiled with `--effort estimate`.
The last columns are the relative L2 distance of the outputs from PyTorch's; 1e-4 is allowed.

Sizes are small, weights are random with a fixed seed, and normalisations have random scales and shifts.
`tests/onnx/zoo.py --write doc/zoo.md` makes this page; `tests/onnx/zoo_networks.py` has the definitions.
"""


def cell(row):
    if not row:
        return "not run"
    return f"{row['difference']:.1e}" if row["state"] == "works" else \
        f"**{row['state']}** {row['difference']:.1e}" if row["state"] == "wrong" else f"**{row['state']}**"


def versions():
    import importlib.metadata
    found = []
    for name in "torch", "onnxscript", "monai", "dynamic_network_architectures", "torchvision":
        try:
            found.append(f"{name} {importlib.metadata.version(name).split('+')[0]}")
        except importlib.metadata.PackageNotFoundError:
            found.append(f"{name} missing")
    return ", ".join(found)


def markdown(rows, networks):
    """A line for each of the networks {name: (library, ...)}."""
    found = {(r["name"], r["exporter"]): r for r in rows}
    lines = [INTRODUCTION, f"{time.strftime('%Y-%m-%d')}, {versions()}:", "",
             "| network | library | input | parameters | " + " | ".join(EXPORTERS) + " |", "| --- " * (4 + len(EXPORTERS)) + "|"]
    for name, (library, *_) in networks.items():
        both = [found.get((name, e)) for e in EXPORTERS]
        some = next((r for r in both if r and "input" in r), None)
        size = f"{'x'.join(map(str, some['input']))} | {some['parameters'] / 1e6:.2f} M" if some else "- | -"
        lines.append(f"| {name} | {library} | {size} | {' | '.join(map(cell, both))} |")
    told = [f"- {r['name']}, {r['exporter']}: {r['state']}: {r['detail']}" for r in rows if r["detail"]]
    return "\n".join(lines + ([""] + told if told else [])) + "\n"


def options_of(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    package.add_option(parser)
    parser.add_argument("--only", default="", help="networks whose names contain one of these words, comma-separated")
    parser.add_argument("--exporters", default=",".join(EXPORTERS))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=float, default=1200, help="seconds for a network (default 1200)")
    parser.add_argument("--json", type=pathlib.Path, help="results; what is not run now stays (default: BUILD/onnx-zoo.json)")
    parser.add_argument("--write", type=pathlib.Path, help="the table as Markdown")
    options = parser.parse_args(words)
    options.json = options.json or options.build / "onnx-zoo.json"
    return options


def chosen(options, networks):
    words = options.only.lower().split(",")
    return {f"{name} ({e})": (name, e) for name in networks for e in options.exporters.split(",")
            if any(w in name.lower() for w in words)}


def main(words=None):
    options = options_of(words)
    package.load(options.build)
    import zoo_networks
    tasks = chosen(options, zoo_networks.NETWORKS)
    rows = {}
    if options.json.exists():
        rows = {f"{r['name']} ({r['exporter']})": r for r in json.loads(options.json.read_text())}
    for key, result in forked.run(run_network, tasks, options.jobs, options.limit):
        name, exporter = tasks[key]
        result = {"state": "failed", "detail": result["crash"]} if "crash" in result else result
        rows[key] = {"name": name, "exporter": exporter, **result}
        forked.progress(f"{key}: {cell(rows[key])} {result['detail']}")
        order = {n: i for i, n in enumerate(zoo_networks.NETWORKS)}
        known = sorted((r for r in rows.values() if r["name"] in order), key=lambda r: (order[r["name"]], r["exporter"]))
        options.json.write_text(json.dumps(known, indent=1) + "\n")
        if options.write:
            options.write.write_text(markdown(known, zoo_networks.NETWORKS))
    return any(rows[key]["state"] not in ("works", "not exported") for key in tasks)


if __name__ == "__main__":
    sys.exit(main())
