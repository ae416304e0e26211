"""How long a network takes on many threads, from the times of its chunks on one (bench_threads.c). Standard library only.

The measure is nanoseconds. What is known of a step is a list of phases, which end with a barrier each: `alone`, what each worker does by itself, and
`shared`, for each call whose chunks are shared, the time of each chunk. Chunks are numbered worker by worker.

Assumptions, besides that a chunk takes as long as it took alone on one thread:
- line: a cache line's way from one core to another.
- A worker that begins a chunk of another one waits for a line; it looks at the others' counters, which lie on lines of their own, LOOKS at a time,
  since nothing depends on the answer but a branch.
- A barrier: each arrival at a counter takes the counter's line from the one before, so that arrivals follow each other. `group` workers have a counter, the
  last of each arrives at the next level's; when all have arrived, gates open level by level, each one's line goes to its readers, READERS at a time.
- In front of a run one worker sets all counters to zero: a line for each worker and 16 calls, LOOKS at a time.
- Bandwidth, where it is asked for: no step is faster than its bytes, each read or written once, from and to memory.
"""
import heapq

LOOKS = 4
READERS = 4


class Machine:
    """group: workers of a barrier's counter. core, socket: bytes per ns that one core and all together move; None: without a limit."""

    def __init__(self, line=100.0, group=8, core=None, socket=None):
        self.line, self.group, self.core, self.socket = line, group, core, socket

    def bandwidth(self, workers):
        return min(workers * self.core, self.socket) if self.core else float("inf")


def counter(arrivals, line):
    """When the last of them has arrived at one counter."""
    at = 0.0
    for arrival in sorted(arrivals):
        at = max(at, arrival) + line
    return at


def barrier(arrivals, machine):
    """When all workers go on, which arrive at these times."""
    if len(arrivals) == 1:
        return arrivals[0]
    release = 0.0
    while len(arrivals) > 1:
        release += machine.line * (1 + (min(len(arrivals), machine.group) - 1) // READERS)
        arrivals = [counter(arrivals[i:i + machine.group], machine.line) for i in range(0, len(arrivals), machine.group)]
    return arrivals[0] + release


def static(phase):
    """When each worker is done, which makes its own chunks alone."""
    done = list(phase["alone"])
    for chunks in phase["shared"]:
        each = len(chunks) // len(done)
        for w in range(len(done)):
            done[w] += sum(chunks[w * each:(w + 1) * each])
    return done


class Queue:
    """The chunks of one call, as next_chunk of emit/run_loop.h hands them out."""

    def __init__(self, chunks, workers, line):
        self.chunks, self.workers, self.line = chunks, workers, line
        self.each, self.taken, self.left = len(chunks) // workers, [0] * workers, len(chunks)

    def next(self, worker):
        """The time of the worker's next chunk with what it takes to find it, and whether there is one."""
        if not self.left:
            return self.line * (self.workers - 1) / LOOKS, False
        for i in range(self.workers):
            w = (worker + i) % self.workers
            if self.taken[w] < self.each:
                break
        chunk = w * self.each + self.taken[w]
        self.taken[w], self.left = self.taken[w] + 1, self.left - 1
        return self.chunks[chunk] + (self.line * (1 + i / LOOKS) if i else 0), True


def steal(phase, machine):
    """When each worker is done, which makes its own chunks, then others'."""
    workers = len(phase["alone"])
    queues = [Queue(chunks, workers, machine.line) for chunks in phase["shared"]]
    done = list(phase["alone"])
    if workers == 1 or not queues:
        return static(phase)
    heap = [(at, w, 0) for w, at in enumerate(done)]
    heapq.heapify(heap)
    while heap:
        at, w, call = heapq.heappop(heap)
        time, found = queues[call].next(w)
        call += not found
        if call < len(queues):
            heapq.heappush(heap, (at + time, w, call))
        else:
            done[w] = at + time
    return done


def work(step):
    return sum(sum(p["alone"]) + sum(map(sum, p["shared"])) for p in step["phases"])


class StepTime:
    """Where a step's time goes: `even` were all work shared evenly, `uneven` what the last worker takes longer, `meeting` barriers and what finding chunks
    takes, `bandwidth` what memory adds. `units`: pieces of work that take at least a tenth of the longest, in the phase that has the most work."""

    def __init__(self, step, machine, stealing):
        self.even = self.uneven = self.meeting = 0.0
        self.units = 0
        most = -1.0
        for phase in step["phases"]:
            self.add(phase, machine, stealing)
            pieces = phase["alone"] + [c for call in phase["shared"] for c in call]
            if sum(pieces) > most:
                most, self.units = sum(pieces), sum(p >= 0.1 * max(pieces) and p > 0 for p in pieces)
        workers = len(step["phases"][0]["alone"]) if step["phases"] else 1
        self.bandwidth = max(0.0, step["bytes"] / machine.bandwidth(workers) - self.total())

    def add(self, phase, machine, stealing):
        done = steal(phase, machine) if stealing else static(phase)
        free = steal(phase, Machine(line=0)) if stealing else done
        even = work({"phases": [phase]}) / len(done)
        self.even += even
        self.uneven += max(free) - even
        self.meeting += barrier(done, machine) - max(free)

    def total(self):
        return self.even + self.uneven + self.meeting + getattr(self, "bandwidth", 0.0)

    def why(self, alone, workers):
        """What most of the time goes to that would not be there were the step shared perfectly. alone: the step's time on one thread."""
        reasons = {"more work in chunks": self.even - alone / workers, "meeting": self.meeting, "memory": self.bandwidth,
                   "one worker" if self.units <= 1 else f"{self.units} pieces" if self.units < 2 * workers else "uneven pieces": self.uneven}
        return max(reasons, key=reasons.get)


def network(profile, machine, stealing=True):
    """Of each step its StepTime, and the nanoseconds of a run."""
    steps = [StepTime(s, machine, stealing) for s in profile["steps"]]
    calls = sum(len(p["shared"]) for s in profile["steps"] for p in s["phases"])
    n = profile["threads"]
    begin = n * -(-calls // 16) * machine.line / LOOKS if n > 1 else 0
    return steps, sum(s.total() for s in steps) + begin
