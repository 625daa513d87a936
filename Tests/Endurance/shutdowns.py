"""Shuts a mounted ext4 down while processes write to it: `shutdowns.py TIMES [SEED]`. Needs root.

The file system is in a file of a temporary folder. A shutdown drops what is not on the medium, as a power failure does.
"""

import contextlib
import fcntl
import os
import pathlib
import random
import signal
import struct
import subprocess
import tempfile
import time

from load import Broken, Command, Writer, check_store, main, make_stores, require

# <linux/ext4.h>: EXT4_IOC_SHUTDOWN, and what happens to the journal's last transactions.
SHUTDOWN = 0x8004587D
LOG_FLUSHED, LOG_DROPPED = 1, 2
IMAGE_BYTES = 128 << 20


def command(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise Broken(f"{' '.join(words)}: {done.stdout.strip()}")


@contextlib.contextmanager
def mounted(image, folder):
    command("mount", "-o", "loop", str(image), str(folder))
    try:
        yield
    finally:
        command("umount", str(folder))


def shut_down(folder, how):
    place = os.open(folder, os.O_RDONLY)
    try:
        fcntl.ioctl(place, SHUTDOWN, struct.pack("I", how))
    finally:
        os.close(place)


def stop(actors):
    """Stops processes, each behind the call in which it was."""
    for actor in actors:
        actor.process.send_signal(signal.SIGSTOP)
    for actor in actors:
        while True:
            threads = pathlib.Path(f"/proc/{actor.process.pid}/task")
            states = [stat.read_text().rpartition(")")[2].split()[0] for stat in threads.glob("*/stat")]
            if all(state in "TZX" for state in states):
                break
            time.sleep(0.001)


def once(image, folder, chance, number, acknowledged):
    with mounted(image, folder):
        stores = [str(folder / name) for name in ("phone", "tablet")]
        if number == 0:
            make_stores(str(folder), ("phone", "tablet"))
            os.sync()
        for store in stores:
            check_store(store, acknowledged.get(store, {}))
        writers = [Writer(store, f"{name}.{number}.{index}", chance) for name, store in enumerate(stores) for index in range(2)]
        commands = [Command(stores[0], "compact"), Command(stores[0], "sync", stores[1], "--join"), Command(stores[1], "compact")]
        time.sleep(chance.uniform(0, 0.4))
        # When the journal ends under an fdatasync, Linux 6.18 may return 0 from it although the new size of the file is lost: a loop of
        # pwrite and fdatasync shows the same. So nobody is in one.
        stop(writers + commands)
        shut_down(folder, chance.choice((LOG_FLUSHED, LOG_DROPPED)))
        for actor in writers + commands:
            actor.process.send_signal(signal.SIGCONT)
        # Those that write get an error; a writer may also be without a line to write.
        time.sleep(0.02)
        for writer in writers:
            writer.kill()
        for actor in writers + commands:
            code, said = actor.end()
            require(code in (0, -9) or said.startswith("heartlog: "), "exit code", code, said)
        for writer in writers:
            acknowledged.setdefault(writer.store, {})[writer.name] = writer.acknowledged
    with mounted(image, folder):
        for store in stores:
            check_store(store, acknowledged.get(store, {}))
    return sum(writer.acknowledged for writer in writers)


def repeat(times, seed):
    chance, lines, done = random.Random(seed), 0, 0
    while done < times:
        with tempfile.TemporaryDirectory(prefix="heartlog-") as place:
            image, folder = pathlib.Path(place) / "image", pathlib.Path(place) / "mounted"
            folder.mkdir()
            with open(image, "wb") as file:
                file.truncate(IMAGE_BYTES)
            command("mkfs.ext4", "-q", str(image))
            acknowledged = {}
            for number in range(min(10, times - done)):
                lines += once(image, folder, chance, number, acknowledged)
                done += 1
    return f"{done} shutdowns, {lines} lines acknowledged, none lost"


if __name__ == "__main__":
    main(repeat)
