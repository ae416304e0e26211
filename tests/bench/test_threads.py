"""What bench/threads computes from measured chunks: barriers, who makes which chunk, where the time goes. Standard library only."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "bench"))
import threads_simulate as simulate  # noqa: E402
from threads_simulate import Machine  # noqa: E402


def phase(alone, *shared):
    return {"alone": alone, "shared": list(shared)}


def step(*phases, size=0):
    return {"name": "step", "bytes": size, "phases": list(phases)}


class Barriers(unittest.TestCase):
    def test_one_worker_meets_nobody(self):
        self.assertEqual(simulate.barrier([5.0], Machine(line=1)), 5)

    def test_arrivals_at_a_counter_follow_each_other(self):
        self.assertEqual(simulate.counter([0.0, 0.0, 0.0], 1), 3)
        self.assertEqual(simulate.counter([0.0, 9.0, 0.0], 1), 10)

    def test_groups_meet_side_by_side(self):
        one, groups = Machine(line=1, group=64), Machine(line=1, group=8)
        self.assertEqual(simulate.barrier([0.0] * 64, one), 64 + 1 + 63 // 4)
        self.assertEqual(simulate.barrier([0.0] * 64, groups), 8 + 8 + 2 * (1 + 7 // 4))
        self.assertEqual(simulate.barrier([0.0] * 8, one), simulate.barrier([0.0] * 8, groups))

    def test_the_last_is_waited_for(self):
        self.assertEqual(simulate.barrier([0.0] * 15 + [100.0], Machine(line=1, group=8)), 100 + 2 + (1 + 7 // 4) + 1)


class Chunks(unittest.TestCase):
    def test_static_is_a_workers_own(self):
        self.assertEqual(simulate.static(phase([1, 2], [10] * 8 + [20] * 8)), [81, 162])

    def test_each_chunk_is_handed_out_once(self):
        queue = simulate.Queue(list(range(1, 25)), 3, 0)
        seen = []
        for worker in (2, 2, 0, 1) * 8:
            time, found = queue.next(worker)
            if found:
                seen.append(time)
        self.assertEqual(sorted(seen), list(range(1, 25)))
        self.assertFalse(queue.next(0)[1])

    def test_own_chunks_first_then_the_next_workers(self):
        queue = simulate.Queue(list(range(6)), 3, 0)
        self.assertEqual([queue.next(1)[0] for _ in range(6)], [2, 3, 4, 5, 0, 1])

    def test_an_idle_worker_takes_what_another_has_not_begun(self):
        slow = phase([0, 0], [100] * 8 + [0] * 8)
        self.assertEqual(max(simulate.static(slow)), 800)
        self.assertEqual(max(simulate.steal(slow, Machine(line=0))), 400)

    def test_a_chunk_cannot_be_split(self):
        self.assertEqual(max(simulate.steal(phase([0] * 4, [70] + [0] * 31), Machine(line=0))), 70)

    def test_finding_others_chunks_takes_time(self):
        slow = phase([0, 0], [100] * 8 + [0] * 8)
        self.assertGreater(max(simulate.steal(slow, Machine(line=8))), 400)

    def test_calls_follow_each_other(self):
        two = phase([0, 0], [10] * 16, [30] * 16)
        self.assertEqual(simulate.steal(two, Machine(line=0)), [320, 320])


class Times(unittest.TestCase):
    def test_parts_are_the_whole(self):
        for stealing in (False, True):
            phases = [phase([1, 2, 3, 4], [7] * 16 + [9] * 16), phase([5, 0, 0, 0])]
            t = simulate.StepTime(step(*phases), Machine(line=1), stealing)
            ends = [simulate.steal(p, Machine(line=1)) if stealing else simulate.static(p) for p in phases]
            self.assertAlmostEqual(t.total(), sum(simulate.barrier(e, Machine(line=1)) for e in ends))
            self.assertAlmostEqual(t.even, (10 + 16 * 16 + 5) / 4)

    def test_memory_bounds_a_step(self):
        t = simulate.StepTime(step(phase([10, 10]), size=1000), Machine(line=0, core=2, socket=3), True)
        self.assertAlmostEqual(t.total(), 1000 / 3)
        self.assertEqual(t.why(20, 2), "memory")

    def test_why(self):
        def why(alone, shared, one):
            return simulate.StepTime(step(phase(alone, *shared)), Machine(line=0), True).why(one, len(alone))
        self.assertEqual(why([100, 0, 0, 0], [], 100), "one worker")
        self.assertEqual(why([0] * 4, [[50, 0, 0, 50] + [0] * 28], 100), "2 pieces")
        self.assertEqual(why([100] * 4, [], 200), "more work in chunks")

    def test_a_run_begins_with_its_counters(self):
        profile = {"threads": 4, "steps": [step(phase([0] * 4, *[[1] * 32] * 17))]}
        without = simulate.network(profile, Machine(line=0))[1]
        steps, total = simulate.network(profile, Machine(line=1))
        self.assertAlmostEqual(total - steps[0].total(), 4 * 2 / simulate.LOOKS)
        self.assertLess(without, total)


if __name__ == "__main__":
    unittest.main()
