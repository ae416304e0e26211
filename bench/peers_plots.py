"""What bench/peers measured, as pictures: peers.png, peers-table2.png, peers-figure6.png, peers-pool.png."""
import pathlib

from peers_report import ENGINE_NAMES, FUSION_NAMES, fastest, gain, median, pool_medians

COLOURS = {"pznet": "#d95f02", "torch": "#7570b3", "onnxruntime": "#1b9e77", "openvino": "#66a61e"}
BARS = ["#d95f02", "#4c8ed9", "#3aa675", "#d9a441", "#a58bd1"]
POOL_COLOURS = {"pool": "#d95f02", "OpenMP": "#7570b3", "OpenMP, active": "#1b9e77"}


def plot(report, stem):
    """The paths that were written; none without matplotlib."""
    try:
        import matplotlib
    except ImportError:
        return []
    matplotlib.use("Agg")
    from matplotlib import pyplot
    drawings = {"": (draw_peers, [c for c in report["cases"] if c["engines"]]), "-table2": (draw_table2, report["table2"]),
                "-figure6": (draw_figure6, report["figure6"]), "-pool": (draw_pool, report["pool"])}
    written = []
    for suffix, (draw, part) in drawings.items():
        if not part:
            continue
        figure = draw(pyplot, part)
        figure.suptitle(f"{report['cpu']}, {report['date']}", fontsize=9)
        written.append(pathlib.Path(f"{stem}{suffix}.png"))
        figure.savefig(written[-1], dpi=130)
        pyplot.close(figure)
    return written


def tidy(axis, title):
    axis.set_title(title, fontsize=10)
    axis.tick_params(labelsize=8)
    axis.spines[["top", "right"]].set_visible(False)


# ---------------------------------------------------------------- bars

def groups(axis, labels, series):
    """series: [(name, colour, values)], a value None where there is none."""
    width = 0.8 / len(series)
    for place, (name, colour, values) in enumerate(series):
        bars = [(i + width * (place - (len(series) - 1) / 2), v) for i, v in enumerate(values) if v is not None]
        axis.bar([x for x, _ in bars], [v for _, v in bars], 0.9 * width, color=colour, label=name)
    axis.set_xticks(range(len(labels)), labels)
    axis.set_xlim(-0.6, len(labels) - 0.4)


def draw_peers(pyplot, cases):
    figure, axes = pyplot.subplots(1, 2, figsize=(11, 4), layout="constrained")
    labels = [f"{c['network']}\n{c['threads']} thr." for c in cases]

    def series(value):
        found = {e: [fastest(c, e) for c in cases] for e in ENGINE_NAMES}
        return [(ENGINE_NAMES[e], COLOURS[e], [value(c, x) if x else None for c, x in zip(cases, entries)])
                for e, entries in found.items() if any(entries)]

    groups(axes[0], labels, series(lambda c, e: 2e-9 * c["multiply_adds"] / median(e)))
    groups(axes[1], labels, series(lambda c, e: e["peak_bytes"] / 2**20))
    tidy(axes[0], "GFLOP/s, effective")
    tidy(axes[1], "peak memory, MiB")
    axes[0].legend(frameon=False, fontsize=8)
    return figure


def draw_table2(pyplot, tables):
    figure, axis = pyplot.subplots(figsize=(8, 4), layout="constrained")
    names = {"all": "all four", **{k: f"{v} alone" for k, v in FUSION_NAMES.items()}}
    groups(axis, [f"{t['network']}, {t['threads']} thr." for t in tables],
           [(name, colour, [gain(t, key) for t in tables]) for (key, name), colour in zip(names.items(), BARS)])
    axis.axhline(0, color="#888", linewidth=0.8)
    axis.legend(frameon=False, fontsize=8)
    tidy(axis, "Table 2: faster than without the optimisations, %")
    return figure


# ---------------------------------------------------------------- lines

def draw_figure6(pyplot, points):
    figure, axes = pyplot.subplots(1, 2, figsize=(11, 4), layout="constrained")
    points = sorted(points, key=lambda p: p["maps"])
    for engine, name in ENGINE_NAMES.items():
        known = [(p, fastest(p, engine)) for p in points if fastest(p, engine)]
        maps = [p["maps"] for p, _ in known]
        axes[0].plot(maps, [1e3 * median(e) for _, e in known], "o-", color=COLOURS[engine], label=name, markersize=4)
        axes[1].plot(maps, [2e-9 * p["multiply_adds"] / median(e) for p, e in known], "o-", color=COLOURS[engine],
                     markersize=4)
    for axis, title in zip(axes, ("Figure 6: the basic block, ms for a patch", "GFLOP/s, effective")):
        axis.set_xticks([p["maps"] for p in points])
        axis.set_xlabel("feature maps", fontsize=8)
        axis.set_ylim(bottom=0)
        tidy(axis, f"{title}, {points[0]['threads']} thr.")
    axes[0].legend(frameon=False, fontsize=8)
    return figure


def draw_pool(pyplot, part):
    """Time by the number of regions, for each number of threads."""
    from matplotlib.ticker import LogLocator
    medians = pool_medians(part)
    figure, axes = pyplot.subplots(1, len(medians), figsize=(5.5 * len(medians), 4), layout="constrained", squeeze=False)
    for axis, (threads, names) in zip(axes[0], medians.items()):
        for name, m in names.items():
            for curve, line, title in (("curve", "o-", "fork and join"), ("barrier_curve", "o:", "barriers")):
                axis.plot(list(m[curve]), list(m[curve].values()), line, color=POOL_COLOURS[name], markersize=3,
                          label=f"{name}, {title}")
        axis.set_xscale("log", base=4)
        axis.set_yscale("log")
        counts = list(next(iter(names.values()))["curve"])
        axis.set_xticks(counts, counts)
        axis.minorticks_off()
        axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.yaxis.set_major_formatter("{x:g}")
        axis.set_xlabel("parallel regions that the same work is cut into", fontsize=8)
        tidy(axis, f"ms on {threads} thread{'s' * (threads != 1)}")
    axes[0][0].legend(frameon=False, fontsize=8)
    return figure
