"""pznet.infer and `pznet infer` of volumes in stores, against the same of arrays: Zarr 2 and 3, OME-Zarr, N5, precomputed; S3 where moto is there.

PZ_TEST_STORES: how many random volumes (default 30). Exits with 77 without tensorstore.
"""

import contextlib
import http.client
import http.server
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock
import urllib.parse

VENV = os.path.join(os.path.dirname(os.environ.get("PZNET", "")), "venv/bin/python")  # made by make check
try:
    import numpy as np
    import tensorstore as ts
except ImportError:
    if os.path.exists(VENV) and os.path.realpath(sys.prefix) != os.path.realpath(os.path.dirname(os.path.dirname(VENV))):
        os.execv(VENV, [VENV, *sys.argv])
    print("skipped: tensorstore is missing")
    sys.exit(77)

import pznet
from pznet import axes, inferring, stores

NET = os.environ.get("PZ_NETWORK")  # tests/networks' tiny.so: 1 to 2 channels, patches of 4 x 12 x 14
LOCK = threading.Lock()
DTYPES = ["u1", "u2", "i2", "f4", "f8", "i4", "?"]


def make(path, volume, driver, chunks, shards=None, **more):
    """A volume as tensorstore writes it."""
    if driver == "zarr3":
        codecs = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "gzip", "configuration": {"level": 1}}]
        if shards:
            codecs = [{"name": "sharding_indexed", "configuration": {"chunk_shape": list(chunks), "codecs": codecs}}]
        metadata = {"data_type": volume.dtype.name, "codecs": codecs, **more,
                    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(shards or chunks)}}}
    elif driver == "zarr":
        metadata = {"dtype": volume.dtype.str, "chunks": list(chunks), "compressor": {"id": "zlib", "level": 1}, **more}
    else:
        metadata = {"dimensions": list(volume.shape), "blockSize": list(chunks), "dataType": volume.dtype.name, "compression": {"type": "gzip"}, **more}
    kvstore = path if isinstance(path, dict) else {"driver": "file", "path": path + "/"}
    array = ts.open({"driver": driver, "kvstore": kvstore, "metadata": metadata | ({} if driver == "n5" else {"shape": list(volume.shape)})}, create=True).result()
    array.write(volume).result()
    return array


def load(path):
    """Of a result: [channels, z, y, x], and the store."""
    array = stores.Array(path, None, 2)
    of = axes.Axes(array.shape, array.letters, None, array)
    voxels = np.empty((of.channels, *of.shape), array.dtype)
    of.read(array, (0, 0, 0), of.shape, voxels)
    return voxels, array


def kill_and_go_on(test, words, times, rng, **more):
    """A command that tells of its progress is killed so often among its patches, and then ends."""
    environment = {**os.environ, "PZNET_PYTHON": sys.executable, **more}
    for _ in range(times):
        process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=environment)
        for line in process.stderr:
            if '"patches"' in line:
                break
        time.sleep(rng.random() * 0.6)
        process.kill()
        process.stderr.close()
        process.wait()
    ran = subprocess.run(words, stderr=subprocess.PIPE, text=True, env=environment)
    test.assertEqual(ran.returncode, 0, ran.stderr)


def write_json(path, value):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        json.dump(value, f)


def read_json(path):
    with open(path) as f:
        return json.load(f)


class Stores(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="pznet-stores-")
        cls.net = pznet.load(NET, threads=2)
        cls.volume = np.random.default_rng(1).integers(0, 256, (21, 70, 90), np.uint8)
        make(cls.path("in.zarr"), cls.volume, "zarr3", (8, 16, 16), (8, 32, 48))
        cls.want = pznet.infer(cls.volume, cls.net, overlap=1, progress=False)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name)

    def infer(self, volume, out=None, **options):
        return pznet.infer(volume, self.net, out, overlap=1, progress=False, **options)

    def test_random(self):
        rng = random.Random(2)
        for i in range(int(os.environ.get("PZ_TEST_STORES", 30))):
            folder = self.path(f"r{i}")
            shape = tuple(rng.randint(1, n) for n in (14, 60, 60))
            dtype = rng.choice(DTYPES)
            volume = (np.random.default_rng(i).random(shape) * 100).astype(dtype)
            driver = rng.choice(["zarr", "zarr3", "zarr3", "n5"]) if dtype != "?" else rng.choice(["zarr", "zarr3"])
            chunks = [rng.randint(1, n + 3) for n in shape]
            shards = [c * rng.randint(1, 3) for c in chunks] if rng.random() < 0.5 else None
            make(f"{folder}/in", volume.transpose() if driver == "n5" else volume, driver, chunks[::-1] if driver == "n5" else chunks, shards)
            start = [rng.randrange(n) for n in shape]
            box = [(a, rng.randint(a + 1, n)) for a, n in zip(start, shape)] if rng.random() < 0.5 else None
            options = {"overlap": [rng.randint(0, n) for n in (3, 8, 9)], "box": box, "normalize": rng.choice(["none", "zscore"]), "progress": False,
                       "argmax": rng.random() < 0.3, "nan": "zero"}
            want = np.atleast_3d(pznet.infer(volume, self.net, **options))
            want = want if want.ndim == 4 else want[None]
            out_format = rng.choice(stores.FORMATS)
            out_chunks = [rng.randint(1, 24) for _ in range(3)]
            out_shards = [c * rng.randint(1, 3) for c in out_chunks] if out_format == "zarr3" and rng.random() < 0.6 else None
            memory = rng.choice([0, 0, 1])
            try:
                pznet.infer(f"{folder}/in", self.net, f"{folder}/out.zarr", format=out_format, chunks=out_chunks, shards=out_shards, memory=memory, **options)
            except MemoryError as error:  # too little is refused with the number that is needed
                needed = int(str(error).split("(")[1].split()[0])
                pznet.infer(f"{folder}/in", self.net, f"{folder}/out.zarr", format=out_format, chunks=out_chunks, shards=out_shards, memory=needed, **options)
            got, _ = load(f"{folder}/out.zarr")
            np.testing.assert_array_equal(got, want, err_msg=f"{i}: {shape} {driver} {chunks} {shards} to {out_format} {out_chunks} {out_shards} {options}")
            self.assertEqual(sorted(os.listdir(folder)), ["in", "out.zarr"])
            shutil.rmtree(folder)

    def test_chunks_are_read_once_and_shards_written_once(self):
        def count(name):
            return sum(v["value"] for m in ts.experimental_collect_matching_metrics(name) for v in m["values"] if m["name"] == name)

        for memory in 0, 30 << 20:
            read = []
            array = stores.Array(self.path("in.zarr"), None, 2)
            of, take = type(array), type(array).read_into
            try:
                of.read_into = lambda s, key, to: (read.append(key), take(s, key, to))[1]
                before = count("/tensorstore/kvstore/file/write")
                self.infer(self.path("in.zarr"), self.path("once.zarr"), chunks=(8, 16, 16), shards=(8, 32, 32), memory=memory)
                written = count("/tensorstore/kvstore/file/write") - before
            finally:
                of.read_into = take
            self.assertEqual(written, 3 * 3 * 3 + 2)  # shards, and two descriptions
            planes = [(k[0] if isinstance(k, tuple) else k) for k in read]
            for key in planes:
                self.assertTrue(key.start % 8 == 0 and (key.stop % 8 == 0 or key.stop == 21), planes)
            if not memory:
                self.assertEqual(len(planes), len(set((p.start, p.stop) for p in planes)))
                self.assertEqual(sum(p.stop - p.start for p in planes), 21)

    def test_arrays_of_chunks_are_asked_for_once(self):
        class Chunked:
            shape, dtype, chunks, asked = self.volume.shape, self.volume.dtype, (8, 16, 16), []

            def __getitem__(this, key):
                this.asked.append(key if isinstance(key, slice) else key[0])
                return self.volume[key]

        volume = Chunked()
        np.testing.assert_array_equal(self.infer(volume), self.want)
        asked = sorted((k.start, k.stop) for k in volume.asked)
        self.assertTrue(all(start % 8 == 0 and (stop % 8 == 0 or stop == 21) for start, stop in asked))
        self.assertEqual([start for start, _ in asked] + [21], [0] + [stop for _, stop in asked])

    def test_read_back_by_others(self):
        try:
            import zarr
        except ImportError:
            self.skipTest("zarr-python is missing")
        for name in "zarr3", "zarr2":
            out = self.path(f"others-{name}.zarr")
            self.infer(self.path("in.zarr"), out, format=name, codec="gzip:3")
            group = zarr.open_group(out, mode="r")
            np.testing.assert_array_equal(group["0"][:], self.want)
        try:
            from ome_zarr.io import parse_url
            from ome_zarr.reader import Reader
            from ome_zarr_models.v04.image import Image as Image04
            from ome_zarr_models.v05.image import Image as Image05
        except ImportError:
            self.skipTest("ome-zarr or ome-zarr-models is missing")
        for name, Image in {"zarr3": Image05, "zarr2": Image04}.items():
            out = self.path(f"others-{name}.zarr")
            image = Image.from_zarr(zarr.open_group(out, mode="r"))  # refuses what the specification does not allow
            multiscales = image.attributes.ome.multiscales if name == "zarr3" else image.attributes.multiscales
            self.assertEqual([a.name for a in multiscales[0].axes], list("czyx"))
            nodes = list(Reader(parse_url(out))())
            np.testing.assert_array_equal(np.asarray(nodes[0].data[0]), self.want)

    def ome(self, name, scale, translation, units, v=3):
        """An OME-Zarr image of two levels."""
        levels = [self.volume, self.volume[:, ::2, ::2]]
        datasets = []
        for i, level in enumerate(levels):
            make(self.path(f"{name}/s{i}"), level[None], "zarr3" if v == 3 else "zarr", (1, 8, 16, 16))
            transforms = [{"type": "scale", "scale": [1, scale[0], scale[1] * 2**i, scale[2] * 2**i]}, {"type": "translation", "translation": [0, *translation]}]
            datasets.append({"path": f"s{i}", "coordinateTransformations": transforms})
        all_axes = [{"name": "c", "type": "channel"}, *({"name": a, "type": "space", "unit": u} for a, u in zip("zyx", units))]
        multiscales = [{"axes": all_axes, "datasets": datasets, "version": "0.4"}]
        if v == 3:
            write_json(self.path(f"{name}/zarr.json"), {"zarr_format": 3, "node_type": "group", "attributes": {"ome": {"version": "0.5", "multiscales": multiscales}}})
        else:
            write_json(self.path(f"{name}/.zgroup"), {"zarr_format": 2})
            write_json(self.path(f"{name}/.zattrs"), {"multiscales": multiscales})
        return self.path(name)

    def test_sharded_precomputed(self):
        """What tensorstore writes in shards (https://github.com/google/neuroglancer: precomputed/sharded.md)."""
        volume, path = self.volume, self.path("sharded.precomputed")
        array = ts.open({"driver": "neuroglancer_precomputed", "kvstore": {"driver": "file", "path": path + "/"},
                         "multiscale_metadata": {"type": "image", "data_type": "uint8", "num_channels": 1},
                         "scale_metadata": {"size": list(volume.shape[::-1]), "resolution": [4, 4, 40], "chunk_size": [16, 16, 8], "encoding": "raw",
                                            "sharding": {"@type": "neuroglancer_uint64_sharded_v1", "preshift_bits": 1, "minishard_bits": 1, "shard_bits": 2, "hash": "identity",
                                                         "minishard_index_encoding": "gzip", "data_encoding": "gzip"}}}, create=True).result()
        array[..., 0].write(volume.transpose(2, 1, 0)).result()
        self.assertTrue(any(n.endswith(".shard") for _, _, names in os.walk(path) for n in names))
        np.testing.assert_array_equal(self.infer(path, box="2:9,3:30,:"), self.infer(volume, box="2:9,3:30,:"))

    def test_geometry_travels(self):
        for v in 2, 3:
            image = self.ome(f"ome{v}.zarr", (0.04, 8, 8), (0, 104, 200), ("micrometer", "nanometer", "nanometer"), v)
            for format, out in ("zarr3", "g.zarr"), ("zarr2", "g2.zarr"), ("n5", "g.n5"), ("precomputed", "g.precomputed"):
                self.infer(image, self.path(out), box="2:,15:,:", format=format, at="level=s0")
                got, array = load(self.path(out))
                np.testing.assert_array_equal(got, self.want[:, 2:, 15:])
                voxel, unit, origin = array.said.geometry()
                np.testing.assert_allclose(voxel, (40, 8, 8))
                self.assertEqual(unit, "nm")
                np.testing.assert_allclose(origin, (80, 224, 200))
            moved = self.ome(f"moved{v}.zarr", (1, 8, 8), (0, 100, 200), ("nanometer",) * 3, v)
            with self.assertWarnsRegex(UserWarning, "the origin was moved"):
                self.infer(moved, self.path("g.precomputed"), format="precomputed")
            half = pznet.infer(self.volume[:, ::2, ::2], self.net, overlap=1, progress=False)
            for level in "s1", "1":
                self.infer(image, self.path("half.zarr"), at={"level": level})
                got, array = load(self.path("half.zarr"))
                np.testing.assert_array_equal(got, half)
                np.testing.assert_allclose(array.said.geometry()[0], (40, 16, 16))
            self.infer(image, self.path("g.nii"), argmax=True)
            report, _ = inferring.run(self.path("g.nii"), self.net, self.path("back.zarr"), **{k: v for k, v in pznet.infer.__kwdefaults__.items() if k != "progress"}, progress=False)
            np.testing.assert_allclose(report["input"]["voxel_size"], (0.04, 0.008, 0.008), rtol=1e-6)
            _, array = load(self.path("back.zarr"))
            np.testing.assert_allclose(array.said.geometry()[0], (0.04, 0.008, 0.008), rtol=1e-6)

    def test_an_old_result_is_replaced_whole_or_stays(self):
        out = self.path("old.zarr")
        self.infer(self.path("in.zarr"), out, argmax=True)
        before = load(out)[0]

        class Broken:
            shape, dtype = self.volume.shape, self.volume.dtype

            def __getitem__(this, key):
                z = key[0] if isinstance(key, tuple) else key
                if z.stop > 12:
                    raise KeyError("lost")
                return self.volume[key]

        with self.assertRaises(KeyError):
            self.infer(Broken(), out)
        np.testing.assert_array_equal(load(out)[0], before)
        with self.assertRaisesRegex(OSError, "is not to be overwritten"):
            self.infer(self.path("in.zarr"), out, overwrite=False)
        self.infer(self.path("in.zarr"), out)
        np.testing.assert_array_equal(load(out)[0], self.want)
        self.assertEqual([n for n in os.listdir(self.folder) if n.startswith("old.zarr")], ["old.zarr"])

    def test_refused(self):
        write_json(self.path("bad.zarr/zarr.json"), {"zarr_format": 3, "node_type": "group", "attributes": {"ome": {"multiscales": [{}]}}})
        write_json(self.path("group.zarr/zarr.json"), {"zarr_format": 3, "node_type": "group", "attributes": {}})
        write_json(self.path("list.zarr/zarr.json"), [1])
        write_json(self.path("n.n5/attributes.json"), {"n5": "2"})
        write_json(self.path("p.precomputed/info"), {"type": "image"})
        os.makedirs(self.path("empty.zarr"))
        os.makedirs(self.path("mine/inside"))
        with open(self.path("torn.zarr"), "w") as f:
            f.write("a file")
        with open(self.path("torn.json"), "w") as f:
            f.write("{")
        os.makedirs(self.path("torn2.zarr"))
        shutil.copy(self.path("torn.json"), self.path("torn2.zarr/zarr.json"))
        image = self.ome("levels.zarr", (1, 1, 1), (0, 0, 0), ("nanometer",) * 3)
        misfit = read_json(f"{image}/zarr.json")
        misfit["attributes"]["ome"]["multiscales"][0]["axes"] = [{"name": a} for a in "xyz"]
        shutil.copytree(image, self.path("misfit.zarr"))
        write_json(self.path("misfit.zarr/zarr.json"), misfit)
        good, cases = self.path("in.zarr"), [
            ("bad.zarr", {}, "name no dataset"), ("group.zarr", {}, "a Zarr group and no image"), ("list.zarr", {}, "expected a JSON object"),
            ("torn2.zarr", {}, "is no JSON"), ("n.n5", {}, "no dataset"), ("p.precomputed", {}, "has no scales"), ("empty.zarr", {}, "no Zarr, N5 or precomputed volume"),
            ("nowhere.zarr", {}, "no Zarr, N5 or precomputed volume"), ("levels.zarr", {"at": "level=s7"}, "expected one of s0, s1"), ("in.zarr", {"at": "level=0"}, "has no levels"),
            ("misfit.zarr", {}, "do not fit"), ("in.zarr", {"box": "0:22,:,:"}, "the box goes from 0 to 22 along z"), ("in.zarr", {"axes": "zyxc"}, "name 4 axes"),
            ("in.zarr", {"memory": 1}, "are needed")]
        for name, options, says in cases:
            with self.subTest(name=name, options=options), self.assertRaisesRegex((OSError, ValueError, MemoryError, pznet.Error), says) as raised:
                self.infer(self.path(name), self.path("refused.zarr"), **options)
            self.assertNotIn("\n", str(raised.exception))
        outputs = [("refused.zarr", {"format": "zarr4"}, "expected zarr3"), ("refused.zarr", {"chunks": (8, 0, 8)}, "expected voxels"),
                   ("refused.zarr", {"chunks": 16, "shards": 24}, "expected multiples"), ("refused.n5", {"shards": 64}, "is written in chunks"),
                   ("refused.zarr", {"codec": "lzma"}, "expected zstd"), ("refused.zarr", {"codec": "blosc:3"}, "expected a level"),
                   ("nofolder/refused.zarr", {}, "is not there"), ("torn.zarr", {}, "is no Zarr"), ("mine", {"format": "zarr3"}, "is of outputs in stores"),
                   ("refused.npy", {"codec": "zstd"}, "are of outputs in stores")]
        for name, options, says in outputs:
            with self.subTest(name=name, options=options), self.assertRaisesRegex((OSError, ValueError, MemoryError, pznet.Error), says):
                self.infer(good, self.path(name), **options)
        large = np.lib.stride_tricks.as_strided(np.zeros(1, np.uint8), (64, 4096, 4096), (0, 0, 0))
        with self.assertRaisesRegex(MemoryError, "are needed"):  # a shard is larger than that
            self.infer(large, self.path("refused.zarr"), shards=(64, 4096, 4096), memory=1 << 30)
        self.assertFalse([n for n in os.listdir(self.folder) if n.startswith("refused")])

    def run_once(self, volume, out, after=None, **options):
        """The patches that ran; after: so many an exception ends it."""
        def progress(what, done, total, seconds):
            if after is not None and what == "patches" and done >= after:
                raise KeyboardInterrupt

        given = {k: v for k, v in pznet.infer.__kwdefaults__.items()} | {"overlap": 1, "progress": progress, "resume": True} | options
        return inferring.run(volume, self.net, out, **given)[0]

    def test_resume(self):
        rng = random.Random(5)
        for i, format in enumerate(stores.FORMATS * 2):
            out = self.path(f"resume{i}.zarr")
            options = {"format": format, "chunks": (4, 16, 16), "memory": 0 if i % 2 else 30 << 20, "normalize": "zscore"}
            whole = self.run_once(self.path("in.zarr"), self.path("whole.zarr"), resume=False, **options)
            total, ran, after = whole["patches"], 0, 0
            for after in sorted(rng.sample(range(1, total), 3)):
                with self.assertRaises(KeyboardInterrupt):
                    self.run_once(self.path("in.zarr"), out, after, **options)
                self.assertFalse(os.path.exists(out))
                self.assertTrue(os.path.isdir(f"{out}.pznet-job"))
            if format == "zarr3":
                with self.assertRaisesRegex(OSError, "begun with another format, other chunks"):
                    self.run_once(self.path("in.zarr"), out, **options | {"chunks": (4, 16, 8)})
                with self.assertRaisesRegex(ValueError, "the overlap was"):
                    self.run_once(self.path("in.zarr"), out, **options | {"overlap": 2})
            report = self.run_once(self.path("in.zarr"), out, **options | {"memory": 0})
            if after > total // 2 and i % 2 == 0:  # with more memory all of so small a volume is written at once
                self.assertLess(report["patches_run"], total)
            np.testing.assert_array_equal(load(out)[0], load(self.path("whole.zarr"))[0])
            self.assertEqual([n for n in os.listdir(self.folder) if n.startswith(f"resume{i}")], [f"resume{i}.zarr"])
            report = self.run_once(self.path("in.zarr"), out, **options | {"memory": 0})
            self.assertEqual((report["finished_before"], report["patches_run"]), (True, 0))
            self.assertEqual([n for n in os.listdir(self.folder) if n.startswith(f"resume{i}")], [f"resume{i}.zarr"])

    def test_killed(self):
        big, out, rng = self.path("kill.zarr"), self.path("killed.zarr"), random.Random(6)
        volume = np.random.default_rng(6).integers(0, 256, (40, 150, 150), np.uint8)
        make(big, volume, "zarr3", (8, 64, 64))
        words = [os.environ["PZNET"], "infer", NET, big, out, "--overlap", "2,8,8", "--threads", "1", "--progress", "json", "--resume", "--chunks", "4,32,32", "--memory", "32M"]
        kill_and_go_on(self, words, 4, rng)
        np.testing.assert_array_equal(load(out)[0], pznet.infer(volume, self.net, overlap=(2, 8, 8), progress=False))
        self.assertEqual([n for n in os.listdir(self.folder) if n.startswith("killed")], ["killed.zarr"])

    def command(self, *words, **environment):
        return subprocess.run([os.environ["PZNET"], "infer", NET, *words], capture_output=True, text=True, timeout=120,
                              env={**os.environ, "PZNET_PYTHON": sys.executable, **environment})

    def test_command(self):
        out = self.path("command.zarr")
        ran = self.command(self.path("in.zarr"), out, "--overlap", "1", "--threads", "2", "--box", "3:,:,5:80", "--json", self.path("report.json"))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        np.testing.assert_array_equal(load(out)[0], self.want[:, 3:, :, 5:80])
        report = read_json(self.path("report.json"))
        self.assertEqual(report["output"]["shape"], [18, 70, 75])
        self.assertEqual(report["output"]["first_voxel"], [3, 0, 5])
        self.assertIn("patches, peak memory about", ran.stderr)
        every = ["--blend", "gaussian", "--border", "zero", "--augment", "mirror:0,2", "--normalize", "zscore", "--nan", "propagate", "--dtype", "u8", "--sigmoid",
                 "--crop", "1,2,3", "--overlap", "0.25,0.5,0.5", "--memory", "1G", "--axes", "zyx", "--tiling", "pznet", "--sums", "float"]
        ran = self.command(self.path("in.zarr"), out, "-q", *every, "--format", "zarr2", "--chunks", "8,32,32", "--codec", "none")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        want = pznet.infer(self.volume, self.net, blend="gaussian", border="zero", augment=(0, 2), normalize="zscore", nan="propagate", dtype="u8", sigmoid=True,
                           crop=(1, 2, 3), overlap=(0.25, 0.5, 0.5), progress=False)
        np.testing.assert_array_equal(load(out)[0], want)
        for words, status, says in (([self.path("nowhere.zarr"), out], 3, "no Zarr"), ([self.path("in.zarr"), out, "--box", "0:99,:,:"], 2, "the box goes"),
                                    ([self.path("in.zarr"), out, "--digest", "0" * 64], 3, "SHA-256"), ([self.path("in.zarr"), self.path("x.npy"), "--codec", "zstd"], 2, "stores")):
            ran = self.command(*words, "-q")
            self.assertEqual((ran.returncode, ran.stderr.count("\n")), (status, 1), ran.stderr)
            self.assertIn(says, ran.stderr)
        ran = self.command(self.path("in.zarr"), out, PZNET_PYTHON="/nowhere/python")
        self.assertIn("pip install 'pznet[zarr]'", ran.stderr)
        ran = self.command(self.path("in.zarr"), out, PYTHONPATH="/nowhere")
        self.assertIn("pip install 'pznet[zarr]'", ran.stderr)

    def test_command_is_interrupted(self):
        big = self.path("big.zarr")
        make(big, np.ones((64, 256, 256), np.uint8), "zarr3", (16, 64, 64))
        process = subprocess.Popen([os.environ["PZNET"], "infer", NET, big, self.path("stopped.zarr"), "--overlap", "3,11,13", "--threads", "1", "--progress", "json"],
                                   stderr=subprocess.PIPE, text=True, env={**os.environ, "PZNET_PYTHON": sys.executable})
        for line in process.stderr:
            if '"patches"' in line:
                break
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
        process.stderr.close()
        self.assertEqual(process.wait(30), 130, rest)
        self.assertEqual(rest.strip().splitlines()[-1], "pznet: interrupted; the same command with --resume goes on from what was recorded")
        self.assertEqual(sorted(n for n in os.listdir(self.folder) if n.startswith("stopped")), ["stopped.zarr.pznet-job", "stopped.zarr.pznet-part"])


class Unreadable:
    def __init__(self, volume):
        self.shape, self.dtype, self.volume = volume.shape, volume.dtype, volume

    def __getitem__(self, key):
        z = key[0] if isinstance(key, tuple) else key
        if z.stop > 12:
            raise KeyError("lost")
        return self.volume[key]


class Proxy(http.server.BaseHTTPRequestHandler):
    """Between tensorstore and a server: `fault(count, handler)` gives a status and a body in place of its answer, or None."""

    protocol_version, wbufsize = "HTTP/1.1", -1  # an answer goes out at once: in parts it would wait for the other side, 40 ms each
    target = ("127.0.0.1", 0)
    fault = staticmethod(lambda count, handler: None)
    count = 0

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with LOCK:
            type(self).count += 1
            count = self.count
        status, headers, data = 0, {}, b""
        fault = self.fault(count, self)
        if fault:
            status, data = fault
        else:
            link = http.client.HTTPConnection(*self.target, timeout=60)
            link.request(self.command, self.path, body, {k: v for k, v in self.headers.items() if k.lower() not in ("connection", "host")})
            answer = link.getresponse()
            status, data = answer.status, answer.read()
            headers = {k: v for k, v in answer.getheaders() if k.lower() not in ("connection", "content-length", "transfer-encoding", "date", "server")}
            headers |= {"Content-Length": answer.getheader("Content-Length")} if self.command == "HEAD" else {}
        self.send_response(status)
        for k, v in ({"Content-Length": str(len(data))} | headers).items():
            self.send_header(k, v)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = answer

    def log_message(self, *words):
        pass


def part_of(data, part, headers):
    """Status, body and headers for the Range that is asked for, or none."""
    if not part:
        return 200, data, headers
    first, last = part.split("=")[1].split("-")
    at = int(first) if first else max(0, len(data) - int(last))
    end = min(int(last) + 1 if first and last else len(data), len(data))
    return 206, data[at:end], headers | {"Content-Range": f"bytes {at}-{end - 1}/{len(data)}"}


class Files(http.server.BaseHTTPRequestHandler):
    """A folder's files, whole or parts of them."""

    protocol_version, wbufsize = "HTTP/1.1", -1  # an answer goes out at once: in parts it would wait for the other side, 40 ms each
    folder = ""

    def do_GET(self):
        path = os.path.join(self.folder, self.path.lstrip("/"))
        status, data, headers = part_of(open(path, "rb").read(), self.headers.get("Range"), {}) if os.path.isfile(path) else (404, b"", {})
        self.send_response(status)
        for k, v in ({"Content-Length": str(len(data))} | headers).items():
            self.send_header(k, v)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)

    do_HEAD = do_GET

    def log_message(self, *words):
        pass


@contextlib.contextmanager
def serving(handler):
    """Its port, while it is served."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


ERROR = "<?xml version='1.0'?><Error><Code>{}</Code><Message>{}</Message></Error>"


class S3(unittest.TestCase):
    """Against moto's server on this machine."""

    @classmethod
    def setUpClass(cls):
        try:
            import moto  # noqa: F401
        except ImportError:
            raise unittest.SkipTest("moto is missing")
        cls.port = random.randint(20000, 40000)
        cls.server = subprocess.Popen([sys.executable, "-m", "moto.server", "-p", str(cls.port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.environ |= {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{cls.port}", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1"}
        import boto3
        for _ in range(100):
            try:
                boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"], region_name="us-east-1").create_bucket(Bucket="lab")
                break
            except Exception:
                time.sleep(0.2)
        cls.net = pznet.load(NET, threads=2)
        cls.volume = np.random.default_rng(3).integers(0, 256, (16, 60, 60), np.uint8)
        make(stores.Place("s3://lab/in.zarr", 2).spec, cls.volume, "zarr3", (8, 16, 16), (8, 32, 32))
        cls.want = pznet.infer(cls.volume, cls.net, overlap=1, progress=False)

    @classmethod
    def tearDownClass(cls):
        cls.server.send_signal(signal.SIGCONT)
        cls.server.kill()
        cls.server.wait()

    def test_from_bucket_to_bucket(self):
        pznet.infer("s3://lab/in.zarr", self.net, "s3://lab/out.zarr", overlap=1, progress=False)
        np.testing.assert_array_equal(load("s3://lab/out.zarr")[0], self.want)

        def stop(what, done, total, seconds):
            if what == "patches" and done > total // 2:
                raise KeyboardInterrupt

        with tempfile.TemporaryDirectory() as cache, unittest.mock.patch.dict(os.environ, {"PZNET_CACHE_DIR": cache}):
            with self.assertRaises(KeyboardInterrupt):
                pznet.infer("s3://lab/in.zarr", self.net, "s3://lab/again.zarr", overlap=1, chunks=(4, 16, 16), progress=stop)
            self.assertEqual(len(os.listdir(f"{cache}/jobs")), 1)
            pznet.infer("s3://lab/in.zarr", self.net, "s3://lab/again.zarr", overlap=1, chunks=(4, 16, 16), progress=False, resume=True)
            np.testing.assert_array_equal(load("s3://lab/again.zarr")[0], self.want)
            self.assertEqual(os.listdir(f"{cache}/jobs"), [])
            with self.assertRaises(KeyError):
                pznet.infer(Unreadable(self.volume), self.net, "s3://lab/never.zarr", overlap=1, progress=False)
        self.assertIsNone(stores.Place("s3://lab/never.zarr", 2).read("0/zarr.json"))
        with self.assertRaisesRegex(OSError, "is not replaced in a bucket"):
            pznet.infer("s3://lab/in.zarr", self.net, "s3://lab/out.zarr", overlap=1, progress=False)
        got = pznet.infer("s3://lab/out.zarr/0", self.net, at="c=0", box="0:4,:,:", progress=False)
        self.assertEqual(got.shape, (2, 4, 60, 60))
        for path, says in ("s3://lab/nothing.zarr", "no Zarr"), ("s3://nosuchbucket/x.zarr", "bucket|no Zarr|404"), ("s3://x/y.zarr", "at least 3 letters"):
            with self.assertRaisesRegex(OSError, says):
                pznet.infer(path, self.net, progress=False)

    @contextlib.contextmanager
    def faults(self, fault):
        """What answers in between, and the environment that leads there."""
        handler = type("Faulty", (Proxy,), {"target": ("127.0.0.1", self.port), "fault": staticmethod(fault), "count": 0})
        sooner = unittest.mock.patch.dict(stores.RETRIES, {"initial_delay": "0.01s", "max_delay": "0.1s"})  # as often as else
        with serving(handler) as port, sooner, unittest.mock.patch.dict(os.environ, {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}"}):
            yield handler

    def test_a_server_in_trouble(self):
        """Of each of some answers one in four is an error that passes."""
        for i, (status, code) in enumerate([(500, "InternalError"), (503, "SlowDown"), (502, "BadGateway"), (429, "TooManyRequests")]):
            with self.faults(lambda n, _: (status, ERROR.format(code, "again").encode()) if n % 4 == 2 else None) as handler:
                pznet.infer("s3://lab/in.zarr", self.net, f"s3://lab/trouble{i}.zarr", overlap=1, chunks=(4, 16, 16), progress=False)
            self.assertGreater(handler.count, 20)
            np.testing.assert_array_equal(load(f"s3://lab/trouble{i}.zarr")[0], self.want)

    def test_a_server_that_fails_for_good(self):
        out = "s3://lab/gone.zarr"
        with self.faults(lambda n, h: (500, ERROR.format("InternalError", "no").encode()) if n > 30 else None), \
                tempfile.TemporaryDirectory() as cache, unittest.mock.patch.dict(os.environ, {"PZNET_CACHE_DIR": cache}):
            with self.assertRaisesRegex(OSError, r"(?s)^(?!.*\n).*s3://lab/") as caught:
                pznet.infer("s3://lab/in.zarr", self.net, out, overlap=1, chunks=(4, 16, 16), progress=False)
            self.assertLess(len(str(caught.exception)), 500)

    def test_wrong_credentials(self):
        for code in "InvalidAccessKeyId", "SignatureDoesNotMatch", "AccessDenied":
            with self.faults(lambda n, _: (403, ERROR.format(code, "no").encode())):
                run = subprocess.run([os.environ["PZNET"], "infer", NET, "s3://lab/in.zarr", "/tmp/never.npy", "-q"], capture_output=True, text=True, timeout=120,
                                     env={**os.environ, "PZNET_PYTHON": sys.executable})
                self.assertEqual((run.returncode != 0, run.stdout), (True, ""))
                self.assertRegex(run.stderr, r"^pznet[^\n]*s3://lab/in.zarr: [^\n]*access is denied[^\n]*\n$")

    def test_no_credentials(self):
        with self.faults(lambda n, _: (403, ERROR.format("AccessDenied", "no").encode())), tempfile.TemporaryDirectory() as home:
            bare = {k: v for k, v in os.environ.items() if not k.startswith("AWS_A") and not k.startswith("AWS_S")}
            run = subprocess.run([os.environ["PZNET"], "infer", NET, "s3://lab/in.zarr", f"{home}/never.npy", "-q"], capture_output=True, text=True, timeout=120,
                                 env={**bare, "PZNET_PYTHON": sys.executable, "HOME": home, "AWS_EC2_METADATA_DISABLED": "true"})
            self.assertRegex(run.stderr, r"^pznet[^\n]*access is denied: no credentials were found; set AWS_ACCESS_KEY_ID[^\n]*\n$")
            self.assertNotEqual(run.returncode, 0)

    def test_killed(self):
        rng, volume = random.Random(8), np.random.default_rng(8).integers(0, 256, (24, 100, 100), np.uint8)
        make(stores.Place("s3://lab/kill.zarr", 2).spec, volume, "zarr3", (8, 32, 32))
        with tempfile.TemporaryDirectory() as cache:
            words = [os.environ["PZNET"], "infer", NET, "s3://lab/kill.zarr", "s3://lab/killed.zarr", "--overlap", "2,8,8", "--threads", "1", "--progress", "json", "--resume",
                     "--chunks", "4,32,32", "--memory", "32M"]
            kill_and_go_on(self, words, 3, rng, PZNET_CACHE_DIR=cache)
        np.testing.assert_array_equal(load("s3://lab/killed.zarr")[0], pznet.infer(volume, self.net, overlap=(2, 8, 8), progress=False))

    def test_a_server_that_does_not_answer(self):
        before, stores.DEADLINE = stores.Place.wait.__defaults__, 1.0
        stores.Place.wait.__defaults__ = (1.0,)
        self.server.send_signal(signal.SIGSTOP)
        try:
            start = time.monotonic()
            with self.assertRaisesRegex(OSError, "no answer within 1 s"):
                pznet.infer("s3://lab/in.zarr", self.net, progress=False)
            self.assertLess(time.monotonic() - start, 60)
        finally:
            self.server.send_signal(signal.SIGCONT)
            stores.Place.wait.__defaults__ = before


class Http(unittest.TestCase):
    def test_read(self):
        volume = np.random.default_rng(4).integers(0, 256, (12, 40, 50), np.uint8)
        with tempfile.TemporaryDirectory() as folder, serving(type("Served", (Files,), {"folder": folder})) as port:
            net = pznet.load(NET, threads=2)
            want = pznet.infer(volume, net, overlap=1, progress=False)
            make(f"{folder}/a.zarr", volume, "zarr3", (4, 16, 16), (8, 32, 32))
            make(f"{folder}/b.zarr", volume, "zarr", (4, 16, 16))
            make(f"{folder}/c.n5", volume.transpose(2, 1, 0), "n5", (16, 16, 4))
            for name in "a.zarr", "b.zarr", "c.n5":
                np.testing.assert_array_equal(pznet.infer(f"http://127.0.0.1:{port}/{name}", net, overlap=1, progress=False), want)
            with self.assertRaisesRegex(OSError, "nothing is written over HTTP"):
                pznet.infer(volume, net, f"http://127.0.0.1:{port}/out.zarr", progress=False)
            with self.assertRaisesRegex(OSError, "no Zarr"):
                pznet.infer(f"http://127.0.0.1:{port}/d.zarr", net, progress=False)


class Bucket(http.server.BaseHTTPRequestHandler):
    """Of Google's JSON API what reads, writes, lists and removes objects (https://cloud.google.com/storage/docs/json_api/v1/objects)."""

    protocol_version, wbufsize = "HTTP/1.1", -1  # an answer goes out at once: in parts it would wait for the other side, 40 ms each

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        name = query.get("name") or urllib.parse.unquote(url.path.partition("/o/")[2])
        with LOCK:
            self.send(*self.act(query, name, body))

    def act(self, query, name, body):
        data, generation = self.objects.get(name, (None, 0))
        if "ifGenerationMatch" in query and int(query["ifGenerationMatch"]) != generation:
            return 412, b"{}", {}
        if self.command == "POST":
            type(self).counter += 1
            self.objects[name] = body, self.counter
            return 200, json.dumps({"name": name, "generation": str(self.counter)}).encode(), {}
        if not name:
            names = [n for n in sorted(self.objects) if n.startswith(query.get("prefix", ""))]
            return 200, json.dumps({"items": [{"name": n, "size": str(len(self.objects[n][0]))} for n in names]}).encode(), {}
        if data is None:
            return 404, b"{}", {}
        if self.command == "DELETE":
            del self.objects[name]
            return 204, b"", {}
        return part_of(data, self.headers.get("Range"), {"x-goog-generation": str(generation)})

    def send(self, status, data, headers):
        self.send_response(status)
        for k, v in ({"Content-Length": str(len(data))} | headers).items():
            self.send_header(k, v)
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_DELETE = answer

    def log_message(self, *words):
        pass


class Gcs(unittest.TestCase):
    def test_from_bucket_to_bucket(self):
        handler = type("Lab", (Bucket,), {"objects": {}, "counter": 0})
        with serving(handler) as port, unittest.mock.patch.dict(os.environ, {"TENSORSTORE_GCS_HTTP_URL": f"http://127.0.0.1:{port}", "GOOGLE_AUTH_TOKEN_FOR_TESTING": "token"}):
            volume = np.random.default_rng(4).integers(0, 256, (16, 60, 60), np.uint8)
            net = pznet.load(NET, threads=2)
            want = pznet.infer(volume, net, overlap=1, progress=False)
            make(stores.Place("gs://lab/in.zarr", 2).spec, volume, "zarr3", (4, 16, 16), (8, 32, 32))
            for format in stores.FORMATS:
                pznet.infer("gs://lab/in.zarr", net, f"gs://lab/{format}", format=format, overlap=1, progress=False)
                np.testing.assert_array_equal(load(f"gs://lab/{format}")[0], want)
            with self.assertRaisesRegex(OSError, "no Zarr"):
                pznet.infer("gs://lab/nothing.zarr", net, progress=False)
            with self.assertRaisesRegex(OSError, "is not replaced in a bucket"):
                pznet.infer("gs://lab/in.zarr", net, "gs://lab/zarr3", overlap=1, progress=False)
            with self.assertRaises(KeyError):
                pznet.infer(Unreadable(volume), net, "gs://lab/never.zarr", overlap=1, progress=False)
            self.assertEqual([n for n in handler.objects if n.startswith("never")], [])


if __name__ == "__main__":
    unittest.main()
