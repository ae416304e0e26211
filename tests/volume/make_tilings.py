#!/usr/bin/env python3
"""Writes tests/volume/tilings/*.npy: what MONAI, nnU-Net and chunkflow make of a small volume with a patch function whose
numbers are exact in float (test_tilings.c has both again). Needs `pip install monai nnunetv2 chunkflow`; written with
monai 1.6.1, nnunetv2 2.8.1, chunkflow 1.2.0."""

import pathlib
import types

import numpy as np

FOLDER = pathlib.Path(__file__).parent / "tilings"


def volume(shape):
    z, y, x = np.ogrid[: shape[0], : shape[1], : shape[2]]
    return ((7 * z + 5 * y + 3 * x + z * y * x) % 16).astype(np.float32)


def apply(patch, size):
    """The centre of [z, y, x], plus where in the patch a voxel lies, over 256."""
    margin = [(i - o) // 2 for i, o in zip(patch.shape, size)]
    z, y, x = np.ogrid[: size[0], : size[1], : size[2]]
    centre = patch[tuple(slice(m, m + o) for m, o in zip(margin, size))]
    return ((centre + (z + 2 * y + 3 * x).astype(np.float32) / 16) / 256).astype(np.float32)


def monai(shape, patch, **options):
    import torch
    from monai.inferers import sliding_window_inference

    def predictor(batch):
        return torch.stack([torch.from_numpy(apply(b[0].numpy(), patch))[None] for b in batch])

    data = torch.from_numpy(volume(shape))[None, None]
    return sliding_window_inference(data, patch, 2, predictor, **options)[0, 0].numpy()


def nnunet(shape, patch, axes=None, **options):
    import torch
    from nnunetv2.inference.predict_from_raw_data import nnUNetPredictor

    class Net(torch.nn.Module):
        def forward(self, x):
            return torch.from_numpy(apply(x[0, 0].numpy(), patch))[None, None]

    p = nnUNetPredictor(use_mirroring=axes is not None, device=torch.device("cpu"), allow_tqdm=False, **options)
    p.network = Net()
    p.configuration_manager = types.SimpleNamespace(patch_size=list(patch))
    p.label_manager = types.SimpleNamespace(num_segmentation_heads=1)
    p.allowed_mirroring_axes = axes
    return p.predict_sliding_window_return_logits(torch.from_numpy(volume(shape))[None])[0].float().numpy()


def chunkflow(shape, patch, out=None, overlap=None, **options):
    from chunkflow.chunk import Chunk
    from chunkflow.flow.divid_conquer.inferencer import Inferencer
    from chunkflow.flow.divid_conquer.patch.base import PatchInferencerBase

    class Net(PatchInferencerBase):
        def __call__(self, batch):
            return np.stack([apply(b[0], out)[None] * self.output_patch_mask for b in batch])

    out = out or patch
    overlap = overlap or tuple(o // 2 for o in out)
    net = Net(patch, out, overlap, 1)
    inferencer = Inferencer(net, None, patch, out, output_patch_overlap=overlap, num_output_channels=1,
                            framework="prebuilt", **options)
    return np.asarray(inferencer(Chunk(volume(shape))).array[0])


SHAPE = (9, 14, 17)
CASES = {
    "monai": lambda: monai(SHAPE, (4, 6, 8), mode="gaussian"),
    "monai_small": lambda: monai(SHAPE, (12, 5, 8), mode="gaussian", overlap=0.625),
    "monai_reflect": lambda: monai(SHAPE, (4, 17, 6), mode="constant", overlap=(0, 0.5, 0.3), padding_mode="reflect"),
    "nnunet": lambda: nnunet(SHAPE, (4, 6, 7)),
    "nnunet_small": lambda: nnunet(SHAPE, (12, 17, 7), axes=(0, 1, 2)),
    "nnunet_mirror": lambda: nnunet(SHAPE, (5, 9, 6), axes=(0, 1), tile_step_size=0.7, use_gaussian=False),
    "chunkflow": lambda: chunkflow(SHAPE, (4, 6, 8)),
    "chunkflow_crop": lambda: chunkflow(SHAPE, (6, 8, 11), (4, 6, 7), (1, 2, 3), output_crop_margin=(2, 3, 4)),
    "chunkflow_aligned": lambda: chunkflow((9, 14, 18), (5, 6, 8), overlap=(1, 2, 3), input_size=(9, 14, 18),
                                           mask_output_chunk=False),
}

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, make in CASES.items():
        result = np.ascontiguousarray(make(), dtype=np.float32)
        assert np.isfinite(result).all(), name
        np.save(FOLDER / f"{name}.npy", result)
        print(name, result.shape, float(np.ptp(result)))
