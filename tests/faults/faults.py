#!/usr/bin/env python3
"""Every system call may fail: runs the command again and again, and lets the n-th call fail.

usage: faults.py PZNET LIBRARY NETWORK MODEL [--every K] [--scenario WORD] [--seconds S]

LIBRARY is built from fail.c, NETWORK and MODEL are tests/networks' tiny.so and tiny.prototxt. Of a scenario's calls each K-th is tried, 1 by
default, from a place that the scenario's name gives, so that the same K tries the same calls. What must hold after each run:

  - the exit status is 0 to 3, and no signal ended it; an unsuccessful one printed a single line that begins with "pznet"
  - with status 0 the output is whole: the bytes of an undisturbed run (a network file: what it says of itself, and its results)
  - with another status there is no output, or the one of before, or (a failure behind the last step) the whole one
  - nothing else is left in the folder but a job for --resume, and in TMPDIR and beside the cache nothing
  - the same command again, with --resume where the verb has it, gives the bytes of an undisturbed run and leaves nothing behind; this is tried once
    for all failures that leave the same files with the same bytes
Calls that are interrupted (EINTR) or move less than was asked for must change nothing at all.

Standard library only. Prints a line a scenario, and one for each fault; exits 1 where there is one.
"""

import argparse
import concurrent.futures
import errno
import hashlib
import itertools
import os
import pathlib
import re
import resource
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zlib

FORMATS = {"npy": "out.npy", "nii": "out.nii", "nii.gz": "out.nii.gz", "tif": "out.tif", "h5": "out.h5:/main"}
KINDS = {"w": ("writing", [errno.EIO, errno.ENOSPC]), "r": ("reading", [errno.EIO]), "s": ("syncing", [errno.EIO, errno.EDQUOT]),
         "t": ("making room", [errno.ENOSPC, errno.EIO]), "n": ("renaming and removing", [errno.EIO]), "c": ("closing", [errno.EIO, errno.EDQUOT]),
         "o": ("opening", [errno.EIO, errno.EMFILE]), "d": ("making folders", [errno.ENOSPC]), "m": ("mapping", [errno.ENOMEM]),
         "a": ("allocating", [errno.ENOMEM]), "wtdo": ("a disk that stays full", [-2]), "b": ("locking", [errno.EWOULDBLOCK, errno.ENOLCK]),
         "e": ("listing a folder", [errno.EIO]), "i": ("ioctl", [errno.EIO]), "p": ("fchmod", [errno.EPERM]), "q": ("fstat", [errno.EIO]),
         "l": ("lseek", [errno.EIO]), "k": ("copy_file_range", [errno.EIO, errno.ENOSPC]), "g": ("getxattr", [errno.EIO])}
HARMLESS = [("w", errno.EINTR, "writing, interrupted"), ("r", errno.EINTR, "reading, interrupted"), ("wrk", -1, "parts of what was asked for"),
            ("f", errno.ENOTSUP, "attributes of files")]


def npy(shape, data, descr="<f4"):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (117 - len(header)) + b"\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header + data


def tiff(pages, description, width, height, planes):
    """A classic TIFF of u8: one page a plane, each one strip; the first one has the description."""
    data, place = b"II*\0" + struct.pack("<I", 8), 8
    for i in range(pages):
        text = description.encode() + b"\0" if i == 0 and description else b""
        rows = [(256, 4, width), (257, 4, height), (258, 3, 8), (259, 3, 1), (262, 3, 1), (273, 4, 0), (277, 3, 1), (278, 4, height),
                (279, 4, width * height)]
        n = len(rows) + bool(text)
        behind = place + 2 + 12 * n + 4
        rows[5] = 273, 4, behind + len(text) + len(text) % 2
        entries = [struct.pack("<HHII", tag, kind, 1, value) for tag, kind, value in rows]
        if text:
            entries.insert(5, struct.pack("<HHII", 270, 2, len(text), behind))
        pixels = planes[i * width * height:(i + 1) * width * height]
        after = behind + len(text) + len(text) % 2 + len(pixels) + len(pixels) % 2
        data += struct.pack("<H", n) + b"".join(entries) + struct.pack("<I", after if i + 1 < pages else 0)
        data += text + b"\0" * (len(text) % 2) + pixels + b"\0" * (len(pixels) % 2)
        place = after
    return data


def npz(members):
    import io, zipfile
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name + ".npy", data)
    return made.getvalue()


OME = ('<?xml version="1.0"?><OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06"><Image ID="Image:0"><Pixels ID="Pixels:0" '
       'DimensionOrder="XYCZT" Type="uint8" SizeX="33" SizeY="30" SizeC="1" SizeZ="9" SizeT="2" PhysicalSizeX="0.5" PhysicalSizeXUnit="µm">'
       '<TiffData/></Pixels></Image></OME>')
IMAGEJ = "ImageJ=1.53\nimages=18\nslices=9\nframes=2\nhyperstack=true\nunit=micron\nspacing=2.0\n"
SHAPED = '{"shape": [2, 9, 30, 33], "axes": "TZYX"}'


LETTERS = "".join(dict.fromkeys("".join([*KINDS, *(kinds for kinds, _, _ in HARMLESS)])))
MEMORY = 4 << 30

# A C compiler that gives what gcc made of the same words and files before. What fails here are pznet's own calls, and gcc takes a second each time.
COMPILER = """#!/bin/sh
[ "$1" != --version ] || exec gcc --version
key=$({ for word; do
  echo "${word##*/}"
  case $word in
  *.c) cat "$word" ;;
  @*) xargs cat <"${word#@}" ;;
  esac
done; cat network.h weights.bin 2>/dev/null; } | sha256sum)
for word; do [ "$last" != -o ] || out=$word; last=$word; done
made=$0.made/${key%% *}
[ -f "$made" ] || { gcc "$@" && cp "$out" "$made.$$" && mv "$made.$$" "$made" && exit; exit 1; }
cp "$made" "$out"
"""

# The C compiler takes a moment for it.
QUICK = """
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 2 dim: 3 dim: 4 dim: 6 } } }
layer { name: "act" type: "ReLU" bottom: "data" top: "act" }
"""


class Server:
    """The command with these words, loaded and linked, in front of its main: a copy of it goes on in each run (fail.c). It runs as a program of its own would,
    in a fraction of the processor's time."""

    def __init__(self, words, environment, says):
        self.says = str(says)
        self.process = subprocess.Popen(words, env=environment | {"PZ_FAIL_SERVE": "1"}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0,
                                        start_new_session=True)

    def run(self, folder, fail, count, timeout):
        self.process.stdin.write("\t".join([str(folder), fail or "", str(count or ""), self.says]).encode() + b"\n")
        if not select.select([self.process.stdout], [], [], timeout)[0]:
            os.killpg(self.process.pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired(self.process.args, timeout)
        status = int(self.process.stdout.readline())
        out, err = (pathlib.Path(self.says + other).read_text(errors="replace") for other in ("", "2"))
        return subprocess.CompletedProcess(self.process.args, os.waitstatus_to_exitcode(status), out, err)

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


class Scene:
    """A folder with the inputs, from which each run gets a copy."""

    def __init__(self, arguments):
        self.pznet, self.preload, self.network, self.model = (os.path.abspath(a) for a in
                                                              (arguments.pznet, arguments.preload, arguments.network, arguments.model))
        self.every, self.end = arguments.every, time.monotonic() + arguments.seconds
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pznet-faults-"))
        self.found, self.servers, self.started = [], {}, itertools.count()
        self.compiler = self.folder / "compiler"  # without a dot: no input of a run
        self.compiler.write_text(COMPILER)
        self.compiler.chmod(0o755)
        (self.folder / "compiler.made").mkdir()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))  # of runs
        values = bytes((i * 37 + i // 7) % 251 for i in range(9 * 30 * 33))
        (self.folder / "quick.prototxt").write_text(QUICK)
        (self.folder / "in.npy").write_bytes(npy("(9, 30, 33)", values, "|u1"))
        (self.folder / "quick.npy").write_bytes(npy("(1, 2, 3, 4, 6)", struct.pack("<144f", *(i % 11 - 5 for i in range(144)))))
        (self.folder / "one.npy").write_bytes(npy("(1, 1, 4, 12, 14)", struct.pack("<672f", *(i % 11 - 5 for i in range(672)))))
        times = values + bytes(255 - v for v in values)
        (self.folder / "times.npy").write_bytes(npy("(2, 9, 30, 33)", times, "|u1"))
        (self.folder / "in.npz").write_bytes(npz({"other": npy("(3,)", b"abc", "|u1"), "volume": npy("(9, 30, 33)", values, "|u1")}))
        for name, text in ("ome", OME), ("imagej", IMAGEJ), ("shaped", SHAPED):
            (self.folder / f"{name}.tif").write_bytes(tiff(18, text, 33, 30, times))
        (self.folder / "slices").mkdir()
        for i in range(9):
            (self.folder / "slices" / f"s{i:02}.tif").write_bytes(tiff(1, "", 33, 30, values[i * 990:(i + 1) * 990]))
        self.digest = hashlib.sha256(pathlib.Path(self.network).read_bytes()).hexdigest()
        for name in FORMATS.values():  # the same volume in each format
            made = self.run(self.folder, ["infer", self.network, "in.npy", "vol-" + name.replace("out", "in"), "-q", "--argmax"])
            assert made.returncode == 0, made.stderr

    def run(self, folder, words, fail=None, count=None, memory=None):
        """With little memory the C compiler is gcc itself, which has to do with as little."""
        limit = (lambda: resource.setrlimit(resource.RLIMIT_AS, (memory, memory))) if memory else None
        environment = os.environ | {"TMPDIR": str(folder / "tmp"), "PZNET_CACHE_DIR": str(folder / "cache"), "HDF5_USE_FILE_LOCKING": "TRUE"}
        (folder / "tmp").mkdir(exist_ok=True)
        if not memory:
            return self.serve(folder, words, fail, count, environment)
        return subprocess.run([self.pznet, *words], cwd=folder, env=environment, capture_output=True, text=True, errors="replace", timeout=120,
                              preexec_fn=limit)

    def serve(self, folder, words, fail, count, environment):
        """By a server that has nothing to do, or a new one."""
        idle = self.servers.setdefault(tuple(words), [])
        try:
            server = idle.pop()
        except IndexError:  # the library's name alone lets nothing fail, but nothing is synced
            more = {"CC": str(self.compiler), "LD_PRELOAD": self.preload, "PZ_FAIL_ONLY": "pznet"}
            server = Server([self.pznet, *words], environment | more, self.folder / f"says{next(self.started)}-")
        result = server.run(folder, fail, count, 120)
        idle.append(server)
        return result

    def end_servers(self):
        for server in itertools.chain.from_iterable(self.servers.values()):
            server.end()
        self.servers.clear()

    def fresh(self):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder, prefix="run-"))
        for file in self.folder.glob("*.*"):
            if file.is_file():
                shutil.copyfile(file, folder / file.name)  # a link would be a change of the file for runs beside this one
        shutil.copytree(self.folder / "slices", folder / "slices")
        (folder / "tmp").mkdir()
        return folder

    def fault(self, scenario, fail, words, result):
        line = f"FAULT {scenario}, PZ_FAIL={fail}: {words}; status {result.returncode}, said: {result.stderr.strip()[:300]!r}"
        self.found.append(line)
        print(line, flush=True)


def said(result):
    """What the command wrote to stderr. GnuTLS, which HDF5 brings along, writes a line of its own before main where it has no memory."""
    return [line for line in result.stderr.splitlines() if not line.startswith("Error in GnuTLS initialization")]


def content(path):
    data = path.read_bytes()
    return zlib.decompress(data, 31) if path.name.endswith(".gz") else data


def tree(folder):
    """A digest of all that lies there: names, modes, bytes, links and attributes."""
    d = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        link = path.is_symlink()
        data = os.readlink(path).encode() if link else path.read_bytes() if path.is_file() else b""
        attributes = [] if link else [(name, os.getxattr(path, name)) for name in sorted(os.listxattr(path))]
        d.update(repr((str(path.relative_to(folder)), path.lstat().st_mode, len(data), attributes)).encode() + data)
    return d.digest()


class Scenario:
    def __init__(self, scene, name, words, output=None, resume=False, prepare=None, also=(), every=1, keeps=None, refuses=False):
        """prepare: verbs to run before, undisturbed; also: files that may be there in the end; every: how much rarer calls are tried;
        keeps: a verb that reads from the output what was in it before, into kept.npy; refuses: does not replace what is there."""
        self.scene, self.name, self.words, self.output, self.resume, self.prepare = scene, name, words, output, resume, prepare
        self.also = {self.output, "tmp", "cache", *also} | ({f"{self.output}.pznet-finished"} if resume else set())
        self.every, self.keeps, self.refuses = every * scene.every, keeps, refuses
        self.untouched = []  # folders as they were in the beginning
        self.settled = set()  # what failures have left, where the second run was right
        self.was_kept = {}  # by the output's bytes
        self.networks = {}  # by their bytes

    def begin(self):
        """A folder in which the command can run, and the digest of what is in it."""
        try:
            return self.untouched.pop()
        except IndexError:
            pass
        folder = self.scene.fresh()
        for words in self.prepare or []:
            made = self.scene.run(folder, words)
            assert made.returncode == 0, made.stderr
        self.kept = self.kept or self.read_kept(folder)
        return folder, tree(folder)

    def end(self, folder, begun):
        if begun == tree(folder):
            self.untouched.append((folder, begun))
        else:
            shutil.rmtree(folder, ignore_errors=True)

    kept = None

    def read_kept(self, folder):
        if not self.keeps or not (folder / self.output).exists():
            return None
        key = hashlib.sha256((folder / self.output).read_bytes()).digest()
        if key not in self.was_kept:
            read = self.scene.run(folder, self.keeps)
            self.was_kept[key] = content(folder / "kept.npy") if read.returncode == 0 else read.stderr
            for name in "kept.npy", "kept.npy.pznet-finished":
                (folder / name).unlink(missing_ok=True)
        return self.was_kept[key]

    def state(self, folder):
        path = folder / self.output if self.output else None
        if not path or not path.exists():
            return None
        return self.network(folder, path) if path.suffix == ".so" else content(path)

    def network(self, folder, path):
        """What a network file says and gives: which kernels share a file when they are compiled depends on those that the cache has."""
        key = hashlib.sha256(path.read_bytes()).hexdigest()
        if key not in self.networks:
            with tempfile.TemporaryDirectory(dir=self.scene.folder) as apart:
                shutil.copyfile(path, f"{apart}/out.so")
                shutil.copyfile(folder / "quick.npy", f"{apart}/in.npy")
                ran = self.scene.run(pathlib.Path(apart), ["run", "out.so", "in.npy", "-o", "out.npy", "--threads", "1"])
                says = self.scene.run(pathlib.Path(apart), ["inspect", "out.so"])
                given = content(pathlib.Path(apart, "out.npy")) if ran.returncode == 0 else ran.stderr.encode()
            self.networks[key] = given, re.sub("file SHA-256 .*", "", says.stdout)
        return self.networks[key]

    def left(self, folder, known):
        """What lies there that did not before."""
        names = {str(p.relative_to(folder)) for p in folder.rglob("*")}
        job = f"{self.output}.pznet-job" if self.output else None
        return sorted(n for n in names - known - self.also
                      if not n.startswith("cache/") and not (job and self.resume and (n == job or n.startswith(job + "/"))))

    def count(self):
        """Calls of an undisturbed run, by letter."""
        folder, _ = self.begin()
        file = folder / "count"
        result = self.scene.run(folder, self.words, f"{LETTERS}:0:0", file)
        assert result.returncode == 0, (self.name, result.stderr)
        self.want = self.state(folder)
        calls = dict(line.split() for line in file.read_text().splitlines())
        shutil.rmtree(folder)
        return {letter: int(number) for letter, number in calls.items()}

    def one(self, fail, harmless):
        scene = self.scene
        folder, begun = self.begin()
        before = self.state(folder)
        known = {str(p.relative_to(folder)) for p in folder.rglob("*")}
        try:
            result = scene.run(folder, self.words, fail)
        except subprocess.TimeoutExpired:
            scene.found.append(f"FAULT {self.name}, PZ_FAIL={fail}: does not end")
            print(scene.found[-1], flush=True)
            return
        now, left = self.state(folder), self.left(folder, known)
        say = lambda words, r=result: scene.fault(self.name, fail, words, r)
        lines = said(result)
        if result.returncode not in (0, 1, 2, 3):
            say("ended by a signal" if result.returncode < 0 else "a status of no meaning")
        elif harmless and result.returncode:
            say("failed, where nothing was wrong")
        elif result.returncode and (len(lines) != 1 or not lines[0].startswith("pznet")):
            say("did not say why in one line")
        elif result.returncode == 0 and now != self.want:
            say("success, but the output is not whole")
        elif result.returncode and now not in (None, before, self.want):
            say("an output that is not whole")
        elif result.returncode and before is not None and now is None:
            say("the output of before is lost")
        elif left and fail[0] != "n":  # where removing fails something stays
            say(f"left behind: {left[:3]}")
        if self.read_kept(folder) != self.kept:
            say("what was in the file before is lost")
        shape = tree(folder), result.returncode == 0, fail[0] == "n"
        if shape not in self.settled and self.second(folder, fail, result, known, left, say):
            self.settled.add(shape)
        self.end(folder, begun)

    def second(self, folder, fail, result, known, left, say):
        """The same command again: whether it is right."""
        found = len(self.scene.found)
        again = self.scene.run(folder, self.words + (["--resume"] if self.resume else []))
        unknown = again.returncode == 2 and "nothing says which run made it" in again.stderr
        if self.refuses and unknown and result.returncode == 0 and self.state(folder) == self.want:
            again.returncode = 0  # the result is there, and what would tell of it could not be kept
        if again.returncode:
            say("cannot be done again", again)
        elif self.state(folder) != self.want:
            say("the second time gives another output", again)
        elif self.read_kept(folder) != self.kept:
            say("what was in the file before is lost by the second run", again)
        elif self.left(folder, known) and fail[0] != "n" and not left:
            say(f"left behind by the second run: {self.left(folder, known)[:3]}", again)
        elif self.resume and (folder / f"{self.output}.pznet-job").exists():
            say("a finished job stays", again)
        return len(self.scene.found) == found

    def little_memory(self, pool):
        """A limit on memory (ulimit -v), from too little to start with to enough: the system's own refusals, by whatever library asks."""
        step, least, enough = max(16, min(64, self.every)) * 64 << 10, 8 << 20, MEMORY
        while enough - least > 8 << 20:
            middle = (least + enough) // 2
            least, enough = (least, middle) if self.limited(middle, False) == 0 else (middle, enough)
        limits = range(max(step, enough - (24 << 20)), enough + (8 << 20), step)
        return sum(pool.map(lambda memory: time.monotonic() < self.scene.end and (self.limited(memory, True), True)[1], limits))

    def limited(self, memory, tell):
        folder, begun = self.begin()
        result = self.scene.run(folder, self.words, memory=memory)
        lines = said(result)
        loader = "cannot" in result.stderr and "shared" in result.stderr  # the program could not be started
        if result.returncode < 0:  # the loader may crash too, before main: then not even the version can be asked for
            loader = self.scene.run(folder, ["--version"], memory=memory).returncode != 0
        if tell and not loader and result.returncode not in (0, 1, 2, 3, 127):
            self.scene.fault(self.name, f"ulimit -v {memory >> 10}", "ended by a signal", result)
        elif tell and not loader and result.returncode in (1, 2, 3) and (len(lines) != 1 or not lines[0].startswith("pznet")):
            self.scene.fault(self.name, f"ulimit -v {memory >> 10}", "did not say why in one line", result)
        self.end(folder, begun)
        return result.returncode

    def all(self, pool):
        begin, tried, counted = time.monotonic(), 0, self.count()
        rows = [(k, code, what, False) for k, (what, codes) in KINDS.items() for code in codes]
        rows += [(k, code, what, True) for k, code, what in HARMLESS]
        for kinds, code, what, harmless in rows:
            calls = sum(counted[letter] for letter in kinds)
            first = 1 + zlib.crc32(f"{self.name} {kinds} {code}".encode()) % self.every
            places = [1] if code == -1 else range(min(first, calls), calls + 1, self.every)
            jobs = [f"{kinds}:{n}:{code}" for n in places if n]
            tried += sum(pool.map(lambda fail: time.monotonic() < self.scene.end and (self.one(fail, harmless), True)[1], jobs))
        tried += self.little_memory(pool)
        self.scene.end_servers()
        while self.untouched:
            shutil.rmtree(self.untouched.pop()[0], ignore_errors=True)
        print(f"{self.name}: {tried} calls failed, {time.monotonic() - begin:.0f} s", flush=True)


def scenarios(scene):
    tiny, model = scene.network, scene.model
    overlap = ["-q", "--threads", "1", "--overlap", "1,4,4"]
    for name, path in FORMATS.items():
        yield Scenario(scene, f"infer to {name}", ["infer", tiny, "in.npy", path, *overlap], path.split(":")[0], True)
        volume = "vol-" + path.replace("out", "in")
        yield Scenario(scene, f"infer from {name}", ["infer", tiny, volume, "out.npy", *overlap, "--normalize", "none"], "out.npy", True)
    yield Scenario(scene, "infer over an old output", ["infer", tiny, "in.npy", "out.npy", *overlap], "out.npy", True,
                   [["infer", tiny, "in.npy", "out.npy", "-q", "--dtype", "u8"]])
    raw = [*overlap, "--normalize", "none"]
    for name, words in (("npz", ["in.npz:/volume"]), ("a folder of slices", ["slices/"]), ("a stack of ImageJ", ["imagej.tif", "--at", "t=1"]),
                        ("OME-TIFF", ["ome.tif", "--at", "t=1"]), ("a stack of tifffile", ["shaped.tif", "--at", "t=1"]),
                        ("axes that are said", ["times.npy", "--axes", "tzyx", "--at", "t=1"])):
        yield Scenario(scene, f"infer from {name}", ["infer", tiny, words[0], "out.npy", *raw, *words[1:]], "out.npy", True)
    first = ["infer", tiny, "in.npy", "out.h5:/first", "-q", "--argmax"]
    keeps = ["infer", tiny, "out.h5:/first", "kept.npy", "-q", "--argmax", "--normalize", "none"]
    for name, more in ("beside another", []), ("over one beside another", ["--update"]):
        prepare = [first, ["infer", tiny, "in.npy", "out.h5:/second", "-q", "--dtype", "u8", "--sigmoid"]][:1 + bool(more)]
        yield Scenario(scene, f"infer to a dataset {name}", ["infer", tiny, "in.npy", "out.h5:/second", *overlap, *more], "out.h5", True, prepare,
                       keeps=keeps, refuses=not more)
    yield Scenario(scene, "infer, sigmoid, u8, digest", ["infer", tiny, "in.npy", "out.npy", *overlap, "--sigmoid", "--dtype", "u8",
                                                         "--digest", scene.digest], "out.npy", True, every=3)
    yield Scenario(scene, "infer, threshold, zscore", ["infer", tiny, "in.npy", "out.tif", *overlap, "--threshold", "0.1", "--normalize", "zscore"],
                   "out.tif", True, every=3)
    done = ["infer", tiny, "in.npy", "out.npy", *overlap]
    yield Scenario(scene, "infer, finished before", done + ["--resume"], "out.npy", True, [done])
    yield Scenario(scene, "infer, argmax, report", ["infer", tiny, "in.npy", "out.nii", *overlap, "--argmax", "--json", "r.json"], "out.nii", True, also=["r.json"])
    yield Scenario(scene, "run", ["run", tiny, "one.npy", "-o", "out.npy", "--threads", "1"], "out.npy")
    yield Scenario(scene, "verify", ["verify", tiny, "--threads", "1"])
    yield Scenario(scene, "inspect a network file", ["inspect", tiny])
    yield Scenario(scene, "inspect a model", ["inspect", model, "--weights", "init:1", "--effort", "estimate"])
    yield Scenario(scene, "report page", ["inspect", tiny, "--html", "out.html"], "out.html", every=5)
    yield Scenario(scene, "bench", ["bench", tiny, "--runs", "1", "--warmup", "0", "--threads", "1"], every=100)
    yield Scenario(scene, "tune", ["tune"])
    yield Scenario(scene, "compile", ["compile", "quick.prototxt", "--effort", "estimate", "-q", "-o", "out.so"], "out.so", every=10)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n")[2][7:])
    for name in "pznet", "preload", "network", "model":
        parser.add_argument(name)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--scenario", default="")
    parser.add_argument("--seconds", type=float, default=1e9)
    arguments = parser.parse_args()
    scene = Scene(arguments)
    try:
        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            for scenario in scenarios(scene):
                if re.search(arguments.scenario, scenario.name):
                    scenario.all(pool)
    finally:
        scene.end_servers()
        shutil.rmtree(scene.folder, ignore_errors=True)
    print(f"{len(scene.found)} faults")
    return bool(scene.found)


if __name__ == "__main__":
    sys.exit(main())
