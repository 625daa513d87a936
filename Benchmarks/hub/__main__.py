"""Puts through a hub, as many as go: `Scripts/bench hub`.

64 connections put objects of 400 bytes into 1,000 vaults, with a file, with PostgreSQL, and with PostgreSQL with a synchronous standby. All
on this machine, the load included.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

from .database import Database
from .service import Hub

CONNECTIONS, THREADS, BYTES, VAULTS = 64, 1, 400, 1_000
SECONDS = int(os.environ.get("HUB_SECONDS") or 10)
HERE = pathlib.Path(__file__).parent


def load(hub, folder, database=None, vaults=None, connections=CONNECTIONS):
    """Objects a second, the latency in ms of half and of 99 of 100, and the processor time in µs for each: of the hub, and of the database."""
    sessions = folder / "sessions"
    sessions.write_text("".join(f"{vault} {session}\n" for vault, session in vaults or (hub.vault() for _ in range(VAULTS))))
    before, database_before = hub.seconds(), database.seconds() if database else 0
    done = subprocess.run(
        ["wrk", f"-t{THREADS}", f"-c{connections}", f"-d{SECONDS}s", "-s", HERE / "load.lua", hub.url], capture_output=True, text=True,
        env=os.environ | {"HUB_SESSIONS": str(sessions), "HUB_BYTES": str(BYTES)}, check=True)
    found = json.loads(done.stdout.strip().splitlines()[-1])
    if found["errors"]:
        sys.exit(f"hub: {found['errors']} requests failed:\n{done.stdout}")
    used = (hub.seconds() - before) / found["requests"] * 1e6
    database_used = (database.seconds() - database_before) / found["requests"] * 1e6 if database else 0
    return found["requests"] / found["seconds"], found["p50"], found["p99"], used, database_used


def main():
    with tempfile.TemporaryDirectory(prefix="heartlog-bench-") as name:
        folder = pathlib.Path(name)
        print(f"{'':34} {'objects/s':>10} {'p50 ms':>7} {'p99 ms':>7} {'µs: hub':>8} {'database':>8}")
        wanted = sys.argv[1:] or ["sqlite", "postgresql", "standby"]
        if "sqlite" in wanted:
            with Hub("--database", str(folder / "hub.db")) as hub:
                show("SQLite", *load(hub, folder))
        for name, standby in (("postgresql", False), ("standby", True)):
            if name not in wanted:
                continue
            with Database(standby) as database:
                with Hub("--database", database.url) as hub:
                    show("PostgreSQL" + (" with a standby" if standby else ""), *load(hub, folder, database))


def show(name, rate, p50, p99, used, database):
    print(f"{name:34} {rate:10,.0f} {p50:7.1f} {p99:7.1f} {used:8.1f} {database:8.1f}", flush=True)


if __name__ == "__main__":
    main()
