"""Whatever becomes of a file of a store: it is named, or it does no harm; and nothing is ever shown that was not written."""

import concurrent.futures
import pathlib
import random
import shutil
import unittest

from edited_store import make
from edits import BRANCH, DESK, OWN, TABLET, Streams
from format_editor import EditedStore
from heartlog import Store, TestCase, seed

WORKERS = 2
SECTOR = 512  # as much as a disk loses at once
FLIPPED = 0x5A

# What is done to the bytes of a file.


def flipped(data, place):
    return data[:place] + bytes([data[place] ^ FLIPPED]) + data[place + 1:]


def written(data):
    """How far a file goes without the zeros that are written ahead."""
    return len(data.rstrip(b"\0"))


def byte_within(data, chance):
    return flipped(data, chance.randrange(written(data) * 3 // 4, written(data)))


def sector_of_zeros(data, chance):
    start = (written(data) - 1) // SECTOR * SECTOR
    return data[:start] + bytes(min(SECTOR, len(data) - start)) + data[start + SECTOR:]


CHANGES = {
    "emptied": lambda data, chance: b"",
    "cut in half": lambda data, chance: data[:written(data) // 2],
    "a byte short": lambda data, chance: data[:written(data) - 1],
    "its first byte changed": lambda data, chance: flipped(data, 0),
    "its last byte changed": lambda data, chance: flipped(data, written(data) - 1),
    "a byte within it changed": byte_within,
    "a sector of zeros": sector_of_zeros,
    "zeros": lambda data, chance: bytes(len(data)),
    "noise": lambda data, chance: chance.randbytes(len(data)),
    "twice as long": lambda data, chance: data + data,
    "more behind it": lambda data, chance: data + b"more",
}


# What is done to the file itself.


def removed(path, other):
    path.unlink()


def folder(path, other):
    path.unlink()
    path.mkdir()


def dangling_link(path, other):
    path.unlink()
    path.symlink_to(path.with_name("nothing"))


def another(path, other):
    shutil.copy(other, path)


def renamed(path, other):
    path.rename(path.with_name(f"{int(path.name[:16]) + 1:016}{path.suffix}"))


MOVES = {"removed": removed, "a folder in its place": folder, "a link to nothing in its place": dangling_link}
SEGMENT_MOVES = {"another in its place": another, "another name": renamed}


class DamageTests(TestCase):
    def places(self, path):
        """The files of the store, by what they are."""
        path = pathlib.Path(path)
        streams = Streams(EditedStore(path))

        def segment(part, number):
            return path / "replicas" / streams[part].replica.hex() / streams[part].segments[number].file

        return {
            "store": path / "store", "lock": path / "lock", "the first own segment": segment(OWN, 0), "the second own segment": segment(OWN, 1),
            "the open own segment": segment(OWN, 2), "a sealed received segment": segment(TABLET, 0),
            "an open received segment": segment(TABLET, 1), "a branch's segment": segment(BRANCH, 0),
            "an ended stream's segment": segment(DESK, 0), "ended": path / "replicas" / streams[DESK].replica.hex() / "ended",
            "a snapshot": next((path / "snapshots").iterdir())}

    def test_each_kind_of_damage_is_named_or_does_no_harm(self):
        self.number = seed()
        self.sound, _ = make(self)
        self.digest = self.sound("status", "--json").object["digest"]
        self.log = self.sound.log()
        self.held = [line for line in self.without_end().log() if "sequence" in line]
        places = {name: path.relative_to(self.sound.path) for name, path in self.places(self.sound.path).items()}
        kinds = [(name, change) for name in places for change in [*CHANGES, *MOVES]]
        kinds += [(name, change) for name in places if "segment" in name for change in SEGMENT_MOVES]
        self.assertGreaterEqual(len(kinds), 72)
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as workers:
            answers = list(workers.map(lambda kind: self.damaged(*kind, places), kinds))
        for (name, change), answer in zip(kinds, answers):
            with self.subTest(file=name, change=change):
                self.check(places[name], *answer)

    def without_end(self):
        """A store that shows what the segments of the forked stream hold behind its end, too."""
        store = Store(self.folder / "without the end")
        shutil.copytree(self.sound.path, store.path)
        self.places(store.path)["ended"].unlink()
        return store

    def damaged(self, name, change, places):
        """What the commands say of a store with one damaged file."""
        store = Store(self.folder / f"{name}, {change}")
        shutil.copytree(self.sound.path, store.path)
        path = pathlib.Path(store.path) / places[name]
        if change in CHANGES:
            path.write_bytes(CHANGES[change](path.read_bytes(), random.Random(f"{self.number} {name} {change}")))
        else:
            other = next(place for kind, place in places.items() if kind != name and "segment" in kind)
            (MOVES | SEGMENT_MOVES)[change](path, pathlib.Path(store.path) / other)
        words = (["verify"], ["log", "--json"], ["status", "--json"], ["list", "papers", "--json"], ["toggle", "papers", "new"], ["log", "--json"])
        answers = [store(*each) for each in words]
        shutil.rmtree(store.path)
        return answers

    def check(self, path, verified, read, status, listed, toggled, after):
        for answer in (verified, read, status, listed, toggled, after):
            self.assertIn(answer.code, (0, 65, 66, 74), answer.err)
            self.assertNotIn("Fatal error", answer.err)
        # What is shown was written, from the start of each stream on; all of it and no more, unless it is said that something is wrong.
        shown = self.events(read)
        self.check_written(shown)
        if verified.code == 0 and "not finished" not in verified.err:
            self.assertEqual((read.code, len(shown)), (0, len(self.log)), "nobody says that something is wrong")
        if verified.code != 0:
            self.assertIn(path.parent.name if path.parent.name else path.name, verified.err)
        # Where commits of a stream that has ended are lost, `verify` says so, and reading that it does not start from what had them.
        is_lost = "heartlog: lost:" in verified.err and "was dropped" in status.err
        if status.code == 0 and "not finished" not in verified.err and not is_lost:
            self.assertEqual(status.object["digest"], self.digest)
        # A write is refused, or it comes behind what was there.
        if toggled.code == 0:
            self.check_written([event for event in self.events(after) if event["item"] != "new"])
            if after.code == 0:
                self.assertEqual(len(self.events(after)), len(shown) + 1)

    def events(self, answer):
        return [line for line in answer.lines if "sequence" in line] if answer.code in (0, 65) else []

    def check_written(self, events):
        streams, sound = {}, {}
        for held, lines in ((streams, events), (sound, self.held)):
            for event in lines:
                held.setdefault(event["replica"], []).append(event)
        for replica, shown in streams.items():
            self.assertEqual(shown, sound.get(replica, [])[:len(shown)])


if __name__ == "__main__":
    unittest.main()
