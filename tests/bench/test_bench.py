"""What bench/peers does besides timing: taking turns, choosing variants, keeping results, reporting. Engines are replaced
by lists of times. Standard library only."""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import pathlib
import struct
import sys
import tempfile
import types
import unittest

BENCH = pathlib.Path(__file__).parents[2] / "bench"
sys.path.insert(0, str(BENCH))
import peers_parts  # noqa: E402
import peers_report  # noqa: E402
import peers_run  # noqa: E402


def load_peers():
    loader = importlib.machinery.SourceFileLoader("peers", str(BENCH / "peers"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("peers", loader))
    loader.exec_module(module)
    return module


peers = load_peers()
peers_run.say = peers_parts.say = lambda text: None


class FakeEngine:
    def __init__(self, variant, times, log):
        self.variant, self.times, self.log = variant, list(times), log

    def run(self):
        self.log.append(self.variant)
        return self.times.pop(0)


def options(**changes):
    return types.SimpleNamespace(**{"rounds": 10, "least_rounds": 5, "seconds": 60, "warmup": 1, "turn": 0, **changes})


class Turns(unittest.TestCase):
    def times(self, a, b, **changes):
        self.log = []
        engines = [FakeEngine("a", a, self.log), FakeEngine("b", b, self.log)]
        return peers_run.alternate(engines, options(**changes), pause=0)

    def turns(self, times, warmup=1):
        """What a fake engine takes so that its turns have these times: one run of a turn does not count."""
        return [9] * warmup + [t for time in times for t in (9, time)]

    def test_engines_in_turn_and_warm_up_does_not_count(self):
        times = self.times(self.turns([1] * 5), self.turns([2] * 5))
        self.assertEqual(times, {"a": [1] * 5, "b": [2] * 5})
        self.assertEqual(self.log, ["a", "b"] + ["a", "a", "b", "b"] * 5)

    def test_a_turn_is_the_median_of_its_runs(self):
        engine = FakeEngine("a", [9, 1, 2, 3, 4], [])
        self.assertEqual(peers_run.turn(engine, 7), 2)  # a fourth run would not fit: 1 + 2 + 3 + 1
        self.assertEqual(engine.times, [4])

    def test_rounds_go_on_until_the_medians_are_settled(self):
        noisy = [1, 2] * 10
        self.assertEqual(len(self.times(self.turns(noisy), self.turns([1] * 20))["b"]), 10)  # all rounds
        calmed = [1, 2, 1, 2, 1] + [1.5] * 20
        self.assertTrue(5 < len(self.times(self.turns(calmed), self.turns([1] * 25), rounds=25)["a"]) < 25)

    def test_time_that_is_up_ends_it_after_the_least_rounds(self):
        self.assertEqual(len(self.times(self.turns([1, 2] * 10), self.turns([1] * 20), seconds=-1)["a"]), 5)

    def test_uncertainty_is_the_standard_error_of_the_median(self):
        self.assertEqual(peers_run.uncertainty([2.0] * 5), 0)
        nine = [1 + 0.01 * i for i in range(9)]  # quartiles 1.015, 1.04, 1.065
        self.assertAlmostEqual(peers_run.uncertainty(nine), 0.93 * 0.05 / 3 / 1.04, places=9)

    def test_candidates(self):
        scouted = {"a": 1.09, "b": 1.0, "c": 1.2, "other": 0.1}
        self.assertEqual(peers_run.candidates(scouted, ["a", "b", "c", "failed"], 1.1, 2), ["b", "a"])
        self.assertEqual(peers_run.candidates(scouted, ["a", "b", "c"], 1.3, 1), ["b"])
        self.assertEqual(peers_run.candidates(scouted, ["failed"], 1.1, 2), [])


class Outputs(unittest.TestCase):
    def npy(self, folder, name, values):
        header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }" % len(values)
        header += b" " * (117 - len(header)) + b"\n"
        path = pathlib.Path(folder) / name
        path.write_bytes(b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header + struct.pack(f"<{len(values)}f", *values))
        return path

    def test_relative_difference(self):
        with tempfile.TemporaryDirectory() as folder:
            a, b, c = (self.npy(folder, n, v) for n, v in (("a", [3, 4]), ("b", [3, 4.5]), ("c", [3])))
            self.assertEqual(peers_run.relative_difference(a, a), 0)
            self.assertAlmostEqual(peers_run.relative_difference(b, a), 0.1, places=6)
            with self.assertRaises(peers_run.Failure):
                peers_run.relative_difference(c, a)

    def test_rows_that_are_left_over_do_not_count(self):
        with tempfile.TemporaryDirectory() as folder:
            a, b, c = (self.npy(folder, n, v) for n, v in (("a", [3, 4, -1, -1]), ("b", [3, 4]), ("c", [3, 4, 5, -1])))
            self.assertEqual(peers_run.relative_difference(a, b, 2), 0)
            self.assertEqual(peers_run.relative_difference(c, c, 2), 0)
            with self.assertRaises(peers_run.Failure):
                peers_run.relative_difference(c, b, 2)
            with self.assertRaises(peers_run.Failure):
                peers_run.relative_difference(a, b)


class Options(unittest.TestCase):
    def parts(self, *words):
        return peers.arguments(list(words)).parts

    def test_parts(self):
        self.assertEqual(self.parts(), peers_parts.PARTS)
        self.assertEqual(self.parts("--no-sweep", "--no-pool"), ["peers", "table2", "figure6"])
        self.assertEqual(self.parts("--only", "pool,table2"), ["table2", "pool"])
        self.assertEqual(self.parts("--figure6"), ["figure6"])
        self.assertEqual(peers.arguments(["--rounds", "2"]).least_rounds, 2)

    def test_a_set_of_networks(self):
        chosen = peers.arguments(["--networks", "symmetric,neocpu"]).networks
        self.assertEqual(chosen, ["symmetric", *peers_run.SETS["neocpu"]])
        self.assertEqual(len(set(chosen)), 16)
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
            peers.arguments(["--networks", "neocpus"])

    def test_every_part_can_be_run(self):
        for part in peers_parts.PARTS:
            self.assertTrue(callable(getattr(peers_parts.Run, part)))


class Table2(unittest.TestCase):
    def test_a_fusion_alone_leaves_the_others_out(self):
        settings = peers_parts.settings_of({"fold-linear": 3, "fuse-activation": 2, "fuse-add": 0})
        self.assertEqual(list(settings), ["all", "none", "fold-linear", "fuse-activation"])
        self.assertEqual(settings["none"], peers_parts.FUSIONS)
        self.assertEqual(settings["fold-linear"], ["fuse-add", "fuse-activation", "pad-outputs"])

    def test_gain(self):
        table = {"settings": {"none": [3.0], "all": [2.0]}}
        self.assertEqual(peers_report.gain(table, "all"), 50)
        self.assertIsNone(peers_report.gain(table, "fuse-add"))


def entry(engine, variant, seconds, mebibytes):
    return {"engine": engine, "variant": variant, "seconds": seconds, "load_seconds": 1, "peak_bytes": mebibytes << 20,
            "difference": 1e-7}


def case(network="symmetric", threads=1, **more):
    engines = [entry("pznet", "pznet", [0.5, 0.5], 100), entry("torch", "torch-eager", [1.5, 1.5], 300),
               entry("torch", "torch-compile", [1.0, 1.0], 400), entry("onnxruntime", "onnxruntime", [2.0, 2.0], 90)]
    return {"network": network, "threads": threads, "date": "2020-01-02", "load": 0.5, "input": [1, 1, 8, 8, 8],
            "multiply_adds": 5e9, "compile_seconds": 3.0, "open_seconds": 0.01, "engines": engines, "failures": {},
            "scouted": {"pznet": 0.5}, **more}


def pool_part():
    run = lambda name, us: {"name": name, "threads": 2, "region_us": us, "barrier_us": us / 4,
                            "regions": [{"count": c, "milliseconds": 1 + us * c, "barrier_milliseconds": 1.0} for c in (1, 4)],
                            "network": {"steps": 22, "milliseconds": 2.0}}
    return {"date": "2020-01-02", "network": "small", "runs": [run("pool", us) for us in (1, 9, 2)] + [run("OpenMP", 6)]}


def report():
    return {"cpu": "Some CPU", "date": "2020-01-03", "warmup": 2, "quick": False, "versions": {"torch": "2"}, "left_out": [],
            "cases": [case()], "pool": pool_part(), "sweeps": [],
            "table2": [{"network": "residual", "threads": 2, "date": "2020-01-03", "difference": 1e-7,
                        "settings": {"none": [0.3], "all": [0.2], "fold-linear": [0.25]}}],
            "figure6": [case("block", 2, maps=m) for m in (32, 8)]}


class Report(unittest.TestCase):
    def test_markdown(self):
        text = peers_report.markdown(report())
        for words in ("Some CPU, 2020-01-03", "| PyTorch | torch-compile | 1000.0 | 1000.0 to 1000.0 | 2 | 10.0 | 2.00 | 400 |",
                      "pznet runs 2.00 times as fast as the faster of PyTorch and ONNX Runtime; its peak memory is not below both.",
                      "Measured on 2020-01-02.", "| residual, 2 threads | 300.0 | 200.0 | +50.0% | - | +20.0% | - | - | 1.0e-07 |",
                      "| 8 | 500.0 | 1000.0 | 2000.0 | 20.0 | 2.00 | 1.0e-07 |", "| 2 | pool | 2.00 | 0.50 | 2.000 | 500.0 |"):
            self.assertIn(words, text)
        self.assertLess(text.index("| 8 | 500.0"), text.index("| 32 | 500.0"))

    def test_the_fifteen_networks(self):
        some = {**report(), "cases": [case("resnet18"), case("vgg11"), case("symmetric")]}
        for e in some["cases"][1]["engines"][1:]:
            e["seconds"] = [4 * s for s in e["seconds"]]
        text = peers_report.markdown(some)
        self.assertIn("| resnet18 | 500.0 | 1000.0 | 2000.0 | - | 2.00 | 1.11 | 1.0e-07 |", text)
        self.assertIn("Geometric mean over 2 of 15: 4.00 times as fast as the best of the others, with 1.11 of the smallest peak "
                      "memory; the least is 2.00, of resnet18.", text)
        self.assertNotIn("NeoCPU's paper", peers_report.markdown(report()))

    def test_a_larger_error_is_told(self):
        self.assertIn("pznet compiled with `--max-error 2e-5`.", peers_report.markdown({**report(), "max_error": "2e-5"}))
        self.assertNotIn("--max-error", peers_report.markdown(report()))

    def test_a_report_without_pznet_gives_no_verdict(self):
        some = case()
        some["engines"] = some["engines"][1:]
        self.assertIn("No verdict", peers_report.verdict(some))

    def test_keep(self):
        old = {**report(), "cpu": peers_report.cpu_model()}
        settings = types.SimpleNamespace(warmup=2, quick=False, max_error=None)
        kept = peers_report.new(settings, json.loads(json.dumps(old)))
        self.assertEqual([kept[k] for k in ("cases", "table2", "pool")], [old[k] for k in ("cases", "table2", "pool")])
        for other in {"cpu": "another"}, {"max_error": "2e-5"}:
            self.assertEqual(peers_report.new(settings, {**old, **other})["cases"], [])
        run = peers_parts.Run(types.SimpleNamespace(minutes=0), kept, None, lambda: None)
        run.put("cases", case(load=9), "network", "threads")
        for network, threads in ("residual", 2), ("residual", 1):
            run.put("cases", case(network, threads), "network", "threads")
        self.assertEqual([(c["network"], c["threads"], c["load"]) for c in kept["cases"]],
                         [("symmetric", 1, 9), ("residual", 1, 0.5), ("residual", 2, 0.5)])

    def test_parts_that_fail_or_come_too_late_are_noted(self):
        some = report()
        run = peers_parts.Run(types.SimpleNamespace(minutes=0), some, None, lambda: None)

        def fails():
            raise peers_run.Failure("no compiler")
        self.assertIsNone(run.attempt("pool", fails))
        run.end = 0
        self.assertIsNone(run.attempt("sweep", lambda: 1))
        self.assertEqual(some["left_out"], ["pool: no compiler", "sweep: no time left (--minutes)"])
        self.assertIn("- pool: no compiler", peers_report.markdown(some))

    def test_pictures(self):
        try:
            import matplotlib  # noqa: F401
        except ImportError:
            self.skipTest("matplotlib is not there")
        import peers_plots
        with tempfile.TemporaryDirectory() as folder:
            paths = peers_plots.plot(report(), pathlib.Path(folder) / "peers")
            self.assertEqual([p.name for p in paths], ["peers.png", "peers-table2.png", "peers-figure6.png", "peers-pool.png"])
            self.assertTrue(all(p.read_bytes().startswith(b"\x89PNG") for p in paths))


if __name__ == "__main__":
    unittest.main()
