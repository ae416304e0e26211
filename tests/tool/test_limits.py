"""What a command takes of a machine, and how it ends: memory and disks that are not there, signals at any time, SIGKILL.

usage: test_limits.py PZNET CC [unittest's arguments]. Standard library only. Where the system lets it (as root), in control groups and on
small disks too.
"""

import os
import pathlib
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

PZNET, CC = os.path.abspath(sys.argv[1]), sys.argv[2]
ROOT = pathlib.Path(__file__).parents[2]
MIB = 1 << 20
MOST_SECONDS = 5  # of a processor, whatever else the machine does; one where it does nothing else
PATIENCE = 120  # seconds in which something happens at all

LAYER = """layer {{ name: "{0}" type: "Convolution" bottom: "{1}" top: "{0}" convolution_param {{
  num_output: {2} kernel_size: {3} pad: {4} bias_term: false weight_filler {{ type: "xavier" }} }} }}
"""


def model(maps, size, kernel=3, layers=2):
    """Convolutions from 16 maps to `maps`, and back, of size^3 points."""
    text = f'layer {{ name: "x" type: "Input" top: "x" input_param {{ shape {{ dim: 1 dim: 16 {f"dim: {size} " * 3} }} }} }}\n'
    below = "x"
    for i in range(layers):
        text += LAYER.format(f"c{i}", below, 16 if i % 2 else maps, kernel, kernel // 2)
        below = f"c{i}"
    return text


def npy(shape, descr):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (117 - len(header)) + b"\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header


def processes(mark):
    """Those that run, whose command or folder has the text."""
    found = []
    for folder in pathlib.Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and int(folder.name) != os.getpid():
                state = (folder / "stat").read_text().rsplit(")", 1)[1].split()[0]
                if state not in "ZX" and (
                    mark.encode() in (folder / "cmdline").read_bytes() or mark in os.readlink(folder / "cwd")
                ):
                    found.append(int(folder.name))
        except OSError:
            pass
    return found


def spent(process):
    """Seconds of a processor, of the process, its children, and theirs."""
    rows = {}
    for folder in pathlib.Path("/proc").iterdir():
        try:
            if folder.name.isdigit():
                fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
                rows[int(folder.name)] = int(fields[1]), sum(map(int, fields[11:15]))
        except OSError:
            pass
    total, family = 0, [process]
    while family:
        parent = family.pop()
        total += rows.get(parent, (0, 0))[1]
        family += [pid for pid, (of, _) in rows.items() if of == parent]
    return total / os.sysconf("SC_CLK_TCK")


def wait_for_handler(process, number):
    """Until it has its own way with the signal, or has ended."""
    end = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < end:
        try:
            caught = re.search(r"SigCgt:\s*(\w+)", pathlib.Path(f"/proc/{process.pid}/status").read_text())
        except OSError:
            return
        if caught and int(caught.group(1), 16) >> (number - 1) & 1:
            return
        time.sleep(0.005)


def ran():
    """Seconds of a processor, of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Case(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="pznet-test-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name).resolve()
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()
        self.environment = os.environ | {"TMPDIR": str(self.temporary), "PZNET_CACHE_DIR": str(self.folder / "cache"), "CC": CC}

    def write(self, name, data, mode=0o644):
        path = self.folder / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        path.chmod(mode)
        return path

    def sparse(self, name, shape, descr="|u1"):
        size = int(descr[-1])
        for n in shape:
            size *= n
        path = self.write(name, npy(shape, descr))
        os.truncate(path, path.stat().st_size + size)
        return path

    def start(self, *arguments, **options):
        options = {"env": self.environment, "stderr": subprocess.PIPE, "stdout": subprocess.DEVNULL, "text": True} | options
        return subprocess.Popen([PZNET, *map(str, arguments)], stdin=subprocess.DEVNULL, **options)

    def limited(self, kind, bytes_, *arguments):
        process = self.start(*arguments, preexec_fn=lambda: resource.setrlimit(kind, (bytes_, bytes_)))
        text = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stderr.close()
        return process.returncode, text, used.ru_maxrss * 1024

    def compile(self, text, *arguments, output="net.so"):
        path = self.write("net.prototxt", text)
        out = self.folder / output
        result = subprocess.run(
            [PZNET, "compile", path, "-w", "init:1", "--effort", "estimate", "-q", "-o", out, *map(str, arguments)],
            env=self.environment, capture_output=True, text=True,
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        return out

    def assert_one_line_with_both_numbers(self, text, limit):
        """What is needed is more than what is there, which is no more than the limit."""
        self.assertEqual(text.count("\n"), 1, text)
        needed, there = re.findall(r"(\d{7,})", text)[0], re.search(r"(\d+) are there|\((\d+) bytes; ", text)
        there = int(there.group(1) or there.group(2))
        self.assertGreater(int(needed), there, text)
        self.assertLessEqual(there, limit, text)


class Memory(Case):
    def test_a_model_that_needs_too_much_costs_little(self):
        path = self.write("wide.prototxt", model(65536, 48))
        for verb, arguments in [("compile", ["-o", self.folder / "net.so", "--effort", "estimate"]), ("compile", ["-o", self.folder / "net.so"])]:
            begin = ran()
            code, text, used = self.limited(resource.RLIMIT_AS, 3000 * MIB, verb, path, "-w", "init:1", *arguments)
            self.assertEqual(code, 3, text)
            self.assert_one_line_with_both_numbers(text, 3000 * MIB)
            self.assertIn("ulimit -v", text)
            self.assertLess(used, 1000 * MIB)
            self.assertLess(ran() - begin, 20)  # a second, on a quiet machine
        self.assertFalse((self.folder / "net.so").exists())
        self.assertEqual(list(self.temporary.iterdir()), [])

    def test_constants_are_counted_before_they_are_made(self):
        path = self.write("wide.prototxt", model(1 << 20, 8))  # of 1.7 GiB each
        code, text, used = self.limited(resource.RLIMIT_AS, 3000 * MIB, "inspect", path, "-w", "init:1")
        self.assertEqual((code, text.count("\n")), (3, 1), text)
        self.assertIn("too many for this machine's memory", text)
        self.assertLess(used, 200 * MIB)

    def test_inspect_packs_nothing(self):
        path = self.write("wide.prototxt", model(4096, 8, 3, 2))
        code, text, used = self.limited(resource.RLIMIT_AS, 4000 * MIB, "inspect", path, "-w", "init:1")
        self.assertEqual(code, 0, text)
        self.assertLess(used, 160 * MIB)  # 14 MB of weights, twice; packed they are 113 MB and more

    def test_infer_refuses_what_is_not_there(self):
        net = self.compile(model(16, 160, 1, 1))  # a patch and its result take 262 MB each
        volume = self.sparse("in.npy", (16, 160, 160, 160), "|u1")
        code, text, _ = self.limited(resource.RLIMIT_AS, 700 * MIB, "infer", net, volume, self.folder / "out.npy", "-q", "--threads", "1")
        self.assertEqual(code, 1, text)
        self.assert_one_line_with_both_numbers(text, 700 * MIB)
        self.assertIn("ulimit -v", text)
        self.assertFalse((self.folder / "out.npy").exists())

    def test_run_refuses_what_is_not_there(self):
        net = self.compile(model(32, 128, 1, 1), "--threads", "1")
        data = self.sparse("in.npy", (1, 16, 128, 128, 128), "<f4")
        code, text, _ = self.limited(resource.RLIMIT_AS, 350 * MIB, "run", net, data, "-o", self.folder / "out.npy", "--threads", "1")
        self.assertEqual(code, 1, text)
        self.assert_one_line_with_both_numbers(text, 350 * MIB)
        for verb in (["bench", net, "--threads", "1"], ["verify", net, "--threads", "1"]):
            code, text, _ = self.limited(resource.RLIMIT_AS, 350 * MIB, *verb)
            self.assertEqual(code, 1, text)
            self.assert_one_line_with_both_numbers(text, 350 * MIB)

    def control_group(self, bytes_):
        """A folder of a new group with that limit, or the test is skipped."""
        for mount, limit in [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")]:
            group = pathlib.Path(mount) / f"pznet-test-{os.getpid()}"
            try:
                group.mkdir()
            except OSError:
                continue
            self.addCleanup(group.rmdir)
            try:
                (group / limit).write_text(str(bytes_))
                return group
            except OSError:
                continue
        self.skipTest("no control group can be made here")

    def test_in_a_control_group(self):
        net = self.compile(model(16, 160, 1, 1))
        group = self.control_group(300 * MIB)
        join = lambda: (group / "cgroup.procs").write_text(str(os.getpid()))
        volume = self.sparse("in.npy", (16, 160, 160, 160))
        wide = self.write("wide.prototxt", model(32, 160, 1, 2))
        for code, arguments in [
            (1, ["infer", net, volume, self.folder / "out.npy", "-q", "--threads", "1"]),
            (3, ["compile", wide, "-w", "init:1", "-o", self.folder / "wide.so", "--effort", "estimate"]),
        ]:
            process = self.start(*arguments, preexec_fn=join)
            text = process.communicate()[1]
            self.assertEqual(process.returncode, code, text)
            self.assert_one_line_with_both_numbers(text, 300 * MIB)
            self.assertIn("the cgroup's limit of 300 MiB", text)


class Disk(Case):
    def small_disk(self, mib):
        disk = self.folder / "disk"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mib}m", "none", disk], capture_output=True).returncode:
            self.skipTest("no disk can be made here")
        self.addCleanup(lambda: subprocess.run(["umount", "-l", disk]))
        self.environment["TMPDIR"] = str(disk)
        return disk

    def refused(self, text):
        path = self.write("net.prototxt", text)
        process = self.start("compile", path, "-w", "init:1", "--effort", "estimate", "-q", "-o", self.folder / "net.so")
        message = process.communicate()[1]
        self.assertEqual((process.returncode, message.count("\n")), (3, 1), message)
        return message

    def test_room_is_asked_for_before(self):
        disk = self.small_disk(4)
        self.assertRegex(self.refused(model(16, 8)), r"need \d+ bytes on this disk, \d+ are free")
        self.assertEqual(list(disk.iterdir()), [])

    def test_a_disk_that_fills_up(self):
        disk = self.small_disk(40)
        # gcc takes away what it wrote when it fails, and has no room to say why.
        self.environment["CC"] = str(self.write("cc.sh", f"#!/bin/sh\n[ $1 = --version ] && exec echo cc\ncat /dev/zero > {disk}/filler\nexit 1\n", 0o755))
        self.assertIn("no room on the disk for the C compiler's files; TMPDIR names another", self.refused(model(16, 8)))
        self.assertEqual([p.name for p in disk.iterdir()], ["filler"])

    def test_a_compiler_that_the_system_kills(self):
        self.environment["CC"] = str(self.write("cc.sh", "#!/bin/sh\n[ $1 = --version ] && exec echo cc\nkill -9 $$\n", 0o755))
        path = self.write("net.prototxt", model(16, 8))
        process = self.start("compile", path, "-w", "init:1", "--effort", "estimate", "-q", "-o", self.folder / "net.so")
        message = process.communicate()[1]
        self.assertEqual((process.returncode, message.count("\n")), (1, 1), message)
        self.assertRegex(message, r"was killed, for want of memory it seems: \d+ bytes are there now")


class Signals(Case):
    def check(self, stage, delay, number, *arguments):
        """Ended by the signal, or before it."""
        begin = ran()
        process = self.start(*arguments)
        wait_for_handler(process, number)
        time.sleep(delay)
        before = spent(process.pid)
        process.send_signal(number)
        message = process.communicate(timeout=PATIENCE)[1]
        seconds = ran() - begin - before
        what = f"{stage} after {delay:.2f} s, {signal.Signals(number).name}: status {process.returncode}, {seconds:.2f} s, {message}"
        self.assertIn(process.returncode, (0, 128 + number), what)
        self.assertLess(seconds, MOST_SECONDS, what)
        if process.returncode:
            self.assertIn("pznet: interrupted", message.splitlines()[-1], what)
        end = time.monotonic() + PATIENCE / 4
        while processes(str(self.temporary)) and time.monotonic() < end:
            time.sleep(0.02)
        self.assertEqual(processes(str(self.temporary)), [], what)
        return process.returncode

    def random(self, stage, times, most, *arguments):
        delays = random.Random(stage)
        pick = lambda: random.choice((signal.SIGINT, signal.SIGTERM))
        ended = [self.check(stage, 0.1 + most * delays.random(), pick(), *arguments) for _ in range(times)]
        for sooner in 0.3, 0.1, 0.03:  # on a fast machine
            if not any(ended):
                ended.append(self.check(stage, sooner * most, pick(), *arguments))
        self.assertTrue(any(ended), f"{stage}: always ended before the signal")

    def test_compiling(self):
        path = self.write("net.prototxt", model(64, 24, 3, 4))
        for effort, times in (("estimate", 4), ("measure", 5)):
            self.random(effort, times, 4, "compile", path, "-w", "init:1", "-q", "--tuning", "none", "--effort", effort, "-o", self.folder / "net.so")
        self.compile(model(16, 8))  # sweeps what was left, if anything was
        self.assertEqual(list(self.temporary.iterdir()), [])

    def test_importing_and_planning(self):
        path = self.write("wide.prototxt", model(65536, 8, 3, 2))
        self.random("import", 4, 1, "compile", path, "-w", "init:1", "-q", "--effort", "estimate", "-o", self.folder / "net.so")
        self.random("pack", 2, 3, "compile", path, "-w", "init:1", "-q", "--effort", "estimate", "-o", self.folder / "net.so")
        self.check("inspect", 0.3, signal.SIGTERM, "inspect", path, "-w", "init:1")

    def test_a_network_that_runs_long(self):
        text = model(128, 72, 3, 4)
        net = self.compile(text, "--threads", "1", "--precision", "exact", "--disable", "pad-outputs")
        path = self.folder / "net.prototxt"
        data = self.sparse("in.npy", (1, 16, 72, 72, 72), "<f4")
        volume = self.sparse("volume.npy", (16, 100, 300, 300), "<f4")
        for stage, arguments in [
            ("verify", ["verify", net, "--model", path, "-w", "init:1", "--threads", "1"]),
            ("bench", ["bench", net, "--threads", "1", "--runs", "1000"]),
            ("run", ["run", net, data, "-o", self.folder / "out.npy", "--threads", "1"]),
            ("infer", ["infer", net, volume, self.folder / "out.npy", "--threads", "1", "-q"]),
        ]:
            self.random(stage, 3, 1.5, *arguments)
        self.assertFalse((self.folder / "out.npy").exists() and (self.folder / "out.npy").stat().st_size < 1000)


class Killed(Case):
    def compilers(self):
        """A compiler that starts another program; neither hears of anything but SIGKILL."""
        return self.write("cc.sh", f"#!/bin/sh\n[ $1 = --version ] && exec echo cc\ntrap '' TERM INT HUP\nsh -c 'echo $$ >> {self.folder}/started; exec sleep 60' &\nwait\n", 0o755)

    def wait_for_compilers(self, process):
        end = time.monotonic() + PATIENCE
        while not (self.folder / "started").exists() and time.monotonic() < end and process.poll() is None:
            time.sleep(0.01)
        self.assertTrue((self.folder / "started").exists())

    def assert_all_end(self):
        end = time.monotonic() + PATIENCE / 4
        while processes(str(self.folder)) and time.monotonic() < end:
            time.sleep(0.02)
        self.assertEqual(processes(str(self.folder)), [])

    def kill_one(self):
        path = self.write("net.prototxt", model(16, 8))
        process = self.start("compile", path, "-w", "init:1", "--effort", "estimate", "-q", "--cc", self.compilers(), "-o", self.folder / "net.so")
        self.wait_for_compilers(process)
        process.kill()
        process.communicate()

    def test_compilers_end_with_the_command(self):
        self.kill_one()
        self.assert_all_end()

    def test_compilers_end_with_a_host(self):
        """The library in another program, Python, which is killed."""
        library = pathlib.Path(PZNET).resolve().parent / "libpznet.so"
        if not library.exists():
            self.skipTest("no libpznet beside the command")
        path = self.write("net.prototxt", model(16, 8))
        code = f"""
import ctypes
class Options(ctypes.Structure): # pz_compile_options, its first fields
    _fields_ = [("weights", ctypes.c_char_p), ("isa", ctypes.c_char_p), ("cc", ctypes.c_char_p), ("rest", ctypes.c_char * 256)]
o = Options(b"init:1", None, {str(self.compilers()).encode()!r})
ctypes.CDLL({str(library)!r}).pz_compile({str(path).encode()!r}, {str(self.folder / "net.so").encode()!r}, ctypes.byref(o), None)
"""
        process = subprocess.Popen([sys.executable, "-c", code], env=self.environment, stderr=subprocess.PIPE)
        self.wait_for_compilers(process)
        process.kill()
        process.communicate()
        self.assert_all_end()

    def test_what_was_left_is_swept(self):
        self.kill_one()
        self.assert_all_end()
        left = list(self.temporary.iterdir())
        self.assertTrue(left and all(re.fullmatch("pznet-work-.{6}", p.name) for p in left), left)
        precious = self.folder / "precious"
        precious.mkdir()
        (precious / "file").write_text("kept")
        (left[0] / "link").symlink_to(precious)  # inside of one: the link goes, not what it names
        (self.temporary / "pznet-work-linked").symlink_to(precious)
        (self.temporary / "pznet-work-filefi").write_text("no folder")
        (self.temporary / "pznet-work-youngy").mkdir()  # another one, just made, without its lock yet
        (self.temporary / "pznet-work-olderr").mkdir()
        (self.temporary / "pznet-work-longer-name").mkdir()
        old = time.time() - 3600
        for name in ("pznet-work-olderr", "pznet-work-longer-name"):
            os.utime(self.temporary / name, (old, old))
        (self.folder / "started").unlink()
        live = self.start("compile", self.folder / "net.prototxt", "-w", "init:1", "--effort", "estimate", "-q", "--cc", self.compilers(), "-o", self.folder / "other.so")
        self.wait_for_compilers(live)
        alive = {p for p in self.temporary.iterdir() if p not in left and (p / ".lock").exists()}
        self.assertTrue(alive)
        self.compile(model(16, 8))
        kept = {p.name for p in self.temporary.iterdir()}
        self.assertEqual(kept, {p.name for p in alive} | {"pznet-work-linked", "pznet-work-filefi", "pznet-work-youngy", "pznet-work-longer-name"})
        self.assertEqual((precious / "file").read_text(), "kept")
        live.terminate()
        live.communicate()

    def test_of_another_user(self):
        if os.geteuid():
            self.skipTest("only root can make what another user left")
        theirs = self.temporary / "pznet-work-theirs"
        theirs.mkdir()
        (theirs / ".lock").write_text("")
        os.chown(theirs, 12345, 12345)
        self.compile(model(16, 8))
        self.assertTrue((theirs / ".lock").exists())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
