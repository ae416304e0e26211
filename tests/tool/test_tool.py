"""The command, as a user meets it who has a model. usage: test_tool.py PZNET NETWORKS CC [unittest's arguments] (case.py)."""

import ctypes
import filecmp
import json
import os
import pathlib
import platform
import pty
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time
import unittest

from case import AMX_COMPILER, CC, CPU, Case, ESTIMATE, MODEL, NETWORKS, PZNET, QUICK, ROOT, TINY, USERS_CC, VERBS, floats, level2_kib, npy, only, pznet


class Usage(Case):
    def test_summary(self):
        for words in ["--help"], ["-h"], ["help"]:
            out = self.assert_works(*words)
            for verb in VERBS:
                self.assertIn(f"\n  {verb} ", out)
            self.assertIn("exit status", out)
        self.assertEqual(pznet().returncode, 2)
        self.assertEqual(pznet().stdout, "")
        self.assertRegex(self.assert_works("--version"), r"^pznet \d+\.\d+\.\d+\n$")

    def test_help_of_each_verb(self):
        for verb in VERBS:
            out = self.assert_works(verb, "--help")
            self.assertTrue(out.startswith(f"usage: pznet {verb} "))
            self.assertEqual(out, self.assert_works(verb, "-h"))
            for line in out.splitlines():
                self.assertLessEqual(len(line), 130)

    def test_wrong_words(self):
        self.assert_fails(2, "no verb 'train'", "train")
        for verb in VERBS:
            self.assert_fails(2, "no option --nonsense", verb, "--nonsense")
            self.assert_fails(2, "no option -X", verb, "-X")
            if verb not in ("tune", "cache"):
                self.assert_fails(2, "name ", verb)
            self.assert_fails(2, "argument too many" if verb != "run" else "with -o", verb, *["x"] * 4)
        self.assert_fails(2, "--output wants a value", "compile", "x", "-o")
        self.assert_fails(2, "--quiet takes no value", "compile", "x", "--quiet=yes")
        self.assert_fails(2, "with -o", "compile", MODEL)
        self.assert_fails(2, "--threads x", "bench", TINY, "--threads", "x")
        self.assert_fails(2, "--threads -1", "bench", TINY, "-t-1")
        self.assert_fails(2, "--runs 0", "bench", TINY, "--runs=0")
        self.assert_fails(2, "--isa mmx", "compile", MODEL, "-w", "init:1", "-o", self.folder / "x.so", "--isa", "mmx")
        self.assert_fails(2, "--target mmx: expected one of native, x86-64-v2, ", "inspect", MODEL, "-w", "init:1", "--target", "mmx")
        self.assert_fails(2, "exclude each other", "inspect", MODEL, "-w", "init:1", "--target", "zen4", "--isa", "avx2")
        self.assert_fails(2, "--blend soft", "infer", "a", "b", "c", "--blend", "soft")
        self.assert_fails(2, "exclude each other", "infer", "a", "b", "c", "--argmax", "--dtype", "u8")
        for memory in "4X", "G", "-1", "4 ", "4Gx", "1e40", "nan":
            self.assert_fails(2, "expected a size", "infer", "a", "b", "c", "--memory", memory)
        for overlap in "1,2", "16,", "1,2,3,", "-1", "99999999999", "x":
            self.assert_fails(2, "expected three numbers", "infer", "a", "b", "c", "--overlap", overlap)

    def test_a_full_standard_output_is_a_failure(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("there is no /dev/full")
        with open("/dev/full", "w") as full:
            result = subprocess.run([PZNET, "--help"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual((result.returncode, result.stderr.count("\n")), (3, 1))


class Compile(Case):
    def test_the_same_bytes_again(self):
        again, source = self.folder / "tiny.so", self.folder / "source"
        out = self.assert_works("compile", MODEL, "-w", "init:1", "-q", "--cc", USERS_CC, "--emit-c", source, "-o", again)
        self.assertEqual(out, "")
        self.assertTrue(filecmp.cmp(TINY, again, shallow=False), "the network files differ")
        files = only("*")(source)
        self.assertEqual([p.relative_to(source) for p in files], [p.relative_to(NETWORKS / "tiny") for p in only("*")(NETWORKS / "tiny")])
        for file in files:
            self.assertTrue(filecmp.cmp(file, NETWORKS / "tiny" / file.relative_to(source), shallow=False), str(file))

    def test_the_source_is_readable_and_clean(self):
        source = NETWORKS / "tiny"
        sources = only("*.c")(source)
        self.assertGreaterEqual(len(sources), 2)
        self.assertEqual(only("*.o", "*.log", "*.so", "objects.txt")(source), [])
        network = (source / "network.c").read_text()
        for words in "tiny.prototxt", "SHA-256", "multiply-adds":
            self.assertIn(words, network[:600])
        self.assertNotIn(str(self.folder.parent), network)
        isa = json.loads(pznet("inspect", TINY, "--json").stdout)["isa"]
        avx512 = ["-march=skylake-avx512"]
        flags = {"amx": [*avx512, "-mamx-tile", "-mamx-bf16"], "avx512": avx512, "avx2": ["-mavx2", "-mfma"], "sse4": ["-msse4.2"]}[isa]
        compilers = [c for c in ("gcc", "clang", "clang-14") if shutil.which(c)]
        self.assertTrue(compilers)
        for compiler in compilers:
            words = [compiler, "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I.", *flags, *sources]
            result = subprocess.run(words, cwd=source, capture_output=True, text=True)
            self.assertEqual(result.returncode, 0, result.stderr)

    def test_targets(self):
        """Planned and compiled for each core of the table, on any machine; the help lists them all."""
        model, net = self.write("quick.prototxt", QUICK), self.folder / "quick.so"
        message = pznet("inspect", MODEL, "-w", "init:1", "--target", "mmx").stderr
        names = message.strip().split("expected one of ")[1].split(", ")
        self.assertEqual(names[0], "native")
        for verb in "compile", "inspect":
            words = re.split(r"[,\s]+", pznet(verb, "--help").stdout)
            self.assertEqual([name for name in names if name not in words], [])
        isas = {"x86-64-v2": "sse4", "zen3": "avx2", "skylake-x": "avx512", "zen4": "avx512", "sapphire-rapids": "avx512"}
        for name in names[1:]:
            table = self.assert_works("inspect", MODEL, "-w", "init:1", "--target", name)
            self.assertIn(f" ({name}), blocks of ", table)
            if name in isas:  # tiles that are not used are not asked for
                summary = json.loads(self.assert_works("compile", model, "--cc", CC, "--target", name, "--json", "-q", "-o", net))
                self.assertEqual((summary["isa"], summary["target"], summary["core"]), (isas[name], name, name))
                self.assertIn(f"{isas[name]} for {name}, ", self.assert_works("inspect", net))
        summary = json.loads(self.assert_works("compile", model, "--cc", CC, "--json", "-q", "-o", net))
        self.assertEqual(summary["target"], "native")
        self.assertIn(summary["core"], names[1:])

    @unittest.skipUnless(platform.machine() == "x86_64", "of a machine that is no ARM")
    def test_another_machine(self):
        """This machine's compiler knows nothing of ARM; another one makes a file that is refused here."""
        model, net, cross = self.write("quick.prototxt", QUICK), self.folder / "quick.so", "aarch64-linux-gnu-gcc"
        self.assert_fails(1, f"{CC} makes no code for aarch64: name a compiler that does with --cc, such as {cross}", "compile", model,
                          "--cc", CC, "--target", "neoverse-n1", "-q", "-o", net)
        self.assertFalse(net.exists())
        if not shutil.which(cross):
            self.skipTest(f"there is no {cross}")
        summary = json.loads(self.assert_works("compile", model, "--cc", cross, "--target", "neoverse-n1", "--json", "-q", "-o", net))
        self.assertEqual((summary["isa"], summary["target"]), ("neon", "neoverse-n1"))
        self.assertIn("neon for neoverse-n1, ", self.assert_works("inspect", net))
        self.assert_fails(3, "quick.so: was compiled for aarch64, this machine is x86-64", "verify", net)

    def test_other_files_in_the_folder_stay(self):
        model, source = self.write("quick.prototxt", QUICK), self.folder / "source"
        source.mkdir()
        for name in "mine.o", "mine.log", "kernels_mine.o":
            (source / name).write_text("mine")
        self.assert_works("compile", model, "-q", "--emit-c", source, "-o", self.folder / "quick.so")
        for name in "mine.o", "mine.log", "kernels_mine.o":
            self.assertEqual((source / name).read_text(), "mine")

    def test_summaries(self):
        model, net = self.write("quick.prototxt", QUICK), self.folder / "quick.so"
        result = pznet("compile", model, "-o", net)
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout, r"quick\.so: \d+ steps for \w+, ")
        self.assertRegex(result.stderr.splitlines()[-1], r"^\[#{24}\]  \d+:\d\d  done$")
        summary = json.loads(self.assert_works("compile", model, "-o", net, "--json"))
        self.assertEqual(summary["inputs"][0]["shape"], [1, 2, 3, 4, 6])
        self.assertIn("seconds", summary)

    def test_types_of_inputs_and_outputs(self):
        words = ["inspect", MODEL, "-w", "init:1", "--format", "text", "--input-type", "u8", "--output-type", "f16", "--output-type", "#1=bf16"]
        lines = self.assert_works(*words).splitlines()
        inputs, outputs = ([line.split()[1] for line in lines if line.startswith(kind)] for kind in ("input ", "output "))
        self.assertTrue(all(" u8" in line for line in lines if line.startswith("input ")))
        types = [next(line.split()[2] for line in lines if line.startswith(name + " ")) for name in outputs]
        self.assertEqual(types, ["bf16"] + ["f16"] * (len(outputs) - 1))
        self.assertEqual(sum(" = cast " in line for line in lines), len(inputs) + len(outputs))

    def test_what_is_refused(self):
        net = self.folder / "net.so"
        weights = ["-w", "init:1"]
        for status, words, arguments in [
            (3, "none.prototxt", [self.folder / "none.prototxt"]),
            (3, "bad.prototxt:1:", [self.write("bad.prototxt", "layer { name: ")]),
            (3, "empty.prototxt", [self.write("empty.prototxt", "")]),
            (3, "weights", [MODEL, "-w", self.write("bad.caffemodel", b"\x01\x02\x03")]),
            (2, "--input", [MODEL, *weights, "--input", "data"]),
            (2, "nobody", [MODEL, *weights, "--input", "nobody=1x1"]),
            (2, "--input-type u9: expected NAME=TYPE, or TYPE for all", [MODEL, *weights, "--input-type", "u9"]),
            (2, "--output-type prob=i64: expected NAME=TYPE", [MODEL, *weights, "--output-type", "prob=i64"]),
            (2, "there is no output 'data'; there is", [MODEL, *weights, "--output-type", "data=u8"]),
            (2, "there is no input '#9'; there is", [MODEL, *weights, "--input-type", "#9=u8"]),
            (2, "no-such-pass", [MODEL, *weights, "--disable", "no-such-pass"]),
            (2, "--vector-block 5", [MODEL, *weights, "--vector-block", "5"]),
            (1, "no-such-compiler", [MODEL, *weights, "--cc", "no-such-compiler"]),
            (1, "failed with status 1", [MODEL, *weights, "--cc", "false"]),
        ]:
            with self.subTest(words):
                if words == "weights":
                    words = "bad.caffemodel"
                quiet = ["-q"] if status == 1 else []  # no progress is told of a model that is refused
                self.assert_fails(status, words, "compile", *quiet, *arguments, "-o", net)
                self.assertFalse(net.exists())
        self.assert_fails(3, "no/net.so", "compile", MODEL, *weights, "-q", "-o", self.folder / "no/net.so")
        self.assert_fails(3, "folder", "compile", MODEL, *weights, "-q", "-o", self.folder)

    def test_what_the_compiler_says(self):
        """The line that tells why, behind however many warnings; a linker's own, not gcc's about it; the last one; none."""
        rows = [("yes 'x.c:1:1: warning: once more' | head -80000; echo 'x.c:2:1: error: this one'", "x.c:2:1: error: this one"),
                ("echo 'ld: a.o: relocation truncated'; echo 'collect2: error: ld returned 1 exit status'", "ld: a.o: relocation truncated"),
                ("echo; echo 'cc1: out of memory'", "cc1: out of memory"), (":", "failed with status 1 and said nothing")]
        for says, words in rows:
            with self.subTest(words):
                compiler = self.write("cc.sh", f"#!/bin/sh\n{{ {says}; }} >&2\nexit 1\n")
                compiler.chmod(0o755)
                self.assert_fails(1, words, "compile", MODEL, "-w", "init:1", "-q", "--effort", "estimate", "--cc", compiler, "-o",
                                  self.folder / "net.so")

    def test_more_memory_than_there_is(self):
        """Refused before the C compiler is called, with the bytes that it needs."""
        started, net = self.folder / "started", self.folder / "net.so"
        compiler = self.write("cc.sh", f"#!/bin/sh\ntouch {started}\nexec false\n")
        compiler.chmod(0o755)
        arguments = ["compile", MODEL, "-w", "init:1", "--cc", compiler, "-o", net, "--input"]
        gibibyte = 1 << 30
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (gibibyte, gibibyte))
        result = pznet(*arguments, "data=1x1x420x420x420", preexec_fn=limit)
        self.assertEqual((result.returncode, result.stdout), (3, ""), result.stderr)
        self.assertRegex(result.stderr, r"^pznet: .*tiny.prototxt: running the network needs \d+ bytes .*\n$")
        found = [int(n) for n in re.findall(r"(\d{6,})", result.stderr)]
        self.assertGreater(found[0], gibibyte)
        self.assertGreaterEqual(found[0], (1 + 2) * 4 * 420**3)  # its input and output alone
        self.assertLess(found[-1], gibibyte)  # what is there: the process has some of it already
        self.assertIn("ulimit -v) of 1 GiB", result.stderr)
        self.assert_fails(3, "bytes of memory", *arguments, "data=1x1x4000x4000x4000")
        self.assertFalse(started.exists())
        self.assert_fails(1, "failed with status 1", *arguments, "data=1x1x8x8x8", "-q")
        self.assertTrue(started.exists())
        self.assertFalse(net.exists())

    def start_compiler_that_never_ends(self, start):
        """A C compiler that starts another program, which takes no notice of SIGTERM. Its process group, once both run;
        start(words, environment) gives the process."""
        started, temporary = self.folder / "started", self.folder / "tmp"
        temporary.mkdir(exist_ok=True)
        compiler = self.write(
            "cc.sh",
            f"""#!/bin/sh
            sh -c 'trap "" TERM INT HUP; echo $$ > {started}.2; exec sleep 60' &
            while [ ! -s {started}.2 ]; do sleep 0.01; done
            echo $$ > {started}.1
            wait
            """,
        )
        compiler.chmod(0o755)
        process = start(
            [PZNET, "compile", MODEL, *ESTIMATE, "-w", "init:1", "--cc", compiler, "-o", self.folder / "net.so"],
            os.environ | {"TMPDIR": str(temporary)},
        )
        files = [pathlib.Path(f"{started}.{i}") for i in (1, 2)]
        end = time.monotonic() + 120
        while not all(f.exists() and f.read_text() for f in files) and time.monotonic() < end:
            time.sleep(0.01)
        children = [int(f.read_text()) for f in files]
        for f in files:
            f.unlink()
        return process, children

    def assert_nothing_left(self, children):
        for again in self.folder.glob("started.*"):  # by a second compiler, that ran beside the first one
            children = children + [int(again.read_text() or 0)]
            again.unlink()
        end = time.monotonic() + 30  # of the 60 that they would sleep
        while any(self.runs(child) for child in children) and time.monotonic() < end:
            time.sleep(0.01)
        self.assertFalse([child for child in children if self.runs(child)])
        if list(self.folder.glob("tmp/pznet-work-*")):  # a busy machine: the process ended before its compilers had; the next compile sweeps
            model, net = self.write("quick.prototxt", QUICK), self.folder / "quick.so"
            result = pznet("compile", model, "-q", "-o", net, env=os.environ | {"TMPDIR": str(self.folder / "tmp")})
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            model.unlink(), net.unlink()
        self.assertEqual(sorted(p.name for p in self.folder.rglob("*")), ["cc.sh", "tmp"])

    @staticmethod
    def runs(process):
        try:
            return pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
        except FileNotFoundError:
            return False

    def test_signals(self):
        def start(words, environment):
            return subprocess.Popen(words, start_new_session=True, stderr=subprocess.PIPE, text=True, env=environment)

        def both(process, number):  # as `timeout` does
            os.kill(process, number)
            os.killpg(process, number)

        for send, number in [
            (os.kill, signal.SIGINT),
            (os.killpg, signal.SIGINT),
            (both, signal.SIGTERM),
            (os.kill, signal.SIGTERM),
            (os.kill, signal.SIGHUP),
        ]:
            with self.subTest(number):
                process, children = self.start_compiler_that_never_ends(start)
                send(process.pid, number)
                message = process.communicate(timeout=50)[1]  # the compiler would sleep for 60
                self.assertEqual(process.returncode, 128 + number, message)
                self.assertIn("pznet: interrupted", message)
                self.assert_nothing_left(children)

    def test_ctrl_c_on_a_terminal(self):
        def start(words, environment):
            process, terminal = pty.fork()
            if process == 0:
                os.execve(PZNET, list(map(str, words)), environment)
            return process, terminal

        (process, terminal), children = self.start_compiler_that_never_ends(start)
        os.write(terminal, b"\x03")
        text = b""
        try:
            while part := os.read(terminal, 4096):
                text += part
        except OSError:  # the other side is closed
            pass
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), 130, text)
        self.assertIn(b"pznet: interrupted", text)
        os.close(terminal)
        self.assert_nothing_left(children)


class Inspect(Case):
    def test_a_model(self):
        table = self.assert_works("inspect", MODEL, "-w", "init:1")
        for words in "as imported: ", "passes:", "fuse-activation 2", "after the passes: ", "plan: ", "1x5x4x12x14":
            self.assertIn(words, table)
        report = json.loads(self.assert_works("inspect", MODEL, "-w", "init:1", "--json"))
        self.assertEqual(sum(layer["multiply_adds"] for layer in report["before"]), (27 * 5 + 5 * 2) * 4 * 12 * 14)
        self.assertLess(len(report["after"]), len(report["before"]))

    def test_text_forms(self):
        for form in "text", "text-before":
            out = self.assert_works("inspect", MODEL, "-w", "init:1", "--format", form)
            self.assertIn("conv", out)
        for form in "dot", "dot-before":
            out = self.assert_works("inspect", MODEL, "-w", "init:1", "--format", form)
            self.assertTrue(out.startswith("digraph"))
            if shutil.which("dot"):
                drawn = subprocess.run(["dot", "-Tsvg"], input=out, capture_output=True, text=True)
                self.assertEqual((drawn.returncode, drawn.stderr), (0, ""))
                self.assertIn("</svg>", drawn.stdout)

    def test_a_network_file(self):
        table = self.assert_works("inspect", TINY)
        for words in "input", "data 1x1x4x12x14", "prob 1x2x4x12x14", "SHA-256":
            self.assertIn(words, table)
        self.assertEqual(json.loads(self.assert_works("inspect", TINY, "--json"))["abi_version"], 2)

    def test_a_plan(self):
        words = ["inspect", MODEL, "-w", "init:1", "--plan"]
        report = json.loads(self.assert_works(*words, "--json"))
        layers = {row["layer"] for row in json.loads(self.assert_works("inspect", MODEL, "-w", "init:1", "--json"))["after"]}
        self.assertEqual({row["layer"] for row in report["layers"]}, layers)
        for row in report["layers"]:
            self.assertNotIn(row["chosen"]["algorithm"], [other["algorithm"] for other in row["alternatives"]])
        rows = {row["search"]: row for row in report["searches"]}
        self.assertEqual(list(rows), ["nchw", "layout", "transforms", "global"])
        self.assertEqual(rows["nchw"]["expected_speedup"], 1)
        self.assertGreater(rows["transforms"]["expected_speedup"], rows["layout"]["expected_speedup"])
        self.assertGreaterEqual(rows["global"]["expected_speedup"], max(row["expected_speedup"] for row in rows.values()))
        self.assertGreater(rows["layout"]["conversions"], rows["transforms"]["conversions"])
        self.assertTrue(all(row["milliseconds"] is None for row in rows.values()))
        table = self.assert_works(*words)
        for row in report["layers"]:
            self.assertIn(row["chosen"]["algorithm"], table)
        plan = json.loads(self.assert_works("inspect", MODEL, "-w", "init:1", "--json"))
        self.assertIn("global search", self.assert_works(*words, "--memory", str(plan["weights_bytes"] + plan["arena_bytes"])))  # the others need more

    def test_a_plan_is_timed(self):
        words = ["inspect", MODEL, "-w", "init:1", "--plan", "--runs", "1", "--cc", CC]
        rows = json.loads(self.assert_works(*words, "--json"))["searches"]
        self.assertTrue(all(row["milliseconds"] > 0 for row in rows))
        self.assertEqual(rows[0]["speedup"], 1)

    def test_a_search(self):
        net = self.folder / "net.so"
        self.assert_works("compile", MODEL, "-w", "init:1", "--cc", CC, "-q", "--search", "nchw", "-o", net)
        self.assertIn("direct in NCHW", self.assert_works("inspect", net))
        self.assert_works("verify", net, "--model", MODEL, "-w", "init:1")

    def test_what_is_refused(self):
        plan = ["inspect", MODEL, "-w", "init:1", "--plan"]
        self.assert_fails(2, "exclude each other", *plan, "--html", "x.html")
        self.assert_fails(2, "--plan is shown as text, or with --json", *plan, "--format", "dot")
        self.assert_fails(2, "--search nchw: plans of all searches are shown", *plan, "--search", "nchw")
        self.assert_fails(2, "expected global, transforms, layout or nchw", "inspect", MODEL, "-w", "init:1", "--search", "x")
        self.assert_fails(2, "expected LAYER=ALGORITHM", *plan, "--algorithm", "x")
        self.assert_fails(2, "is a network file", "inspect", TINY, "--plan")
        self.assert_fails(2, "--format svg", "inspect", MODEL, "--format", "svg")
        self.assert_fails(2, "--format dot", "inspect", TINY, "--format", "dot")
        self.assert_fails(3, "none", "inspect", self.folder / "none")
        self.assert_fails(3, "cut.so", "inspect", self.write("cut.so", TINY.read_bytes()[:1000]))


def without_tiles():
    """From here on Linux refuses AMX to this process: a filter (BPF) answers EPERM to arch_prctl(ARCH_REQ_XCOMP_PERM, ...)."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    allow, refuse, x86_64_arch_prctl = 0x7FFF0000, 0x00050001, 158
    rows = [(0x20, 0, 0, 0), (0x15, 0, 3, x86_64_arch_prctl), (0x20, 0, 0, 16), (0x15, 0, 1, 0x1023)]
    rows += [(0x06, 0, 0, refuse), (0x06, 0, 0, allow)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in rows))
    program = struct.pack("HxxxxxxP", len(rows), ctypes.addressof(code))
    if prctl(38, 1, 0, 0, 0) or prctl(22, 2, program, 0, 0):  # PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP
        raise OSError(ctypes.get_errno(), "prctl")


@unittest.skipUnless(AMX_COMPILER, "the C compiler does not know AMX")
class Tiles(Case):
    """Networks for AMX, where there is AMX and where there is none."""

    def setUp(self):
        super().setUp()
        self.net, self.input = self.folder / "amx.so", self.write("in.npy", npy("(4, 12, 14)", bytes(4 * 672)))

    def compile(self, isa, **options):
        words = ["compile", MODEL, "-w", "init:1", "-q", "--json", "--cc", CC, "--isa", isa, "-o", self.net]
        return json.loads(self.assert_works(*words, **options))["isa"]

    def plain(self, **options):
        program = self.folder / "plain"
        subprocess.run([CC, "-I", ROOT / "include", ROOT / "examples/plain_dlopen.c", "-o", program, "-ldl"], check=True)
        return subprocess.run([program, self.net], capture_output=True, text=True, **options)

    def assert_refused(self, **options):
        out = self.folder / "out.npy"
        for arguments in ["run", self.net, self.input, "-o", out], ["verify", self.net]:
            self.assert_fails(3, "was compiled for AMX, this machine has ", *arguments, **options)
        self.assertFalse(out.exists())

    def test_a_network_for_amx(self):
        self.assertEqual(self.compile("amx"), "amx")
        if pznet("bench", self.net, "--runs", "1").returncode:
            return self.assert_refused()
        self.assertIn("amx_bf16", CPU)
        self.assert_works("verify", self.net, "--model", MODEL, "-w", "init:1", "-q")
        self.assert_works("run", self.net, self.input, "-o", self.folder / "out.npy")
        first = floats(self.folder / "out.npy")[0]
        self.assertAlmostEqual(float(self.plain().stdout.split()[-1]), first, places=5)

    def test_bf16x2(self):
        """Products of bf16x2, where the error that they have is allowed to all layers together: band by band too."""
        layers = ['input: "data" input_shape { dim: 1 dim: 20 dim: 6 dim: 18 dim: 35 }']
        for i, maps in enumerate([64, 64, 48, 40]):
            layers.append(f'layer {{ name: "c{i}" type: "Convolution" bottom: "{f"c{i - 1}" if i else "data"}" top: "c{i}" '
                          f'convolution_param {{ num_output: {maps} kernel_size: 3 pad: 1 axis: 1 }} }}'
                          f'layer {{ name: "r{i}" type: "ELU" bottom: "c{i}" top: "c{i}" }}')
        model = self.write("net.prototxt", "\n".join(layers).encode())
        native = ["compile", model, "-w", "init:1", "-q", "--cc", CC, "--effort", "estimate", "--json", "-o", self.net]
        words = [*native, "--isa", "amx"]
        self.assert_works(*words, "--max-error", "4e-6")
        self.assertNotIn("bf16x2", self.assert_works("inspect", self.net))
        self.assertNotEqual(json.loads(self.assert_works(*native, "--max-error", "4e-6"))["isa"], "amx",
                            "tiles that are not used are not asked for")
        self.assertNotIn("AMX", self.assert_works("inspect", model, "-w", "init:1", "--max-error", "4e-6"))
        for bands in "auto", "always":
            self.assert_works(*words, "--fuse-rows", bands)
            plan = self.assert_works("inspect", self.net)
            self.assertEqual(plan.count("bf16x2 3x3x3"), 2 if level2_kib() < 1024 else 3,
                             "5.8e-6 each, of 48 channels in, which end with a block without a partner, 5.4e-6: 9.8e-6 together; "
                             "with less level 2 the layer of 64 channels in and out is filtered along all axes")
            self.assertEqual(plan.count("bf16x2 3x3x3, F(2,3) along d"), 2 if level2_kib() <= 1024 else 3,
                             "with 1 MiB of level 2 the layer of 64 channels in and out takes another")
            if "amx_bf16" in CPU and not pznet("bench", self.net, "--runs", "1").returncode:
                self.assertEqual(json.loads(self.assert_works(*native, "--fuse-rows", bands))["isa"], "amx")
                self.assert_works("verify", self.net, "--model", model, "-w", "init:1", "-q")

    def test_where_tiles_are_refused(self):
        """As on a machine without AMX; and a plain host of the network file is told by its status."""
        try:
            subprocess.run(["true"], preexec_fn=without_tiles, check=True)
        except subprocess.SubprocessError:
            self.skipTest("no system call can be filtered here")
        self.assertEqual(self.compile("amx", preexec_fn=without_tiles), "amx")
        self.assert_refused(preexec_fn=without_tiles)
        if "avx512f" in CPU:
            result = self.plain(preexec_fn=without_tiles)
            self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertNotEqual(self.compile("native", preexec_fn=without_tiles), "amx")
        self.assert_works("run", self.net, self.input, "-o", self.folder / "out.npy", preexec_fn=without_tiles)

    def test_a_compiler_without_amx(self):
        compiler = self.write("old.sh", f"""#!/bin/sh
case "$*" in *-mamx*) echo "old.sh: error: unrecognized option '-mamx-tile'"; exit 1;; esac
exec {CC} "$@"
""")
        compiler.chmod(0o755)
        words = ["compile", MODEL, "-w", "init:1", "-q", "--cc", compiler, "-o", self.net, "--isa"]
        self.assert_fails(1, "does not know -mamx-tile: compile with --isa avx512, or", *words, "amx")
        self.assertFalse(self.net.exists())
        self.assert_works(*words, "avx512")


class Output(Case):
    """Outputs that cannot be written: one line, status 3, nothing left behind."""

    def setUp(self):
        super().setUp()
        self.input = self.write("in.npy", npy("(4, 12, 14)", bytes(4 * 672)))
        self.model = self.write("quick.prototxt", QUICK)

    def writers(self, folder):
        """Each verb that writes, with its output in this folder."""
        return [
            ["compile", self.model, "-q", "-o", folder / "net.so"],
            ["run", TINY, self.input, "-o", folder / "out.npy"],
            ["infer", TINY, self.input, folder / "out.npy", "-q"],
            ["infer", TINY, self.input, folder / "out.tif", "-q"],
            ["infer", TINY, self.input, folder / "out.nii.gz", "-q"],
            ["infer", TINY, self.input, folder / "out.h5:/main", "-q"],
        ]

    def test_paths(self):
        taken, missing = self.folder / "taken", self.folder / "missing"
        for name in "net.so", "out.npy", "out.tif", "out.nii.gz", "out.h5":
            (taken / name).mkdir(parents=True)
        cases = [(taken, "folder"), (missing, "No such file"), (pathlib.Path("/proc"), "proc")]
        if os.getuid():
            closed = self.folder / "closed"
            closed.mkdir(mode=0o555)
            cases.append((closed, "Permission denied"))
        for folder, words in cases:
            for arguments in self.writers(folder):
                with self.subTest(arguments):
                    # a C compiler that cannot be started, a network that cannot be run: found before the work
                    work = ["--cc", "no-such-compiler"] if arguments[0] == "compile" else []
                    self.assert_fails(3, words, *arguments, *work)
        self.assertFalse(missing.exists())
        self.assert_fails(3, "regular", "run", TINY, self.input, "-o", "/dev/full")
        report = self.folder / "missing" / "report.json"
        self.assert_fails(3, "report", "infer", TINY, self.input, self.folder / "out.npy", "-q", "--json", report)
        self.assertFalse((self.folder / "out.npy").exists())
        for source in self.model, missing / "source":
            arguments = ["compile", self.model, "-q", "-o", self.folder / "net.so", "--emit-c", source]
            self.assert_fails(3, str(source), *arguments, "--cc", "no-such-compiler")

    def test_immutable_folder(self):
        fixed = self.folder / "fixed"
        fixed.mkdir()
        try:
            subprocess.run(["chattr", "+i", fixed], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            self.skipTest("chattr +i is not possible here")
        self.addCleanup(subprocess.run, ["chattr", "-i", fixed])
        for arguments in self.writers(fixed):
            self.assert_fails(3, "fixed", *arguments)

    def test_files_that_cannot_grow(self):
        """As a full disk: writing fails somewhere on the way."""
        temporary, out = self.folder / "tmp", self.folder / "out"
        temporary.mkdir()
        out.mkdir()
        environment = os.environ | {"TMPDIR": str(temporary)}
        for bytes_ in 0, 512, 4096:
            for arguments in self.writers(out):
                with self.subTest(bytes_=bytes_, arguments=arguments):
                    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_, bytes_))
                    self.assert_fails(3, "", *arguments, preexec_fn=limit, env=environment)
                    self.assertEqual(list(temporary.iterdir()), [])
                    self.assertEqual(list(out.iterdir()), [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
