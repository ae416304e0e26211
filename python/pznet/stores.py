"""Volumes in stores of chunks: Zarr 2 and 3, OME-Zarr 0.4 and 0.5, N5, Neuroglancer's precomputed; in folders, on S3, GCS and over HTTP.

Everything is read and written by tensorstore (`pip install 'pznet[zarr]'`); here is what it does not know: which driver a path is for, what the
axes are, where the voxels lie, and what is written beside the chunks. Each call has a deadline, and its pools have as many threads as the run.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import posixpath
import re
import shutil
import time
from collections.abc import Mapping
from typing import Any, Callable, Sequence
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt

from . import axes as axes_of
from .places import FILES, SCHEMES, SUFFIXES, Finished

FORMATS = ("zarr3", "zarr2", "n5", "precomputed")
DEADLINE = float(os.environ.get("PZNET_STORE_DEADLINE", 60))  # seconds that one call may take, tensorstore's own retries included
RETRIES = {"max_retries": 4, "initial_delay": "0.2s", "max_delay": "5s"}  # tensorstore's own, of one request
TRIES = 3
CHUNK = 64
SHARD_BYTES = 16 << 20  # of a channel; shards are written whole, from memory

METRES = {"nm": 1e-9, "um": 1e-6, "mm": 1e-3, "cm": 1e-2, "m": 1.0}
UNITS = {"nanometer": "nm", "micrometer": "um", "millimeter": "mm", "centimeter": "cm", "meter": "m", "angstrom": "angstrom"}
NAMES = {short: name for name, short in UNITS.items()}


class StoreError(OSError):
    """A store that cannot be read or written as wanted, in one line."""


def tensorstore() -> Any:
    try:
        import tensorstore as ts
    except ImportError:
        raise StoreError("Zarr, N5 and precomputed volumes are read and written through tensorstore: pip install 'pznet[zarr]'") from None
    return ts


# ---------------------------------------------------------------- places


def s3_credentials() -> dict[str, str]:
    """Those that are there, found here, since the SDK that looks for them itself writes a dozen lines where there are none."""
    home = os.path.expanduser("~/.aws/credentials")
    if "AWS_ACCESS_KEY_ID" in os.environ:
        return {"type": "environment"}
    if os.path.exists(os.environ.get("AWS_SHARED_CREDENTIALS_FILE", home)) or "AWS_PROFILE" in os.environ:
        return {"type": "profile"}
    if "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI" in os.environ or "AWS_CONTAINER_CREDENTIALS_FULL_URI" in os.environ:
        return {"type": "ecs"}
    if os.environ.get("AWS_EC2_METADATA_DISABLED", "").lower() != "true":
        try:
            machine = http.client.HTTPConnection("169.254.169.254", timeout=0.3)
            machine.request("PUT", "/latest/api/token", headers={"X-aws-ec2-metadata-token-ttl-seconds": "60"})
            if machine.getresponse().status == 200:
                return {"type": "imds"}
        except (OSError, http.client.HTTPException):
            pass
    return {"type": "anonymous"}


class Place:
    """A folder of a file system, a bucket or a server."""

    def __init__(self, path: str, threads: int) -> None:
        self.text = path
        self.threads = max(1, threads)
        scheme = path.split("://", 1)[0] if "://" in path else ""
        if scheme and scheme not in SCHEMES:
            raise StoreError(f"{path}: expected a folder, or an address that begins with s3://, gs://, http:// or https://")
        url = urlsplit(path)
        self.local: str | None = None
        self.anonymous = False
        if scheme in ("", "file"):
            self.local = os.path.abspath(path[len("file://") :] if scheme else path)
            self.spec: dict[str, Any] = {"driver": "file", "path": self.local + "/"}
        elif scheme in ("s3", "gs"):
            if len(url.netloc) < 3:
                raise StoreError(f"{path}: a bucket's name has at least 3 letters")
            self.spec = {"driver": "s3" if scheme == "s3" else "gcs", "bucket": url.netloc, "path": url.path.strip("/") + "/"}
            if scheme == "s3":
                credentials = s3_credentials()
                self.anonymous = credentials["type"] == "anonymous"
                self.spec["aws_credentials"] = credentials
                for name, variable in (("endpoint", "AWS_ENDPOINT_URL"), ("aws_region", "AWS_REGION"), ("aws_region", "AWS_DEFAULT_REGION")):
                    if os.environ.get(variable):
                        self.spec.setdefault(name, os.environ[variable])
                if "endpoint" in self.spec:
                    self.spec.setdefault("aws_region", "us-east-1")
        else:
            self.spec = {"driver": "http", "base_url": path.rstrip("/") + "/", "path": ""}
        pool = {"limit": self.threads}
        self.context: dict[str, Any] = {"cache_pool": {"total_bytes_limit": 0}, "data_copy_concurrency": pool, "file_io_concurrency": pool}
        if self.spec["driver"] in ("s3", "gcs", "http"):
            name = self.spec["driver"]
            self.context |= {f"{name}_request_retries": RETRIES, f"{name}_request_concurrency": {"limit": 4 * self.threads}}

    def below(self, name: str) -> dict[str, Any]:
        """The spec of a folder or file in it."""
        return self.spec | {"path": posixpath.join(self.spec["path"], name)}

    def wait(self, start: Callable[[], Any], what: str, deadline: float = DEADLINE) -> Any:
        """The result of a future that `start` makes. What a server or a network may do better the next time is tried again, waiting longer."""
        delay = 0.5
        for left in reversed(range(TRIES)):
            try:
                return start().result(timeout=deadline)
            except TimeoutError:
                problem, again = f"no answer within {deadline:.0f} s", True
            except Exception as error:  # tensorstore raises ValueError for nearly everything
                problem, again = self.words(error), any(word in str(error) for word in ("UNAVAILABLE", "ABORTED", "DEADLINE"))
            if not left or not again or self.local:
                raise StoreError(f"{self.text}: {what}: {problem}")
            time.sleep(delay)
            delay *= 2

    def words(self, error: Exception) -> str:
        text = str(error)
        if any(word in text for word in ("PERMISSION_DENIED", "UNAUTHENTICATED", "HTTP response code: 403", "AccessDenied")):
            more = ": no credentials were found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE" if self.anonymous else ""
            return f"access is denied{more}"
        if "NoSuchBucket" in text:
            return "there is no such bucket"
        text = re.sub(r" ?\[source locations=.*|\[tensorstore_spec=.*|\s+", " ", text, flags=re.S).strip()
        text = re.sub(r"^[A-Z_]+: ", "", text)
        return text if len(text) < 300 else text[:300] + "..."

    def files(self) -> Any:
        ts = tensorstore()
        return self.wait(lambda: ts.KvStore.open(self.spec | {"context": self.context}), "opening")

    def read(self, name: str) -> bytes | None:
        """A small file; None where there is none."""
        store = self.files()
        result = self.wait(lambda: store.read(name), f"reading {name}")
        return bytes(result.value) if result.state == "value" else None

    def write(self, name: str, value: bytes) -> None:
        store = self.files()
        self.wait(lambda: store.write(name, value), f"writing {name}")

    def read_json(self, name: str) -> dict[str, Any] | None:
        data = self.read(name)
        if data is None:
            return None
        try:
            value = json.loads(data)
        except ValueError as error:
            raise StoreError(f"{self.text}/{name}: is no JSON: {error}") from None
        if not isinstance(value, dict):
            raise StoreError(f"{self.text}/{name}: expected a JSON object")
        return value


# ---------------------------------------------------------------- what is said of a volume


class Described:
    """An array in a store: its driver, where it is below its place, its axes (letters in the array's order) and geometry."""

    def __init__(self, driver: str, path: str = "") -> None:
        self.driver, self.path = driver, path
        self.letters: str | None = None
        self.scale: dict[str, float] = {}
        self.translation: dict[str, float] = {}
        self.unit: dict[str, str] = {}
        self.levels: list[str] = []
        self.level = 0

    def geometry(self) -> tuple[tuple[float, float, float], str, tuple[float, float, float] | None]:
        """Voxel size, unit and origin along z, y and x; zeros where they are not known of all, or in units that do not go together."""
        unknown = (0.0, 0.0, 0.0), "", None
        sizes = [self.scale.get(a) for a in "zyx"]
        units = [self.unit.get(a, "") for a in "zyx"]
        if any(s is None or not s > 0 for s in sizes):
            return unknown
        to = [1.0, 1.0, 1.0]
        if len(set(units)) > 1:
            if not all(u in METRES for u in units):
                return unknown
            to = [METRES[u] / METRES[units[2]] for u in units]
        origin = [self.translation.get(a, 0.0) * f for a, f in zip("zyx", to)]
        voxel = [float(s) * f for s, f in zip(sizes, to) if s is not None]
        return tuple(voxel), units[2], tuple(origin) if self.translation else None  # type: ignore[return-value]


def numbers(value: Any, n: int) -> list[float] | None:
    good = isinstance(value, list) and len(value) == n and all(isinstance(v, (int, float)) and np.isfinite(v) for v in value)
    return [float(v) for v in value] if good else None


def describe_ome(place: Place, multiscales: Any, driver: str, level: str | None) -> Described:
    """One of OME-Zarr's multiscales, 0.4 or 0.5 (https://ngff.openmicroscopy.org/0.5/)."""
    first = multiscales[0] if isinstance(multiscales, list) and multiscales and isinstance(multiscales[0], dict) else {}
    datasets = [d for d in first.get("datasets", []) if isinstance(d, dict) and isinstance(d.get("path"), str)]
    if not datasets:
        raise StoreError(f"{place.text}: its multiscales name no dataset")
    paths = [d["path"] for d in datasets]
    at = 0
    if level is not None:
        if level not in paths and not (level.isdecimal() and int(level) < len(paths)):
            raise StoreError(f"{place.text}: has no level {level!r}: expected one of {', '.join(paths)}")
        at = paths.index(level) if level in paths else int(level)
    to = Described(driver, paths[at])
    to.levels, to.level = paths, at
    axes = [a for a in first.get("axes", []) if isinstance(a, (dict, str))]
    names = [a if isinstance(a, str) else str(a.get("name", "")) for a in axes] or list("tczyx")
    to.letters = "".join(axes_of.NAMES.get(n.lower(), n.lower()) if len(axes_of.NAMES.get(n.lower(), n)) == 1 else "." for n in names)
    for letter, a in zip(to.letters, axes):
        if isinstance(a, dict) and isinstance(a.get("unit"), str):
            to.unit[letter] = UNITS.get(a["unit"], a["unit"])
    transforms = [datasets[at].get("coordinateTransformations", []), first.get("coordinateTransformations", [])]
    for t in (t for some in transforms if isinstance(some, list) for t in some if isinstance(t, dict)):
        scale, translation = numbers(t.get("scale"), len(names)), numbers(t.get("translation"), len(names))
        for i, letter in enumerate(to.letters):
            if t.get("type") == "scale" and scale:
                to.scale[letter] = to.scale.get(letter, 1.0) * scale[i]
                if letter in to.translation:
                    to.translation[letter] *= scale[i]
            elif t.get("type") == "translation" and translation:
                to.translation[letter] = to.translation.get(letter, 0.0) + translation[i]
    return to


def describe_n5(place: Place, attributes: dict[str, Any]) -> Described:
    """N5 says axes, resolution and unit in the order of its dimensions, x first (https://github.com/saalfeldlab/n5, n5-viewer)."""
    if "dimensions" not in attributes:
        raise StoreError(f"{place.text}: is an N5 group and no dataset: name one of the arrays in it")
    n = len(attributes["dimensions"]) if isinstance(attributes["dimensions"], list) else 0
    to = Described("n5")
    axes = attributes.get("axes")
    to.letters = "".join(axes) if isinstance(axes, list) and len(axes) == n and all(isinstance(a, str) and len(a) == 1 for a in axes) else "xyzct"[:n]
    said: Any = attributes.get("pixelResolution", attributes.get("resolution"))
    unit: Any = attributes.get("units", "")
    if isinstance(said, dict):
        said, unit = said.get("dimensions"), said.get("unit", "")
    for i, size in enumerate((numbers(said, len(said)) or []) if isinstance(said, list) else []):
        letter = to.letters[i] if i < n else ""
        to.scale[letter] = size
        word = unit[i] if isinstance(unit, list) and i < len(unit) else unit
        to.unit[letter] = UNITS.get(word, word) if isinstance(word, str) else ""
    offset = numbers(attributes.get("offset"), n)
    to.translation = dict(zip(to.letters, offset)) if offset else {}
    return to


def describe_precomputed(place: Place, info: dict[str, Any], level: str | None) -> Described:
    """https://github.com/google/neuroglancer: src/datasource/precomputed/volume.md"""
    scales = [s for s in info.get("scales", []) if isinstance(s, dict)] if isinstance(info.get("scales"), list) else []
    if not scales:
        raise StoreError(f"{place.text}: is no volume: its info has no scales")
    to = Described("neuroglancer_precomputed")
    to.levels = [str(s.get("key", i)) for i, s in enumerate(scales)]
    if level is not None:
        if level not in to.levels and not (level.isdecimal() and int(level) < len(scales)):
            raise StoreError(f"{place.text}: has no level {level!r}: expected one of {', '.join(to.levels)}")
        to.level = to.levels.index(level) if level in to.levels else int(level)
    to.letters = "xyzc"
    size, offset = (numbers(scales[to.level].get(name), 3) for name in ("resolution", "voxel_offset"))
    for i, letter in enumerate("xyz"):
        if size:
            to.scale[letter], to.unit[letter] = size[i], "nm"
        if size and offset:
            to.translation[letter] = size[i] * offset[i]
    return to


def describe(place: Place, level: str | None) -> Described:
    """What lies there. Everything that is read from it is hostile."""
    zarr3 = place.read_json("zarr.json")
    if zarr3 is not None:
        attributes = zarr3.get("attributes")
        attributes = attributes if isinstance(attributes, dict) else {}
        if zarr3.get("node_type") == "array":
            return Described("zarr3")
        ome = attributes.get("ome")
        multiscales = (ome if isinstance(ome, dict) else attributes).get("multiscales")
        if multiscales is None:
            raise StoreError(f"{place.text}: is a Zarr group and no image: name one of the arrays in it, as {place.text}/0")
        return describe_ome(place, multiscales, "zarr3", level)
    if place.read(".zarray") is not None:
        return Described("zarr")
    if place.read(".zgroup") is not None or place.read(".zattrs") is not None:
        attributes = place.read_json(".zattrs") or {}
        if "multiscales" not in attributes:
            raise StoreError(f"{place.text}: is a Zarr group and no image: name one of the arrays in it, as {place.text}/0")
        return describe_ome(place, attributes["multiscales"], "zarr", level)
    n5 = place.read_json("attributes.json")
    if n5 is not None:
        return describe_n5(place, n5)
    info = place.read_json("info")
    if info is not None:
        return describe_precomputed(place, info, level)
    raise StoreError(f"{place.text}: no Zarr, N5 or precomputed volume is there")


def split_level(at: Any) -> tuple[Any, str | None]:
    """The level of a pyramid out of "t=0,level=s1" or {"t": 0, "level": "s1"}; and what is left."""
    if isinstance(at, Mapping):
        left = {k: v for k, v in at.items() if k != "level"}
        return left or None, str(at["level"]) if "level" in at else None
    parts = str(at).split(",") if at is not None else []
    levels = [p[len("level=") :] for p in parts if p.startswith("level=")]
    left = [p for p in parts if not p.startswith("level=")]
    if len(levels) > 1:
        raise ValueError(f"at {at!r}: names a level twice")
    return ",".join(left) or None, levels[0] if levels else None


# ---------------------------------------------------------------- reading


class Array:
    """An array in a store that is sliced as NumPy's are."""

    def __init__(self, path: str, at: Any, threads: int) -> None:
        ts = tensorstore()
        self.place = Place(path.rstrip("/"), threads)
        self.at, level = split_level(at)
        self.said = describe(self.place, level)
        if level is not None and not self.said.levels:
            raise StoreError(f"{path}: has no levels")
        spec: dict[str, Any] = {"driver": self.said.driver, "kvstore": self.place.below(self.said.path + "/" if self.said.path else "")}
        if self.said.driver == "neuroglancer_precomputed":
            spec["scale_index"] = self.said.level
        self.context = ts.Context(self.place.context)
        opened = self.place.wait(lambda: ts.open(spec, open=True, read=True, context=self.context), "opening the array")
        self.store = opened[ts.d[:].translate_to[0]] if opened.rank else opened
        if not self.store.rank or any(n < 1 for n in self.store.shape):
            raise StoreError(f"{path}: an array of shape {tuple(self.store.shape)}: expected sizes of at least 1")
        self.shape = tuple(int(n) for n in self.store.shape)
        try:
            self.dtype = np.dtype(self.store.dtype.numpy_dtype)
        except (TypeError, ValueError):
            raise StoreError(f"{path}: elements of {self.store.dtype.name}: expected bool, integers or floats") from None
        chunk = self.store.chunk_layout.read_chunk.shape
        self.chunks = tuple(int(n or 1) for n in chunk) if chunk else self.shape
        letters = self.said.letters
        if letters is None and all(self.store.domain.labels):
            letters = axes_of.letters_of(self.store.domain.labels)
        if letters is not None and (len(letters) != len(self.shape) or letters.count("y") != 1 or letters.count("x") != 1):
            raise StoreError(f"{path}: its axes, {letters!r}, do not fit its array of shape {self.shape}; say what they are, as by --axes zyx")
        self.letters = letters
        self.identity = f"{path} of shape {self.shape}, {hashlib.sha256(json.dumps(opened.spec().to_json(), sort_keys=True, default=str).encode()).hexdigest()}"

    def read_into(self, key: Any, to: npt.NDArray[Any]) -> None:
        """store[key] into an array of the same shape, without a copy between."""
        ts = tensorstore()
        target = ts.array(to, copy=False, write=True, context=self.context)
        part = self.store[key]
        self.place.wait(lambda: target.write(part[ts.d[:].translate_to[0]]), "reading")


# ---------------------------------------------------------------- writing


class Layout:
    """How a result is stored. chunks, shards: z, y, x; codec: "zstd", "zstd:LEVEL", "blosc", "gzip", "none"."""

    def __init__(self, path: str, format: str | None, chunks: Any, shards: Any, codec: str | None) -> None:
        suffix = next((s for s in SUFFIXES if path.rstrip("/").lower().endswith(s)), None)
        self.format = format or SUFFIXES.get(suffix or "", "zarr3")
        if self.format not in FORMATS:
            raise ValueError(f"format {format!r}: expected {', '.join(FORMATS[:-1])} or {FORMATS[-1]}")
        self.chunks = self.triple("chunks", chunks) or (CHUNK, CHUNK, CHUNK)
        self.shards = self.triple("shards", shards)
        self.sharded = self.format == "zarr3"
        if self.shards and not self.sharded:
            raise ValueError(f"shards: {self.format} is written in chunks; leave them away, or use format zarr3")
        if self.shards and any(s % c for s, c in zip(self.shards, self.chunks)):
            raise ValueError(f"shards {','.join(map(str, self.shards))}: expected multiples of the chunks, {','.join(map(str, self.chunks))}")
        name, _, level = (codec or "zstd").partition(":")
        known = {"zarr3": ("zstd", "blosc", "gzip", "none"), "zarr2": ("zstd", "blosc", "gzip", "none"), "n5": ("zstd", "blosc", "gzip", "none")}
        if name not in known.get(self.format, ("none",)) and codec is not None:
            raise ValueError(f"codec {codec!r}: expected {', '.join(known.get(self.format, ('none',)))}, for zstd and gzip perhaps with a level as in zstd:3")
        if level and not (level.isdecimal() and int(level) <= 22 and name in ("zstd", "gzip")):
            raise ValueError(f"codec {codec!r}: expected a level as in zstd:3")
        self.codec, self.level = name, int(level) if level else 1

    @staticmethod
    def triple(name: str, value: Any) -> tuple[int, int, int] | None:
        if value is None:
            return None
        parts = value.split(",") if isinstance(value, str) else list(value) if isinstance(value, Sequence) else [value]
        parts = parts * 3 if len(parts) == 1 else parts
        if len(parts) != 3 or any(not str(p).strip().isdecimal() or not 0 < int(p) < 1 << 20 for p in parts):
            raise ValueError(f"{name} {value!r}: expected voxels along z, y and x, as 64,256,256")
        return tuple(int(p) for p in parts)  # type: ignore[return-value]

    def step(self, element: int) -> tuple[int, int, int]:
        """What is written at once. By default shards of about SHARD_BYTES a channel, as thick as a chunk."""
        if not self.sharded:
            return self.chunks
        if self.shards is None:
            z, y, x = self.chunks
            n = 1
            while (2 * n * y) * (2 * n * x) * z * element <= SHARD_BYTES:
                n *= 2
            self.shards = (z, n * y, n * x)
        return self.shards

    def clipped(self, shape: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Chunks and shards of a result of that shape: none larger than it needs."""
        chunks = tuple(min(c, n) for c, n in zip(self.chunks, shape))
        shards = tuple(min(s, -(-n // c) * c) for s, c, n in zip(self.shards or self.chunks, chunks, shape))
        return chunks, tuple(max(s // c, 1) * c for s, c in zip(shards, chunks))

    def codecs(self) -> list[dict[str, Any]]:
        """Of Zarr 3."""
        configurations: dict[str, Any] = {
            "zstd": {"level": self.level}, "gzip": {"level": self.level},
            "blosc": {"cname": "lz4", "clevel": 5, "shuffle": "shuffle"}}
        return [{"name": "bytes", "configuration": {"endian": "little"}}] + \
            ([{"name": self.codec, "configuration": configurations[self.codec]}] if self.codec != "none" else [])

    def compressor(self) -> Any:
        """Of Zarr 2."""
        return {"zstd": {"id": "zstd", "level": self.level}, "gzip": {"id": "gzip", "level": self.level},
                "blosc": {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": -1}, "none": None}[self.codec]

    def compression(self) -> Any:
        """Of N5."""
        return {"zstd": {"type": "zstd", "level": self.level}, "gzip": {"type": "gzip", "level": self.level},
                "blosc": {"type": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1}, "none": {"type": "raw"}}[self.codec]


class Result:
    """A new array in a store, whole or not there: in a folder it gets its name when all is written, elsewhere its description is written last."""

    def __init__(self, path: str, layout: Layout, threads: int, overwrite: bool, resume: bool) -> None:
        tensorstore()
        self.path, self.layout, self.threads = path.rstrip("/"), layout, threads
        self.final = Place(self.path, threads)
        self.overwrite, self.resume, self.made = overwrite, resume, False
        self.notes: list[str] = []  # for the user: what the format cannot hold
        if self.final.spec["driver"] == "http":
            raise StoreError(f"{path}: nothing is written over HTTP; give a folder, s3:// or gs://")
        self.place = Place(self.path + ".pznet-part", threads) if self.final.local else self.final
        self.job = self.final.local or self.cached_job()  # the path that the job's folder is beside

    def cached_job(self) -> str:
        folder = os.environ.get("PZNET_CACHE_DIR") or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "pznet")
        jobs = os.path.join(folder, "jobs")
        os.makedirs(jobs, mode=0o700, exist_ok=True)
        return os.path.join(jobs, hashlib.sha256(self.path.encode()).hexdigest()[:32])

    def finished(self, facts: Mapping[str, Any]) -> bool:
        """Whether what is there is the result of a run with these facts."""
        for name, keys in ("zarr.json", ("attributes", "pznet")), (".zattrs", ("pznet",)), ("attributes.json", ("pznet",)), ("pznet.json", ()):
            value: Any = self.final.read_json(name)
            for key in keys:
                value = value.get(key) if isinstance(value, dict) else None
            if isinstance(value, dict) and value.get("determined_by") == dict(facts):
                return True
        return False

    def check(self, facts: Mapping[str, Any] | None = None, begun: bool = False) -> None:
        """Before the work. facts: of the run that is gone on with, when they are known; begun: something of it is in the place."""
        local = self.final.local
        if self.resume and facts is None:
            return
        if self.resume and facts is not None and self.finished(facts):
            raise Finished
        if local is None and begun:
            return
        if local is None:
            for name in FILES:
                if self.final.read(name) is not None:
                    raise StoreError(f"{self.path}: exists, and is not replaced in a bucket; remove it, or give another name")
            return
        if os.path.lexists(local) and not (os.path.isdir(local) and any(os.path.exists(os.path.join(local, name)) for name in FILES)):
            raise StoreError(f"{self.path}: exists and is no Zarr, N5 or precomputed volume; give another name")
        if os.path.lexists(local) and not self.overwrite:
            raise StoreError(f"{self.path}: exists, and is not to be overwritten; give another name")
        if not os.path.isdir(os.path.dirname(local)):
            raise StoreError(f"{self.path}: the folder {os.path.dirname(local)} is not there")

    def make(self, channels: int, shape: tuple[int, int, int], dtype: np.dtype[Any], plan: Mapping[str, Any]) -> None:
        """plan: of the run; its output has voxel_size, unit, origin."""
        ts = tensorstore()
        begun = bool(plan.get("resumed"))
        if dtype == np.float16 and self.layout.format in ("n5", "precomputed"):
            raise ValueError(f"{self.path}: {self.layout.format} has no floats of 16 bits; use zarr3 or zarr2, or another dtype")
        self.check(plan.get("determined_by"), begun)
        plan = plan["output"]
        if not begun:
            self.remove()
        self.channels, self.shape, self.dtype, self.plan = channels, shape, dtype, plan
        spec = {"zarr3": self.zarr3, "zarr2": self.zarr2, "n5": self.n5, "precomputed": self.precomputed}[self.layout.format]()
        self.made = True
        try:
            opened = self.place.wait(lambda: ts.open(spec, create=True, open=begun, write=True, read=True, context=ts.Context(self.place.context)), "making the array")
        except StoreError as error:
            if begun:
                raise StoreError(f"{self.path}: cannot go on: it was begun with another format, other chunks, shards or another codec; {error}") from None
            raise
        self.store = opened[ts.d[:].translate_to[0]]

    def zarr3(self) -> dict[str, Any]:
        chunks, shards = self.layout.clipped(self.shape)
        c = (self.channels,) if self.channels > 1 else ()
        one = (1,) if self.channels > 1 else ()
        index = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]
        sharding = {"name": "sharding_indexed", "configuration": {"chunk_shape": [*one, *chunks], "codecs": self.layout.codecs(), "index_codecs": index}}
        return {"driver": "zarr3", "kvstore": self.place.below("0/"), "metadata": {
            "shape": [*c, *self.shape], "data_type": self.dtype.name, "fill_value": 0,
            "dimension_names": list("czyx"[-3 - len(c):]),
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [*c, *shards]}}, "codecs": [sharding]}}

    def zarr2(self) -> dict[str, Any]:
        chunks, _ = self.layout.clipped(self.shape)
        c, one = ([self.channels], [1]) if self.channels > 1 else ([], [])
        return {"driver": "zarr", "kvstore": self.place.below("0/"), "metadata": {
            "shape": [*c, *self.shape], "chunks": [*one, *chunks], "dtype": self.dtype.newbyteorder("<").str, "dimension_separator": "/",
            "compressor": self.layout.compressor(), "fill_value": 0}}

    def n5(self) -> dict[str, Any]:
        chunks, _ = self.layout.clipped(self.shape)
        c, one = ([self.channels], [1]) if self.channels > 1 else ([], [])
        return {"driver": "n5", "kvstore": self.place.spec, "metadata": {
            "dimensions": [*self.shape[::-1], *c], "blockSize": [*chunks[::-1], *one], "dataType": self.dtype.name,
            "compression": self.layout.compression()}}

    def precomputed(self) -> dict[str, Any]:
        chunks, _ = self.layout.clipped(self.shape)
        voxel = self.plan.get("voxel_size") or [1, 1, 1]
        unit = METRES.get(self.plan.get("unit", ""), 1e-9) / 1e-9
        size = [v * unit for v in voxel[::-1]]
        origin = self.plan.get("origin")
        places = [o * unit / s for o, s in zip(origin[::-1], size)] if origin else [0.0, 0.0, 0.0]
        offset = [round(p) for p in places]
        if any(abs(p - n) > 1e-4 for p, n in zip(places, offset)):
            self.notes.append("precomputed volumes begin at whole voxels: the origin was moved to the nearest")
        return {"driver": "neuroglancer_precomputed", "kvstore": self.place.spec,
                "multiscale_metadata": {"type": "image", "data_type": self.dtype.name, "num_channels": self.channels},
                "scale_metadata": {"size": list(self.shape[::-1]), "resolution": size, "voxel_offset": offset, "chunk_size": list(chunks[::-1]), "encoding": "raw"}}

    def write(self, start: Sequence[int], voxels: npt.NDArray[Any]) -> None:
        """voxels: [channels, z, y, x]. One transaction, so that each shard is written once."""
        ts = tensorstore()
        where = tuple(slice(at, at + n) for at, n in zip(start, voxels.shape[1:]))
        reverse = self.layout.format in ("n5", "precomputed")
        channel = (slice(None),)
        if reverse:
            data, key = voxels.transpose(3, 2, 1, 0), (*where[::-1], *channel)
            if self.layout.format == "n5" and self.channels == 1:
                data, key = data[..., 0], key[:3]
        else:
            data, key = (voxels, (*channel, *where)) if self.channels > 1 else (voxels[0], where)

        def commit() -> Any:
            transaction = ts.Transaction()
            self.store.with_transaction(transaction)[key].write(data).result(timeout=DEADLINE)
            return transaction.commit_async()

        self.place.wait(commit, "writing")

    def finish(self, facts: Mapping[str, Any]) -> None:
        """What is said of the array, then its name."""
        self.describe(facts)
        if self.final.local and self.place.local:
            old = f"{self.final.local}.pznet-old"
            if os.path.lexists(self.final.local):
                shutil.rmtree(old, ignore_errors=True)
                os.rename(self.final.local, old)
            os.rename(self.place.local, self.final.local)
            shutil.rmtree(old, ignore_errors=True)

    def forget(self) -> None:
        """The job that was begun for a result that is finished."""
        shutil.rmtree(f"{self.job}.pznet-job", ignore_errors=True)

    def abandon(self) -> None:
        """After a failure: what was written stays only where a job says what of it is whole."""
        if self.made and not os.path.isdir(f"{self.job}.pznet-job"):
            self.remove()

    def remove(self) -> None:
        """What was begun; of a bucket there is nothing but that, or the run had been refused."""
        if self.place.local:
            shutil.rmtree(self.place.local, ignore_errors=True)
        elif self.made:
            store, ts = self.place.files(), tensorstore()
            self.place.wait(lambda: store.delete_range(ts.KvStore.KeyRange()), "removing what was begun")

    def describe(self, facts: Mapping[str, Any]) -> None:
        c = self.channels > 1
        letters = "czyx" if c else "zyx"
        voxel, origin, unit = self.plan.get("voxel_size"), self.plan.get("origin"), self.plan.get("unit", "")
        name = NAMES.get(unit, unit)
        axes: list[dict[str, str]] = [{"name": "c", "type": "channel"}] if c else []
        axes += [{"name": a, "type": "space"} | ({"unit": name} if voxel and name else {}) for a in "zyx"]
        one, zero = ([1.0], [0.0]) if c else ([], [])
        transforms: list[dict[str, Any]] = [{"type": "scale", "scale": [*one, *(voxel or [1.0] * 3)]}]
        if voxel and origin:
            transforms.append({"type": "translation", "translation": [*zero, *origin]})
        multiscale = {"name": posixpath.basename(self.path), "axes": axes, "datasets": [{"path": "0", "coordinateTransformations": transforms}]}
        ours = {"pznet": {"determined_by": dict(facts)}}
        if self.layout.format == "zarr3":
            ome = {"version": "0.5", "multiscales": [multiscale]}
            group = {"zarr_format": 3, "node_type": "group", "attributes": {"ome": ome, **ours}}
            self.place.write("zarr.json", json.dumps(group, indent=1).encode())
        elif self.layout.format == "zarr2":
            self.place.write(".zgroup", b'{"zarr_format": 2}')
            self.place.write(".zattrs", json.dumps({"multiscales": [{"version": "0.4", **multiscale}], **ours}, indent=1).encode())
        elif self.layout.format == "n5":
            attributes = self.place.read_json("attributes.json") or {}
            attributes |= {"axes": list(letters[::-1]), **ours}
            if voxel:
                attributes |= {"resolution": [*voxel[::-1], *one], "units": [name] * 3 + [""] * len(one)}
            if voxel and origin:
                attributes |= {"offset": [*origin[::-1], *zero]}
            self.place.write("attributes.json", json.dumps(attributes, indent=1).encode())
        else:
            self.place.write("pznet.json", json.dumps(ours["pznet"], indent=1).encode())
