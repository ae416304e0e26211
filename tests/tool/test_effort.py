"""pznet compile --effort. usage: test_effort.py PZNET CC [unittest's arguments]. Standard library only."""

import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
import unittest

PZNET, CC = os.path.abspath(sys.argv[1]), sys.argv[2]
QUICK = os.environ.get("PZ_QUICK_COMPILER", CC)  # CC, made quick: says the same of itself (tests/CMakeLists.txt); where times do not matter

# Two convolutions with one shape: the first reads the network's input, the second makes its result, so they are two problems, which are timed as one.
CONV = """
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 32 dim: 24 dim: 24 } } }
layer { name: "first" type: "Convolution" bottom: "data" top: "first" convolution_param {
  num_output: 32 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
layer { name: "second" type: "Convolution" bottom: "first" top: "second" convolution_param {
  num_output: 32 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
"""

# The second convolution has a sum, a bias and an activation fused to it.
SUM = CONV + """
layer { name: "sum" type: "Eltwise" bottom: "data" bottom: "second" top: "sum" }
layer { name: "relu" type: "ReLU" bottom: "sum" top: "sum" }
"""

# Of what the second convolution makes the result has a hundredth.
BRANCHES = CONV.replace('bottom: "first"', 'bottom: "data"') + """
layer { name: "sum" type: "Eltwise" bottom: "first" bottom: "second" top: "sum" eltwise_param { coeff: 1 coeff: 0.01 } }
"""

# Large enough for candidates to be tried in the network.
LARGE = CONV.replace("dim: 32 dim: 24 dim: 24", "dim: 32 dim: 10 dim: 48 dim: 48")

# No convolution and no weights. A crop in steps reads points by a table, which lies among the weights of what is timed.
OTHERS = """
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 4 dim: 6 dim: 8 } } }
layer { name: "like" type: "Input" top: "like" input_param { shape { dim: 1 dim: 4 dim: 6 dim: 4 } } }
layer { name: "crop" type: "Crop" bottom: "data" bottom: "like" top: "crop" crop_param { axis: 3 offset: 1 } }
layer { name: "pool" type: "Pooling" bottom: "crop" top: "pool" pooling_param { pool: AVE global_pooling: true } }
"""
ARITHMETIC = pathlib.Path(__file__).parents[1] / "import/data/onnx/arithmetic.onnx"

# The fastest candidates with AMX are too inexact for two layers to have them.
ISA = ["--isa", "avx512"] if "amx_bf16" in pathlib.Path("/proc/cpuinfo").read_text() else []


def npy(shape, values):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (117 - len(header)) + b"\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header + values


class Effort(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="pznet-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.model, cls.net = cls.folder / "conv.prototxt", cls.folder / "conv.so"
        cls.database, cls.temporary = cls.folder / "cache/tuning.sqlite", cls.folder / "a tmp"
        cls.model.write_text(CONV)
        cls.temporary.mkdir()
        # Other tests run beside these.
        cls.environment = os.environ | {"PZNET_CACHE_DIR": str(cls.folder / "cache"), "TMPDIR": os.path.relpath(cls.temporary), "PZNET_ASSUME_QUIET": "1"}
        cls.first = cls.compile("--json")

    @classmethod
    def pznet(cls, *words):
        isa = ISA if words[0] in ("compile", "inspect") else []
        if words[0] == "compile" and not {"--effort", "--budget"} & set(words):
            words += ("--effort", "measure")
        return subprocess.run([PZNET, *map(str, words), *isa], capture_output=True, text=True, timeout=300, env=cls.environment)

    @classmethod
    def words(cls, *words):
        return ["compile", cls.model, "-w", "init:1", "--cc", CC, "-o", cls.net, *words]

    @classmethod
    def compile(cls, *words):
        result = cls.pznet(*cls.words(*words))
        assert (result.returncode, result.stderr) == (0, ""), result.stderr
        return json.loads(result.stdout)

    def inspect(self, *words):
        result = self.pznet("inspect", self.model, "-w", "init:1", "--cc", CC, "--json", *words)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return {row["layer"]: row["candidates"] for row in json.loads(result.stdout)["choices"]}

    def convolutions(self, manifest):
        return [step for step in manifest["plan"] if step["op"] == "conv"]

    def test_a_network_without_weights(self):
        model, net = self.folder / "relu.prototxt", self.folder / "relu.so"
        model.write_text(CONV.split("layer { name: \"first\"")[0] + 'layer { name: "relu" type: "ReLU" bottom: "data" top: "relu" }')
        result = self.pznet("compile", model, "-w", "init:1", "--cc", CC, "-o", net, "-q")
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_measures_each_problem(self):
        tuning = self.first["tuning"]
        self.assertEqual((tuning["effort"], tuning["problems"], tuning["measured"], tuning["note"]), ("measure", 2, 2, ""))
        self.assertGreater(tuning["candidates"], 1)
        steps = self.convolutions(self.first)
        self.assertEqual(len(steps), 2)
        for step in steps:
            self.assertGreater(step["measured_ms"], 0)
            self.assertTrue(0 < step["expected_error"] < 1e-5)
        rows = json.loads(self.pznet("tune", "--json").stdout)["measurements"]
        self.assertEqual(len(rows), 2 * tuning["candidates"])
        self.assertEqual(len({(row["hash"], row["problem"]) for row in rows}), 2)
        self.assertEqual(len({row["hash"] for row in rows}), 2)
        first, second = ({row["candidate"]: row["seconds"] for row in rows if row["hash"] == key} for key in {row["hash"] for row in rows})
        self.assertEqual(first, second)
        fastest = 1e3 * min(row["seconds"] for row in rows)
        for step in steps:  # 3% of both may be given for smaller weights of one
            self.assertTrue(0.999 * fastest < step["measured_ms"] < 1.061 * fastest, (fastest, step))
            self.assertTrue(any(abs(1e3 * row["seconds"] - step["measured_ms"]) < 1e-6 for row in rows), step)
        self.assertEqual(list(self.temporary.iterdir()), [])

    def test_other_machines_are_not_measured(self):
        """Of two cores this machine can be one."""
        notes = []
        for target in "zen4", "skylake-x":
            words = self.words("--json", "--target", target, "--tuning", self.folder / "other.sqlite", "--budget", "0")
            other = {self.net: self.folder / "other.so", CC: QUICK}  # which may not run here
            words = [PZNET, *(str(other.get(word, word)) for word in words)]
            result = subprocess.run(words, capture_output=True, text=True, timeout=300, env=self.environment)
            self.assertEqual(result.returncode, 0, result.stderr)
            tuning = json.loads(result.stdout)["tuning"]
            notes.append(tuning["note"])
            self.assertEqual(tuning["effort"], "estimate" if tuning["note"] else "measure")
            if tuning["note"]:
                self.assertRegex(tuning["note"], f"^this machine (is no {target}|cannot run AVX-512), so nothing is measured: the cost model chooses$")
        self.assertTrue(any(notes), notes)

    def test_is_right(self):
        result = self.pznet("verify", self.net, "--model", self.model, "-w", "init:1")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_sum_fused_to_a_convolution(self):
        model, net = self.folder / "sum.prototxt", self.folder / "sum.so"
        model.write_text(SUM)
        words = ["compile", model, "-w", "init:1", "--cc", CC, "--tuning", self.folder / "sum.sqlite", "-o", net, "--json"]
        result = self.pznet(*words)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        summary = json.loads(result.stdout)
        self.assertEqual(summary["tuning"]["measured"], 2)
        self.assertEqual(len([step for step in self.convolutions(summary) if step.get("measured_ms", 0) > 0]), 2)
        rows = json.loads(self.pznet("tune", "--json", "--database", self.folder / "sum.sqlite").stdout)["measurements"]
        self.assertTrue(any(row["problem"].endswith(" kernel 1,3,3 pad 0,1,1:0,1,1 act relu bordered") for row in rows), rows)
        result = self.pznet("verify", net, "--model", model, "-w", "init:1")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_weighs_errors_by_what_the_result_has_of_them(self):
        model, net = self.folder / "branches.prototxt", self.folder / "branches.so"
        model.write_text(BRANCHES)
        words = ["compile", model, "-w", "init:1", "--cc", CC, "-o", net, "--json"]
        result = self.pznet(*words)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        parts = {s["layer"]: s["expected_in_result"] / s["expected_error"] for s in self.convolutions(json.loads(result.stdout))}
        self.assertTrue(1.1 < parts["first"] < 2, parts)  # half as much again, for other inputs
        self.assertTrue(0.011 < parts["second"] < 0.02, parts)
        result = self.pznet("verify", net, "--model", model, "-w", "init:1")  # its weights are without noise again
        self.assertEqual(result.returncode, 0, result.stderr)
        result = self.pznet(*words, "--effort", "estimate")  # nothing is measured: it is calculated, with as much again
        calculated = {s["layer"]: s["expected_in_result"] / s["expected_error"] for s in self.convolutions(json.loads(result.stdout))}
        for layer, part in calculated.items():
            self.assertTrue(parts[layer] / 2 < part < 2 * parts[layer], (parts, calculated))
        result = self.pznet(*words, "--precision", "exact")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for step in self.convolutions(json.loads(result.stdout)):
            self.assertNotIn("expected_in_result", step)

    def exhaust(self, model):
        """A network file of the model, verified: the summary, and the candidates that have times, {operator: a set for each problem}."""
        net, database = self.folder / "others.so", self.folder / f"{model.stem}.sqlite"
        result = self.pznet("compile", model, "--cc", CC, "--effort", "exhaustive", "--tuning", database, "-o", net, "--json")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        summary = json.loads(result.stdout)
        self.assertEqual(summary["tuning"]["note"], "")
        verified = self.pznet("verify", net, "--model", model)
        self.assertEqual(verified.returncode, 0, verified.stderr)
        rows = json.loads(self.pznet("tune", "--json", "--database", database).stdout)["measurements"]
        problems = {row["hash"]: (row["problem"].split()[0], set()) for row in rows}
        for row in rows:
            self.assertEqual(row["problem"].split()[0], problems[row["hash"]][0])
            self.assertGreater(row["seconds"], 0)
            problems[row["hash"]][1].add(row["candidate"])
        return summary, sorted((op, sorted(candidates)) for op, candidates in problems.values())

    def test_other_operators_than_convolutions(self):
        model = self.folder / "others.prototxt"
        model.write_text(OTHERS)
        summary, timed = self.exhaust(model)
        self.assertEqual(timed, [("crop", ["crop", "crop in steps"]), ("pool", ["pooling", "reduction of the whole image"])])
        self.assertEqual((summary["tuning"]["problems"], summary["tuning"]["measured"], summary["tuning"]["candidates"]), (2, 2, 4))

    def test_constant_factors_are_read_by_what_packs_them(self):
        _, timed = self.exhaust(ARITHMETIC)
        self.assertFalse([op for op, _ in timed if op == "scale"], timed)

    def run_large(self, name, *words, model=LARGE):
        """Compiled with times from NAME.sqlite, and verified: the summary, and the times in the network, {(layer, candidate): seconds}."""
        path, net, database = self.folder / "large.prototxt", self.folder / f"{name}.so", self.folder / f"{name}.sqlite"
        path.write_text(model)
        result = self.pznet("compile", path, "-w", "init:1", "--tuning", database, "-o", net, "--json", *words)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        verified = self.pznet("verify", net, "--model", path, "-w", "init:1")
        self.assertEqual(verified.returncode, 0, verified.stderr)
        self.assertEqual(list(self.temporary.iterdir()), [])
        rows = json.loads(self.pznet("tune", "--json", "--database", database).stdout)["measurements"]
        parted = [(row["problem"].partition(", layer ")[2], row) for row in rows]
        return json.loads(result.stdout), {(int(of.split()[0]), row["candidate"]): row["seconds"] for of, row in parted if of}

    def times_alone(self, name):
        """A database NAME in which three candidates of LARGE's problem took about as long as each other; its lines, these first."""
        path, lines = self.folder / "large.prototxt", self.folder / "large.jsonl"
        if not lines.exists():
            path.write_text(LARGE)
            database = self.folder / "alone.sqlite"
            result = self.pznet("compile", path, "-w", "init:1", "--cc", QUICK, "--tuning", database, "-o", self.folder / "alone.so")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(self.pznet("tune", "--export", lines, "--database", database).returncode, 0)
        rows = [json.loads(line) for line in lines.read_text().splitlines()]
        rows = [row for row in rows if ", layer " not in row["problem"]]
        inexact = re.compile(r"F\((4,6,6|6,4,6|6,6,4|6,6,6)\)")  # two of them would exceed the bound on the error
        rows.sort(key=lambda row: (bool(inexact.search(row["candidate"])), row["candidate"]))
        problems = {key: [row for row in rows if row["hash"] == key] for key in dict.fromkeys(row["hash"] for row in rows)}
        self.assertEqual(len(problems), 2)
        timed = [[row | {"seconds": [0.005, 0.00535, 0.0057, 0.009][min(i, 3)]} for i, row in enumerate(of)] for of in problems.values()]
        self.assertEqual(*([row["candidate"] for row in of] for of in timed))
        self.assertGreaterEqual(len(timed[0]), 3)
        self.import_rows(name, timed[0] + timed[1])
        return timed[0]

    def import_rows(self, name, rows):
        lines = self.folder / f"{name}.jsonl"
        lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
        result = self.pznet("tune", "--import", lines, "--database", self.folder / f"{name}.sqlite")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_tries_candidates_in_the_network(self):
        alone = self.times_alone("near")
        near = [row["candidate"] for row in alone[:3]]
        compiler, log = self.folder / "logging", self.folder / "kernels.log"
        compiler.write_text(
            "#!/bin/sh\nfor word; do case $word in */g??????????.c) while read -r type name rest; do "
            f'[ "$type" != void ] || echo $name >> {log}; done < $word;; esac; done\nexec {CC} "$@"\n'
        )
        compiler.chmod(0o755)
        summary, tried = self.run_large("near", "--cc", compiler)
        self.assertEqual((summary["tuning"]["measured"], summary["tuning"]["tried"], summary["tuning"]["note"]), (0, 2, ""))
        kernels = log.read_text().splitlines()
        self.assertGreater(len(kernels), 4)
        self.assertEqual(len(kernels), len(set(kernels)))  # of three networks and more: each is compiled once
        slower = "emit_untried" in summary["seconds"]  # what the network began with is all that is kept then
        kept = {(layer, candidate) for layer in (0, 1) for candidate in (near[:1] if slower else near)}
        self.assertEqual(set(tried), kept)
        for layer, step in enumerate(self.convolutions(summary)):
            times = [seconds for (of, _), seconds in tried.items() if of == layer]
            self.assertTrue(any(abs(1e-3 * step["measured_ms"] - seconds) < 1e-9 for seconds in times), (step, tried))
            self.assertLess(1e-3 * step["measured_ms"], 1.061 * min(times))
        again, same = self.run_large("near", "--cc", CC)
        self.assertEqual((again["tuning"]["tried"], same), (0, tried))
        plans = [[(step["layer"], step["algorithm"], step.get("measured_ms")) for step in s["plan"]] for s in (summary, again)]
        self.assertEqual(*plans)
        third = LARGE[LARGE.index('layer { name: "second"'):].replace("second", "third").replace("first", "second")
        other, more = self.run_large("near", "--cc", CC, model=LARGE + third)  # the same problems, and one between them, in another network
        self.assertEqual((other["tuning"]["measured"], other["tuning"]["note"]), (1, ""))
        self.assertTrue({0, 2} <= {layer for layer, _ in more}, more)

    def test_chooses_by_times_in_the_network(self):
        self.times_alone("digits")
        self.run_large("digits", "--cc", CC)
        rows = json.loads(self.pznet("tune", "--json", "--database", self.folder / "digits.sqlite").stdout)["measurements"]
        alone = self.times_alone("inside")
        exact = sorted(alone[:3], key=lambda row: row["candidate"])
        for layer, best in (0, exact[0]), (1, exact[1]):
            one = next(row for row in rows if f", layer {layer} of network " in row["problem"])
            inside = [row | {"hash": one["hash"], "problem": one["problem"]} for row in exact]
            self.import_rows("inside", [row | {"seconds": 0.003 if row["candidate"] == best["candidate"] else 0.02} for row in inside])
        summary, _ = self.run_large("inside", "--cc", CC)
        self.assertEqual((summary["tuning"]["measured"], summary["tuning"]["tried"]), (0, 0))
        for step, best in zip(self.convolutions(summary), exact):
            self.assertTrue(step["algorithm"].startswith(best["candidate"]), (step, best))
            self.assertAlmostEqual(step["measured_ms"], 3)

    def test_trying_that_fails_leaves_the_plan(self):
        self.times_alone("untried")
        compiler = self.folder / "cc"
        compiler.write_text(f'#!/bin/sh\ncase $PWD in */source) exit 1;; esac\nexec {CC} "$@"\n')
        compiler.chmod(0o755)
        summary, tried = self.run_large("untried", "--cc", compiler)
        self.assertEqual((summary["tuning"]["measured"], tried), (0, {}))
        self.assertIn("not tried in the network", summary["tuning"]["note"])

    def test_does_not_measure_again(self):
        again = self.compile("--json")
        self.assertEqual((again["tuning"]["problems"], again["tuning"]["measured"]), (2, 0))
        self.assertEqual(again["plan"], self.first["plan"])
        result = self.pznet(*self.words())
        self.assertEqual(result.returncode, 0)
        self.assertNotIn("measured", result.stdout)

    def test_inspect_shows_times(self):
        for layer, candidates in self.inspect().items():
            timed = [c for c in candidates if c["measured_ms"] is not None]
            chosen = [c for c in candidates if c["chosen"]]
            self.assertEqual(len(timed), self.first["tuning"]["candidates"], layer)
            self.assertEqual(len(chosen), 1)
            fastest = min(timed, key=lambda c: c["measured_ms"])
            # 3% of the time of both layers may be given for smaller weights, to one of them too
            self.assertTrue(chosen[0] == fastest or chosen[0]["weights_bytes"] < fastest["weights_bytes"])
            self.assertLessEqual(chosen[0]["measured_ms"], 1.061 * fastest["measured_ms"])
            self.assertEqual([c["cost"] for c in candidates], sorted(c["cost"] for c in candidates))
        table = self.pznet("inspect", self.model, "-w", "init:1", "--cc", CC).stdout
        self.assertIn("expected error", table)
        self.assertEqual(table.count("\n* "), 2)

    def assert_no_times(self, choices):
        for candidates in choices.values():
            self.assertEqual({c["measured_ms"] for c in candidates}, {None})
            self.assertTrue(candidates[0]["chosen"])

    def test_other_keys_are_not_used(self):
        threads = self.first["tuning"]["threads"]
        self.assertNotEqual(self.inspect("--threads", threads), self.inspect("--threads", threads + 1))
        self.assert_no_times(self.inspect("--threads", threads + 1))
        self.assert_no_times(self.inspect("--effort", "estimate"))
        self.assert_no_times(self.inspect("--tuning", "none"))
        stale = self.folder / "stale.sqlite"
        for column, value in [("solvers", "0123456789abcdef"), ("cpu", "another"), ("compiler", "cc 1")]:
            with self.subTest(column):
                shutil.copy(self.database, stale)
                self.assertNotEqual(self.inspect("--tuning", stale), self.inspect("--effort", "estimate"))
                with sqlite3.connect(stale) as changed:
                    self.assertGreater(changed.execute(f"UPDATE measurement SET {column} = ?", [value]).rowcount, 0)
                changed.close()
                self.assert_no_times(self.inspect("--tuning", stale))

    def test_exhaustive_wants_more(self):
        self.assert_no_choice_by_time(self.inspect("--effort", "exhaustive"))

    def assert_no_choice_by_time(self, choices):
        for candidates in choices.values():
            if any(c["measured_ms"] is None and c["cost"] <= 4 for c in candidates):
                chosen = next(c for c in candidates if c["chosen"])
                self.assertTrue(chosen == candidates[0] or chosen["weights_bytes"] < candidates[0]["weights_bytes"])

    def test_same_bits_with_any_number_of_threads(self):
        values = struct.pack(f"<{32 * 24 * 24}f", *((i * 37 % 101) / 50 - 1 for i in range(32 * 24 * 24)))
        (self.folder / "in.npy").write_bytes(npy((32, 24, 24), values))
        outputs = []
        for threads in 1, 2, 3:
            out = self.folder / f"out{threads}.npy"
            self.assertEqual(self.pznet("run", self.net, self.folder / "in.npy", "-o", out, "-t", threads).returncode, 0)
            outputs.append(out.read_bytes())
        self.assertEqual(outputs, [outputs[0]] * 3)

    def test_failures_leave_the_estimate(self):
        # the first call of the C compiler that is not --version fails
        compiler = self.folder / "cc.sh"
        compiler.write_text(f'#!/bin/sh\n[ "$*" = --version ] || mkdir "$0.failed" 2>&- && [ "$*" != --version ] && exit 1\nexec {CC} "$@"\n')
        compiler.chmod(0o755)
        other = self.folder / "other.so"
        words = ["compile", self.model, "-w", "init:1", "--cc", compiler, "--tuning", "none", "-o", other]
        result = self.pznet(*words)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("pznet: warning: not all could be measured", result.stderr)
        damaged = self.folder / "damaged.sqlite"
        damaged.write_bytes(b"SQLite format 3\0" + bytes(5000))
        summary = self.compile("--json", "--tuning", damaged)
        self.assertIn("not kept", summary["tuning"]["note"])
        self.assertEqual(summary["tuning"]["measured"], 2)

    def test_wrong_words(self):
        bad = [(["--budget", value], f"--budget {value}: expected a number of seconds, 0 or more") for value in ("-1", "nan", "inf", "ten", "", "1s")]
        both = (["--effort", "estimate", "--budget", "3"], "--budget 3 goes with measuring, not with --effort estimate")
        for words, message in [(["--effort", "hard"], "--effort hard"), (["--threads", "-1"], "--threads -1"), both, *bad]:
            result = self.pznet(*self.words(*words))
            self.assertEqual((result.returncode, len(result.stderr.splitlines())), (2, 1))
            self.assertIn(message, result.stderr)

    def test_nothing_is_measured_without_a_budget(self):
        """Then kept times count still, and no database is made."""
        database, nets = self.folder / "none/tuning.sqlite", [self.folder / name for name in ("b0.so", "est.so", "b0again.so", "kept.so")]
        options = [["--budget", "0", "--tuning", database], ["--effort", "estimate"], ["--budget", "0", "--tuning", "none"], ["--budget", "0"]]
        summaries = []
        for net, words in zip(nets, options):
            result = self.pznet("compile", self.model, "-w", "init:1", "--cc", CC, "-o", net, "--json", *words)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            summaries.append(json.loads(result.stdout))
        self.assertFalse(database.exists())
        for summary in summaries:
            self.assertEqual([summary["tuning"][key] for key in ("measured", "candidates", "tried", "spent")], [0, 0, 0, 0])
        self.assertEqual((summaries[0]["tuning"]["effort"], summaries[0]["tuning"]["budget"]), ("measure", 0))
        self.assertEqual(nets[0].read_bytes(), nets[1].read_bytes())
        self.assertEqual(nets[0].read_bytes(), nets[2].read_bytes())
        self.assertTrue(all(step["measured_ms"] > 0 for step in self.convolutions(summaries[3])))

    def test_the_budget_ends_compilers(self):
        """Of what is measured, which this compiler never ends; the network itself is compiled."""
        compiler = self.folder / "endless.sh"
        compiler.write_text(f'#!/bin/sh\ngrep -qs "tuning" network.c && [ "$*" != --version ] && : > "$0.started" && sleep 600\nexec {CC} "$@"\n')
        compiler.chmod(0o755)
        summary = self.compile("--json", "--tuning", "none", "--cache", "none", "--budget", "8", "--cc", compiler)
        self.assertTrue(pathlib.Path(f"{compiler}.started").exists())
        tuning = summary["tuning"]
        self.assertEqual((tuning["measured"], tuning["candidates"], tuning["note"]), (0, 0, ""))
        self.assertGreater(tuning["left"], 0)
        self.assertTrue(8 <= tuning["spent"] < 300, tuning)  # not the 600 of the compiler
        self.assertEqual(list(self.temporary.iterdir()), [])

    def test_a_budget_goes_on_where_the_last_one_stopped(self):
        database = self.folder / "bit.sqlite"
        first = self.compile("--json", "--tuning", database, "--budget", "600")["tuning"]
        self.assertEqual((first["measured"], first["left"]), (2, 0))
        again = self.compile("--json", "--tuning", database, "--budget", "600")["tuning"]
        self.assertEqual((again["measured"], again["left"]), (0, 0))
        with sqlite3.connect(database) as changed:
            changed.execute("UPDATE measurement SET noisy = 1, seconds = 1e-9 WHERE hash = (SELECT min(hash) FROM measurement)")
        changed.close()
        listed = json.loads(self.pznet("tune", "--json", "--database", database).stdout)["measurements"]
        self.assertEqual({row["noisy"] for row in listed}, {False, True})
        self.assertIn(", noisy", self.pznet("tune", "--database", database).stdout)
        taken = self.compile("--json", "--tuning", database, "--budget", "600")["tuning"]
        self.assertEqual((taken["measured"], taken["left"]), (1, 0))
        listed = json.loads(self.pznet("tune", "--json", "--database", database).stdout)["measurements"]
        self.assertEqual({row["noisy"] for row in listed}, {False})
        self.assertGreater(min(row["seconds"] for row in listed), 1e-8)

    def test_interrupt(self):
        compiler = self.folder / "slow.sh"
        compiler.write_text(f'#!/bin/sh\n[ "$*" = --version ] && exec {CC} --version\n: > "$0.started"\nsleep 600\n')
        compiler.chmod(0o755)
        words = [PZNET, *map(str, self.words("--cc", compiler, "--tuning", "none", "--effort", "measure"))]
        process = subprocess.Popen(words, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        end = time.monotonic() + 240
        while not pathlib.Path(f"{compiler}.started").exists() and time.monotonic() < end:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)  # the compiler would sleep for 600
        self.assertEqual(process.returncode, 130, err)
        self.assertIn("interrupted", err)
        self.assertIn("measuring 1 of 2", err)
        self.assertEqual(list(self.temporary.iterdir()), [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=1)
