"""Tasks in processes of their own, a few at a time: one that crashes or hangs is a result like any other."""

import json
import multiprocessing
import os
import signal
import sys
import time


class Child:
    def __init__(self, key, work, argument, limit):
        self.key, self.end, self.limit = key, time.monotonic() + limit, limit
        self.reader, writer = multiprocessing.Pipe(duplex=False)
        self.process = multiprocessing.get_context("fork").Process(target=serve, args=(writer, work, argument))
        self.process.start()
        writer.close()

    def poll(self):
        """What the task returned, {"crash": why}, or None while it works."""
        if self.reader.poll(0):
            try:
                result = json.loads(self.reader.recv_bytes())
            except EOFError:
                self.process.join()
                result = {"crash": how_it_ended(self.process.exitcode)}
        elif time.monotonic() > self.end:
            os.killpg(self.process.pid, signal.SIGKILL)
            result = {"crash": f"not done after {self.limit:.0f} s"}
        else:
            return None
        self.process.join()
        return result


def how_it_ended(code):
    return f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"


def serve(writer, work, argument):
    os.setpgid(0, 0)  # so that the C compiler ends with it
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    writer.send_bytes(json.dumps(work(argument)).encode())
    writer.close()
    os._exit(0)


def run(work, arguments, jobs, limit):
    """Yields (key, work(argument)) for each {key: argument}, as they end; work returns what JSON can hold, or the value is
    {"crash": why}. `limit`: seconds for each."""
    waiting, children = list(arguments.items()), []
    try:
        while waiting or children:
            while waiting and len(children) < jobs:
                key, argument = waiting.pop(0)
                children.append(Child(key, work, argument, limit))
            for child in list(children):
                result = child.poll()
                if result is not None:
                    children.remove(child)
                    yield child.key, result
            time.sleep(0.005)
    finally:
        for child in children:
            os.killpg(child.process.pid, signal.SIGKILL)
            child.process.join()


def progress(text):
    print(text, file=sys.stderr, flush=True)
