"""doc/from-pytorch.md, as it is written: its blocks run one after the other, beside a volume and trained weights. Exits with 77
where a package that it imports is missing."""

import os
import pathlib
import re
import sys
import tempfile
import unittest

try:
    import numpy as np
    import tifffile
    import torch
    from monai.inferers import sliding_window_inference
    from monai.networks.nets import BasicUNet
except ImportError as error:
    print(f"skipped: {error.name} is missing")
    sys.exit(77)

PAGE = pathlib.Path(__file__).resolve().parents[2] / "doc/from-pytorch.md"


class Page(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="pznet-test-")
        self.addCleanup(self.folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder.name)
        torch.manual_seed(2)
        self.module = BasicUNet(3, 1, 2, (8, 8, 16, 32, 32, 8)).eval()
        torch.save(self.module.state_dict(), "trained.pt")
        self.volume = np.random.default_rng(2).integers(0, 256, (20, 60, 70), np.uint8)
        tifffile.imwrite("stack.tif", self.volume)

    def expected(self):
        with torch.no_grad():
            x = torch.from_numpy(self.volume).float()[None, None] / 255
            return sliding_window_inference(x, (16, 48, 48), 1, self.module, overlap=0.25, mode="gaussian")

    def test_blocks(self):
        blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
        self.assertEqual(len(blocks), 3)
        self.assertLessEqual(len(blocks[0].strip().splitlines()), 11)  # ten lines and a blank one
        names = {}
        for block in blocks:
            exec(compile(block, str(PAGE), "exec"), names)  # noqa: S102
        expected = self.expected()
        self.assertLess((names["scores"] - expected).norm() / expected.norm(), 1e-5)
        labels = tifffile.imread("labels.tif")
        self.assertEqual(labels.shape, self.volume.shape)
        self.assertTrue(labels.any() and not labels.all())
        # only where the two scores are equal but for rounding may the labels differ
        self.assertLess(np.mean(labels != expected[0].argmax(0).numpy()), 1e-3)
        self.assertEqual(names["net"].threads, 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
