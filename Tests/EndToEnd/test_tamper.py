"""Bytes that change on disk are found, named, and never shown as right."""

import pathlib
import random
import re
import struct
import unittest

from heartlog import TestCase, seed, trace

HEADER_BYTES, HEADER_COPY_BYTES = 4096, 2048
FRAME_HEADER_BYTES = 40
# Of a frame: its checksum, length, first commit, number of commits, durable offset, root and the beginning of its body.
FRAME_FIELDS = (0, 4, 8, 16, 20, 24, 40)


def frames(data):
    """(offset, end with padding, first commit, commits, durable offset) of the frames of a whole segment."""
    offset = HEADER_BYTES
    while offset < len(data) and data[offset] != 0:
        length, first, count, durable = struct.unpack_from("<IQII", data, offset + 4)
        end = offset + (FRAME_HEADER_BYTES + length + 7) // 8 * 8
        yield offset, end, first, count, durable
        offset = end


class TamperTests(TestCase):
    def setUp(self):
        super().setUp()
        self.chance = random.Random(seed())

    def small_store(self, count=60, batches=6):
        """A store of many commits in as many batches, so that all but the last are known to be durable."""
        store = self.store()
        operations = trace(count, seed=self.chance.randrange(1 << 30)).splitlines(keepends=True)
        size = count // batches
        for place in range(0, count, size):
            self.expect(0, store.apply(b"".join(operations[place:place + size])))
        return store

    def place(self, answer):
        """(file, offset, first commit, last commit) as standard error names them."""
        match = re.search(r", in (.+?) at offset (\d+), commits? (\d+)(?: to (\d+))?\b", answer.err)
        self.assertTrue(match, answer.err)
        return match[1], int(match[2]), int(match[3]), int(match[4] or match[3])

    def check_damage(self, store, log, digests, path, extent, commits):
        """All that must hold of a store of which a byte changed in the part `extent` of a file, in which `commits` stand."""
        before = {file: file.read_bytes() for file in store.segments()}
        file, at, first, last = self.place(self.expect(65, store("verify")))
        self.assertEqual(pathlib.Path(file), path)
        self.assertIn(at, extent)
        self.assertLessEqual(first, commits[0])
        self.assertGreaterEqual(last, commits[1])
        stream = self.expect(65, store("verify", "--json")).object
        self.assertEqual((stream["isSound"], stream["partial"], stream["finding"]["verdict"]), (False, True, "corrupt"))
        self.assertEqual([stream["finding"][name] for name in ("file", "offset", "firstCommit", "lastCommit")], [file, at, first, last])
        # Reading shows what was true up to some commit before, and says that this is not all.
        *events, partial = self.expect(65, store("log", "--json")).lines
        self.assertIs(partial["partial"], True)
        self.assertEqual(events, log[:len(events)])
        shown = events[-1]["commit"] if events else 0
        self.assertTrue(shown == 0 or len(events) == len(log) or log[len(events)]["commit"] == shown + 1, "half a commit")
        # One copy of a header serves when the other one is bad: nothing is missing then, and nothing may be written.
        self.assertTrue(shown < first or extent.start == 0 and shown == log[-1]["commit"], f"{shown} commits shown")
        for way in ("status", "replay"):
            answer = self.expect(65, store(way, "--json"), "damaged").object
            self.assertEqual((answer["partial"], answer["commits"], answer["digest"]), (True, shown, digests[shown]))
        self.assertIs(self.expect(65, store("list", "papers", "--all", "--json"), "damaged").lines[-1]["partial"], True)
        for way in ("log", "list papers", "status", "replay"):
            self.expect(65, store(*way.split()), "damaged")
        missing = {event["item"] for event in log if event["library"] == "papers"} - {event["item"] for event in events}
        for ident in sorted(missing)[:1]:  # whether it is there cannot be known: 65, and not 1
            self.expect(65, store("show", "papers", ident), "damaged")
        for ident in [event["item"] for event in events if event["library"] == "papers"][:1]:
            self.assertIs(self.expect(65, store("show", "papers", ident, "--json")).object["partial"], True)
        # A write is refused and changes nothing.
        for words in (["toggle", "papers", "new"], ["compact"], ["apply"]):
            answer = self.expect(65, store(*words, input='{"op":"add","library":"papers","id":"new"}\n'))
            self.assertEqual(answer.out, "")
        self.assertEqual({file: file.read_bytes() for file in store.segments()}, before)

    def try_bytes(self, store, path, offsets):
        """Changes each of the bytes alone."""
        log, data = store.log(), path.read_bytes()
        parts = list(frames(data))
        last = {event["commit"]: event["sequence"] for event in log}
        digests = {0: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"} | {
            commit: store("status", "--at", f"{log[0]['replica']}:{sequence}", "--json").object["digest"] for commit, sequence in last.items()}
        for offset in offsets:
            with self.subTest(file=path.name, offset=offset):
                extent, commits = range(0, HEADER_BYTES), (parts[0][2], parts[0][2])
                if offset >= HEADER_BYTES:
                    start, end, first, count, _ = next(part for part in parts if part[0] <= offset < part[1])
                    extent, commits = range(start, end), (first, first)
                path.write_bytes(data[:offset] + bytes([data[offset] ^ self.chance.choice((0x01, 0x80, 0xFF))]) + data[offset + 1:])
                self.check_damage(store, log, digests, path, extent, commits)
        path.write_bytes(data)
        self.expect(0, store("verify"))
        self.assertEqual(store.log(), log)

    def test_a_byte_changed_in_a_sealed_segment_is_found(self):
        store = self.small_store()
        store.seal()
        self.expect(0, store.apply(trace(20, seed=3)))
        path, _ = store.segments()
        start, end, *_ = self.chance.choice(list(frames(path.read_bytes())))
        self.try_bytes(store, path, [16, HEADER_COPY_BYTES + 128, *(start + field for field in FRAME_FIELDS), end - 1])

    def test_a_byte_changed_in_an_open_segment_before_its_last_batch_is_found(self):
        store = self.small_store()
        (path,) = store.segments(".open")
        parts = list(frames(path.read_bytes()))
        last_batch = max(part[4] for part in parts)
        start, end, *_ = self.chance.choice([part for part in parts if part[1] <= last_batch])
        self.try_bytes(store, path, [HEADER_COPY_BYTES - 1, start, start + FRAME_HEADER_BYTES, end - 1])

    def test_a_tail_that_is_cut_keeps_what_is_whole(self):
        store = self.store()
        # One batch, so that none of its frames says that another is durable.
        self.expect(0, store.apply([{"op": "add", "library": "papers", "id": f"p{number}"} for number in range(20)]))
        (path,) = store.segments(".open")
        log, data = store.log(), path.read_bytes()
        parts = list(frames(data))
        if len({part[4] for part in parts}) > 1:
            self.skipTest("the machine was too slow to write twenty commits in one batch")
        end, (start, _, first, _, _) = parts[-3][1], parts[-2]
        self.assertEqual(end, start)
        for length in (start, start + 1, start + FRAME_HEADER_BYTES + 1):
            with self.subTest(length=length):
                # As a machine that dies cuts it. The lock page does not survive the machine.
                path.write_bytes(data[:length])
                (pathlib.Path(store.path) / "lock").write_bytes(bytes(4096))
                # A reader shows what is whole.
                expected = [event for event in log if event["commit"] < first]
                self.assertEqual(self.expect(0, store("log", "--json")).lines, expected)
                self.expect(0, store("verify"), *["not finished"] * (length > start))
                # The next write keeps the cut bytes aside, and goes on.
                self.expect(0, store("toggle", "papers", "next"))
                after = store.log()
                self.assertEqual((after[:-1], after[-1]["commit"], after[-1]["item"]), (expected, first, "next"))
                kept = {file.name: file.read_bytes() for file in path.parent.glob("*.cut-*")}
                self.assertEqual(kept, {f"{1:016}.cut-{start}": data[start:length]} if length > start else {})
                self.expect(0, store("verify"))
                for name in kept:
                    (path.parent / name).unlink()

    def test_acknowledged_commits_missing_from_the_tail_are_reported(self):
        store = self.small_store()
        (path,) = store.segments(".open")
        log, parts = store.log(), list(frames(path.read_bytes()))
        with open(path, "r+b") as file:
            file.truncate(parts[-4][0])
        answer = self.expect(65, store("verify"))
        self.assertEqual(self.place(answer)[:3], (str(path), parts[-4][0], parts[-4][2]))
        self.assertEqual(self.expect(65, store("log", "--json")).lines[:-1], log[:parts[-4][2] - 1])
        # It goes on under another replica: the lost numbers may be known elsewhere.
        answer = self.expect(65, store("toggle", "papers", "next"), "lost")
        written = store("log", "--json").lines[-1]
        self.assertNotEqual(written["replica"], log[0]["replica"])
        # It is written all the same, and said to be.
        self.assertIn(f"Written: papers next is a favorite now ({written['replica'][:8]}:{written['sequence']}).", answer.err)

    def test_a_deleted_segment_is_named(self):
        store = self.small_store(40, 4)
        store.seal()
        self.expect(0, store.apply(trace(40, seed=4)))
        first, second = store.segments()
        log = store.log()
        for victim in (first, second):
            with self.subTest(victim.name):
                data = victim.read_bytes()
                victim.unlink()
                answer = self.expect(65, store("verify"), "/replicas/")
                self.assertIn("missing", answer.err)
                events = self.expect(65, store("log", "--json")).lines[:-1]
                self.assertEqual(events, [] if victim == first else log[:40])
                for command in ("status", "replay"):
                    self.assertIs(self.expect(65, store(command, "--json")).object["partial"], True)
                victim.write_bytes(data)
                self.assertEqual(store.log(), log)

    def test_swapped_segments_are_refused(self):
        store = self.store()
        for place in range(2):
            self.expect(0, store.apply(trace(30, seed=place)))
        other = self.store()
        self.expect(0, other.apply(trace(60, seed=9)))
        for each in (store, other):
            each.seal()
            self.expect(0, each.apply(trace(20, seed=8)))
        for mine, theirs in zip(store.segments(), other.segments()):
            with self.subTest(mine.name):
                data = mine.read_bytes()
                mine.write_bytes(theirs.read_bytes())
                self.expect(65, store("verify"), mine.name)
                self.expect(65, store("list", "papers"))
                self.expect(65, store("toggle", "papers", "x"))
                mine.write_bytes(data)
        first, second = (path.read_bytes() for path in store.segments())
        for path, data in zip(store.segments(), (second, first)):
            path.write_bytes(data)
        self.expect(65, store("verify"))
        self.assertEqual(self.expect(65, store("log", "--json")).lines[:-1], [])

    def test_a_damaged_identity_is_refused(self):
        store = self.small_store(20, 2)
        path = pathlib.Path(store.path) / "store"
        data = path.read_bytes()
        starts = [match.end() for match in re.finditer(rb"(?m)^\w+ ", data)]
        for offset in (*starts, len(data) - 1):
            path.write_bytes(data[:offset] + bytes([data[offset] ^ self.chance.choice((1, 0x20, 0x80))]) + data[offset + 1:])
            with self.subTest(offset=offset):
                for words in (["status"], ["verify"], ["toggle", "papers", "x"]):
                    self.expect(65, store(*words), "store")
        for cut in (0, 20, len(data) - 1):
            path.write_bytes(data[:cut])
            with self.subTest(cut=cut):
                answer = store("status")
                self.assertIn(answer.code, (65, 66), answer.err)
        path.write_bytes(data)
        self.expect(0, store("verify"))

    def test_a_deleted_lock_is_made_again(self):
        store = self.small_store(20, 2)
        log, lock = store.log(), pathlib.Path(store.path) / "lock"
        for words in (["status"], ["verify"], ["log", "--json"], ["replay"], ["toggle", "papers", "x"]):
            with self.subTest(words[0]):
                lock.unlink(missing_ok=True)
                self.expect(0, store(*words))
        self.assertEqual(store.log()[:-1], log)
        # The page is a hint: whatever stands in it, nothing that the log holds is lost, and writing goes on.
        pages = [b"", b"x", b"\xff" * 4096] + [self.chance.randbytes(size) for size in (8, 88, 4096)]
        for content in pages:
            with self.subTest(content=content[:88].hex()):
                log = store.log()
                lock.write_bytes(content)
                self.assertEqual([event for event in store("log", "--json").lines if "sequence" in event], log)
                self.assertIn(store("toggle", "papers", "next").code, (0, 65))
                self.assertEqual(store.log()[:-1], log)
                self.expect(0, store("verify"))


if __name__ == "__main__":
    unittest.main()
