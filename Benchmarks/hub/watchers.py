"""Devices that watch a hub while others put: `Scripts/bench watchers [COUNT [postgresql]]`.

10,000 event streams of vaults in which nothing happens, unless said otherwise, and 100 of vaults in each of which a device puts ten objects of
400 bytes a second. The clients are in one process beside the hub. Prints what a stream costs the hub, how long a put takes, and how long it
is until the stream of its vault tells of it; and, with two devices beside the others, until a commit is in the log of the second one.
"""

import asyncio
import contextlib
import json
import pathlib
import sys
import tempfile
import time

from .database import Database
from .service import Hub

BUSY, RATE, BYTES, SECONDS, COMMITS = 100, 10, 400, 40, 60


def memory(hub):
    """The memory of its own that the hub has, in KiB."""
    text = pathlib.Path(f"/proc/{hub.process.pid}/status").read_text()
    return int(next(line for line in text.splitlines() if line.startswith("RssAnon")).split()[1])


def percentile(values, share):
    return sorted(values)[int(len(values) * share)] * 1e3


async def connect(hub):
    host, port = hub.host.rsplit(":", 1)
    return await asyncio.open_connection(host, int(port))


async def watch(hub, vault, session, told=None):
    """Opens a stream, and returns once it is open. `told` gets the names that come, and when."""
    reader, writer = await connect(hub)
    writer.write(f"GET /v1/vaults/{vault}/changes HTTP/1.1\r\nHost: {hub.host}\r\nAuthorization: Bearer {session}\r\n\r\n".encode())
    await reader.readuntil(b"\r\n\r\n")

    async def read():
        while line := await reader.readline():
            if told is not None and line.startswith(b"data: "):
                for name, _ in json.loads(line[6:]).get("objects", []):
                    told[name] = time.perf_counter()

    # Tasks that nobody keeps are forgotten.
    return writer, asyncio.create_task(read()) if told is not None else reader


async def put(hub, vault, session, started, answered):
    """Puts objects at a steady rate."""
    reader, writer = await connect(hub)
    begin = time.perf_counter()
    for number in range(1, RATE * SECONDS + 1):
        await asyncio.sleep(max(0, begin + number / RATE - time.perf_counter()))
        name = f"{vault}/{vault}/{number:016}-{number:016}-{'0' * 16}-{'f' * 16}.run"
        started[name] = time.perf_counter()
        writer.write(f"PUT /v1/vaults/{vault}/objects/{name} HTTP/1.1\r\nHost: {hub.host}\r\nAuthorization: Bearer {session}\r\n"
                     f"Content-Length: {BYTES}\r\n\r\n".encode() + b"x" * BYTES)
        head = await reader.readuntil(b"\r\n\r\n")
        if b" 201 " not in head.splitlines()[0]:
            sys.exit(f"watchers: {head}")
        await reader.readexactly(int(head.lower().split(b"content-length:")[1].split()[0]))
        answered[name] = time.perf_counter()


async def run(hub, count):
    busy = [hub.vault() for _ in range(BUSY)]
    idle = [hub.vault() for _ in range(100)]
    before = memory(hub)
    kept = []
    for number in range(count):
        kept.append(await watch(hub, *idle[number % len(idle)]))
    await asyncio.sleep(2)
    if count:
        print(f"{count} streams at rest: {(memory(hub) - before) / count:.1f} KiB of the hub each")
    started, answered, told = {}, {}, {}
    kept += [await watch(hub, *vault, told) for vault in busy]
    commits = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "hub.commits", hub.url, str(COMMITS), stdout=asyncio.subprocess.PIPE)
    await asyncio.gather(*(put(hub, *vault, started, answered) for vault in busy))
    arrived = [milliseconds / 1e3 for milliseconds in json.loads((await commits.communicate())[0])]
    await asyncio.sleep(1)
    if told.keys() != started.keys():
        sys.exit(f"watchers: {len(started)} objects were put, and {len(told)} were told")
    puts = [answered[name] - started[name] for name in started]
    tells = [told[name] - started[name] for name in started]
    print(f"{len(started) / SECONDS:,.0f} puts a second: {percentile(puts, 0.5):.1f} ms, 99 of 100 within {percentile(puts, 0.99):.1f}")
    print(f"until the stream tells: {percentile(tells, 0.5):.1f} ms, 99 of 100 within {percentile(tells, 0.99):.1f}")
    print(f"until another device has the commit: {percentile(arrived, 0.5):.1f} ms, all {len(arrived)} within {max(arrived) * 1e3:.1f}")


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with contextlib.ExitStack() as stack:
        if "postgresql" in sys.argv:
            engine = "--database", stack.enter_context(Database()).url
        else:
            engine = "--database", stack.enter_context(tempfile.TemporaryDirectory(prefix="heartlog-bench-")) + "/hub.db"
        asyncio.run(run(stack.enter_context(Hub(*engine)), count))


main()
