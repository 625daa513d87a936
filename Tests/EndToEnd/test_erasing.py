"""What is erased is in no byte of any device, of the folder between them and of backups made after, and nothing else is touched."""

import json
import pathlib
import random
import signal
import struct
import time

from format_blocks import read_block
from format_decoder import Bytes, Malformed
from format_hashes import salt
from format_reader import read_stream
from format_segments import read_segment
from heartlog import Store, run, seed
from test_sync import SyncTestCase

RUN_FILE = bytes.fromhex("89484C52554E0D0A")
ARCHIVE = bytes.fromhex("89484C4152430D0A")


def run_blocks(data):
    """The blocks of a run file."""
    source = Bytes(data[:-32])
    source.take(len(RUN_FILE) + 1)
    replica, _, first = source.take(16), source.text(), source.varint()
    for _ in range(source.varint()):
        count, _ = source.varint(), source.take(32)
        yield read_block(source.blob(), replica, first, count)
        first += count


def contents(data):
    """The bytes of a file, and everything that is compressed in them."""
    yield data
    if data.startswith(RUN_FILE):
        for block in run_blocks(data):
            yield repr(block.commits).encode()
    elif data.startswith(ARCHIVE):
        at = len(ARCHIVE)
        while at < len(data):
            (length,) = struct.unpack_from("<Q", data, at)
            yield from contents(data[at + 8:at + 8 + length])
            at += 8 + length


def traces(folder, words):
    """The files of a folder with one of the words, as stored or in what can be read from them."""
    found = []
    for path in sorted(pathlib.Path(folder).rglob("*")):
        if not path.is_file():
            continue
        pieces = list(contents(path.read_bytes()))
        if path.suffix in (".open", ".sealed", ".suspect"):
            pieces.append(repr(read_segment(path).commits).encode())
        if any(word in piece for word in words for piece in pieces):
            found.append(str(path))
    return found


class ErasingTests(SyncTestCase):
    def operations(self, chance, device, count, start=0):
        """Commits of one to four operations; now and then one of them is about the item to erase."""
        for number in range(start, start + count):
            when = f"2026-03-{number // 400 % 27 + 1:02}T{number // 60 % 24:02}:{number % 60:02}:00Z"
            for _ in range(chance.randrange(1, 5)):
                operation = {"op": chance.choice(("add", "toggle", "remove", "set")), "library": "papers",
                             "id": str(chance.randrange(30)), "time": when, "commit": number}
                if operation["op"] == "set":
                    operation["fields"] = {chance.choice(("title", "@note")): f"{device} {number}"}
                if chance.random() < 0.1:
                    operation |= {"op": "set", "id": "regretted-item",
                                  "fields": {chance.choice(("title", "@note")): f"regretted words {device} {number}"}}
                yield operation

    def write(self, chance, store, name, count, start=0):
        self.expect(0, store.apply(list(self.operations(chance, name, count, start))))

    def check_secrets(self, store, erased):
        """No secret that a store has leads to the salt of an erased event."""
        for folder in pathlib.Path(store.path, "replicas").iterdir():
            stream = read_stream(folder)
            self.assertEqual(stream.problems, [])
            for segment in stream.segments:
                for commit in segment.commits:
                    for place in range(len(commit.events)):
                        if (folder.name, commit.sequence + place) in erased:
                            with self.assertRaises(Malformed):
                                salt(segment.secrets_of(commit), commit.number, place)

    def test_nothing_is_left_on_any_device_in_the_folder_and_in_backups(self):
        chance = random.Random(seed())
        names = ("phone", "tablet", "laptop")
        phone, tablet, laptop = devices = [self.store(name) for name in names]
        cloud = self.folder / "cloud"
        cloud.mkdir()
        carrier = f"folder:{cloud}"
        for turn in range(3):
            for name, device in zip(names, devices):
                self.write(chance, device, name, 40, turn * 40)
                self.sync(device, carrier)
                if turn == 1:
                    chance.choice((device.seal, device.snapshot))()
        for device in devices:
            self.sync(device, carrier)
        self.sync(phone, tablet.path)
        # A torn tail: what recovery cuts is kept beside it.
        own = self.expect(0, phone("status", "--json")).object["replica"]
        (tail,) = [path for path in phone.segments(".open") if path.parent.name == own]
        with open(tail, "r+b") as file:
            data = file.read().rstrip(b"\0")
            file.seek(len(data) + 64 - len(data) % 64)
            file.write(b"a torn frame about regretted-item")
        self.write(chance, phone, "phone", 3, 200)
        phone.snapshot()
        self.sync(phone, carrier)
        self.sync(tablet, carrier)
        self.sync(laptop, carrier)
        old = self.folder / "old.backup"
        self.expect(0, phone("backup", str(old)))
        erased = {(event["replica"], event["sequence"]) for event in phone.log() if event["item"] == "regretted-item"}
        self.assertGreater(len(erased), 20)
        for folder in (cloud, phone.path):
            self.assertTrue(traces(folder, [b"regretted"]))
        self.assertTrue(any(b"regretted" in piece for piece in contents(old.read_bytes())))
        self.assertTrue(any(".cut-" in path for path in traces(phone.path, [b"regretted"])))
        # Proofs of what stands beside it in the same commits.
        commits = {(event["replica"], event["commit"]) for event in phone.log() if (event["replica"], event["sequence"]) in erased}
        beside = [event for event in phone.log() if (event["replica"], event["commit"]) in commits
                  and (event["replica"], event["sequence"]) not in erased]
        proofs = []
        for event in chance.sample(beside, 12):
            proofs.append(self.folder / f"{len(proofs)}.proof")
            self.expect(0, phone("prove", f"{event['replica']}:{event['sequence']}", "-o", str(proofs[-1])))
        # The laptop is offline, and writes on.
        self.write(random.Random(1), laptop, "laptop", 1, 300)
        before = {line["replica"]: line["root"] for line in phone("verify", "--json").lines if line.get("commits")}

        dry = self.expect(0, phone("erase", "papers", "regretted-item", "--dry-run", "--json")).object
        self.assertEqual(dry, {"dryRun": True, "erased": len(erased), "remaining": []})
        done = self.expect(0, phone("erase", "papers", "regretted-item", "--json")).object
        self.assertEqual((done["erased"], done["remaining"]), (len(erased), []))
        self.assertEqual(traces(phone.path, [b"regretted"]), [])
        told = [self.sync(device, carrier).object.get("erased") for device in (phone, tablet, laptop, phone, tablet, laptop, phone)]
        self.assertEqual([count for count in told if count], [len(erased)] * 2)
        # What the laptop wrote of other items is everywhere, and nobody has the erased item.
        self.check_same(*devices)
        conflicts = [self.expect(0, device("conflicts", "--json")).lines for device in devices]
        self.assertTrue(conflicts[0] == conflicts[1] == conflicts[2])
        for device in devices:
            self.assertEqual(traces(device.path, [b"regretted"]), [])
            self.check_secrets(device, erased)
            device.snapshot()
            self.expect(0, device("verify"))
            self.expect(1, device("show", "papers", "regretted-item"))
        self.assertEqual(traces(cloud, [b"regretted"]), [])
        after = {line["replica"]: line["root"] for line in laptop("verify", "--json").lines if line.get("commits")}
        self.assertEqual(set(before), set(after))
        for proof in proofs:
            self.expect(0, run("verify", str(proof)))
        for event in beside[:5]:
            self.expect(0, tablet("prove", f"{event['replica']}:{event['sequence']}", "-o", str(self.folder / "new.proof")))
        # Backups made after: a file is cleaned, a folder is new.
        self.expect(0, phone("backup", str(old)))
        self.expect(0, phone("backup", str(self.folder / "new")))
        for made in (old, self.folder / "new"):
            restored = self.folder / f"restored-{made.name}"
            self.expect(0, run("restore-backup", str(made), str(restored)))
            self.assertEqual(self.digest(Store(restored)), self.digest(phone))
            self.assertEqual(traces(restored, [b"regretted"]), [])
        self.assertFalse(any(b"regretted" in piece for piece in contents(old.read_bytes())))
        self.assertEqual(traces(self.folder / "new", [b"regretted"]), [])
        # A device that is new in the vault gets the rest.
        late = self.store("late")
        self.sync(late, carrier)
        self.assertEqual(self.digest(late), self.digest(phone))

    def test_a_backup_folder_with_erased_content_is_cleaned(self):
        store = self.store()
        self.expect(0, store("add", "papers", "regretted"))
        copy = self.folder / "copy"
        self.expect(0, store("backup", str(copy)))
        self.assertTrue(traces(copy, [b"regretted"]))
        self.expect(0, store("erase", "papers", "regretted"))
        for words in (["backup"], ["backup", "--check"]):
            self.expect(0, store(*words, str(copy)))
            self.assertEqual(traces(copy, [b"regretted"]), [])

    def test_an_erasure_that_is_killed_is_finished_by_the_next(self):
        chance = random.Random(seed())
        original = self.store()
        self.write(chance, original, "phone", 2_000)
        original.seal()
        self.write(chance, original, "phone", 100, 2_000)
        original.snapshot()
        rest = sorted((event["replica"], event["sequence"]) for event in original.log() if event["item"] != "regretted-item")
        started = time.monotonic()
        self.expect(0, original.copy(self.folder / "timed")("erase", "papers", "regretted-item"))
        seconds = time.monotonic() - started
        for number in range(25):
            store = original.copy(self.folder / f"killed-{number}")
            # A copy is another place, so this one becomes a replica of its own first.
            self.expect(0, store("add", "cities", "1"))
            process = store.start("erase", "papers", "regretted-item")
            time.sleep(chance.random() * seconds * 1.2)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            self.expect(0, store("verify"))
            again = store("erase", "papers", "regretted-item")
            self.assertIn(again.code, (0, 1))
            self.expect(0, store("compact"))
            self.assertEqual(traces(store.path, [b"regretted"]), [])
            self.expect(0, store("verify"))
            kept = {(event["replica"], event["sequence"]) for event in store.log() if "item" in event}
            self.assertTrue(kept.issuperset(rest))
            self.assertEqual(self.expect(0, store("replay", "--json")).object["digest"], self.digest(store))

    def test_writers_and_an_erasure_at_once_lose_nothing(self):
        store = self.store()
        writers = []
        for name in "ab":
            file = self.folder / f"{name}.jsonl"
            file.write_text("".join(json.dumps({"op": "add", "library": "cities", "id": f"{name}-{index}"}) + "\n" for index in range(2_000)))
            writers.append(store.start("apply", str(file)))
        for number in range(5):
            self.expect(0, store("add", "papers", f"regretted-{number}"))
            self.expect(0, store("erase", "papers", f"regretted-{number}"))
        for writer in writers:
            out, err = writer.communicate()
            self.assertEqual(writer.returncode, 0, err)
        items = {item["id"] for item in self.expect(0, store("list", "cities", "--json")).lines}
        self.assertEqual(items, {f"{name}-{index}" for name in "ab" for index in range(2_000)})
        self.assertEqual(traces(store.path, [b"regretted"]), [])
        self.expect(0, store("verify"))
