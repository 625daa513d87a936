"""Snapshots make a store open sooner, and change nothing else, whatever happens to them."""

import os
import pathlib
import random
import shutil
import subprocess
import threading
import unittest

import format_reader
import format_state
import strace
from format_decoder import HAS_DATE
from format_snapshot import Directory, Snapshot, Write
from heartlog import FORTNIGHT, Store, TestCase, lines, seed, trace

MANY = int(os.environ.get("OPERATIONS") or 12_000)


def operations(count, start=0):
    """Operations on items of their own and on some that are written again and again, one second after the other."""
    for number in range(start, start + count):
        operation = {"op": "add", "library": "papers", "id": f"paper-{number}",
                     "fields": {"title": f"the title of {number}, which is longer than a number", "line": number}}
        if number % 4 == 0:
            operation = {"op": "toggle", "library": "cities", "id": f"a city whose id is longer than a key is wide: {number % 40}"}
        yield operation | {"time": "2026-03-01T%02d:%02d:%02dZ" % (number // 3600 % 24, number // 60 % 60, number % 60)}


class SnapshotTestCase(TestCase):
    def filled(self, count=1500, name="device"):
        store = self.store(name)
        self.expect(0, store.apply(lines(operations(count))))
        return store

    def folder_of(self, store):
        return pathlib.Path(store.path) / "snapshots"

    def snapshots(self, store):
        """What lies there, but for the notes beside snapshots that say where sealing has moved their places."""
        folder = self.folder_of(store)
        return sorted(path for path in folder.iterdir() if path.suffix != ".places") if folder.is_dir() else []

    def snapshot(self, store):
        """Makes one, and returns its file."""
        before = set(self.snapshots(store))
        store.snapshot()
        (new,) = set(self.snapshots(store)) - before
        return new

    def status(self, store):
        answer = self.expect(0, store("status", "--json"))
        status = answer.object
        del status["store"]
        return status, answer.err

    def expected(self, store):
        """What a store shows that has no snapshots at all."""
        folder = self.folder_of(store)
        kept = folder.rename(folder.with_name("kept.tmp-")) if folder.exists() else None
        status, note = self.status(store)
        self.assertEqual(note, "")
        shown = self.listings(store)
        if kept:
            kept.rename(folder)
        return status, shown

    def listings(self, store):
        return [self.expect(0, store(*words, "--json")).out_bytes
                for words in (("list", "papers", "--all"), ("list", "cities", "--order", "oldest"), ("conflicts",))]

    def check(self, store, expected, dropped=None):
        """A store shows what it should, and says which snapshots it could not use, if any."""
        status, note = self.status(store)
        self.assertEqual(status, expected[0])
        self.check_note(note, dropped)
        self.assertEqual(self.listings(store), expected[1])

    def check_note(self, note, dropped):
        if dropped is None:
            return
        names = []
        for line in note.splitlines():
            self.assertRegex(line, r"^heartlog: the snapshot \S+ was dropped, and the log replayed: .+\.$")
            names.append(line.split()[3])
        self.assertEqual(names, [file.name for file in dropped], note)

    def write(self, store, name="a new one"):
        answer = self.expect(0, store("add", "books", name))
        return answer.err


class MakingTests(SnapshotTestCase):
    def test_a_snapshot_is_made_when_it_is_asked_for(self):
        store = self.filled(300)
        self.assertEqual(self.snapshots(store), [])
        report = self.expect(0, store("compact", "--json")).object["snapshot"]
        (file,) = self.snapshots(store)
        self.assertEqual(report, {"events": 300, "bytes": file.stat().st_size})
        self.assertEqual(file.name[:17], "%016d-" % 300)
        self.assertEqual(self.expect(0, store("compact", "--json")).object["snapshot"], report)
        self.assertEqual(self.snapshots(store), [file])
        self.assertRegex(self.expect(0, store("compact")).out, r"\nsnapshot of 300 events: \d+ KiB\n$")
        self.write(store)
        self.assertRegex(self.expect(0, store("compact")).out, r"\nsnapshot of 301 events: \d+ KiB\n$")

    def test_there_is_none_of_a_store_that_is_not_there(self):
        self.expect(66, Store(self.folder / "nothing")("compact"))

    def test_there_is_none_of_a_store_that_cannot_be_written(self):
        store = self.filled(20)
        # The machine's user may write anywhere; a damaged log is what nobody writes to.
        (segment,) = store.segments(".open")
        data = bytearray(segment.read_bytes())
        data[4096 + 50] ^= 1
        segment.write_bytes(data)
        self.expect(65, store("compact"), "damaged")
        self.assertEqual(self.snapshots(store), [])

    def test_many_operations_bring_one_by_themselves(self):
        store = self.store()
        operations = trace(MANY)
        applied = self.expect(0, store.apply(operations, "--json")).object
        self.assertTrue(self.snapshots(store))
        covered = int(self.snapshots(store)[-1].name[:16])
        # The end of the command brings another one if that leaves out 5,000 events and a 32nd of what it covers.
        self.assertLess(applied["events"] - covered, max(5_000, covered // 32))
        status, note = self.status(store)
        self.assertEqual((status["digest"], note), (applied["digest"], ""))
        expected = self.expected(store)
        self.check(store, expected, [])
        self.expect(0, store("replay", "--json"))
        # What comes after it lies over it.
        for _ in range(2):
            self.expect(0, store.apply([{"op": "toggle", "library": "papers", "id": "new"}, {"op": "add", "library": "papers", "id": "newer"}]))
            self.check(store, self.expected(store), [])

    def test_a_sealed_log_is_the_same_log(self):
        store = self.filled()
        expected = self.expected(store)
        self.snapshot(store)
        store.seal()
        for round_ in range(2):
            status, note = self.status(store)
            self.assertEqual((status | {"bytes": 0}, note), (expected[0] | {"bytes": 0}, ""))
            self.assertEqual(self.write(store, f"book {round_}"), "")
            expected = self.expected(store)
        self.assertTrue(self.snapshots(store))

    def test_the_past_is_the_same(self):
        store = self.filled(400)
        for start in (400, 900, 1500):
            self.snapshot(store)
            self.expect(0, store.apply(lines(operations(300, start))))
        self.assertEqual(len(self.snapshots(store)), 1)
        moments = ["2026-03-01T00:00:10Z", "2026-03-01T00:05:00Z", "2026-03-01T00:06:39Z", "2026-03-01T00:17:00Z", "2026-03-01T00:29:00Z", "2026-03-02"]
        replica = self.status(store)[0]["replica"]
        moments += [f"{replica}:{sequence}" for sequence in (1, 399, 400, 401, 850, 999, 1000, 1001, 1300)]
        with_them = [self.expect(0, store("status", "--json", "--at", moment)) for moment in moments]
        self.assertEqual({answer.err for answer in with_them}, {""})
        shutil.rmtree(self.folder_of(store))
        without = [self.expect(0, store("status", "--json", "--at", moment)) for moment in moments]
        self.assertEqual([answer.object for answer in with_them], [answer.object for answer in without])
        # Two of the times are those of two of the events.
        self.assertEqual(len({answer.object["events"] for answer in without}), len(moments) - 2)


class FormatTests(SnapshotTestCase):
    """docs/format.md is enough to read a snapshot, and what it says is what the log says."""

    def read(self, store):
        snapshot = Snapshot(self.snapshot(store).read_bytes())
        for library in snapshot.libraries:
            library.check()
        log = format_reader.Store(store.path)
        self.assertEqual(format_state.digest(snapshot.state()), log.summary["digest"])
        self.check_registers(snapshot, log)
        self.check_streams(snapshot, log)
        return snapshot

    def check_registers(self, snapshot, log):
        """Each register, null ones and those of tombstones too, with the write that it shows."""
        expected = {}
        for commit in sorted(log.commits, key=format_state.total_order):
            for sequence, event in enumerate(commit.events, commit.sequence):
                if not event.has_item:
                    continue
                write = Write(commit.stamp, sequence, commit.replica)
                if event.action < 4:
                    date = (event.date if event.head & HAS_DATE else commit.wall) if event.action in (0, 2) else None
                    expected[event.library, event.item, ""] = write, date
                for name, byte, value in event.fields:
                    expected[event.library, event.item, name] = write, byte & 63, value if byte & 63 > 2 else None, byte >> 7
        found = {}
        for library in snapshot.libraries:
            for number, record in enumerate(library.items):
                key = library.name, library.ids[number].decode()
                item = library.item(number)
                if write := library.membership(record):
                    found[*key, ""] = write, item.date if item.is_favorite else None
                for name, field in library.fields_of(number).items():
                    found[*key, name.decode()] = library.write(field, 28), *library.value(field), field[45]
        self.assertEqual(found, expected)

    def check_streams(self, snapshot, log):
        positions = Directory(snapshot.positions)
        streams = {bytes.fromhex(stream.replica): stream.commits for stream in log.streams if stream.commits}
        self.assertEqual(positions.varint(), len(streams))
        for replica, commits in sorted(streams.items()):
            last = commits[-1]
            events = sum(len(commit.events) for commit in commits)
            self.assertEqual((positions.take(16), positions.u64(), positions.u64(), positions.u64()), (replica, last.number, events, last.stamp))
            walls = [commit.wall for commit in commits]
            self.assertEqual((positions.u64(), positions.u64()), (walls[-1], max(walls)))
            positions.take(16 + 4 * 8 + 32 * last.number.bit_count())
            heads = {}
            for commit in commits:
                heads |= dict(commit.heads)
            self.assertEqual(positions.list(lambda: (positions.take(16), positions.varint())), sorted(heads.items()))
        self.assertEqual(positions.at, len(snapshot.positions))
        self.assertEqual((snapshot.events, snapshot.commits, snapshot.last_stamp),
                         (sum(len(commit.events) for commit in log.commits), len(log.commits), max(commit.stamp for commit in log.commits)))
        self.assertEqual({replica["id"] for replica in snapshot.replicas if replica["head"]}, set(streams))
        ids = [replica["id"] for replica in snapshot.replicas]
        for replica in snapshot.replicas:
            commits = streams.get(replica["id"], [])
            self.assertEqual((replica["head"], replica["beyond"]), (len(commits), []))
            runs = replica["runs"] + [(*replica["next"], 0)]
            numbers = [(number, first + (number - start) * each, each) for (start, first, each), (end, _, _) in zip(runs, runs[1:])
                       for number in range(start, end)]
            self.assertEqual(numbers, [(commit.number, commit.sequence, len(commit.events)) for commit in commits])
            seen = sorted((commit.number, other, head) for commit in commits for other, head in commit.heads)
            self.assertEqual(sorted((commit, ids[other], head) for other, entries in replica["seen"].items() for commit, head in entries), seen)

    def test_a_fortnight(self):
        store = self.store()
        self.expect(0, store.apply((FORTNIGHT / "phone.jsonl").read_bytes()))
        self.assertEqual(len(self.read(store).libraries), 7)

    def test_a_long_life_before_and_after_sealing(self):
        store = self.store()
        self.expect(0, store.apply(trace(4_000)))
        self.read(store)
        self.expect(0, store.apply(lines(operations(1_200))))
        store.seal()
        shutil.rmtree(self.folder_of(store))
        snapshot = self.read(store)
        self.assertTrue(any(len(ident) > 24 for library in snapshot.libraries for ident in library.ids))
        self.assertTrue(any(len(library.texts) > 8_192 for library in snapshot.libraries))

    def test_a_snapshot_of_what_lies_over_a_snapshot(self):
        store = self.filled(700)
        self.snapshot(store)
        chance = random.Random(seed())
        for round_ in range(3):
            found = []
            for step in range(150):
                found.append({"op": chance.choice(("add", "toggle", "remove", "set")), "library": chance.choice(("papers", "cities")),
                              "id": f"paper-{chance.randrange(900)}"})
                if found[-1]["op"] == "set":
                    value = chance.choice((None, True, 1, -1.5, "", "12345678", "123456789", "long " * 2_000, {"a": [1]}, []))
                    found[-1]["fields"] = {chance.choice(("title", "line", "a", "ß", f"f{step}")): value}
            self.expect(0, store.apply(lines(found)))
            self.read(store)

    def test_conflicts_of_several_devices(self):
        stores = [self.store(name) for name in ("phone", "laptop", "tablet")]
        for round_ in range(3):
            for number, store in enumerate(stores):
                self.expect(0, store.apply(lines(
                    {"op": ("add", "remove", "toggle")[(step + number + round_) % 3], "library": "papers", "id": str(step)} if step % 2 else
                    {"op": "set", "library": "papers", "id": str(step), "fields": {"note": f"what {number} notes of {step} in round {round_}"}}
                    for step in range(20))))
            if round_ < 2:
                self.expect(0, stores[round_]("sync", stores[round_ + 1].path))
        for one, other in ((0, 1), (1, 2), (0, 2), (0, 1)):
            self.expect(0, stores[one]("sync", stores[other].path))
        snapshots = [self.read(store) for store in stores]
        self.assertGreater(self.status(stores[0])[0]["conflicts"], 0)
        self.assertTrue(all(library.rivals for snapshot in snapshots for library in snapshot.libraries))


class UselessTests(SnapshotTestCase):
    """What is damaged, missing or not this log's costs time, and is told."""

    def test_one_that_is_damaged_cut_or_of_another_store(self):
        store = self.filled(600)
        file = self.snapshot(store)
        expected, whole = self.expected(store), file.read_bytes()
        foreign = self.snapshot(self.filled(600, "another")).read_bytes()
        for name, content in {"damaged": whole[:-1] + bytes([whole[-1] ^ 1]), "cut": whole[:len(whole) // 2 // 64 * 64], "foreign": foreign}.items():
            with self.subTest(name):
                file.write_bytes(content)
                # Who only reads leaves it, also for a moment of the past; who writes removes it.
                self.check(store, expected, [file])
                past = self.expect(0, store("status", "--at", "2026-03-02", "--json"))
                self.check_note(past.err, [file])
                self.assertEqual((past.object["digest"], file.exists()), (expected[0]["digest"], True))
                answer = self.expect(1, store("remove", "papers", "nothing"))
                self.check_note(answer.err.partition("\n")[0], [file])
                self.assertFalse(file.exists())
                self.check(store, expected, [])

    def test_folders_and_links_in_its_place(self):
        store = self.filled(600)
        file = self.snapshot(store)
        expected = self.expected(store)
        kept = file.read_bytes()
        file.unlink()
        file.mkdir()
        (file / "a file").write_text("of somebody else")
        for name in ("one", "two"):
            self.check(store, expected, [file])
            self.check_note(self.write(store, name), [file])
            expected = self.expected(store)
        # Old snapshots go when a new one is written; these are none.
        other = self.folder_of(store) / "0000000000000599-00000000.snapshot"
        other.mkdir()
        store.snapshot()
        self.assertTrue((file / "a file").exists() and other.exists())
        self.check(store, expected, [])
        shutil.rmtree(file)
        other.rmdir()
        # A link that leads nowhere is a snapshot that is gone.
        file.symlink_to("nowhere")
        self.check(store, expected)
        file.unlink()
        file.write_bytes(kept)
        self.check(store, expected, [])

    def test_a_file_in_the_place_of_the_folder(self):
        store = self.filled(600)
        expected = self.expected(store)
        self.folder_of(store).write_text("no folder")
        self.check(store, expected, [])
        self.write(store)
        self.expect(0, store("list", "books"))
        answer = store("compact")
        self.assertIn(answer.code, (73, 74), answer.err)
        self.assertEqual(self.folder_of(store).read_text(), "no folder")

    @strace.needed
    def test_a_snapshot_that_cannot_be_read(self):
        store = self.filled(600)
        file = self.snapshot(store)
        expected = self.expected(store)
        prefix = strace.inject("openat:error=EACCES:when=1+", "-P", str(file))
        answer = self.expect(0, store("status", "--json", prefix=prefix))
        self.check_note(answer.err, [file])
        self.assertEqual(answer.object["digest"], expected[0]["digest"])
        self.check_note(self.expect(0, store("add", "books", "one", prefix=prefix)).err, [file])
        # It may be somebody's again tomorrow.
        self.assertTrue(file.exists())
        self.check(store, self.expected(store), [])

    def test_an_older_log_with_newer_snapshots(self):
        store = self.filled(600)
        self.snapshot(store)
        folder = pathlib.Path(store.path)
        kept = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != "lock" and "snapshots" not in path.parts}
        self.expect(0, store.apply(lines(operations(300, 600))))
        self.snapshot(store)
        (name,), shown = self.snapshots(store), self.listings(store)
        # The log as it was before, in place: only its snapshot knows of what came later. It is missed, and its numbers are not used again.
        (folder / "lock").write_bytes(b"")
        for path in folder.glob("replicas/*/*"):
            path.unlink()
        for path, data in kept.items():
            path.write_bytes(data)
        before = self.expect(65, store("status", "--json"), "lost", name.name).object
        self.assertEqual([finding["verdict"] for finding in before["findings"]], ["lost"])
        # What it knows is shown all the same; a moment of the past is made from the log alone.
        self.assertEqual(before["events"], 900)
        self.assertTrue(self.expect(65, store("list", "papers", "--all", "--json")).out_bytes.startswith(shown[0]))
        self.assertEqual(self.expect(0, store("status", "--json", "--at", "now")).object["events"], 600)
        self.expect(65, store("verify"), "lost", name.name)
        self.assertEqual(self.snapshots(store), [name])
        self.expect(65, store("add", "books", "a new one"), "lost", name.name)
        self.assertEqual(self.snapshots(store), [name.with_name(name.name + ".lost")])
        # The loss is named until it is settled.
        self.expect(65, store("verify"), "lost")
        after = self.expect(65, store("status", "--json"), "lost").object
        self.assertNotEqual(after["replica"], before["replica"])
        self.assertEqual(after["events"], 901)
        self.assertTrue(self.expect(65, store("list", "papers", "--all", "--json")).out_bytes.startswith(shown[0]))
        # And it goes on otherwise than it did.
        self.expect(65, store.apply(lines(operations(300, 7_000))), "lost")
        shown = [self.expect(65, store(*words, "--json")).out_bytes for words in (("list", "papers", "--all"), ("list", "cities", "--order", "oldest"))]
        # Nobody else can have it: what the snapshot knows is written anew, and needed no more.
        self.expect(0, store("repair"))
        for listing, before in zip(self.listings(store), shown):
            self.assertTrue(before.startswith(listing))
        self.check(store, self.expected(store), [])
        self.expect(0, store("verify"))

    def test_a_log_that_is_damaged_in_front_of_its_snapshot(self):
        store = self.filled(600)
        store.seal()
        file = self.snapshot(store)
        whole, (segment,) = file.read_bytes(), store.segments(".sealed")
        expected = self.expected(store)
        data = bytearray(segment.read_bytes())
        data[len(data) // 2] ^= 1
        segment.write_bytes(data)
        # The state is what it was; who reads the log says what is wrong with it.
        self.check(store, expected, [])
        for command in ("verify", "log", "replay"):
            self.expect(65, store(command), "damaged")
        # Without the snapshot, wherever that is found out, nothing is left but the log, and it is said that it is damaged.
        chance = random.Random(seed())
        found = 0
        for offset in sorted({40} | {chance.randrange(len(whole)) for _ in range(20)}):
            with self.subTest(offset=offset):
                changed = bytearray(whole)
                changed[offset] ^= 1
                file.write_bytes(changed)
                answer = store("status", "--json")
                if answer.code == 0:
                    self.assertEqual((answer.object["digest"], answer.err), (expected[0]["digest"], ""))
                    continue
                found += 1
                self.expect(65, answer, "damaged", file.name)
                self.assertTrue(answer.object["partial"])
                self.assertLess(answer.object["events"], 600)
        self.assertGreater(found, 5)

    def test_older_snapshots_of_a_newer_log(self):
        store = self.filled(600)
        old = self.snapshot(store)
        content = old.read_bytes()
        for round_ in range(3):
            self.expect(0, store.apply(lines(operations(300, 600 + 300 * round_))))
            store.seal() if round_ == 1 else store.snapshot()
            for path in self.snapshots(store):
                path.unlink()
            old.write_bytes(content)
            self.check(store, self.expected(store), [])
            self.expect(0, store("replay", "--json"))

    def test_a_copy_of_the_folder_has_its_snapshots(self):
        store = self.filled(600)
        self.snapshot(store)
        copy = store.copy(pathlib.Path(self.folder) / "copy")
        self.check(copy, self.expected(store), [])
        self.expect(0, copy.apply(lines(operations(50, 900))))
        copy.snapshot()
        self.check(copy, self.expected(copy), [])
        self.assertEqual(len(self.status(copy)[0]["replicas"]), 2)
        self.expect(0, store.apply(lines(operations(70, 2000))))
        self.expect(0, store("sync", copy.path))
        self.assertEqual(self.status(store)[0]["digest"], self.status(copy)[0]["digest"])

    @strace.needed
    def test_a_disk_that_is_full_when_the_store_is_closed(self):
        store = self.filled(6_000)
        shutil.rmtree(self.folder_of(store))
        # One is due, and what was to be written is safe without it.
        answer = self.expect(0, store("apply", input='{"op":"add","library":"books","id":"one"}',
                                      prefix=strace.inject("mkdir,mkdirat:error=ENOSPC:when=1+")))
        self.assertEqual((answer.err, self.snapshots(store)), ("", []))
        self.check(store, self.expected(store), [])
        self.expect(0, store("apply", input='{"op":"add","library":"books","id":"two"}'))
        self.assertEqual(len(self.snapshots(store)), 1)
        self.check(store, self.expected(store), [])


class ManyAtOnceTests(SnapshotTestCase):
    def test_the_folder_is_removed_while_it_is_in_use(self):
        store = self.filled()
        self.snapshot(store)
        process = store.start("apply", "--ack", stdin=subprocess.PIPE)
        with self.ended(process):
            for start in range(1500, 1800, 100):
                process.stdin.write(lines(operations(100, start)).encode())
                process.stdin.flush()
                acknowledged = [process.stdout.readline() for _ in range(100)]
                self.assertTrue(all(acknowledged))
                shutil.rmtree(self.folder_of(store), ignore_errors=True)
            process.stdin.close()
            self.assertEqual(process.wait(), 0)
            self.assertEqual(process.stderr.read(), b"")
        self.check(store, self.expected(store), [])
        self.assertEqual(self.status(store)[0]["events"], len(store.log()))

    def test_writers_and_makers_at_once(self):
        store = self.filled(200)
        writer = store.start("apply", stdin=subprocess.PIPE)
        with self.ended(writer):
            def feed():
                for start in range(200, 2200, 50):
                    writer.stdin.write(lines(operations(50, start)).encode())
                    writer.stdin.flush()
                writer.stdin.close()
            feeder = threading.Thread(target=feed)
            feeder.start()
            rounds = 0
            while writer.poll() is None or rounds < 2:
                store.snapshot()
                rounds += 1
            feeder.join()
            self.assertEqual(writer.wait(), 0)
            self.assertEqual(writer.stderr.read(), b"")
        self.check(store, self.expected(store), [])
        self.expect(0, store("replay", "--json"))


if __name__ == "__main__":
    unittest.main()
