"""Keys, checkpoints, vaults and evidence on the command line."""

import pathlib
import shutil
import stat
import unittest

from heartlog import Store, TestCase
from proof_checker import check


class KeyTests(TestCase):
    def device(self, name, count=3):
        store = self.store(name)
        for number in range(count):
            self.expect(0, store("add", "papers", f"{name}-{number}"))
        return store

    def replica(self, store):
        return next(line for line in self.expect(0, store("devices", "--json")).lines if line["isOwn"])

    def test_a_checkpoint_is_a_signed_note_and_stays_the_same_until_something_is_written(self):
        store = self.device("phone")
        note = self.expect(0, store("prove", "--checkpoint")).out
        origin, size, root, empty, signature = note.splitlines()
        device = self.replica(store)
        self.assertEqual(origin, f"heartlog/{device['signature']['vault']}/{device['id']}")
        self.assertEqual((size, empty), ("3", ""))
        self.assertTrue(signature.startswith(f"\u2014 {origin} "))
        self.assertEqual(self.expect(0, store("prove", "--checkpoint")).out, note)
        self.assertEqual(self.expect(0, store("prove", "--checkpoint", "--json")).object["note"], note)
        self.expect(0, store("add", "papers", "more"))
        self.assertNotEqual(self.expect(0, store("prove", "--checkpoint")).out, note)

    def test_a_device_without_a_commit_has_nothing_to_sign(self):
        self.expect(1, self.store("phone")("prove", "--checkpoint"))

    def test_only_the_owner_can_read_the_key(self):
        store = self.device("phone")
        keys = pathlib.Path(store.path) / "keys"
        self.assertEqual(stat.S_IMODE(keys.stat().st_mode), 0o700)
        self.assertEqual(stat.S_IMODE((keys / "device").stat().st_mode), 0o600)

    def test_the_fingerprint_begins_with_the_id_and_is_confirmed_by_trust(self):
        phone, tablet = self.device("phone"), self.device("tablet")
        self.expect(0, phone("sync", tablet.path))
        mine = self.replica(phone)
        seen = next(line for line in self.expect(0, tablet("devices", "--json")).lines if line["id"] == mine["id"])
        self.assertEqual(seen["signature"]["fingerprint"], mine["signature"]["fingerprint"])
        self.assertTrue(mine["signature"]["fingerprint"].startswith(mine["id"]))
        self.assertFalse(seen["signature"]["isTrusted"])
        self.assertEqual(seen["signature"]["witnesses"], [self.replica(tablet)["id"]])
        self.assertIn("not confirmed", self.expect(0, tablet("devices", "--keys")).out)
        wrong = "0" * 64
        self.expect(65, tablet("devices", "trust", mine["id"][:8], wrong))
        self.expect(64, tablet("devices", "trust", mine["id"][:8], "12"))
        grouped = " ".join(mine["signature"]["fingerprint"][index:index + 4] for index in range(0, 64, 4))
        self.expect(0, tablet("devices", "trust", mine["id"][:8], grouped))
        verified = next(line for line in self.expect(0, tablet("verify", "--json")).lines if line.get("replica") == mine["id"])
        self.assertTrue(verified["isTrusted"])
        self.assertEqual(verified["signedCommits"], 3)

    def test_a_store_that_lost_its_key_writes_as_a_new_replica(self):
        store = self.device("phone")
        self.expect(0, store("prove", "--checkpoint"))
        before = self.replica(store)["id"]
        (pathlib.Path(store.path) / "keys/device").unlink()
        self.expect(0, store("add", "papers", "after"))
        self.assertNotEqual(self.replica(store)["id"], before)
        self.expect(0, store("verify"))
        tablet = self.device("tablet")
        self.expect(0, tablet("sync", store.path))
        self.assertEqual(len(self.expect(0, tablet("list", "papers", "--json")).lines), 7)

    def test_a_copied_folder_signs_what_it_had_and_goes_on_as_a_new_replica(self):
        store = self.device("phone")
        copy = Store(shutil.copytree(store.path, self.folder / "copy"))
        before = self.replica(store)["id"]
        self.expect(0, copy("add", "papers", "copy"))
        self.assertNotEqual(self.replica(copy)["id"], before)
        old = next(line for line in self.expect(0, copy("devices", "--json")).lines if line["id"] == before)
        self.assertEqual(old["signature"]["commits"], 3)
        self.expect(0, store("add", "papers", "original"))
        self.expect(0, store("sync", copy.path))
        self.expect(1, store("devices", "forks"))
        self.assertEqual(len(self.expect(0, store("list", "papers", "--json")).lines), 5)

    def test_a_folder_that_is_put_back_unnoticed_leaves_evidence_that_anybody_can_check(self):
        phone, tablet = self.device("phone"), self.device("tablet")
        replica = self.replica(phone)["id"]
        yesterday = self.folder / "yesterday"
        shutil.copytree(phone.path, yesterday)
        self.expect(0, phone("add", "papers", "first life"))
        self.expect(0, tablet("sync", phone.path))
        for path in pathlib.Path(phone.path).iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        shutil.copytree(yesterday, phone.path, dirs_exist_ok=True)
        for item in ("second life", "and more"):
            self.expect(0, phone("add", "papers", item))
        self.expect(0, phone("prove", "--checkpoint"))
        self.expect(0, tablet("sync", phone.path))
        for store in (phone, tablet):
            evidence = self.expect(0, store("devices", "forks", "--json")).lines[0]
            self.assertEqual(evidence["replica"], replica)
            said = check(pathlib.Path(evidence["file"]).read_bytes())
            self.assertEqual((said["proof"], said["fingerprint"]), ("fork", evidence["fingerprint"]))
            shown = self.expect(0, store("verify", evidence["file"], "--json")).object
            self.assertEqual(shown["proof"], "fork")
            self.expect(0, store("verify"))
        self.expect(0, tablet("sync", phone.path))
        items = {item["id"] for item in self.expect(0, phone("list", "papers", "--json")).lines}
        self.assertLessEqual({"first life", "second life", "and more"}, items)

    def test_two_vaults_are_mixed_only_on_purpose(self):
        one, other, third, fourth = (self.device(name, 1) for name in ("one", "other", "third", "fourth"))
        self.expect(0, one("sync", other.path))
        self.expect(0, third("sync", fourth.path))
        refused = self.expect(64, one("sync", third.path))
        self.assertIn("--join", refused.err)
        self.assertEqual(len(self.expect(0, one("list", "papers", "--json")).lines), 2)
        self.expect(0, one("sync", "--join", third.path))
        self.expect(0, other("sync", one.path))
        self.assertEqual(len(self.expect(0, other("list", "papers", "--json")).lines), 4)

    def test_a_changed_key_or_checkpoint_is_told(self):
        store = self.device("phone")
        self.expect(0, store("prove", "--checkpoint"))
        own = self.replica(store)["id"]
        path = pathlib.Path(store.path) / "replicas" / own / "checkpoint"
        whole = path.read_bytes()
        for index in range(0, len(whole), 7):
            path.write_bytes(whole[:index] + bytes([whole[index] ^ 1]) + whole[index + 1:])
            self.expect(65, store("verify"))
        path.write_bytes(whole[:-1])
        self.expect(65, store("verify"))
        path.write_bytes(whole)
        self.expect(0, store("verify"))


if __name__ == "__main__":
    unittest.main()
