"""The files beside the segments, damaged in every way, and made anew."""

import pathlib
import unittest

from format_segments import xxh3
from heartlog import BINARY, TestCase, run

HINT = '"heartlog repair" rebuilds that file'


class RepairTests(TestCase):
    def setUp(self):
        super().setUp()
        self.device = self.store("Anna's phone")
        for ident in "abc":
            self.expect(0, self.device("add", "papers", ident))
        self.identity = pathlib.Path(self.device.path, "store")
        self.good = self.identity.read_bytes()

    def state(self, store):
        answer = self.expect(0, store("status", "--json")).object
        return answer["digest"], answer["events"]

    def test_every_way_to_lose_the_identity_is_told_and_mended(self):
        state, other = self.state(self.device), self.store()
        written = 3
        damages = {"empty": b"", "zeroed": bytes(len(self.good)), "half": self.good[:100], "foreign": b"groceries\n", "gone": None}
        for name, content in damages.items():
            with self.subTest(name):
                if content is None:
                    self.identity.unlink()
                else:
                    self.identity.write_bytes(content)
                for words in (["status"], ["verify"], ["log"], ["list", "papers"], ["add", "papers", "x"], ["sync", other.path]):
                    answer = self.expect(65, self.device(*words))
                    self.assertIn(HINT, answer.err, words)
                before = {path: path.read_bytes() for path in pathlib.Path(self.device.path).rglob("*") if path.is_file()}
                planned = self.expect(0, self.device("repair", "--dry-run"))
                self.assertIn("would be rebuilt", planned.out)
                self.assertEqual(
                    {path: path.read_bytes() for path in pathlib.Path(self.device.path).rglob("*") if path.is_file()}, before)
                done = self.expect(0, self.device("repair", "--json")).object
                self.assertEqual((done["dryRun"], done["name"], len(done["files"])), (False, "Anna's phone", 1))
                if content is not None:
                    self.assertEqual(pathlib.Path(done["files"][0]["keptAt"]).read_bytes(), content)
                self.assertEqual(self.state(self.device), state)
                self.assertEqual(self.expect(0, self.device("repair")).out, "nothing to repair\n")
                self.expect(0, self.device("add", "papers", name))
                written += 1
                self.expect(0, self.device("verify"))
                state = self.state(self.device)
                self.assertEqual(state[1], written)
        # No number was used twice.
        ids = [(event["replica"], event["commit"]) for event in self.device.log()]
        self.assertEqual(len(set(ids)), written)

    def test_a_sound_place_and_stream_prove_who_wrote(self):
        self.identity.write_bytes(self.good.replace(b"checksum ", b"checksun "))
        before = self.expect(0, self.device("repair", "--json")).object
        self.assertNotIn("formerReplica", before)
        # A store that has not synced may be in any vault; nothing says which it was in.
        kept = [line for line in self.good.splitlines() if not line.startswith((b"vault", b"checksum"))]
        self.assertEqual([line for line in self.identity.read_bytes().splitlines() if line in kept], kept)

    def test_a_copy_is_never_taken_for_the_original(self):
        copy = self.device.copy(self.folder / "copy")
        pathlib.Path(copy.path, "store").write_bytes(self.good[:-3])
        self.expect(0, copy("repair"))
        self.expect(0, copy("add", "papers", "copied"))
        self.expect(0, self.device("add", "papers", "own"))
        self.expect(0, self.device("sync", copy.path))
        self.assertEqual(self.state(self.device), self.state(copy))
        self.assertEqual(self.state(copy)[1], 5)

    def test_a_store_that_was_never_written_to(self):
        empty = self.store("Tablet")
        identity = pathlib.Path(empty.path, "store")
        identity.write_bytes(identity.read_bytes()[:8])
        self.expect(65, empty("status"), HINT)
        self.expect(0, empty("repair", "--name", "Kitchen tablet"))
        self.assertEqual(self.expect(0, empty("status", "--json")).object["name"], "Kitchen tablet")

    def test_what_is_no_store_is_not_made_one(self):
        self.expect(66, run("--store", str(self.folder / "none"), "repair"))
        folder = self.folder / "kitchen"
        folder.mkdir()
        (folder / "store").write_text("groceries\n")
        self.expect(66, run("--store", str(folder), "repair"))
        self.assertEqual([path.name for path in folder.iterdir()], ["store"])

    def test_a_later_version_is_left_alone(self):
        text = self.good.replace(b"heartlog 1", b"heartlog 3")
        self.identity.write_bytes(text)
        self.expect(65, self.device("repair"), "version 3")
        self.assertEqual(self.identity.read_bytes(), text)

    def damaged_segment(self):
        """Damages the second commit, after three more have been synced with a tablet."""
        tablet = self.store("Anna's tablet")
        replica = self.expect(0, self.device("status", "--json")).object["replica"]
        self.expect(0, tablet("add", "papers", "tablet"))
        self.expect(0, self.device("sync", tablet.path))
        (segment,) = (path for path in self.device.segments() if path.parent.name == replica and path.suffix == ".open")
        good = segment.read_bytes()
        at = good.index(b"papers\x01b")
        segment.write_bytes(good[:at] + b"q" + good[at + 1:])
        return tablet, segment, segment.read_bytes()

    def test_a_damaged_segment_is_mended_from_another_device(self):
        state = None
        for kind in ("store", "folder", "exec"):
            with self.subTest(kind):
                if state is None:
                    tablet, segment, bad = self.damaged_segment()
                    state = self.state(tablet)
                    (self.folder / "cloud").mkdir()
                    self.expect(0, tablet("sync", f"folder:{self.folder / 'cloud'}"))
                damaged = self.device.copy(self.folder / kind)
                file = pathlib.Path(damaged.path) / segment.relative_to(self.device.path)
                peer = {"store": tablet.path, "folder": f"folder:{self.folder / 'cloud'}",
                        "exec": f"exec:{BINARY} --store {tablet.path} serve --stdio"}[kind]
                self.assertIn("repair --from PEER", self.expect(65, damaged("repair")).out)
                self.assertEqual(file.read_bytes(), bad)
                planned = self.expect(0, damaged("repair", "--from", peer, "--dry-run"))
                self.assertIn("would be rebuilt", planned.out)
                self.assertEqual(file.read_bytes(), bad)
                done = self.expect(0, damaged("repair", "--from", peer, "--json")).object
                self.assertEqual([pathlib.Path(entry["keptAt"]).read_bytes() for entry in done["files"] if entry["file"] == str(file)], [bad])
                self.assertEqual(self.state(damaged), state)
                self.expect(0, damaged("verify"))
                self.expect(0, damaged("add", "papers", "later"))
                self.assertEqual(self.expect(0, damaged("repair", "--from", peer)).out, "nothing to repair\n")

    def test_what_can_be_read_is_salvaged_and_the_rest_is_named(self):
        tablet, segment, bad = self.damaged_segment()
        replica = segment.parent.name
        target = self.folder / "rescued"
        self.expect(65, self.device("verify"), "repair --from PEER")
        self.assertIn("repair --salvage DIR", self.device("doctor").out)
        answer = self.expect(65, self.device("repair", "--salvage", str(target), "--json")).object
        self.assertEqual(segment.read_bytes(), bad)
        (stream,) = (stream for stream in answer["streams"] if stream["replica"] == replica)
        self.assertEqual((stream["commits"], stream["lost"], stream["isWhole"]), (1, [{"firstCommit": 2, "lastCommit": 2}], False))
        (branch,), (bad_bytes,) = stream["branches"], stream["badBytes"]
        self.assertEqual((branch["firstCommit"], branch["lastCommit"], bad_bytes["file"]), (3, 3, str(segment)))
        rescued = type(tablet)(target)
        self.assertEqual({item["id"] for item in self.expect(0, rescued("list", "papers", "--json")).lines}, {"a", "c", "tablet"})
        self.expect(73, self.device("repair", "--salvage", str(target)))
        self.expect(64, self.device("repair", "--salvage", str(self.folder / "other"), "--dry-run"))
        # The tablet has what is lost.
        self.expect(0, rescued("sync", tablet.path))
        self.assertEqual(self.state(rescued)[0], self.state(tablet)[0])
        whole = self.expect(0, self.device("repair", "--salvage", str(self.folder / "whole"), "--from", tablet.path))
        self.assertIn("nothing is lost", whole.out)

    def test_damaged_segments_are_named_and_left_alone(self):
        (segment,) = self.device.segments()
        data = bytearray(segment.read_bytes())
        data[4096 + 50] ^= 1
        segment.write_bytes(data)
        self.identity.write_bytes(b"")
        answer = self.expect(65, self.device("repair"))
        self.assertIn("left unchanged: what is missing can only be in another copy", answer.out)
        self.assertEqual(segment.read_bytes(), bytes(data))
        self.expect(65, self.device("list", "papers"), "damaged")

    def test_a_damaged_end_hides_its_stream_alone_until_it_is_mended(self):
        # A copy that nobody can tell from the original: both write on, meet, and the stream is ended.
        copy = self.device.copy(self.folder / "copy")
        self.make_clone(copy)
        self.expect(0, self.device("add", "papers", "own"))
        self.expect(0, copy("add", "papers", "copied"))
        self.expect(0, self.device("sync", copy.path))
        state = self.state(self.device)
        (end,) = pathlib.Path(self.device.path).glob("replicas/*/ended")
        good = end.read_bytes()
        for content in (b"", bytes(len(good)), good[:14], good.replace(b"ended", b"endef")):
            end.write_bytes(content)
            answer = self.expect(65, self.device("list", "papers"), HINT)
            self.assertIn("own", answer.out)
            self.assertIn("copied", answer.out)
            self.assertNotIn(" a\n", answer.out)
            self.expect(65, self.device("add", "papers", "x"), HINT)
            self.expect(0, self.device("repair"))
            self.assertEqual(end.read_bytes(), good)
            self.assertEqual(self.state(self.device), state)
        self.expect(0, self.device("add", "papers", "later"))
        self.expect(0, self.device("sync", copy.path))
        self.assertEqual(self.state(self.device), self.state(copy))

    def make_clone(self, copy):
        """Makes a copy write under the original's number, as one does that nothing tells from it."""
        lines = self.good.decode().splitlines()[:-1]
        place = {"inode": pathlib.Path(copy.path).stat().st_ino, "birth": 0}
        text = "".join(f"{key} {place.get(key, value)}\n" for key, value in (line.split(" ", 1) for line in lines))
        pathlib.Path(copy.path, "store").write_text(text + f"checksum {xxh3(text.encode(), 0):016x}\n")


if __name__ == "__main__":
    unittest.main()
