"""Stores of many devices under small limits, and things that are no files where files are expected."""

import json
import os
import pathlib
import shutil
import unittest

from heartlog import TestCase


class ManyDevicesTests(TestCase):
    """However many devices there are, a bounded number of files is open."""

    def devices(self, count):
        """A store with the streams of so many devices: each copy of a folder writes as a device of its own."""
        store = self.store()
        for number in range(count):
            if number:
                store = store.copy(self.folder / f"copy-{number}")
            self.expect(0, store("add", "papers", f"paper-{number}"))
            if number > 1:
                shutil.rmtree(self.folder / f"copy-{number - 1}")
        return store

    @unittest.skipUnless(shutil.which("prlimit"), "there is no prlimit here")
    def test_ninety_devices_with_64_files(self):
        store = self.devices(90)
        limited = {"prefix": ["prlimit", "--nofile=64"]}
        status = self.expect(0, store("status", "--json", **limited)).object
        self.assertEqual((len(status["replicas"]), status["events"]), (90, 90))
        self.assertEqual(len(self.expect(0, store("log", "--json", **limited)).lines), 90)
        self.assertEqual(len(self.expect(0, store("verify", "--json", **limited)).lines), 90)
        self.expect(0, store("replay", **limited))
        self.expect(0, store("compact", **limited))
        self.expect(0, store("add", "papers", "one more", **limited))
        at = self.expect(0, store("status", "--at", "2999-01-01", "--json", **limited)).object
        self.assertEqual(at["events"], 91)

        # All of them are shipped to a store that has none, by both carriers, and sealed there.
        other, third = self.store("other"), self.store("third")
        self.expect(0, other("sync", store.path, **limited))
        folder = self.folder / "shared"
        folder.mkdir()
        self.expect(0, other("sync", f"folder:{folder}", **limited))
        self.expect(0, third("sync", f"folder:{folder}", **limited))
        self.expect(0, third("compact", **limited))
        digests = {self.expect(0, each("status", "--json", **limited)).object["digest"] for each in (store, other, third)}
        self.assertEqual(len(digests), 1)
        self.assertTrue(all(line["isSound"] for line in self.expect(0, third("verify", "--json", **limited)).lines))


class NoFilesTests(TestCase):
    """A pipe has no end, and a device no bytes: whoever expects a file must not wait for either."""

    def put(self, path, kind):
        path = pathlib.Path(path)
        if path.exists():
            path.unlink()
        os.mkfifo(path) if kind == "pipe" else path.mkdir()

    def check(self, store, code, *words):
        for command in (("status",), ("log",), ("verify",), ("list", "papers"), ("add", "papers", "new")):
            answer = store(*command, **{"prefix": ["timeout", "60"]})
            self.expect(code, answer, *words)

    def test_in_place_of_the_identity(self):
        for kind in ("pipe", "folder"):
            store = self.store()
            self.put(pathlib.Path(store.path) / "store", kind)
            self.check(store, 74, "cannot open")

    def test_in_place_of_a_segment(self):
        for kind in ("pipe", "folder"):
            with self.subTest(kind=kind):
                store = self.store()
                self.expect(0, store("add", "papers", "one"))
                other = self.store("other")
                self.expect(0, other("add", "papers", "two"))
                self.expect(0, store("sync", other.path))
                (segment,) = [path for path in store.segments(".open") if path.parent.name != json.loads(
                    self.expect(0, store("status", "--json")).out)["replica"]]
                self.put(segment, kind)
                self.check(store, 65, segment.name)
                # The other stream is shown.
                self.assertIn("one", store("list", "papers").out)

    def test_in_place_of_a_snapshot(self):
        store = self.store()
        self.expect(0, store("add", "papers", "one"))
        self.expect(0, store("compact"))
        (snapshot,) = pathlib.Path(store.path, "snapshots").glob("*.snapshot")
        self.put(snapshot, "pipe")
        for command in (("status",), ("log",), ("add", "papers", "new")):
            self.expect(0, store(*command, **{"prefix": ["timeout", "60"]}))


class LeftoverTests(TestCase):
    def test_unfinished_files_of_received_streams_go(self):
        store, other = self.store(), self.store("other")
        self.expect(0, other("add", "papers", "two"))
        self.expect(0, store("sync", other.path))
        (segment,) = store.segments(".open")
        unfinished = segment.with_name(segment.name + ".tmp-12ab")
        for command in (("compact",), ("sync", other.path)):
            unfinished.write_bytes(b"half a segment")
            self.expect(0, other("add", "papers", " ".join(command)[:20]))
            self.expect(0, store(*command))
            self.assertFalse(unfinished.exists(), command)


if __name__ == "__main__":
    unittest.main()
