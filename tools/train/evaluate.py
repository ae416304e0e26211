#!/usr/bin/env python3
r"""How good a membrane probability map is: pixel error and adapted Rand error against the ISBI 2012 labels.

    build/pznet infer membrane.so ../shared/data/isbi2012/train-volume.tif boundaries.h5:/main \
        --overlap 4,32,32 --blend bump
    python3 tools/train/evaluate.py boundaries.h5:/main ../shared/data/isbi2012/train-labels.tif

Compared are the last slices (--slices, 10 by default: those that training did not see) of both volumes. Volumes are
.tif, .npy or .h5:/dataset; a map in u8 is divided by 255.

Pixel error: the share of pixels on the wrong side of the threshold.
Adapted Rand error: 1 - F score of the Rand index (Arganda-Carreras et al. 2015), slice by slice and then averaged:
segments are the 4-connected components of what is below the threshold; only pixels that the labels call cell count.
"thick": predicted membrane pixels are segments of one pixel each, as in SNEMI3D's script. "thin": each of them first
joins the nearest segment, which is the border thinning of the ISBI 2012 challenge.
"""
import argparse
import json
import pathlib

import numpy as np
from scipy import ndimage

THRESHOLDS = [round(0.05 * i, 2) for i in range(1, 20)]


def read_volume(path):
    path, _, dataset = str(path).partition(":")
    if path.endswith((".h5", ".hdf5")):
        import h5py
        with h5py.File(path, "r") as file:
            return file[dataset or "/main"][...]
    if path.endswith(".npy"):
        return np.load(path)
    import tifffile
    return tifffile.imread(path)


def probability(volume):
    scale = 255 if volume.dtype == np.uint8 else 1
    return np.squeeze(volume).astype(np.float32) / scale


def components(cells):
    return ndimage.label(cells)[0]


def thinned(segments):
    """Each membrane pixel joins the nearest segment."""
    if not segments.any():
        return segments
    nearest = ndimage.distance_transform_edt(segments == 0, return_distances=False, return_indices=True)
    return segments[tuple(nearest)]


def rand_error(truth, segments):
    """1 - F of one slice. Label 0: not counted in the truth, one segment for each pixel in the prediction."""
    counted = truth > 0
    truth, segments = truth[counted].astype(np.int64), segments[counted].astype(np.int64)
    pairs = truth * (segments.max() + 1) + segments
    lone = np.count_nonzero(segments == 0)
    squares = lambda labels: float((np.unique(labels, return_counts=True)[1].astype(np.float64) ** 2).sum())
    joint = squares(pairs[segments > 0]) + lone
    return 1 - 2 * joint / (squares(truth) + squares(segments[segments > 0]) + lone)


def scores(result, labels, threshold):
    membrane = result >= threshold
    thick, thin = [], []
    for truth, wall in zip(labels, membrane):
        truth, segments = components(truth > 0), components(~wall)
        thick.append(rand_error(truth, segments))
        thin.append(rand_error(truth, thinned(segments)))
    return {"threshold": threshold, "pixel_error": float(np.mean(membrane != (labels == 0))),
            "rand_error_thick": float(np.mean(thick)), "rand_error_thin": float(np.mean(thin))}


def evaluate(result, labels, slices):
    result, labels = probability(result)[-slices:], labels[-slices:]
    if result.shape != labels.shape:
        raise SystemExit(f"evaluate.py: the result is {result.shape}, the labels are {labels.shape}")
    rows = [scores(result, labels, t) for t in THRESHOLDS]
    best = {key: min(rows, key=lambda row: row[key]) for key in rows[0] if key != "threshold"}
    return {"slices": len(labels), "at_half": next(r for r in rows if r["threshold"] == 0.5),
            "best": {key: {"threshold": row["threshold"], "value": row[key]} for key, row in best.items()},
            "thresholds": rows}


NAMES = {"pixel_error": "pixel error", "rand_error_thin": "adapted Rand error, thinned borders",
         "rand_error_thick": "adapted Rand error, borders as predicted"}


def table(report):
    lines = [f"| last {report['slices']} slices | at threshold 0.5 | at the best threshold |", "| --- | --- | --- |"]
    for key, name in NAMES.items():
        best = report["best"][key]
        lines.append(f"| {name} | {report['at_half'][key]:.4f} | {best['value']:.4f} (at {best['threshold']:.2f}) |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", help="membrane probability")
    parser.add_argument("labels", help="0 membrane, 255 cell")
    parser.add_argument("--slices", type=int, default=10, help="how many of the last slices (default 10)")
    parser.add_argument("--json", type=pathlib.Path, help="write all figures here")
    options = parser.parse_args()
    report = evaluate(read_volume(options.result), read_volume(options.labels), options.slices)
    print(table(report))
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
