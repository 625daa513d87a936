"""Somebody else's store, written from the documentation alone, syncs with the program both ways: over a pipe and through a folder."""

import shlex
import subprocess
import sys
import unittest

from heartlog import BINARY, PACKAGE, SECONDS_MAX, TestCase, environment

try:
    import cryptography
except ImportError:
    cryptography = None


@unittest.skipUnless(cryptography, "cryptography is not installed: Scripts/test installs it from PyPI")
class PeerTests(TestCase):
    def setUp(self):
        super().setUp()
        self.phone, self.desk = self.store("phone"), self.store("desk")
        self.other = str(self.folder / "other.json")
        for number in range(30):
            self.expect(0, self.phone("toggle", "papers", f"paper {number % 7}"))
        self.peer("add", "papers", "of the peer", "A title")

    def words(self, *words):
        return [sys.executable, str(PACKAGE / "Tests/EndToEnd/peer.py"), self.other, *words]

    def peer(self, *words):
        done = subprocess.run(self.words(*words), capture_output=True, text=True, timeout=SECONDS_MAX, env=environment())
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def same(self, *stores):
        digests = {store("status", "--json").object["digest"] for store in stores} | {self.peer("digest")}
        self.assertEqual(len(digests), 1)

    def call(self, store):
        self.peer("call", shlex.join([BINARY, "--store", store.path, "serve", "--stdio"]))

    def test_it_calls(self):
        self.call(self.phone)
        self.same(self.phone)
        # It takes what is new of a stream that it has a part of, and passes on what the phone signed.
        self.expect(0, self.phone("toggle", "papers", "new"))
        self.peer("add", "papers", "another", "B")
        self.call(self.phone)
        self.call(self.desk)
        self.same(self.phone, self.desk)
        signatures = {device["name"]: device["signature"] for device in self.desk("devices", "--json").lines}
        self.assertEqual(signatures["phone"]["commits"], 31)
        self.assertIsNone(signatures["a peer"])
        for store in (self.phone, self.desk):
            self.expect(0, store("verify"))

    def test_it_answers(self):
        command = "exec:" + shlex.join(self.words("serve"))
        for store in (self.phone, self.desk, self.phone):
            answer = self.expect(0, store("sync", command, "--json"))
        self.assertEqual(answer.object["received"]["commits"], 0)
        self.same(self.phone, self.desk)
        self.expect(0, self.desk("toggle", "books", "a book"))
        for store in (self.desk, self.phone):
            self.expect(0, store("sync", command))
        self.same(self.phone, self.desk)
        for store in (self.phone, self.desk):
            self.expect(0, store("verify"))

    def test_it_visits_a_folder(self):
        folder = self.folder / "carried"
        folder.mkdir()
        for _ in range(2):
            self.expect(0, self.phone("sync", f"folder:{folder}"))
            self.peer("folder", str(folder))
        self.expect(0, self.phone("sync", f"folder:{folder}"))
        self.same(self.phone)
        # What it took there, it gives to a device that the folder never reached.
        self.call(self.desk)
        self.same(self.phone, self.desk)
        # What nobody else left in a folder, it puts there.
        empty = self.folder / "empty"
        empty.mkdir()
        self.peer("folder", str(empty))
        late = self.store("late")
        self.expect(0, late("sync", f"folder:{empty}"))
        self.same(self.phone, late)


if __name__ == "__main__":
    unittest.main()
