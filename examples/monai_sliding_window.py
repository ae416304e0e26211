#!/usr/bin/env python3
"""A network file as the predictor of MONAI's sliding_window_inference, unchanged: it takes and gives tensors.

usage: monai_sliding_window.py NET.so VOLUME.npy OUTPUT.npy

VOLUME is [z, y, x] or [channels, z, y, x], OUTPUT [channels, z, y, x] of float32. Where neither MONAI's transforms nor its
metadata are needed, `pznet infer NET.so VOLUME.npy OUTPUT.npy --tiling monai` gives the same without holding the volume in
memory."""

import sys

import numpy as np
import torch
from monai.inferers import sliding_window_inference

import pznet


def main(network, volume, output):
    net = pznet.load(network)
    data = torch.from_numpy(np.load(volume).astype(np.float32))
    data = data.reshape(1, -1, *data.shape[-3:])
    patch = net.inputs[0].shape[2:]
    result = sliding_window_inference(data, patch, 1, net, mode="gaussian")
    np.save(output, result[0].numpy())


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
