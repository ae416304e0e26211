"""What bench/peers measured, as Markdown and as a plot."""
import pathlib
import statistics

ENGINE_NAMES = {"pznet": "pznet", "torch": "PyTorch", "onnxruntime": "ONNX Runtime", "openvino": "OpenVINO"}
COLOURS = {"pznet": "#d95f02", "torch": "#7570b3", "onnxruntime": "#1b9e77", "openvino": "#66a61e"}


def summary(times):
    quarters = statistics.quantiles(times, n=4) if len(times) > 1 else times * 3
    return {"median": statistics.median(times), "low": quarters[0], "high": quarters[2], "best": min(times)}


def row(case, entry, pznet):
    s = summary(entry["seconds"])
    gflops = 2e-9 * case["multiply_adds"] / s["median"]
    ratio = f"{s['median'] / pznet:.2f}" if pznet else "-"
    error = f"{entry['difference']:.1e}" if entry.get("difference") is not None else "-"
    return (f"| {ENGINE_NAMES[entry['engine']]} | {entry['variant']} | {1e3 * s['median']:.1f} "
            f"| {1e3 * s['low']:.1f} to {1e3 * s['high']:.1f} | {gflops:.1f} | {ratio} "
            f"| {entry['peak_bytes'] / 2**20:.0f} | {error} |")


def median_of(case, engine):
    times = [e["seconds"] for e in case["engines"] if e["engine"] == engine]
    return statistics.median(times[0]) if times else None


def verdict(case):
    """The issue's two goals: 1.5 times the faster of PyTorch and ONNX Runtime, and less memory than both."""
    pznet, rivals = median_of(case, "pznet"), [median_of(case, e) for e in ("torch", "onnxruntime")]
    rivals = [r for r in rivals if r]
    if not pznet or not rivals:
        return "No verdict: pznet and at least one of PyTorch and ONNX Runtime must have run."
    memory = {e["engine"]: e["peak_bytes"] for e in case["engines"]}
    less = all(memory["pznet"] < memory[e] for e in ("torch", "onnxruntime") if e in memory)
    return (f"pznet runs {min(rivals) / pznet:.2f} times as fast as the faster of PyTorch and ONNX Runtime; its peak "
            f"memory is {'below' if less else 'not below'} both.")


def case_text(case):
    lines = [f"### {case['network']}, {case['threads']} thread{'s' * (case['threads'] > 1)}", "",
             f"Input {' x '.join(map(str, case['input']))}, {2e-9 * case['multiply_adds']:.1f} GFLOP.", "",
             "| engine | variant | median ms | quartiles ms | GFLOP/s | time / pznet's | peak MiB | difference |",
             "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    pznet = median_of(case, "pznet")
    lines += [row(case, e, pznet) for e in sorted(case["engines"], key=lambda e: statistics.median(e["seconds"]))]
    lines += ["", verdict(case)]
    if case.get("compile_seconds"):
        lines += [f"Compiled in {case['compile_seconds']:.1f} s; opened in {1e3 * case['open_seconds']:.0f} ms."]
    lines += [f"Not run: {variant}: {why}" for variant, why in case["failures"].items()]
    lines += ["", "All variants, one after the other before the alternating runs: " + ", ".join(
        f"{v} {1e3 * s:.0f} ms" for v, s in sorted(case["scouted"].items(), key=lambda i: i[1])) + "."]
    return "\n".join(lines)


def sweep_text(sweep):
    if not sweep["rows"]:
        return f"### Direct convolution\n\nNot run: {sweep['why']}."
    lines = [f"### Direct convolution, {sweep['threads']} thread{'s' * (sweep['threads'] > 1)}", "",
             "Per cent of the multiply-add peak that is measured in the same run.", "",
             "| convolution | GFLOP/s | peak | per cent | best run |", "| --- | --- | --- | --- | --- |"]
    lines += [f"| {r['name']} | {r['gflops']:.1f} | {r['peak']:.1f} | {r['percent']:.1f} | {r['best']:.1f} |"
              for r in sweep["rows"]]
    return "\n".join(lines)


def markdown(report):
    head = ["# pznet and its peers", "",
            f"{report['cpu']}, {report['date']}; {report['rounds']} alternating rounds after {report['warmup']} "
            f"of warm-up; load of the machine at the start {report['load']:.2f}.",
            "Versions: " + ", ".join(f"{k} {v}" for k, v in report["versions"].items()) + ".",
            "Every engine runs in a process of its own, with the same weights and the same input; of each, its fastest "
            "variant takes part. Peak memory: of that whole process, loading and Python included. Difference: relative "
            "L2 distance from the output of PyTorch in eager mode.", ""]
    body = [case_text(case) for case in report["cases"]] + [sweep_text(s) for s in report["sweeps"]]
    return "\n".join(head) + "\n" + "\n\n".join(body) + "\n"


def plot(report, path):
    """One group of bars for each case: speed and memory. Without matplotlib there is no picture."""
    try:
        import matplotlib
    except ImportError:
        return None
    matplotlib.use("Agg")
    from matplotlib import pyplot
    cases = [c for c in report["cases"] if c["engines"]]
    if not cases:
        return None
    figure, axes = pyplot.subplots(1, 2, figsize=(11, 4), layout="constrained")
    draw(axes[0], cases, "GFLOP/s, effective", lambda c, e: 2e-9 * c["multiply_adds"] / statistics.median(e["seconds"]))
    draw(axes[1], cases, "peak memory, MiB", lambda c, e: e["peak_bytes"] / 2**20)
    axes[0].legend(frameon=False, fontsize=8)
    figure.suptitle(report["cpu"], fontsize=9)
    figure.savefig(path, dpi=130)
    return pathlib.Path(path)


def draw(axis, cases, title, value):
    for place, engine in enumerate(ENGINE_NAMES):
        bars = [(i, value(c, e)) for i, c in enumerate(cases) for e in c["engines"] if e["engine"] == engine]
        if not bars:
            continue
        axis.bar([i + 0.2 * (place - 1.5) for i, _ in bars], [v for _, v in bars], 0.18, color=COLOURS[engine],
                 label=ENGINE_NAMES[engine])
    axis.set_xticks(range(len(cases)), [f"{c['network']}\n{c['threads']} thr." for c in cases], fontsize=8)
    axis.set_xlim(-0.6, len(cases) - 0.4)
    axis.set_title(title, fontsize=10)
    axis.spines[["top", "right"]].set_visible(False)
