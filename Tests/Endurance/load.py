"""Real processes that use the same stores at once, and what must be true of these stores afterwards."""

import json
import os
import pathlib
import random
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "EndToEnd"))

from heartlog import BINARY, environment, run  # noqa: E402

SECONDS_MAX = 300  # for one command


def main(run):
    """Runs a script of this folder, `SCRIPT AMOUNT [SEED]`: `run` gets both, and returns what is printed at the end."""
    name = pathlib.Path(sys.argv[0]).stem
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(1 << 32)
    print(f"{name}: seed {seed}", flush=True)
    try:
        print(f"{name}: {run(int(sys.argv[1]), seed)}")
    except Broken as broken:
        sys.exit(f"{name}: {broken}")


class Broken(Exception):
    """A promise that was not kept."""


def require(condition, *what):
    if not condition:
        raise Broken(" ".join(str(word) for word in what))


class Writer:
    """An `apply --ack` that adds items with ids of its own, as fast as they are taken or with a pause after each."""

    def __init__(self, store, name, chance, count=None, items=None, pause=0):
        self.store, self.name, self.chance, self.count, self.items, self.pause = store, name, chance, count, items, pause
        self.acknowledged = 0
        self.process = subprocess.Popen(
            [BINARY, "--store", store, "apply", "--ack"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=environment())
        self.threads = [threading.Thread(target=work, daemon=True) for work in (self.feed, self.listen)]
        for thread in self.threads:
            thread.start()

    def item(self, number):
        return f"{self.name}-{number if self.items is None else number % self.items}"

    def feed(self):
        number = 0
        try:
            while self.count is None or number < self.count:
                number += 1
                text = "x" * self.chance.choice((3, 40, 600))
                # An item that is there already would not change, and the log would not grow.
                op = "add" if self.items is None or number <= self.items else "set"
                line = {"op": op, "library": "papers", "id": self.item(number), "fields": {"title": text, "line": number}}
                self.process.stdin.write(json.dumps(line).encode() + b"\n")
                self.process.stdin.flush()
                if self.pause:
                    time.sleep(self.pause)
            self.process.stdin.close()
        except (BrokenPipeError, ValueError):
            pass

    def listen(self):
        for line in self.process.stdout:
            # A line that a kill cut off is no acknowledgement.
            if line.endswith(b"\n"):
                self.acknowledged = json.loads(line)["ack"]

    def kill(self):
        self.process.kill()

    def end(self):
        """Waits for the end. Returns the exit code and what was said."""
        self.process.wait()
        self.threads[1].join()
        said = self.process.stderr.read().decode(errors="replace")
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                stream.close()
            except OSError:
                pass
        self.threads[0].join()
        return self.process.returncode, said


class Command:
    """One command on a store."""

    def __init__(self, store, *words):
        self.words = words
        self.process = subprocess.Popen(
            [BINARY, "--store", store, *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            env=environment())

    def kill(self):
        self.process.kill()

    def end(self):
        _, said = self.process.communicate(timeout=SECONDS_MAX)
        return self.process.returncode, said.decode(errors="replace")


def answer(store, *words):
    """What a command that must succeed prints."""
    result = run("--store", store, *words)
    require(result.code == 0, *words, "on", store, "ends with", result.code, result.err)
    return result


def check_store(store, acknowledged):
    """Checks that a store is sound, and that all that was acknowledged is in it: `acknowledged` has the last line of each writer."""
    answer(store, "verify", "--json")
    lines, numbers = {}, {}
    for event in answer(store, "log", "--json").lines:
        replica = event["replica"]
        require(event["sequence"] == numbers.get(replica, 0) + 1, store, "has event", event["sequence"], "of", replica, "after",
                numbers.get(replica, 0))
        numbers[replica] = event["sequence"]
        writer, _, number = event["item"].rpartition("-")
        require(event["fields"]["line"] == int(number), store, "has another line at", event["item"])
        require(int(number) == lines.get(writer, 0) + 1, store, "has line", number, "of", writer, "after", lines.get(writer, 0))
        lines[writer] = int(number)
    for writer, last in acknowledged.items():
        require(lines.get(writer, 0) >= last, store, "has", lines.get(writer, 0), "lines of", writer, "and acknowledged", last)
    shown, replayed = answer(store, "status", "--json").object["digest"], answer(store, "replay", "--json").object["digest"]
    require(shown == replayed, store, "shows another state than its log leads to")


def make_stores(folder, names):
    stores = [os.path.join(folder, name) for name in names]
    for name, store in zip(names, stores):
        answer(store, "init", "--name", name)
    return stores


def join(stores):
    """Syncs all with the first one, both ways, and checks that they show the same."""
    for _ in range(2):
        for store in stores[1:]:
            answer(store, "sync", stores[0], "--join")
    digests = {answer(store, "status", "--json").object["digest"] for store in stores}
    require(len(digests) == 1, "after all syncs the stores show different things:", *digests)
