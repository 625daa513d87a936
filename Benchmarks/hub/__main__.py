"""Puts through a hub, as many as go: `Scripts/bench hub`.

64 connections put objects of 400 bytes into 1,000 vaults, through the directory engine, through PostgreSQL, and through PostgreSQL with a
synchronous standby. Beside them, in the same run, what the database does alone: statements of 64 objects on one connection. All on this
machine, the load included.
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

# The same call that a hub makes, without one: an object for each of 64 vaults in turn.
STATEMENT = """
\\set place random(0, 999)
select count(*) from heartlog.put(
  array(select id from bench where number between :place and :place + 63),
  array(select gen_random_uuid() from generate_series(1, 64)),
  array(select repeat('n', 137) || g from generate_series(1, 64) g),
  array(select convert_to(repeat('x', {bytes}), 'UTF8') from generate_series(1, 64)),
  array(select m.owner from bench b join heartlog.members m on m.vault = b.id where number between :place and :place + 63),
  1073741824, 262144, 8388608, 4096);
"""


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


def alone(database, folder):
    """Objects a second in statements of 64 on one connection."""
    database.query(
        "drop table if exists bench; create table bench as select id, row_number() over () - 1 as number from heartlog.vaults limit 1064; "
        "create index on bench (number)")
    script = folder / "statement.sql"
    script.write_text(STATEMENT.format(bytes=BYTES))
    script.chmod(0o644)
    folder.chmod(0o755)
    text = database.run(
        "pgbench", "-n", "-c1", "-M", "prepared", f"-T{SECONDS}", "-f", script, f"{database.url} options='-c search_path=heartlog,public'")
    return 64 * float(next(line for line in text.splitlines() if line.startswith("tps")).split()[2])


def main():
    with tempfile.TemporaryDirectory(prefix="heartlog-bench-") as name:
        folder = pathlib.Path(name)
        print(f"{'':34} {'objects/s':>10} {'p50 ms':>7} {'p99 ms':>7} {'µs: hub':>8} {'database':>8}")
        wanted = sys.argv[1:] or ["directory", "postgresql", "standby"]
        if "directory" in wanted:
            (folder / "data").mkdir()
            with Hub("--data", str(folder / "data")) as hub:
                show("directory engine", *load(hub, folder))
        for name, standby in (("postgresql", False), ("standby", True)):
            if name not in wanted:
                continue
            with Database(standby) as database:
                with Hub("--database", database.url) as hub:
                    show("PostgreSQL" + (" with a standby" if standby else ""), *load(hub, folder, database))
                show("  statements of 64, one connection", alone(database, folder))


def show(name, rate, p50=None, p99=None, used=None, database=None):
    rest = "" if p50 is None else f" {p50:7.1f} {p99:7.1f} {used:8.1f} {database:8.1f}"
    print(f"{name:34} {rate:10,.0f}{rest}", flush=True)


if __name__ == "__main__":
    main()
