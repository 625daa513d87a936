"""python3 -m crdts MEASURE PEER TRACE FOLDER: one measure of one library, as lines of JSON.

The document of a trace is built once, and kept in the folder.
"""

import importlib
import json
import os
import statistics
import sys
import time
from pathlib import Path

from . import trace


def built(name, peer, path, folder):
    """The saved document, how many events it has, and its moment after half of them."""
    count = sum(1 for _ in open(path, "rb"))
    saved = Path(folder) / f"{name}-{peer.version}-{Path(path).stem}"
    moment = saved.with_suffix(saved.suffix + ".half")
    if not saved.exists():
        saved.parent.mkdir(exist_ok=True)
        document = peer.new()
        for place, change in enumerate(trace.changes(path)):
            if place == count // 2:
                moment.write_bytes(peer.moment(document))
            peer.write(document, *change)
        unfinished = saved.with_suffix(".unfinished")
        unfinished.write_bytes(peer.save(document))
        unfinished.rename(saved)
    return saved.read_bytes(), count, moment.read_bytes()


def main():
    measure, name, path, folder = sys.argv[1:]
    peer = importlib.import_module(f".of_{name}", __package__).Peer()
    data, count, moment = built(name, peer, path, folder)

    def report(figure, unit, value):
        print(json.dumps({"measure": measure, "peer": name, "name": figure, "unit": unit, "value": value}))

    if measure == "size":
        report("compacted", "bytes/event", len(data) / count)
    elif measure == "replay":
        os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
        started = time.process_time_ns()
        favorites = peer.query(peer.load(data))
        report("mixed", "ns/event", (time.process_time_ns() - started) / count)
        check(favorites, trace.favorites_at(path, count))
    elif measure == "travel":
        document, times = peer.load(data), []
        for _ in range(3):
            started = time.perf_counter()
            favorites = peer.favorites_at(document, moment)
            times.append((time.perf_counter() - started) * 1e3)
            peer.come_back(document)
        check(favorites, trace.favorites_at(path, count // 2))
        report("half", "ms", statistics.median(times))


def check(favorites, expected):
    if favorites != expected:
        sys.exit(f"there are {favorites} favorites and should be {expected}")


main()
