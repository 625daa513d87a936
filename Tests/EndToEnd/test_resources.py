"""Input that is made to use up memory or time: what it gets is a sentence, within bounds."""

import hashlib
import json
import os
import pathlib
import re
import resource
import struct
import subprocess
import sys
import time
import unittest

from format_encoder import varint
from heartlog import BINARY, PACKAGE, SECONDS_MAX, Answer, Store, TestCase, environment, lines

# Far above what any command needs for a small store, and far below what the input claims.
MEMORY_KIB_MAX = 256 << 10
# Address space, too: memory that is asked for and never used counts.
ADDRESS_KIB_MAX = 1 << 20
TINY_COMMITS = 1_000_000
BAD_INPUT = 65


class Measured(Answer):
    """An answer, and the most memory that the process had."""

    def __init__(self, code, out, err, memory_kib):
        super().__init__(code, out, err)
        self.memory_kib = memory_kib


NOBODY = 65534


# What a watching process may keep of rounds that each need more: it keeps 2.8 to 4.6 MiB, 5.3 beside other programs on two cores, and kept 9
# to 22 before it gave memory back.
WATCHING_KIB_MAX = 7 << 10
ROUNDS, ROUND_COMMITS = 4, 30_000
# It says what it did before it gives memory back.
PATIENCE_SECONDS = 30

# A process counts the memory of the one that it was forked from, so a small one starts the program.
MEASURING = """
import os, resource, subprocess, sys
limit = int(sys.argv[1]) << 10
process = subprocess.Popen(sys.argv[2:], preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
_, status, usage = os.wait4(process.pid, 0)
os.write(int(os.environ["MEASURED"]), b"%d %d" % (os.waitstatus_to_exitcode(status), usage.ru_maxrss))
"""


def measure(store, *arguments, input=None):
    """Runs the program in a bounded address space."""
    reading, writing = os.pipe()
    feed = {"input": input} if input is not None else {"stdin": subprocess.DEVNULL}
    try:
        done = subprocess.run(
            [sys.executable, "-S", "-c", MEASURING, str(ADDRESS_KIB_MAX), BINARY, "--store", store.path, *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=SECONDS_MAX, env=environment(MEASURED=str(writing)),
            pass_fds=(writing,), **feed)
    finally:
        os.close(writing)
    with os.fdopen(reading) as measured:
        code, memory_kib = map(int, measured.read().split())
    return Measured(code, done.stdout, done.stderr, memory_kib)


def documented_run_file():
    """The run file in docs/shipping.md."""
    page = (PACKAGE / "docs" / "shipping.md").read_text()
    (text,) = re.findall(r"```hex run-file\n(.*?)```", page, re.S)
    return bytes.fromhex(re.sub(r";.*", "", text))


def zeros(count):
    """An LZ4 block that expands to so many zeros."""
    # A literal zero, a match of all but five more, and five literals.
    rest = count - 1 - 5 - 4 - 15
    return bytes([0x1F, 0, 1, 0]) + b"\xff" * (rest // 255) + bytes([rest % 255]) + bytes([0x50, 0, 0, 0, 0, 0])


class ResourceTests(TestCase):
    def measured(self, code, store, *arguments, input=None, words=()):
        answer = self.expect(code, measure(store, *arguments, input=input), *words)
        self.assertLess(answer.memory_kib, MEMORY_KIB_MAX, arguments)
        return answer

    def sound(self, store):
        """Whatever came, the store goes on."""
        self.expect(0, store("add", "papers", "afterwards"))
        self.expect(0, store("verify"))

    # Run files

    def put(self, folder, content, last=2, root="ffe619817ca717e9"):
        """Puts a run file into a folder, under its right name."""
        content += hashlib.sha256(content).digest()
        stream = content[9:25].hex()
        path = folder / ("ab" * 16) / stream
        path.mkdir(parents=True, exist_ok=True)
        (path / f"{1:016d}-{last:016d}-{root}-{content[-32:][:8].hex()}.run").write_bytes(content)

    def changed_block(self, change):
        """The documented file with another block."""
        data = documented_run_file()[:-32]
        start = data.index(bytes.fromhex("bc01")) + 2
        block = change(data[start:start + 188])
        return data[:start - 2] + varint(len(block)) + block

    def shared(self, name):
        """A folder with a commit of another device, which is to arrive whatever else is there."""
        folder = self.folder / name
        folder.mkdir()
        peer = self.store("peer")
        self.expect(0, peer("add", "papers", "elsewhere"))
        self.expect(0, peer("sync", f"folder:{folder}"))
        return folder

    def test_bombs_in_run_files(self):
        """A column that expands to the most that a block may have, or claims to expand to more."""
        for size in (16 << 20, (64 << 20) - 200, 64 << 20, 1 << 40, (1 << 63) - 1):
            bomb = zeros(min(size, 64 << 20))
            for place in (b"\x14\x00", b"\x19\x05", b"\x10\x00"):
                def change(block):
                    at = block.rindex(place + b"\x00")
                    return block[:at] + place + b"\x01" + varint(size) + varint(len(bomb)) + bomb + block[at + 4 + block[at + 3]:]

                with self.subTest(size=size, column=place.hex()):
                    store, folder = self.store(), self.shared(f"bomb-{size}-{place.hex()}")
                    self.put(folder, self.changed_block(change))
                    answer = self.measured(0, store, "sync", f"folder:{folder}", "--json").object
                    self.assertEqual((answer["received"]["commits"], answer["folder"]["damaged"]), (1, 1))
                    self.sound(store)

    def test_claimed_lengths_in_run_files(self):
        data = documented_run_file()[:-32]
        for claim in (varint(1 << 42), varint((1 << 63) - 1), varint((1 << 27) - 1), b"\xff" * 10):
            for at in (25, 38, 39, 40, 73):
                with self.subTest(at=at, claim=claim.hex()):
                    store, folder = self.store(), self.shared(f"claims-{at}-{claim.hex()}")
                    self.put(folder, data[:at] + claim + data[at + 1:])
                    answer = self.measured(0, store, "sync", f"folder:{folder}", "--json")
                    self.assertEqual((answer.object["received"]["commits"], answer.object["folder"]["damaged"]), (1, 1))
                    self.sound(store)

    def test_large_files_in_a_folder(self):
        """Files of the largest size, and beyond it."""
        store, folder = self.store(), self.shared("large")
        for number, size in enumerate(((128 << 20) - 32, 129 << 20)):
            self.put(folder, documented_run_file()[:9] + bytes([number]) * 16 + bytes(size - 25))
        answer = self.measured(0, store, "sync", f"folder:{folder}", "--json")
        self.assertEqual((answer.object["folder"]["damaged"], len(answer.object["folder"]["damagedNames"])), (2, 2))
        for name in answer.object["folder"]["damagedNames"]:
            self.assertIn(f"damaged: {name}; ", store("sync", f"folder:{folder}").out)
        self.sound(store)

    # Backups

    def test_claimed_lengths_in_a_backup(self):
        store = self.store()
        self.expect(0, store("add", "papers", "one"))
        backup = self.folder / "store.backup"
        self.expect(0, store("backup", str(backup)))
        data = backup.read_bytes()
        (length,) = struct.unpack_from("<Q", data, 8)
        end = 16 + length
        changed = [data[:8] + struct.pack("<Q", claim) + data[16:] for claim in (1 << 42, (1 << 64) - 1, 320 << 20, length + 1)]
        changed += [data[:end] + struct.pack("<Q", claim) + data[end + 8:] for claim in (1 << 42, (1 << 64) - 1, 128 << 20)]
        manifest = data[end + 8:-32]
        for at in range(9, len(manifest)):
            claimed = manifest[:at] + varint(1 << 42) + manifest[at + 1:]
            claimed += hashlib.sha256(claimed).digest()
            changed.append(data[:end] + struct.pack("<Q", len(claimed)) + claimed)
        for number, content in enumerate(changed):
            with self.subTest(number=number):
                backup.write_bytes(content)
                answer = measure(store, "restore-backup", str(backup), str(self.folder / "restored"))
                self.assertEqual(answer.code, BAD_INPUT, answer.err)
                self.assertIn("the backup is damaged", answer.err)
                self.assertLess(answer.memory_kib, MEMORY_KIB_MAX)
                self.assertFalse((self.folder / "restored").exists())

    # Peers

    def test_claimed_lengths_in_a_dialogue(self):
        store = self.store()
        for kind in range(13):
            for claim in (varint((1 << 35) - 1), b"\xff" * 10, varint((64 << 20) + 1)):
                with self.subTest(kind=kind, claim=claim.hex()):
                    path = self.folder / "said"
                    path.write_bytes(bytes([kind]) + claim)
                    self.measured(BAD_INPUT, store, "sync", f"exec:cat {path}; cat /dev/zero", words=("the peer",))
        self.sound(store)

    def test_peers_that_never_stop(self):
        store = self.store()
        for command in ("cat /dev/zero", "yes", "yes '\u00e9'", "cat /dev/urandom", "printf '\\002\\377\\377\\177'; cat /dev/zero",
                        "printf '\\001\\377\\377\\177'; cat /dev/zero", "while printf '\\011\\002\\001\\000'; do :; done"):
            with self.subTest(command=command):
                self.measured(BAD_INPUT, store, "sync", f"exec:{command}", words=("the peer",))
        self.sound(store)

    def test_a_million_tiny_commits(self):
        """They are received in a bounded amount of memory, because the state is small."""
        peer, store = self.store("peer"), self.store()
        lines = b"".join(b'{"op":"toggle","library":"papers","id":"%d"}\n' % (number % 1_000) for number in range(TINY_COMMITS))
        self.expect(0, peer("apply", input=lines))
        self.assertEqual(peer("status", "--json").object["commits"], TINY_COMMITS)
        answer = self.measured(0, store, "sync", f"exec:{BINARY} --store {peer.path} serve --stdio", "--json")
        self.assertEqual(answer.object["received"]["commits"], TINY_COMMITS)
        folder = self.folder / "tiny"
        folder.mkdir()
        self.measured(0, store, "sync", f"folder:{folder}", "--json")
        third = self.store("third")
        answer = self.measured(0, third, "sync", f"folder:{folder}", "--json")
        self.assertEqual(answer.object["received"]["commits"], TINY_COMMITS)
        self.assertEqual(*(each("status", "--json").object["digest"] for each in (peer, third)))

    @unittest.skipUnless(sys.platform == "linux", "it reads /proc")
    def test_watching_gives_back_what_a_large_round_needed(self):
        phone, tablet = self.store("phone"), self.store("tablet")
        self.expect(0, tablet("sync", phone.path, "--join"))
        self.expect(0, phone.apply([{"op": "add", "library": "papers", "id": str(item)} for item in range(500)]))
        with self.ended(tablet.start("sync", phone.path, "--watch", "--json")) as process:
            received = -500
            for number in range(ROUNDS):
                fields = {"title": "x" * 600, "line": number}
                self.expect(0, phone.apply([{"op": "set", "library": "papers", "id": str(item % 500), "fields": fields | {"item": item}}
                                            for item in range(ROUND_COMMITS)]))
                while received < (number + 1) * ROUND_COMMITS:
                    received += json.loads(process.stdout.readline())["received"]["commits"]
            status = pathlib.Path(f"/proc/{process.pid}/status")
            for _ in range(PATIENCE_SECONDS * 10):
                kept = int(re.search(r"^RssAnon:\s*(\d+)", status.read_text(), re.M)[1])
                if kept <= WATCHING_KIB_MAX:
                    break
                time.sleep(0.1)
            self.assertLessEqual(kept, WATCHING_KIB_MAX)


@unittest.skipUnless(os.geteuid() == 0, "only root can become a user whose processes can be limited")
class Threads(TestCase):
    def as_nobody(self, processes):
        """The options of a run by a user who may have so many processes and threads."""
        for path in [self.folder, *self.folder.rglob("*")]:
            os.chown(path, NOBODY, NOBODY)

        def limit():
            resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)

        return {"preexec_fn": limit}

    def test_a_sync_works_where_no_thread_can_be_started(self):
        one, other = self.store("one"), self.store("other")
        for store in (one, other):
            self.expect(0, store("add", "lib", store.path))
        self.expect(0, one("sync", other.path, **self.as_nobody(1)))
        for store in (one, other):
            self.assertEqual({line["id"] for line in self.expect(0, store("list", "lib", "--json")).lines}, {one.path, other.path})

    def test_every_command_works_where_no_thread_can_be_started(self):
        store = Store(self.folder / "store")
        file, backup = (str(self.folder / name) for name in ("list.jsonl", "backup"))
        # Two segments.
        operations = [{"op": "toggle", "library": "lib", "id": str(number % 700), "fields": {"title": f"{number:0800}"}} for number in range(2_000)]
        limited = self.as_nobody(1)
        for words in (
            ["init"], ["add", "lib", "a", "n=1"], ["toggle", "lib", "b"], ["remove", "lib", "b"], ["set", "lib", "a", 'tags:=["x"]'],
            ["set", "lib", "a", "@note=noted"], ["collection", "lib", "trip", "add", "a", "b"], ["apply"], ["apply", "--ack"], ["prove", "--checkpoint"], ["compact"],
            ["undo", "--last"], ["undo", "--after", "2001-01-01"], ["undo", "--last"], ["export", "lib", file],
            ["import", "lib", file], ["list", "lib"], ["log"], ["stats"], ["status"], ["conflicts"], ["devices"],
            ["verify"], ["doctor"], ["replay"], ["repair"], ["repair", "--salvage", str(self.folder / "salvaged")],
            ["backup", backup], ["backup", backup + ".backup"], ["restore-backup", backup, str(self.folder / "restored")],
            ["inspect", "--output", str(self.folder / "report")], ["erase", "lib", "a"], ["compact"], ["verify"],
        ):
            with self.subTest(" ".join(words)):
                self.expect(0, store(*words, input=lines(operations) if words[0] == "apply" else None, **limited))


if __name__ == "__main__":
    unittest.main()
