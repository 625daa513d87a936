"""What the first sync of a device costs, plain and encrypted: `Scripts/bench first [EVENTS]`.

A device with 1,000,000 events puts them at a hub with a file, over loopback, and a new device takes them; then the first one rotates the
keys, and a commit goes through. Each is a process of `heartlog`, timed as a whole.
"""

import contextlib
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile
import time

from .service import Hub

PROGRAM = os.environ.get("HEARTLOG_BIN") or str(pathlib.Path(__file__).parents[2] / ".build/release/heartlog")
ITEMS = 36_000


def run(store, *arguments, text=None):
    """What the program prints, and the seconds that it takes."""
    start = time.perf_counter()
    done = subprocess.run([PROGRAM, "--store", store, *arguments], input=text, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"first: {' '.join(arguments)}: {done.stderr}")
    return done.stdout, time.perf_counter() - start


def show(what, seconds, events=None):
    rest = "" if events is None else f"  {seconds / events * 1e6:6.2f} µs an event"
    print(f"{what:44} {seconds:7.3f} s{rest}", flush=True)


def stored(database):
    """The bytes of all objects."""
    with contextlib.closing(sqlite3.connect(database)) as connection:
        return connection.execute("select sum(length(bytes)) from objects").fetchone()[0]


def main():
    events = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    lines = "".join(f'{{"op":"toggle","library":"papers","id":"2403.{number % ITEMS:05}"}}\n' for number in range(events))
    for name, options in (("plain", ()), ("encrypted", ("--encrypted",))):
        with tempfile.TemporaryDirectory(prefix="heartlog-bench-") as folder:
            data, first, second = f"{folder}/hub.db", f"{folder}/first", f"{folder}/second"
            run(first, "init")
            run(first, "apply", text=lines)
            with Hub("--database", data) as hub:
                synced, seconds = run(first, "sync", hub.url, *options)
                show(f"{name}: put {events:,} events", seconds, events)
                vault = run(first, "hub", hub.url)[0].split()[1].rstrip(",")
                address = f"{hub.url}/{vault}"
                if options:
                    run(second, "init")
                    code = synced.splitlines()[-1]
                    run(second, "keys", "join", "-", text=code)
                else:
                    run(second, "init")
                    refused = subprocess.run([PROGRAM, "--store", second, "sync", address], capture_output=True, text=True).stderr
                    run(first, "hub", hub.url, "admit", re.search(r"admit ([0-9a-f]{64})", refused)[1])
                show(f"{name}: take them, on a new device", run(second, "sync", address)[1], events)
                size = stored(data)
                print(f"{name}: {size / events:.3f} bytes an event at the hub", flush=True)
                if options:
                    show("rotate", run(first, "keys", "rotate", text=code)[1])
                    show("sync after it", run(first, "sync", hub.url)[1])
                    grown = stored(data) - size
                    print(f"{grown:,} bytes more at the hub", flush=True)


main()
