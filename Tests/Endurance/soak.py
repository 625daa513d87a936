"""Eight writers on one store, syncs with two peers, snapshots and sealing, for a long time: `soak.py MINUTES [SEED]`.

Fails if the memory or the descriptors of the writers, or of the two that sync all the time, grow after the first quarter.
"""

import os
import pathlib
import random
import subprocess
import tempfile
import threading
import time

from load import BINARY, Broken, Command, Writer, answer, environment, join, main, make_stores, require
from heartlog import lines as operations, run  # its folder is on the path now

WRITERS = 8
# So that the state stays the same while the log grows.
ITEMS = 500
# Before the hour: sealed files then have the size that they keep, 50,000 events, and whoever reads them needs the memory for it.
EVENTS_BEFORE = 200_000
# Of each writer, in seconds: an hour is then some million events.
PAUSE = 0.02
# What may be more at the end than after the first quarter, because allocators keep what they got.
MEMORY_FACTOR_MAX, MEMORY_SLACK_KIB = 1.3, 8 << 10
DESCRIPTORS_SLACK = 4
SECONDS_BETWEEN_SAMPLES = 0.02


def usage(process):
    """The memory of a process that is its own, in KiB, and its descriptors."""
    folder = pathlib.Path("/proc") / str(process.pid)
    fields = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
    return int(fields["RssAnon"].split()[0]), len(os.listdir(folder / "fd"))


def fill(store):
    """Gives a store a log of some length, and few items."""
    lines = [{"op": "add", "library": "papers", "id": f"before-{item}"} for item in range(ITEMS)]
    lines += [{"op": "set", "library": "papers", "id": f"before-{number % ITEMS}", "fields": {"title": "x" * 200, "line": number}}
              for number in range(EVENTS_BEFORE)]
    result = run("--store", store, "apply", input=operations(lines))
    require(result.code == 0, "filling ends with", result.code, result.err)
    answer(store, "compact")


class Measure:
    """The most that processes use in the first quarter of a time, and after it. What only a round of sync needs is there for milliseconds."""

    def __init__(self, processes, seconds):
        self.processes, self.seconds = processes, seconds
        self.early, self.late = {}, {}
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def watch(self):
        started = time.monotonic()
        while not self.is_over.wait(SECONDS_BETWEEN_SAMPLES):
            passed = time.monotonic() - started
            # The first tenth fills caches.
            if passed > self.seconds / 10:
                self.take(self.early if passed < self.seconds / 4 else self.late)

    def take(self, kept):
        for name, process in self.processes.items():
            try:
                used = usage(process)
            except (OSError, KeyError):
                continue  # it has ended, which the rounds notice
            kept[name] = [max(pair) for pair in zip(kept.get(name, (0, 0)), used)]

    def end(self):
        self.is_over.set()
        self.thread.join()

    def check(self):
        for name, (memory, descriptors) in self.late.items():
            before = self.early[name]
            print(f"soak: {name}: {before[0]} KiB and {before[1]} descriptors in the first quarter, then {memory} and {descriptors}")
            require(memory <= before[0] * MEMORY_FACTOR_MAX + MEMORY_SLACK_KIB, "the memory of", name, "grows")
            require(descriptors <= before[1] + DESCRIPTORS_SLACK, "the descriptors of", name, "grow")


def soak(minutes, seed):
    seconds, chance = minutes * 60, random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="heartlog-") as folder:
        store, *peers = stores = make_stores(folder, ("phone", "tablet", "laptop"))
        fill(store)
        join(stores)
        writers = [Writer(store, f"w{index}", chance, items=ITEMS, pause=PAUSE) for index in range(WRITERS)]
        watchers = [
            subprocess.Popen([BINARY, "--store", peer, "sync", store, "--watch"], stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment())
            for peer in peers]
        processes = {f"writer {index}": writer.process for index, writer in enumerate(writers)}
        processes |= {f"sync {index}": watcher for index, watcher in enumerate(watchers)}
        measure = Measure(processes, seconds)
        try:
            started, rounds = time.monotonic(), 0
            while time.monotonic() - started < seconds:
                for words in (("list", "papers"), ("compact",)):
                    code, said = Command(store, *words).end()
                    require(code in (0, 1, 75), *words, "ends with", code, said)
                for name, process in processes.items():
                    if process.poll() is not None:
                        raise Broken(f"{name} ended with {process.returncode}: {process.stderr.read().decode(errors='replace')}")
                rounds += 1
        finally:
            measure.end()
            for process in watchers:
                process.terminate()
                process.communicate()
            for writer in writers:
                writer.kill()
                writer.end()
        lines = sum(writer.acknowledged for writer in writers)
        for place in stores:
            answer(place, "verify", "--json")
        join(stores)
        measure.check()
        events = answer(store, "status", "--json").object["events"]
        require(events >= lines, "there are", events, "events, and", lines, "lines were acknowledged")
    return f"{minutes:.0f} minutes, {lines} lines acknowledged, {rounds} rounds of sealing and snapshots, nothing grew"


if __name__ == "__main__":
    main(soak)
