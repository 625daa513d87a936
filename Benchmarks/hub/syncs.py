"""What two devices of a person ask of a hub in many days: `Scripts/bench syncs [DAYS]`; docs/scale.md has the figures.

Each day both devices write ten events, and both sync twice, in processes of their own. The hub keeps the vault in PostgreSQL.
"""

import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import urllib.request

from .database import Database
from .service import Hub

PROGRAM = os.environ.get("HEARTLOG_BIN") or str(pathlib.Path(__file__).parents[2] / ".build/release/heartlog")
DAYS = int(sys.argv[1]) if len(sys.argv) > 1 else 100
EVENTS = 10


def heartlog(store, *words):
    return subprocess.run([PROGRAM, "--store", store, *words], capture_output=True, text=True, check=True).stdout


def requests(hub):
    """How many of each method were answered so far."""
    counts = {}
    with urllib.request.urlopen(hub.metrics) as answer:
        for method, count in re.findall(r'requests_total\{method="(\w+)",status="2\d\d"\} (\d+)', answer.read().decode()):
            counts[method] = counts.get(method, 0) + int(count)
    return counts


def main():
    chance = random.Random(1)
    with Database() as database, tempfile.TemporaryDirectory(prefix="heartlog-bench-") as name, Hub("--database", database.url) as hub:
        phone, tablet = (str(pathlib.Path(name) / device) for device in ("phone", "tablet"))
        for store in (phone, tablet):
            heartlog(store, "init", "--name", "A device")
        heartlog(phone, "sync", hub.url)
        place = re.search(r"http\S+/[0-9a-f]{32}", heartlog(phone, "hub", hub.url))[0]
        asked = subprocess.run([PROGRAM, "--store", tablet, "sync", place], capture_output=True, text=True)
        heartlog(phone, "hub", hub.url, "admit", re.search(r"admit ([0-9a-f]{64})", asked.stderr)[1])
        heartlog(tablet, "sync", place)
        log = "select pg_current_wal_insert_lsn() - '0/0'"
        before = requests(hub), hub.seconds(), database.seconds(), int(database.query(log))
        for _ in range(DAYS):
            for store in (phone, tablet):
                for _ in range(EVENTS):
                    heartlog(store, "toggle", chance.choice(["cities", "papers", "tracks"]), str(chance.randrange(1_000)),
                             f"name=Place {chance.randrange(10**6)}", "country=PT")
                for _ in range(2):
                    heartlog(store, "sync", place)
        syncs, events = 4 * DAYS, 2 * DAYS * EVENTS
        now = requests(hub)
        print(f"{syncs} syncs of {events} events; a sync of them:")
        for method in sorted(now):
            print(f"  {method:8} {(now[method] - before[0].get(method, 0)) / syncs:8.2f} requests")
        print(f"  {(hub.seconds() - before[1]) / syncs * 1e6:,.0f} µs of the hub, {(database.seconds() - before[2]) / syncs * 1e6:,.0f} µs and "
              f"{(int(database.query(log)) - before[3]) / syncs:,.0f} bytes of log of the database")
        print("  at the end the vault has " + database.query(
            "select format('%s objects of together %s bytes', count(*), sum(length(bytes))) from heartlog.objects"))


main()
