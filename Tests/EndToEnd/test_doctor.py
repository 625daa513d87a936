"""What the doctor finds in stores on a disk. The faults that need another disk or clock are planted by DiagnosisTests.swift."""

import pathlib
import subprocess
import unittest

from heartlog import TestCase


class DoctorTests(TestCase):
    def setUp(self):
        super().setUp()
        self.device = self.store("desk")
        for ident in "abc":
            self.expect(0, self.device("add", "papers", ident))
        self.path = pathlib.Path(self.device.path)

    def contents(self):
        return {path: (path.stat().st_mode, path.read_bytes()) for path in self.path.rglob("*") if path.is_file()}

    def found(self, code):
        """The names of the faults; nothing may change, and the text must name the same."""
        before = self.contents()
        faults = self.expect(code, self.device("doctor", "--json")).lines
        text = self.expect(code, self.device("doctor")).out
        for fault in faults:
            self.assertIn(fault["what"], text)
            self.assertEqual({"fault", "severity", "what", "where", "why", "next"}, set(fault) - {"detail"})
        self.assertEqual(self.contents(), before)
        return {fault["fault"]: fault for fault in faults}

    def test_a_synced_store_has_nothing(self):
        self.assertEqual(set(self.found(0)), {"provisionalVault"})
        self.expect(0, self.device("sync", self.store("tablet").path))
        self.assertEqual(self.found(0), {})
        self.assertEqual(self.device("doctor").out, "no problems\n")
        self.expect(0, self.device("add", "papers", "d"))
        self.assertEqual(set(self.found(0)), {"unshippedCommits"})

    def test_no_store(self):
        self.path = self.folder / "nothing"
        self.expect(66, type(self.device)(self.path)("doctor"), "heartlog init")
        self.assertFalse(self.path.exists())

    def test_open_to_others(self):
        self.path.chmod(0o755)
        (self.path / "keys" / "device").chmod(0o644)
        found = self.found(1)
        self.assertLessEqual({"openToOthers", "keyOpenToOthers"}, set(found))
        self.assertEqual(found["keyOpenToOthers"]["where"], str(self.path / "keys" / "device"))

    def test_damage(self):
        segment = self.device.segments(".open")[0]
        data = bytearray(segment.read_bytes())
        data[len(data.rstrip(b"\0")) // 2] ^= 0x5A
        segment.write_bytes(data)
        self.assertIn("damagedSegment", self.found(65))

    def test_an_identity_that_repair_mends(self):
        (self.path / "store").write_bytes(b"groceries")
        found = self.found(65)["damagedIdentity"]
        self.assertIn("heartlog repair", found["next"])
        self.expect(0, self.device("repair"))
        self.assertNotIn("damagedIdentity", self.found(0))

    def test_a_copy(self):
        self.device = self.device.copy(self.folder / "copy")
        self.path = pathlib.Path(self.device.path)
        self.path.chmod(0o700)
        self.assertIn("copiedFolder", self.found(0))
        self.expect(0, self.device("add", "papers", "d"))
        self.assertNotIn("copiedFolder", self.found(0))

    def test_who_holds_the_lock(self):
        holder = "import fcntl, sys; lock = open(sys.argv[1]); fcntl.flock(lock, fcntl.LOCK_EX); print('held', flush=True); sys.stdin.read()"
        with self.ended(subprocess.Popen(
                ["python3", "-c", holder, str(self.path / "lock")], stdin=subprocess.PIPE, stdout=subprocess.PIPE)) as process:
            process.stdout.readline()
            fault = self.found(0)["heldLock"]
            # Some containers do not list the locks.
            if "detail" in fault:
                self.assertIn(str(process.pid), fault["detail"])
            process.stdin.close()
        self.assertNotIn("heldLock", self.found(0))

    def test_leftovers(self):
        stream = self.device.segments()[0].parent
        for name in (self.path / "store.tmp-1", stream / "0000000000000001.cut-77"):
            name.write_bytes(b"rest")
            name.chmod(0o600)
        self.assertLessEqual({"unfinishedFiles", "keptFiles"}, set(self.found(0)))


if __name__ == "__main__":
    unittest.main()
