"""A backup that is made beside writers is whole, and what is wrong with it is found."""

import random
import subprocess
import unittest

from heartlog import TestCase, lines, run, seed


def operations(name, count):
    return [{"op": "add", "library": "papers", "id": f"{name}-{number}", "fields": {"title": "x" * 300}}
            for number in range(count)]


class Backups(TestCase):
    def copies(self):
        """Where backups are written: a folder and a file."""
        return [self.folder / "copy", self.folder / "copy.backup"]

    def items(self, path):
        answer = run("--store", str(path), "list", "papers", "--json")
        self.assertEqual(answer.code, 0, answer.err)
        return {line["id"] for line in answer.lines}

    def test_beside_writers(self):
        """Copies made beside four processes that write have all that was acknowledged before, and open."""
        store = self.store()
        writers = []
        try:
            for name in "abcd":
                file = self.folder / f"{name}.jsonl"
                file.write_text(lines(operations(name, 3_000)))
                writers.append(store.start("apply", str(file), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            for number in range(6):
                before = self.items(store.path)
                copy = self.copies()[number % 2]
                made = run("--store", store.path, "backup", str(copy), "--json")
                self.assertEqual(made.code, 0, made.err)
                after = self.items(store.path)
                restored = self.folder / f"restored-{number}"
                answer = run("restore-backup", str(copy), str(restored), "--json")
                self.assertEqual(answer.code, 0, answer.err)
                self.assertEqual(answer.object["digest"], made.object["digest"])
                self.assertEqual(run("--store", str(restored), "verify").code, 0)
                items = self.items(restored)
                self.assertTrue(before <= items <= after)
                for name in "abcd":
                    count = sum(item.startswith(f"{name}-") for item in items)
                    self.assertTrue(all(f"{name}-{index}" in items for index in range(count)))
        finally:
            for writer in writers:
                writer.wait()

    def test_new_device(self):
        store = self.store()
        self.expect(0, store.apply(lines(operations("a", 5))))
        status = store("status", "--json").object
        for copy in self.copies():
            self.expect(0, store("backup", str(copy)))
            self.assertIn("nothing new", self.expect(0, store("backup", str(copy))).out)
            restored = self.folder / f"restored-{copy.name}"
            self.expect(0, run("restore-backup", str(copy), str(restored), "--name", "New phone"))
            again = run("--store", str(restored), "status", "--json").object
            self.assertEqual(again["digest"], status["digest"])
            self.assertEqual(again["name"], "New phone")
            self.assertNotEqual(again["replica"], status["replica"])
            self.assertEqual(run("restore-backup", str(copy), str(restored)).code, 73)

    def test_faults(self):
        random.seed(seed())
        store = self.store()
        self.expect(0, store.apply(lines(operations("a", 200))))
        for copy in self.copies():
            self.expect(0, store("backup", str(copy)))
            for number in range(10):
                paths = [path for path in ([copy] if copy.is_file() else copy.rglob("*")) if path.is_file() and path.name != "lock"]
                path = random.choice(paths)
                whole = path.read_bytes()
                changed = bytearray(whole)
                if number % 2:
                    del changed[random.randrange(len(changed)):]
                else:
                    changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
                path.write_bytes(changed)
                for answer in (run("backup", "--check", str(copy)), run("restore-backup", str(copy), str(self.folder / "no"))):
                    self.assertIn(answer.code, (64, 65), answer.err)
                    self.assertIn("backup", answer.err)
                self.assertFalse((self.folder / "no").exists())
                path.write_bytes(whole)
            self.expect(0, run("backup", "--check", str(copy)))

    def test_refused(self):
        store, other = self.store("one"), self.store("other")
        self.expect(0, store.apply(lines(operations("a", 5))))
        self.expect(0, other.apply(lines(operations("b", 5))))
        photos = self.folder / "photos"
        photos.mkdir()
        (photos / "1.jpg").write_bytes(b"1")
        self.expect(64, store("backup", other.path))
        self.expect(64, store("backup", str(photos)))
        self.assertEqual([path.name for path in photos.iterdir()], ["1.jpg"])
        for copy in self.copies():
            self.expect(66, run("backup", "--check", str(copy)))
            self.expect(0, store("backup", str(copy)))
            self.expect(64, other("backup", str(copy)))
            self.expect(0, run("backup", "--check", str(copy)))


if __name__ == "__main__":
    unittest.main()
