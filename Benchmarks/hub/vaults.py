"""A hub's database with many vaults: `Scripts/bench vaults [COUNT]`; docs/scale.md has the figures.

Each vault has one key and six objects of together 12,000 bytes that no compression makes smaller. They are loaded object by object, so that
those of one vault lie apart as if they had been put on six days. Then 10,000 of the vaults, chosen at random, are used through a hub.
"""

import hashlib
import json
import pathlib
import random
import shutil
import socket
import sys
import tempfile
import time

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from .__main__ import CONNECTIONS, load
from .database import Database
from .service import Hub

COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
SIZES = [7_000, 2_500, 1_000, 700, 400, 400]
USED, READ, WATCHERS, CHUNK = min(10_000, COUNT), min(1_000, COUNT // 2), 4_000, 20_000
DISK = COUNT * 45_000 + (10 << 30)  # Database, its log, and a copy.

VAULTS = """
with made as (
  insert into heartlog.vaults (id, generation, change, objects, bytes, root, removed, shared)
  select decode(md5('vault' || n), 'hex'), hashint8extended(n, 0), {objects}, {objects}, {bytes}, '', '', 0
  from generate_series({first}, {last}) n returning id)
insert into heartlog.members (vault, owner, key, objects, bytes)
select id, '\\x{owner}', '\\x{key}'::bytea, {objects}, {bytes} from made
"""
OBJECTS = """
do $$ declare noise bytea := (select bytes || '' from noise); begin
  insert into heartlog.objects (vault, change, digest, name, owner, bytes)
  select id, {change}, substr(sha256(convert_to(name, 'UTF8')), 1, 16), name, '\\x{owner}',
    substr(noise, 1 + (random() * 1e6)::integer, {size})
  from (
    select decode(md5('vault' || n), 'hex') as id, concat(
      md5('writer' || n), '/', md5('writer' || n), '/', to_char({change}, 'FM0000000000000000'), '-', to_char({change}, 'FM0000000000000000'),
      '-', substr(md5('content' || n || '/{change}'), 1, 16), '-', substr(md5('chain' || n || '/{change}'), 1, 16), '.run') as name
    from generate_series({first}, {last}) n) v;
end $$
"""
PARTS = """
select relname, pg_relation_size(c.oid), pg_indexes_size(c.oid), coalesce(pg_total_relation_size(nullif(reltoastrelid, 0)), 0),
  pg_total_relation_size(c.oid), reltuples::bigint
from pg_class c where relnamespace = 'heartlog'::regnamespace and relkind = 'r' and reltuples > 1000 order by relname
"""
LOG, CHANGES = "select pg_current_wal_insert_lsn() - '0/0'", "select sum(change) from heartlog.vaults"


def fill(database, key):
    database.query("create table noise as select string_agg(uuid_send(gen_random_uuid()), '') as bytes from generate_series(1, 65536)")
    chunks = [(first, min(first + CHUNK, COUNT + 1) - 1) for first in range(1, COUNT + 1, CHUNK)]
    owner = hashlib.sha256(bytes.fromhex(key)).hexdigest()[:32]
    for first, last in chunks:
        database.query(VAULTS.format(objects=len(SIZES), bytes=sum(SIZES), key=key, owner=owner, first=first, last=last))
    for change, size in enumerate(SIZES, 1):
        for first, last in chunks:
            database.query(OBJECTS.format(change=change, size=size, owner=owner, first=first, last=last))
        print(f"  object {change} of each, {size:,} bytes", file=sys.stderr, flush=True)


def timed(title, work):
    start = time.monotonic()
    work()
    print(f"{title:36} {time.monotonic() - start:8,.1f} s", flush=True)


def each(title, work, items, hub, database):
    """What it returns for each, one after the other."""
    before = hub.seconds(), database.seconds(), int(database.query(LOG))
    times, results = [], []
    for item in items:
        start = time.monotonic()
        results.append(work(*item))
        times.append((time.monotonic() - start) * 1e3)
    times.sort()
    used = [(now - then) / len(items) for now, then in zip((hub.seconds(), database.seconds(), int(database.query(LOG))), before)]
    show(f"{len(items):,} {title}", times[len(times) // 2], times[len(times) * 99 // 100], used[0] * 1e6, used[1] * 1e6, used[2])
    return results


def show(title, p50, p99, hub_each, database_each, logged, rest=""):
    print(f"{title:36} {p50:8.2f} {p99:8.2f} {hub_each:8,.0f} {database_each:8,.0f} {logged:10,.0f}  {rest}", flush=True)


def puts(title, hub, folder, database, used, connections):
    logged, stored = (int(database.query(text)) for text in (LOG, CHANGES))
    rate, p50, p99, hub_each, database_each = load(hub, folder, database, used, connections)
    each_logged = (int(database.query(LOG)) - logged) / (int(database.query(CHANGES)) - stored)
    show(f"puts, {title}", p50, p99, hub_each, database_each, each_logged, f"{rate:,.0f} a second")


def sizes(database):
    total = 0
    for line in database.query(PARTS).splitlines():
        name, *numbers = line.split("|")
        heap, indexes, toast, all_of_it, rows = map(int, numbers)
        total += all_of_it
        print(f"  {name:12} {rows:12,} rows; bytes a vault: heap {heap / COUNT:,.0f}, indexes {indexes / COUNT:,.0f}, toast {toast / COUNT:,.0f}")
    print(f"{'bytes a vault':36} {total / COUNT:8,.0f}", flush=True)


def watch(hub, used):
    """Bytes of the hub for each of many event streams."""
    before, streams = hub.bytes(), []
    for place in range(WATCHERS):
        vault, session = used[place % len(used)]
        streams.append(socket.create_connection(hub.host.split(":")))
        streams[-1].sendall(f"GET /v1/vaults/{vault}/changes HTTP/1.1\r\nHost: {hub.host}\r\nAuthorization: Bearer {session}\r\n\r\n".encode())
        if b" 200 " not in streams[-1].recv(64):
            sys.exit("hub: an event stream was refused")
    time.sleep(3)
    print(f"{'bytes of a hub for an event stream':36} {(hub.bytes() - before) / WATCHERS:8,.0f}", flush=True)


def main():
    if shutil.disk_usage(tempfile.gettempdir()).free < DISK:
        sys.exit(f"hub: {COUNT:,} vaults need {DISK >> 30} GiB of disk")
    key = Ed25519PrivateKey.generate()
    with Database() as database, tempfile.TemporaryDirectory(prefix="heartlog-bench-") as name, Hub("--database", database.url) as hub:
        timed(f"load {COUNT:,} vaults", lambda: fill(database, key.public_key().public_bytes_raw().hex()))
        timed("vacuum (analyze)", lambda: database.query("vacuum (analyze)"))
        sizes(database)
        ids = database.query(f"select encode(id, 'hex') from heartlog.vaults order by random() limit {USED}").split()
        database.query("checkpoint")
        print(f"{'each':36} {'p50 ms':>8} {'p99 ms':>8} {'µs: hub':>8} {'database':>8} {'log, bytes':>10}")
        used = list(zip(ids, each("sessions", hub.session, [(vault, key) for vault in ids], hub, database)))
        watch(hub, used)

        def ask(vault, session, name="", method="GET"):
            return hub.request(method, f"/v1/vaults/{vault}/objects{name}", session=session)

        got = [(*one, "/" + random.choice(json.loads(ask(*one))["objects"])[0]) for one in used[-READ:]]
        database.restart({"shared_buffers": "128MB"})
        for title in ("cold", "warm"):
            each(f"lists, {title}", ask, used[:READ], hub, database)
            each(f"gets, {title}", ask, got, hub, database)
        database.restart({})
        for title, connections in (("just after a checkpoint", CONNECTIONS), ("later", CONNECTIONS), ("from two connections", 2)):
            puts(title, hub, pathlib.Path(name), database, used, connections)
        database.query("checkpoint")
        each("deletes, after a checkpoint", ask, [(*one, "DELETE") for one in got], hub, database)
        timed("vacuum (analyze) after puts, deletes", lambda: database.query("vacuum (analyze)"))
        timed("pg_basebackup", lambda: database.run(
            "pg_basebackup", "-h", database.folder, "-U", "hub", "-D", database.folder / "backup", "-c", "fast"))
        copied = sum(path.stat().st_size for path in (database.folder / "backup").rglob("*") if path.is_file())
        print(f"{'bytes of the copy':36} {copied / 1e9:8,.1f} GB")


main()
