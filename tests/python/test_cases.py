"""Cases and recipes: labels against nnU-Net's and MONAI's steps written down again, from SciPy's functions, and against the packages where they are.

The network is tests/networks' tiny.so, random, of one channel and two. Exits with 77 without SimpleITK, nibabel or SciPy.
"""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

VENV = os.path.join(os.path.dirname(os.environ.get("PZNET", "")), "venv/bin/python")  # made by make check
try:
    import nibabel
    import numpy as np
    import scipy.ndimage
    import SimpleITK as sitk
except ImportError as missing:
    if os.path.exists(VENV) and os.path.realpath(sys.prefix) != os.path.realpath(os.path.dirname(os.path.dirname(VENV))):
        os.execv(VENV, [VENV, *sys.argv])
    print(f"skipped: {missing}")
    sys.exit(77)

import pznet
from pznet import itk
from pznet.cases import infer_cases, labels, resample
from pznet.cases.images import CaseError

NET = os.environ.get("PZ_NETWORK")
PATCH = [4, 12, 14]
TURNED = tuple(sitk.Euler3DTransform((0, 0, 0), 0.1, 0.2, 0.3).GetMatrix())
PLAIN = {"is_seg": False, "order_z": 0, "force_separate_z": None}


def plans(**more):
    configuration = {
        "preprocessor_name": "DefaultPreprocessor", "patch_size": PATCH, "spacing": [2.0, 1.0, 1.0], "normalization_schemes": ["CTNormalization"],
        "use_mask_for_norm": [False], "resampling_fn_data": "resample_data_or_seg_to_shape", "resampling_fn_data_kwargs": {**PLAIN, "order": 3},
        "resampling_fn_probabilities": "resample_data_or_seg_to_shape", "resampling_fn_probabilities_kwargs": {**PLAIN, "order": 1},
    }
    of_all = {k: more.pop(k) for k in ("transpose_forward", "image_reader_writer", "configurations") if k in more}
    configuration.update(more)
    found = {"mean": 60.5, "std": 120.25, "percentile_00_5": -150.0, "percentile_99_5": 300.0}
    return {"image_reader_writer": "SimpleITKIO", "transpose_forward": [0, 1, 2], "configurations": {"3d_fullres": configuration},
            "foreground_intensity_properties_per_channel": {"0": found}} | of_all


DATASET = {"channel_names": {"0": "CT"}, "labels": {"background": 0, "one": 1}, "file_ending": ".nii.gz"}


def blobs(shape, seed=0, border=0):
    noise = np.random.default_rng(seed).normal(size=shape)
    values = np.clip(300 * scipy.ndimage.gaussian_filter(noise, 1) * 3 + 30 * noise, -1000, 1500).astype(np.int16)
    if border:
        inside = tuple(slice(border, -border) for _ in shape)
        values[inside], values = values[inside], np.where(np.pad(np.ones([n - 2 * border for n in shape], bool), border), values, 0).astype(np.int16)
    return values


def zoom(values, shape, order):
    """skimage.transform.resize(..., mode="edge", anti_aliasing=False), as nnU-Net calls it."""
    if values.shape == tuple(shape):
        return values.astype(float)
    made = scipy.ndimage.zoom(values.astype(float), np.divide(shape, values.shape), order=order, mode="nearest", grid_mode=True)
    return np.clip(made, values.min(), values.max())


def zoom_apart(values, shape, order, axis):
    """Planes across an axis one by one, and along it the nearest."""
    if axis is None:
        return zoom(values, shape, order)
    flat = [n for i, n in enumerate(shape) if i != axis]
    planes = np.stack([zoom(plane, flat, order) for plane in np.moveaxis(values, axis, 0)])
    where = np.clip((np.arange(shape[axis]) + 0.5) * len(planes) / shape[axis] - 0.5, 0, len(planes) - 1)
    return np.moveaxis(planes[np.floor(where + 0.5).astype(int)], 0, axis)


def nnunet_labels(values, spacing, of, apart=None):
    """The labels [z, y, x] of a channel, step by step as nnU-Net's DefaultPreprocessor and export have them."""
    c, forward = of["configurations"]["3d_fullres"], of["transpose_forward"]
    image, size = values.transpose(forward).astype(np.float32), [spacing[i] for i in forward]
    whole = image.shape
    where = np.argwhere(image != 0)
    box = tuple(slice(a, b + 1) for a, b in zip(where.min(0), where.max(0)))
    image = image[box]
    if c["normalization_schemes"] == ["CTNormalization"]:
        image = (np.clip(image, -150, 300) - 60.5) / 120.25
    elif c["use_mask_for_norm"] == [True]:
        inside = scipy.ndimage.binary_fill_holes(image != 0)
        image = np.where(inside, (image - image[inside].mean()) / image[inside].std(), image)
    else:
        image = (image - image.mean()) / image.std()
    target = [round(s / w * n) for s, w, n in zip(size, c["spacing"], image.shape)]
    ready = zoom_apart(image, target, c["resampling_fn_data_kwargs"]["order"], apart).astype(np.float32)
    made = pznet.infer(ready, NET, tiling="nnunet", augment="mirror", progress=False)
    back = np.stack([zoom_apart(channel, image.shape, 1, apart).astype(np.float16) for channel in made])
    labels = np.zeros(whole, np.uint8)
    labels[box] = back.argmax(0)
    return labels.transpose(np.argsort(forward))


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.at = folder.name
        os.makedirs(self.path("in"))

    def path(self, *parts):
        return os.path.join(self.at, *parts)

    def image(self, name, values, spacing=(1.0, 1.0, 1.0), direction=None, folder="in"):
        made = sitk.GetImageFromArray(values)
        made.SetSpacing(spacing[::-1])
        made.SetOrigin((3.0, -7.0, 11.0))
        if direction:
            made.SetDirection(direction)
        sitk.WriteImage(made, self.path(folder, name))
        return made

    def recipe(self, of, dataset=DATASET):
        os.makedirs(self.path("model"), exist_ok=True)
        for name, values in (("plans.json", of), ("dataset.json", dataset)):
            with open(self.path("model", name), "w") as file:
                json.dump(values, file)
        return self.path("model", "plans.json")

    def run_cases(self, recipe, **options):
        return infer_cases(self.path("in"), NET, self.path("out"), recipe=recipe, progress=False, **options)

    def labels(self, name):
        return sitk.GetArrayFromImage(sitk.ReadImage(self.path("out", name)))

    def alike(self, got, wanted, most=5e-4):
        self.assertEqual((got.shape, got.dtype), (wanted.shape, wanted.dtype))
        self.assertGreater(len(np.unique(wanted)), 1, "a test of one label shows nothing")
        self.assertLessEqual((got != wanted).mean(), most)


class NnUNet(Folder):
    def against(self, of, values, spacing, dataset=DATASET, name="a_0000.nii.gz", direction=None, **more):
        image = self.image(name, values, spacing, direction)
        report = self.run_cases(self.recipe(of, dataset))
        self.assertEqual(report["failed"], 0)
        out = name.replace("_0000", "")
        self.alike(self.labels(out), nnunet_labels(values, spacing, of, **more))
        made = sitk.ReadImage(self.path("out", out))
        for got, wanted in ((made.GetSpacing(), image.GetSpacing()), (made.GetOrigin(), image.GetOrigin()), (made.GetDirection(), image.GetDirection())):
            np.testing.assert_allclose(got, wanted, atol=1e-5)

    def test_ct(self):
        self.against(plans(), blobs((9, 22, 25)), (2.3, 0.8, 1.1))

    def test_directions_axes_and_a_border_of_zeros(self):
        of = plans(transpose_forward=[1, 0, 2], normalization_schemes=["ZScoreNormalization"], use_mask_for_norm=[True], spacing=[1.0, 1.5, 1.0])
        self.against(of, blobs((14, 20, 25), border=2), (1.7, 1.2, 0.8), direction=TURNED)

    def test_long_voxels_are_resampled_apart(self):
        self.against(plans(spacing=[4.0, 1.0, 1.0]), blobs((7, 22, 25)), (5.0, 0.8, 0.9), apart=0)
        self.against(plans(spacing=[1.0, 4.0, 1.0]), blobs((17, 12, 25), 1), (1.2, 5.0, 0.9), name="b_0000.nii.gz", apart=1)

    def test_regions(self):
        """The network of these tests gives probabilities, all of them above 0: the decision by itself, of values given in planes and in parts."""
        values = np.random.default_rng(7).normal(size=(2, 5, 6, 7)).astype(np.float32)
        lines = [resample.centred(n, m, 1) for n, m in zip(values.shape[1:], (9, 6, 4))]
        for boxes in ([(0, 2, 0, 6), (2, 5, 0, 6)], [(0, 5, 0, 3), (0, 5, 3, 6)]):
            sink = labels.LabelSink(lines, labels.in_order([7, 3]), 2, True, 2)
            sink.plan({"output": {"channels": 2, "shape": values.shape[1:]}})
            for z, end_z, y, end_y in boxes:
                part = np.ascontiguousarray(values[:, z:end_z, y:end_y])
                sink.write((z, y, 0), part.shape[1:], memoryview(part).cast("B"), part.strides[:3])
            half = np.stack([zoom(channel.astype(np.float16), (9, 6, 4), 1).astype(np.float16) for channel in values])
            np.testing.assert_array_equal(sink.finish(), np.where(half[1] > 0, 3, np.where(half[0] > 0, 7, 0)))

    def test_readers_and_endings(self):
        for reader, ending in (("NibabelIO", ".nii"), ("SimpleITKIO", ".nrrd"), ("SimpleITKIO", ".mha"), ("SimpleITKIO", ".mhd")):
            with self.subTest(reader, ending=ending):
                self.setUp()
                self.against(plans(image_reader_writer=reader), blobs((8, 16, 17)), (2.0, 1.0, 1.0), DATASET | {"file_ending": ending}, "a_0000" + ending)

    def test_large_images_have_a_process_of_their_own(self):
        """Which here all are: the same labels, files and refusals."""
        values, mirrored = blobs((14, 20, 25)), ("SimpleITKIOWithReorient", (-1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0))
        for reader, direction, ending in (("SimpleITKIO", TURNED, ".nii.gz"), (*mirrored, ".nii.gz"), ("SimpleITKIO", TURNED, ".mhd")):
            with self.subTest(reader, ending=ending):
                self.setUp()
                self.image("a_0000" + ending, values, (1.7, 1.2, 0.8), direction)
                recipe = self.recipe(plans(image_reader_writer=reader), DATASET | {"file_ending": ending})
                self.run_cases(recipe)
                here = sitk.ReadImage(self.path("out", "a" + ending))
                with unittest.mock.patch.object(itk, "APART", -1), unittest.mock.patch.object(itk.itk_process, "read", None), unittest.mock.patch.object(itk.itk_process, "write", None):
                    report = self.run_cases(recipe, augment="none")["cases"][0]  # other options: made anew
                    self.assertNotIn("error", report)
                    self.assertEqual(self.run_cases(recipe)["failed"], 0)
                there = sitk.ReadImage(self.path("out", "a" + ending))
                np.testing.assert_array_equal(sitk.GetArrayFromImage(there), sitk.GetArrayFromImage(here))
                for what in ("GetSpacing", "GetOrigin", "GetDirection", "GetPixelIDValue"):
                    self.assertEqual(getattr(there, what)(), getattr(here, what)())
        with unittest.mock.patch.object(itk, "APART", -1):
            with self.assertRaisesRegex(itk.ImageError, "none.mha: No such file or directory"):
                itk.read(self.path("none.mha"))
            with open(self.path("no.mha"), "w") as file:
                file.write("nothing")
            with self.assertRaisesRegex(itk.ImageError, r"no\.mha: cannot be read: .*Unable to determine ImageIO reader"):
                itk.read(self.path("no.mha"))
            with open(self.path("python"), "w") as file:
                file.write("#!/bin/sh\nkill -9 $$\n")
            os.chmod(self.path("python"), 0o700)
            with unittest.mock.patch.object(sys, "executable", self.path("python")):
                with self.assertRaisesRegex(itk.ImageError, r"no\.mha: cannot be read: the process for it ended by signal 9"):
                    itk.read(self.path("no.mha"))
            with unittest.mock.patch.object(sys, "executable", "/usr/bin/another-program"):  # as in a program that embeds Python: here
                self.assertEqual(itk.read(self.path("in", "a_0000.mhd")).values.shape, values.shape)

    def test_an_ensemble_and_mirroring(self):
        values = blobs((8, 16, 17))
        self.image("a_0000.nii.gz", values, (2.0, 1.0, 1.0))
        recipe = self.recipe(plans())
        self.run_cases(recipe)
        once = self.labels("a.nii.gz")
        self.run_cases(recipe, ensemble=[NET])
        self.alike(self.labels("a.nii.gz"), once)  # of twice the same the mean is the same
        self.run_cases(recipe, augment="none")
        self.assertTrue((self.labels("a.nii.gz") != once).any())

    def test_a_mask(self):
        values = blobs((9, 22, 25))
        image = self.image("a_0000.nii.gz", values, (2.3, 0.8, 1.1))
        inside = np.zeros(values.shape, np.uint8)
        inside[2:5, 3:12, 4:20] = 1
        mask = sitk.GetImageFromArray(inside)
        mask.CopyInformation(image)
        sitk.WriteImage(mask, self.path("mask.nii.gz"))
        recipe = self.recipe(plans())
        all_patches = self.run_cases(recipe)["cases"][0]["patches"]
        whole = self.labels("a.nii.gz")
        self.run_cases(recipe, mask=self.path("mask.nii.gz"))
        np.testing.assert_array_equal(self.labels("a.nii.gz"), np.where(inside, whole, 0))
        self.assertGreater(all_patches, 1)
        sitk.WriteImage(mask[:, :, :5], self.path("mask.nii.gz"))
        self.assertIn("the mask has 5 x 22 x 25 voxels: the image has 9 x 22 x 25", self.run_cases(recipe, mask=self.path("mask.nii.gz"), augment="none")["cases"][0]["error"])

    def test_pictures(self):
        self.image("a_0000.nii.gz", blobs((8, 16, 17)), (2.0, 1.0, 1.0))
        self.run_cases(self.recipe(plans()), preview=self.path("a.png"))
        with open(self.path("a.png"), "rb") as file:
            self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")


class Refusals(Folder):
    def refused(self, words, of=None, dataset=DATASET, **more):
        self.image("a_0000.nii.gz", blobs((6, 14, 15)), (2.0, 1.0, 1.0))
        with self.assertRaises(ValueError) as raised:
            self.run_cases(self.recipe(plans() if of is None else of, dataset), **more)
        self.assertIn(words, str(raised.exception))
        self.assertNotIn("\n", str(raised.exception))
        self.assertFalse(os.path.exists(self.path("out", "a.nii.gz")))

    def test_plans(self):
        broken = {
            "configurations is missing": {"plans": 1},
            "has no configuration 2d: expected one of 3d_fullres": None,
            "the network's patch of 4x12x14: it has 3d_fullres 8x8x8": plans(patch_size=[8, 8, 8]),
            "spacing is [0, 1, 1]: expected 3 sizes of a voxel": plans(spacing=[0, 1, 1]),
            "normalization_schemes is [\"Own\"]: expected 1 of ZScoreNormalization": plans(normalization_schemes=["Own"]),
            "image_reader_writer is \"OwnIO\": expected one of SimpleITKIO": plans(image_reader_writer="OwnIO"),
            "transpose_forward is [0, 0, 1]: expected an order of 0, 1 and 2": plans(transpose_forward=[0, 0, 1]),
            "resampling_fn_data is own: expected resample_data_or_seg_to_shape": plans(resampling_fn_data="own"),
            "resampling_fn_probabilities_kwargs.order is 3: expected 0 or 1": plans(resampling_fn_probabilities_kwargs={"order": 3}),
            "preprocessor_name is \"Own\"": plans(preprocessor_name="Own"),
        }
        for words, of in broken.items():
            with self.subTest(words):
                self.refused(words, of, **({"configuration": "2d"} if of is None else {}))
        cascade = plans(resampling_fn_seg="resample_data_or_seg_to_shape", resampling_fn_seg_kwargs={**PLAIN, "is_seg": True, "order": 1})
        cascade["configurations"]["3d_cascade"] = {"inherits_from": "3d_fullres", "previous_stage": "3d_lowres"}
        self.refused("names 1 channel and 1 label of the stage before: the network takes 1", cascade, configuration="3d_cascade")
        self.refused("--previous names the labels of a cascade's first stage: the recipe is no second stage", previous=self.at)
        circle = plans(inherits_from="3d_fullres")
        self.refused("inherits from itself", circle)

    def test_datasets(self):
        for words, dataset in {
            "labels.background: expected 0": DATASET | {"labels": {"one": 1}},
            "its labels want 3 channels: the network gives 2": DATASET | {"labels": {"background": 0, "one": 1, "two": 2}},
            "regions_class_order is missing": DATASET | {"labels": {"background": 0, "one": [1, 2], "two": 2}},
            "file_ending is \".exe\"": DATASET | {"file_ending": ".exe"},
            "labels.one is \"x\": expected a label": DATASET | {"labels": {"background": 0, "one": "x"}},
        }.items():
            with self.subTest(words):
                self.refused(words, dataset=dataset)
        two = plans(normalization_schemes=["CTNormalization"] * 2, use_mask_for_norm=[False] * 2)
        two["foreground_intensity_properties_per_channel"]["1"] = two["foreground_intensity_properties_per_channel"]["0"]
        self.refused("names 2 channels: the network takes 1", two, DATASET | {"channel_names": {"0": "CT", "1": "PET"}})

    def test_files_that_are_no_plans(self):
        self.image("a_0000.nii.gz", blobs((6, 14, 15)))
        path = self.recipe(plans())
        for text, words in (('{"a":', "plans.json:1:6: is no JSON"), ("[]", "an object"), ("\x00" * 9, "is no JSON"), ("[" * 100000, "is no JSON")):
            with open(path, "w") as file:
                file.write(text)
            with self.assertRaisesRegex(CaseError, words):
                self.run_cases(path)
        os.remove(self.path("model", "dataset.json"))
        self.recipe(plans())
        os.remove(self.path("model", "dataset.json"))
        with self.assertRaisesRegex(CaseError, "dataset.json: No such file or directory: expected dataset.json of nnU-Net"):
            self.run_cases(path)
        with self.assertRaisesRegex(CaseError, "plans of nnU-Net 1"):
            self.run_cases(self.path("plans.pkl"))

    def test_options(self):
        self.refused("--normalize: the recipe says how", normalize="zscore")
        self.refused("--dtype: the recipe says how", dtype="u8")

    def test_damaged_images_fail_alone(self):
        self.image("a_0000.nii.gz", blobs((6, 14, 15)), (2.0, 1.0, 1.0))
        self.image("b_0000.nii.gz", blobs((6, 14, 15)), (2.0, 1.0, 1.0))
        with open(self.path("in", "b_0000.nii.gz"), "r+b") as file:
            file.truncate(1500)
        report = self.run_cases(self.recipe(plans()))
        self.assertEqual(report["failed"], 1)
        self.assertRegex(report["cases"][1]["error"], r"b_0000.nii.gz: ends early: it has \d+ bytes, its voxels want 2872")
        self.assertEqual(os.listdir(self.path("out")).count("b.nii.gz"), 0)
        self.assertEqual(self.labels("a.nii.gz").shape, (6, 14, 15))

    def test_voxels_that_cannot_be(self):
        self.image("a_0000.nii.gz", blobs((6, 14, 15)), (0.001, 0.001, 0.001))
        report = self.run_cases(self.recipe(plans()))
        self.assertIn("nothing is left of it", report["cases"][0]["error"])
        self.image("a_0000.nii.gz", blobs((6, 14, 15)), (9000.0, 9000.0, 9000.0))
        report = self.run_cases(self.recipe(plans()))
        self.assertIn("is hardly right", report["cases"][0]["error"])
        report = self.run_cases(self.recipe(plans()), memory=1)
        self.assertIn("--memory allows", report["cases"][0]["error"])


class Cases(Folder):
    def three(self):
        for name in "abc":
            self.image(f"{name}_0000.nii.gz", blobs((6, 14, 15), ord(name)), (2.0, 1.0, 1.0))
        return self.recipe(plans())

    def test_finished_cases_are_passed_over(self):
        recipe = self.three()
        self.assertEqual([c.get("finished_before", False) for c in self.run_cases(recipe)["cases"]], [False] * 3)
        self.assertEqual([c.get("finished_before", False) for c in self.run_cases(recipe)["cases"]], [True] * 3)
        os.remove(self.path("out", "b.nii.gz"))
        self.assertEqual([c["case"] for c in self.run_cases(recipe)["cases"] if not c.get("finished_before")], ["b"])
        self.image("c_0000.nii.gz", blobs((6, 14, 15), 9), (2.0, 1.0, 1.0))  # another image
        self.assertEqual([c["case"] for c in self.run_cases(recipe)["cases"] if not c.get("finished_before")], ["c"])
        with open(self.path("out", "a.nii.gz"), "ab") as file:  # not what was made
            file.write(b"x")
        self.assertEqual([c["case"] for c in self.run_cases(recipe)["cases"] if not c.get("finished_before")], ["a"])
        self.assertTrue(all(not c.get("finished_before") for c in self.run_cases(recipe, augment="none")["cases"]))
        with self.assertRaisesRegex(CaseError, r"a.nii.gz: exists \(of other options\), and --no-overwrite keeps it"):
            self.run_cases(recipe, overwrite=False)

    def test_folders(self):
        recipe = self.recipe(plans())
        with self.assertRaisesRegex(CaseError, "no case is there: expected files called CASE_0000.nii.gz"):
            self.run_cases(recipe)
        from pznet.cases import folder

        self.image("a_0000.nii.gz", blobs((6, 14, 15)))
        self.image("b_0000.nii.gz", blobs((6, 14, 15)))
        self.image("b_0001.nii.gz", blobs((6, 14, 15)))
        with self.assertRaisesRegex(CaseError, "case a lacks channel 1 of 2: expected .*a_0001.nii.gz"):
            folder.find(self.path("in"), self.path("out"), ".nii.gz", 2)
        with self.assertRaisesRegex(CaseError, "case b has 2 channels: expected 1"):
            folder.find(self.path("in"), self.path("out"), ".nii.gz", 1)

    def test_the_command(self):
        recipe = self.three()
        words = [os.environ["PZNET"], "infer", NET, self.path("in", "a_0000.nii.gz"), self.path("one.nii.gz"), "--recipe", recipe, "--json", "-"]
        done = subprocess.run(words, env={**os.environ, "PZNET_PYTHON": sys.executable}, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual((report["failed"], report["cases"][0]["case"], report["configuration"]), (0, "a", "3d_fullres"))
        self.assertIn("3d_fullres, voxels of 2 x 1 x 1, CTNormalization, 2 classes", done.stderr)
        self.run_cases(recipe)
        np.testing.assert_array_equal(sitk.GetArrayFromImage(sitk.ReadImage(self.path("one.nii.gz"))), self.labels("a.nii.gz"))
        done = subprocess.run([*words[:-2], "--box", "0:2,:,:"], env={**os.environ, "PZNET_PYTHON": sys.executable}, capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--box: the recipe says how", done.stderr)

    def test_without_a_recipe(self):
        values = blobs((6, 14, 15))
        self.image("a_0000.nii.gz", values, (2.0, 1.0, 1.0))
        words = [os.environ["PZNET"], "infer", NET, self.path("in"), self.path("out"), "--argmax", "-q"]
        subprocess.run(words, env={**os.environ, "PZNET_PYTHON": sys.executable}, check=True)
        np.testing.assert_array_equal(self.labels("a.nii.gz"), pznet.infer(values, NET, argmax=True, progress=False))

    def test_labels_do_not_depend_on_threads(self):
        recipe = self.three()
        self.run_cases(recipe, threads=1)
        first = [self.labels(f"{name}.nii.gz") for name in "abc"]
        for name in "abc":
            os.remove(self.path("out", f"{name}.nii.gz"))
        self.run_cases(recipe, threads=2)
        for name, wanted in zip("abc", first):
            np.testing.assert_array_equal(self.labels(f"{name}.nii.gz"), wanted)


class Volumes(Folder):
    """.mha, .mhd and .nrrd in place of other volumes."""

    def test_directions_go_along(self):
        values = blobs((9, 20, 22))
        wanted = np.moveaxis(pznet.infer(values, NET, progress=False), 0, -1)
        of = {ending: self.image(f"v{ending}", values, (0.7, 0.6, 0.5), TURNED) for ending in (".mha", ".mhd", ".nrrd", ".nii.gz")}
        for source, out, box in ((".mha", ".nrrd", None), (".mhd", ".mhd", None), (".nii.gz", ".mha", None), (".nrrd", ".nii.gz", None), (".nrrd", ".mha", "2:7,3:,5:15"), (".nii.gz", ".mha", "2:7,3:,5:15")):
            with self.subTest(source, out=out, box=box):
                path = self.path("out" + out)
                pznet.infer(self.path("in", "v" + source), NET, path, box=box, progress=False)
                made = sitk.ReadImage(path)
                part = wanted[2:7, 3:, 5:15] if box else wanted
                np.testing.assert_array_equal(sitk.GetArrayFromImage(made), part)
                np.testing.assert_allclose(made.GetSpacing(), (0.5, 0.6, 0.7), atol=1e-6)
                np.testing.assert_allclose(made.GetDirection(), TURNED, atol=1e-6)
                np.testing.assert_allclose(made.GetOrigin(), of[source].TransformIndexToPhysicalPoint((5, 3, 2) if box else (0, 0, 0)), atol=1e-5)

    def test_what_is_lost_is_told(self):
        self.image("v.mha", blobs((9, 20, 22)), direction=TURNED)
        with self.assertWarnsRegex(UserWarning, "axes are turned in space, which this format does not say"):
            pznet.infer(self.path("in", "v.mha"), NET, self.path("out.tif"), progress=False)

    def test_damage(self):
        for ending in (".mha", ".nrrd"):
            self.image("v" + ending, blobs((9, 20, 22)))
            with open(self.path("in", "v" + ending), "r+b") as file:
                file.truncate(3000)
            with self.assertRaisesRegex(OSError, "cannot be read"):
                pznet.infer(self.path("in", "v" + ending), NET, self.path("out.mha"), progress=False)
            self.assertFalse(os.path.exists(self.path("out.mha")))
        self.image("v.mha", blobs((9, 20, 22)))
        with self.assertRaisesRegex(ValueError, "cannot be resumed"):
            pznet.infer(self.path("in", "v.mha"), NET, self.path("out.mha"), resume=True, progress=False)


def linear(values, where):
    """Values at places along x, y and z of a grid of places, which go on beyond the ends."""
    grid = np.stack(np.meshgrid(*where, indexing="ij"))
    return scipy.ndimage.map_coordinates(values.astype(float), grid, order=1, mode="nearest")


class Bundle(Folder):
    PRE = [{"_target_": "LoadImaged", "keys": "image"}, {"_target_": "EnsureChannelFirstd", "keys": "image"},
           {"_target_": "Orientationd", "keys": "image", "axcodes": "RAS"}, {"_target_": "Spacingd", "keys": "image", "pixdim": [1.2, 1.0, 2.0], "mode": "bilinear"},
           {"_target_": "ScaleIntensityRanged", "keys": "image", "a_min": -150, "a_max": 300, "b_min": 0, "b_max": 1, "clip": True}]
    POST = [{"_target_": "Activationsd", "keys": "pred", "softmax": True},
            {"_target_": "Invertd", "keys": "pred", "transform": "@preprocessing", "orig_keys": "image", "nearest_interp": False},
            {"_target_": "AsDiscreted", "keys": "pred", "argmax": True}, {"_target_": "SaveImaged", "keys": "pred", "output_dir": "$@root + '/eval'"}]

    def bundle(self, pre=None, post=None, **inferer):
        config = {"root": ".", "roi": PATCH, "preprocessing": {"_target_": "Compose", "transforms": self.PRE if pre is None else pre},
                  "postprocessing": {"_target_": "Compose", "transforms": self.POST if post is None else post},
                  "inferer": {"_target_": "SlidingWindowInferer", "roi_size": "@roi", "overlap": 0.5, "mode": "gaussian"} | inferer}
        os.makedirs(self.path("bundle", "configs"), exist_ok=True)
        with open(self.path("bundle", "configs", "inference.json"), "w") as file:
            json.dump(config, file)
        return self.path("bundle")

    def test_labels(self):
        values = blobs((22, 20, 9))  # z, y, x
        self.image("a_0000.nii.gz", values, (1.5, 0.8, 0.9), (-1, 0, 0, 0, -1, 0, 0, 0, 1))  # ITK's to the left and the back: right and front are ahead
        self.run_cases(self.bundle())
        image = values.transpose(2, 1, 0)
        size, wanted = (0.9, 0.8, 1.5), (1.2, 1.0, 2.0)
        target = [round((n - 1) * s / w + 1) for n, s, w in zip(image.shape, size, wanted)]
        ready = linear(image, [np.arange(m) * w / s for m, s, w in zip(target, size, wanted)])
        ready = np.clip((ready.astype(np.float32) + 150) / 450, 0, 1)
        made = pznet.infer(ready, NET, tiling="monai", overlap=0.5, softmax=True, progress=False)
        back = np.stack([linear(channel, [np.arange(n) * s / w for n, s, w in zip(image.shape, size, wanted)]) for channel in made])
        self.alike(self.labels("a.nii.gz"), back.argmax(0).astype(np.uint8).transpose(2, 1, 0))

    def test_a_turned_image_is_turned_back(self):
        values = blobs((22, 20, 9))
        self.image("a_0000.nii.gz", values, (1.5, 0.8, 0.9), (-1, 0, 0, 0, -1, 0, 0, 0, 1))
        flipped = sitk.Flip(sitk.ReadImage(self.path("in", "a_0000.nii.gz")), (True, False, True))
        sitk.WriteImage(sitk.PermuteAxes(flipped, (2, 0, 1)), self.path("in", "b_0000.nii.gz"))
        self.run_cases(self.bundle())
        first, second = (sitk.ReadImage(self.path("out", f"{name}.nii.gz")) for name in "ab")
        back = sitk.Flip(sitk.PermuteAxes(second, (1, 2, 0)), (True, False, True))
        self.alike(sitk.GetArrayFromImage(back), sitk.GetArrayFromImage(first), 2e-3)

    def test_refusals(self):
        self.image("a_0000.nii.gz", blobs((22, 20, 9)))
        for words, how in {
            "preprocessing.transforms[5] is GaussianSmoothd": {"pre": [*self.PRE, {"_target_": "GaussianSmoothd", "keys": "image"}]},
            "roi_size is [8, 8, 8]: expected the network's patch, [4, 12, 14]": {"roi_size": [8, 8, 8]},
            "_target_ is \"SimpleInferer\"": {"_target_": "SimpleInferer"},
            "postprocessing has no AsDiscreted": {"post": self.POST[:2]},
            "nearest_interp does not fit": {"post": [self.POST[0], {**self.POST[1], "nearest_interp": True}, self.POST[2]]},
            "overlap is \"$@x * 2\"": {"overlap": "$@x * 2"},
            "@nothing refers to nothing": {"roi_size": "@nothing"},
            "pixdim is \"a\"": {"pre": [{**self.PRE[3], "pixdim": "a"}]},
        }.items():
            with self.subTest(words):
                with self.assertRaises(CaseError) as raised:
                    self.run_cases(self.bundle(**how))
                self.assertIn(words, str(raised.exception))


class Resampling(unittest.TestCase):
    def test_against_scipy(self):
        rng = np.random.default_rng(5)
        for _ in range(30):
            old, new = rng.integers(1, 40, 3), rng.integers(1, 40, 3)
            values = rng.normal(size=old).astype(np.float32)
            for order in (1, 3):
                made = resample.volume(values, [resample.centred(int(n), int(m), order) for n, m in zip(old, new)], "volume", int(rng.integers(1, 3)))
                np.testing.assert_allclose(made, zoom(values, new, order), atol=2e-6)
            apart = resample.volume(values, [resample.centred(int(n), int(m), o) for n, m, o in zip(old, new, (0, 3, 3))], "plane", 2)
            np.testing.assert_allclose(apart, zoom_apart(values, new, 3, 0), atol=2e-6)


@unittest.skipUnless(importlib.util.find_spec("nnunetv2") and importlib.util.find_spec("torch"), "nnunetv2 is missing")
class AgainstNnUNet(Folder):
    """The preprocessor of the package itself."""

    def test_preparation(self):
        for name in ("nnUNet_raw", "nnUNet_preprocessed", "nnUNet_results"):
            os.environ.setdefault(name, self.at)
        from nnunetv2.preprocessing.preprocessors.default_preprocessor import DefaultPreprocessor
        from nnunetv2.utilities.plans_handling.plans_handler import PlansManager

        from pznet.cases import images, nnunet

        for more, shape, spacing in (({}, (9, 22, 25), (2.3, 0.8, 1.1)), ({"normalization_schemes": ["ZScoreNormalization"], "use_mask_for_norm": [True], "transpose_forward": [2, 0, 1]}, (9, 22, 25), (2.3, 0.8, 1.1)),
                                     ({"spacing": [4.0, 1.0, 1.0]}, (7, 22, 25), (5.0, 0.8, 0.9))):
            of = plans(**more)
            of["transpose_backward"] = [int(i) for i in np.argsort(of["transpose_forward"])]
            of["configurations"]["3d_fullres"] |= {"architecture": {}, "resampling_fn_seg": "resample_data_or_seg_to_shape", "resampling_fn_seg_kwargs": {**PLAIN, "is_seg": True, "order": 1}}
            self.image("a_0000.nii.gz", blobs(shape, border=2), spacing)
            path = self.path("in", "a_0000.nii.gz")
            manager = PlansManager(of)
            wanted, _, _ = DefaultPreprocessor(verbose=False).run_case([path], None, manager, manager.get_configuration("3d_fullres"), DATASET)
            recipe = nnunet.load(self.recipe(of), tuple(PATCH))
            np.testing.assert_allclose(recipe.prepare(images.read([path], recipe.reader), 2).values, wanted, atol=3e-6)
            of["configurations"]["3d_cascade"] = {"inherits_from": "3d_fullres", "previous_stage": "3d_lowres"}
            before = scipy.ndimage.zoom(np.random.default_rng(3).integers(0, 4, (4, 5, 6)), np.divide(shape, (4, 5, 6)), order=0, mode="nearest", grid_mode=True).astype(np.uint8)
            self.image("before.nii.gz", before, spacing)
            dataset = DATASET | {"labels": {"background": 0, "one": 1, "two": 2, "three": 3}}
            images_and_labels, seg, _ = DefaultPreprocessor(verbose=False).run_case([path], self.path("in", "before.nii.gz"), manager, manager.get_configuration("3d_fullres"), dataset)
            second = nnunet.load(self.recipe(of, dataset), tuple(PATCH), "3d_cascade")
            made = second.prepare(images.read([path], second.reader), 2, before.astype(np.float32)).values
            np.testing.assert_allclose(made[:1], images_and_labels, atol=3e-6)
            self.assertGreater(len(np.unique(seg)), 3)
            self.assertLess(np.mean([made[i] != (seg[0] == i) for i in (1, 2, 3)]), 1e-3)


if __name__ == "__main__":
    unittest.main()
