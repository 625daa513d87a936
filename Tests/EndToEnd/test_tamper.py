"""Bytes that change on disk are found, named, and never shown as right."""

import os
import pathlib
import random
import re
import shutil
import struct
import unittest

from heartlog import Store, TestCase, seed, trace

HEADER_BYTES = 4096
FRAME_HEADER_BYTES = 40
SAMPLES = 200  # of each kind of segment, besides the places that are always tried


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

    def small_store(self, count=300, batches=30):
        """A store of many commits in as many batches, so that all but the last are known to be durable."""
        store = self.store()
        operations = trace(count, seed=self.chance.randrange(1 << 30)).splitlines(keepends=True)
        size = count // batches
        for place in range(0, count, size):
            self.expect(0, store.apply(b"".join(operations[place:place + size])))
        return store

    def digest(self, store, log, commits):
        """The digest after that many commits."""
        if commits not in self.digests:
            sequence = max((event["sequence"] for event in log if event["commit"] <= commits), default=0)
            if sequence == 0:
                self.digests[commits] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
            else:
                answer = store("status", "--at", f"{log[0]['replica']}:{sequence}", "--json")
                self.digests[commits] = self.expect(0, answer).object["digest"]
        return self.digests[commits]

    def place(self, answer):
        """(file, offset, first commit, last commit) as standard error names them."""
        match = re.search(r", in (.+?) at offset (\d+), commits? (\d+)(?: to (\d+))?\b", answer.err)
        self.assertTrue(match, answer.err)
        return match[1], int(match[2]), int(match[3]), int(match[4] or match[3])

    def check_damage(self, sound, log, damaged, path, offset, extent, commits):
        """All that must hold of a store whose bytes at `offset` of `path` changed: they belong to the part of the file from
        `extent` on, in which `commits` (first, last) stand."""
        before = {file: file.read_bytes() for file in damaged.segments()}
        verified = self.expect(65, damaged("verify"))
        file, at, first, last = self.place(verified)
        self.assertEqual(pathlib.Path(file), path)
        self.assertIn(at, extent, f"byte {offset} changed")
        self.assertLessEqual(first, commits[0])
        self.assertGreaterEqual(last, commits[0], verified.err)
        self.check_reads(sound, log, damaged, first, offset < HEADER_BYTES)
        # A write is refused and changes nothing.
        writes = {"toggle papers new": None, "compact": None, "apply": '{"op":"add","library":"papers","id":"new"}\n'}
        for words, text in self.some(writes.items()):
            answer = self.expect(65, damaged(*words.split(), input=text))
            self.assertEqual(answer.out, "")
        self.assertEqual({file: file.read_bytes() for file in damaged.segments()}, before)
        if not self.is_thorough:
            return
        stream = self.expect(65, damaged("verify", "--json")).object
        self.assertEqual((stream["isSound"], stream["partial"], stream["finding"]["verdict"]), (False, True, "corrupt"))
        self.assertEqual((stream["finding"]["file"], stream["finding"]["offset"]), (file, at))
        self.assertEqual((stream["finding"]["firstCommit"], stream["finding"]["lastCommit"]), (first, last))

    def some(self, ways):
        """One of several ways to ask, or all of them at the few places that are looked at thoroughly."""
        return list(ways) if self.is_thorough else [self.chance.choice(list(ways))]

    def check_reads(self, sound, log, damaged, first, is_header):
        """Reading shows what was true up to some commit before `first`, and says that this is not all."""
        answer = self.expect(65, damaged("log", "--json"))
        *events, partial = answer.lines
        self.assertIs(partial["partial"], True)
        self.assertEqual(events, log[:len(events)])
        shown = events[-1]["commit"] if events else 0
        self.assertTrue(shown == 0 or len(events) == len(log) or log[len(events)]["commit"] == shown + 1, "half a commit")
        # One copy of a header serves when the other one is bad: nothing is missing then, and nothing may be written.
        self.assertTrue(shown < first or is_header and shown == log[-1]["commit"], f"{shown} commits shown")
        ways = ["status --json", "replay --json", "list papers --all --json", "show", "log", "list papers", "status", "replay"]
        for way in self.some(ways):
            if way == "show":
                items = self.listing(events)
                missing = {event["item"] for event in log if event["library"] == "papers"} - {item["id"] for item in items}
                for ident in sorted(missing)[:1]:  # whether it is there cannot be known: 65, and not 1
                    self.expect(65, damaged("show", "papers", ident), "damaged")
                if items:
                    answer = self.expect(65, damaged("show", "papers", items[0]["id"], "--json")).object
                    self.assertEqual({name: answer[name] for name in items[0]}, items[0])
                    self.assertIs(answer["partial"], True)
                continue
            answer = self.expect(65, damaged(*way.split()), "damaged")
            if way.startswith("list") and way.endswith("--json"):
                *items, partial = answer.lines
                self.assertIs(partial["partial"], True)
                self.assertEqual(items, self.listing(events))
            elif way.endswith("--json"):
                answer = answer.object
                self.assertIs(answer["partial"], True)
                self.assertEqual((answer["commits"], answer["digest"]), (shown, self.digest(sound, log, shown)))

    def listing(self, events):
        """What `list papers --all --json` shows after these events."""
        items = {}
        for event in events:
            if event["library"] != "papers":
                continue
            item = items.setdefault(event["item"], {"library": "papers", "id": event["item"], "isFavorite": False,
                                                    "favoritedDate": None, "fields": {}})
            if "isFavorite" in event:
                item["isFavorite"] = event["isFavorite"]
                item["favoritedDate"] = event.get("favoritedDate", event["time"]) if event["isFavorite"] else None
            item["fields"] = {name: value for name, value in sorted((item["fields"] | event.get("fields", {})).items())
                              if value is not None}
        by_id = sorted(items.values(), key=lambda item: item["id"].encode())
        return sorted(by_id, key=lambda item: item["favoritedDate"] or "", reverse=True)

    def change(self, path, offset):
        """Changes one byte of a file in place, and gives back what puts it right."""
        with open(path, "r+b") as file:
            file.seek(offset)
            byte = file.read(1)[0]
            file.seek(offset)
            file.write(bytes([byte ^ self.chance.choice((0x01, 0x80, 0xFF, 1 << self.chance.randrange(8)))]))

        def restore():
            with open(path, "r+b") as file:
                file.seek(offset)
                file.write(bytes([byte]))
        return restore

    def try_bytes(self, store, path, offsets, limit):
        """Changes each of the bytes alone. `limit` is where the last batch starts."""
        self.digests = {}
        log = store.log()
        shutil.copytree(store.path, str(store.path) + ".sound")
        sound = Store(store.path + ".sound")
        parts = list(frames(path.read_bytes()))
        for number, offset in enumerate(sorted(set(offsets))):
            if offset >= limit:
                continue
            self.is_thorough = number % 12 == 0
            with self.subTest(file=path.name, offset=offset):
                if offset < HEADER_BYTES:
                    extent, commits = range(0, HEADER_BYTES), (parts[0][2], parts[0][2])
                else:
                    start, end, first, count, _ = next(part for part in parts if part[0] <= offset < part[1])
                    extent, commits = range(start, end), (first, first + count - 1)
                restore = self.change(path, offset)
                try:
                    self.check_damage(sound, log, store, path, offset, extent, commits)
                finally:
                    restore()
        self.expect(0, store("verify"))
        self.assertEqual(store.log(), log)

    # The fields of both copies of a segment's header, by their offsets.
    HEADER_FIELDS = [copy + field for copy in (0, 2048) for field in (
        0, 7, 8, 9, 10, 11, 12, 16, 31, 32, 47, 48, 56, 64, 72, 80, 88, 119, 120, 128, 159, 160, 1823, 1824, 1951, 1952, 2039,
        2040, 2047)]
    FRAME_FIELDS = [0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 19, 20, 23, 24, 31, 32, 39, 40, 41, 44]

    def test_any_byte_changed_in_a_sealed_segment_is_found(self):
        store = self.small_store()
        store.seal()
        self.expect(0, store.apply(trace(20, seed=3)))
        path, tail = store.segments()
        data = path.read_bytes()
        parts = list(frames(data))
        offsets = self.HEADER_FIELDS + [parts[0][0] + field for field in self.FRAME_FIELDS] + list(range(len(data) - 9, len(data)))
        offsets += [self.chance.randrange(HEADER_BYTES) for _ in range(SAMPLES // 8)]
        offsets += [self.chance.randrange(HEADER_BYTES, len(data)) for _ in range(SAMPLES)]
        self.try_bytes(store, path, offsets, len(data))

    def test_any_byte_changed_in_an_open_segment_before_its_last_batch_is_found(self):
        store = self.small_store()
        (path,) = store.segments(".open")
        parts = list(frames(path.read_bytes()))
        last_batch = max(part[4] for part in parts)
        self.assertGreater(last_batch, parts[-20][0])
        offsets = [self.chance.choice(self.HEADER_FIELDS) for _ in range(SAMPLES // 8)] + [0, 8, 2048, 2056, 2047, 4095]
        for start, end, *_ in self.chance.sample(parts, 6) + [parts[0]]:
            offsets += [start + field for field in self.chance.sample(self.FRAME_FIELDS, 8)] + list(range(end - 3, end))
        offsets += [self.chance.randrange(HEADER_BYTES, last_batch) for _ in range(SAMPLES // 2)]
        self.try_bytes(store, path, offsets, last_batch)

    def test_a_byte_in_a_segment_with_successors_is_found(self):
        """A middle segment: what stands behind it is sound, and still not shown."""
        store = self.small_store(60, 6)
        store.seal()
        self.expect(0, store.apply(trace(40, seed=4)))
        first, second = store.segments()
        self.try_bytes(store, first, [self.chance.randrange(first.stat().st_size) for _ in range(10)], first.stat().st_size)

    def cut(self, store, path, length, parts, log):
        """Cuts the file, as a machine that dies would, and looks at what is left. The lock page does not survive the machine."""
        data = path.read_bytes()
        copy = pathlib.Path(store.path)
        whole = [part for part in parts if part[1] <= length]
        commits = whole[-1][2] if whole else 0
        with open(path, "r+b") as file:
            file.truncate(length)
        (copy / "lock").write_bytes(bytes(4096))
        # A reader shows what is whole.
        end = whole[-1][1] if whole else HEADER_BYTES
        is_torn = any(data[end:length])
        expected = [event for event in log if event["commit"] <= commits]
        self.assertEqual(self.expect(0, store("log", "--json")).lines, expected)
        self.expect(0, store("verify"), *["not finished"] * is_torn)
        # The next write keeps the cut bytes aside, and goes on.
        self.expect(0, store("toggle", "papers", "next"))
        after = store.log()
        self.assertEqual(after[:-1], expected)
        self.assertEqual((after[-1]["commit"], after[-1]["item"]), (commits + 1, "next"))
        kept = list(path.parent.glob("*.cut-*"))
        if is_torn:
            self.assertEqual([file.name for file in kept], [f"{1:016}.cut-{end}"])
            self.assertEqual(kept[0].read_bytes(), data[end:length])
        else:
            self.assertEqual(kept, [])
        self.expect(0, store("verify"))
        for file in kept:
            file.unlink()
        path.write_bytes(data)
        (copy / "lock").write_bytes(bytes(4096))

    def test_a_tail_cut_at_any_length_keeps_what_is_whole(self):
        store = self.store()
        # One batch, so that none of its frames says that another is durable.
        self.expect(0, store.apply([{"op": "add", "library": "papers", "id": f"p{number}", "fields": {"title": "t" * (number % 30)}}
                                    for number in range(20)]))
        (path,) = store.segments(".open")
        log = store.log()
        parts = list(frames(path.read_bytes()))
        if len({part[4] for part in parts}) > 1:
            self.skipTest("the machine was too slow to write twenty commits in one batch")
        start = parts[-3][0]
        lengths = list(range(start, parts[-1][1] + 1)) + [self.chance.randrange(HEADER_BYTES, start) for _ in range(40)]
        for length in lengths:
            with self.subTest(length=length):
                self.cut(store, path, length, parts, log)

    def test_acknowledged_commits_missing_from_the_tail_are_reported(self):
        store = self.small_store(60, 6)
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
        for offset in range(len("heartlog "), len(data)):
            path.write_bytes(data[:offset] + bytes([data[offset] ^ self.chance.choice((1, 0x20, 0x80))]) + data[offset + 1:])
            with self.subTest(offset=offset):
                for words in (["status"], ["verify"], ["toggle", "papers", "x"]):
                    self.expect(65, store(*words), "store")
        for cut in (0, 1, 20, len(data) - 1):
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
        pages = [b"", b"x", b"\xff" * 4096] + [self.chance.randbytes(self.chance.choice((8, 88, 4096))) for _ in range(10)]
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
