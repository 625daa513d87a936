"""Who besides its owner can get at a store."""

import os
import pathlib
import shutil
import stat
import subprocess
import unittest

import heartlog
from heartlog import Store, TestCase

NOBODY = 65534
IS_ROOT = os.geteuid() == 0
MENTION = "other users of this machine can read the store; the next command that writes closes it to them"
TOLD = "other users of this machine could read the store; it is now closed to them"


def mode(path):
    return stat.S_IMODE(os.lstat(path).st_mode)


class PermissionCase(TestCase):
    def open_to_nobody_else(self, store):
        """All that is in a store, and the store itself."""
        paths = [pathlib.Path(store.path), *pathlib.Path(store.path).rglob("*")]
        for path in paths:
            self.assertEqual(mode(path), 0o700 if path.is_dir() else 0o600, path)
        return paths

    def older(self, store):
        """Gives a store the permissions that older programs made it with."""
        for path in [pathlib.Path(store.path), *pathlib.Path(store.path).rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)
        return store

    def modes(self, store):
        return {path: mode(path) for path in [pathlib.Path(store.path), *pathlib.Path(store.path).rglob("*")]}


class PermissionTests(PermissionCase):
    def test_stores_are_made_for_their_owner_alone_whatever_the_umask(self):
        for umask in (0o000, 0o022):
            before = os.umask(umask)
            try:
                store, other = self.store(), self.store("other")
                for ident in range(3):
                    self.expect(0, store("add", "papers", f"a{ident}"))
                self.expect(0, other("add", "papers", "b"))
                self.expect(0, store("sync", other.path))
                store.seal()
                store.snapshot()
                self.expect(0, store("add", "papers", "c"))
                pathlib.Path(store.path, "store").unlink()
                self.expect(0, store("repair"))
                self.expect(0, store("add", "papers", "d"))
            finally:
                os.umask(before)
            names = {path.name for path in self.open_to_nobody_else(store)}
            self.assertTrue({"lock", "store", "snapshots"} <= names, names)
            self.open_to_nobody_else(other)

    def test_a_folder_that_was_there_is_closed_when_a_store_is_made_in_it(self):
        folder = self.folder / "made"
        folder.mkdir(mode=0o755)
        self.expect(0, heartlog.run("--store", str(folder), "init"))
        self.open_to_nobody_else(Store(folder))

    def test_what_is_meant_for_others_is_not_closed(self):
        before = os.umask(0o022)
        try:
            folder, export = self.folder / "parents" / "above" / "store", self.folder / "papers.csv"
            shared = self.folder / "shared"
            shared.mkdir()
            self.expect(0, heartlog.run("--store", str(folder), "init"))
            store = Store(folder)
            self.expect(0, store("add", "papers", "a"))
            self.expect(0, store("export", "papers", str(export)))
            self.expect(0, store("sync", f"folder:{shared}"))
        finally:
            os.umask(before)
        self.assertEqual([mode(self.folder / "parents"), mode(folder.parent), mode(export)], [0o755, 0o755, 0o644])
        carried = list(shared.rglob("*"))
        self.assertTrue(any(path.is_file() for path in carried))
        for path in carried:
            self.assertEqual(mode(path), 0o755 if path.is_dir() else 0o644, path)

    def test_an_older_store_is_mentioned_by_readers_and_closed_by_its_first_write_which_says_so_once(self):
        store = self.store()
        self.expect(0, store("add", "papers", "a"))
        store.seal()
        store.snapshot()
        self.older(store)
        note = pathlib.Path(store.path, "note of mine.txt")
        note.write_text("foreign")
        note.chmod(0o644)
        before = self.modes(store)
        for command in ("status", "verify"):
            self.expect(0, store(command), MENTION)
        self.assertIs(self.expect(0, store("status", "--json"), MENTION).object["openToOthers"], True)
        self.assertEqual(self.expect(0, store("list", "papers")).err, "")
        self.assertEqual(self.modes(store), before)
        self.expect(0, store("add", "papers", "b"), TOLD)
        self.assertEqual(mode(note), 0o644, "a foreign file is left alone")
        note.unlink()
        self.open_to_nobody_else(store)
        for command in (["add", "papers", "c"], ["status"], ["verify"]):
            self.assertEqual(self.expect(0, store(*command)).err, "")
        self.assertNotIn("openToOthers", self.expect(0, store("status", "--json")).object)

    def test_permissions_are_never_given(self):
        store = self.store()
        self.expect(0, store("add", "papers", "a"))
        identity = pathlib.Path(store.path, "store")
        identity.chmod(0o440)
        pathlib.Path(store.path).chmod(0o750)
        self.expect(0, store("add", "papers", "b"), TOLD)
        self.assertEqual((mode(identity), mode(store.path)), (0o400, 0o700))

    def test_links_are_not_followed_when_a_store_is_closed(self):
        store = self.store()
        self.expect(0, store("add", "papers", "a"))
        elsewhere = self.folder / "elsewhere"
        elsewhere.write_text("mine")
        elsewhere.chmod(0o644)
        os.symlink(elsewhere, store.segments()[0].parent / "0000000000000001.cut-77")
        self.older(store)
        elsewhere.chmod(0o644)
        link = self.folder / "link"
        os.symlink(store.path, link)
        self.expect(0, Store(link)("add", "papers", "b"), TOLD)
        self.assertEqual((mode(elsewhere), mode(store.path)), (0o644, 0o700))


@unittest.skipUnless(IS_ROOT, "needs another user")
class OtherUserTests(PermissionCase):
    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)
        # The build's folder may be closed to others.
        self.program = self.folder / "heartlog"
        shutil.copy(heartlog.BINARY, self.program)
        self.program.chmod(0o755)

    def as_nobody(self, store, *arguments, umask=0o022):
        done = subprocess.run(
            [str(self.program), "--store", store.path, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, user=NOBODY, group=NOBODY, extra_groups=[], umask=umask, cwd="/",
            timeout=heartlog.SECONDS_MAX, env=heartlog.environment(HOME="/"))
        return heartlog.Answer(done.returncode, done.stdout, done.stderr)

    def reachable(self, store):
        pathlib.Path(store.path).parent.chmod(0o755)
        return store

    def test_another_user_can_neither_read_a_store_nor_hold_its_lock(self):
        store = self.reachable(self.store())
        self.expect(0, store("add", "papers", "a"))
        self.expect(74, self.as_nobody(store, "status"), "Permission denied")
        holder = "import fcntl, sys; fcntl.flock(open(sys.argv[1]), fcntl.LOCK_EX)"
        done = subprocess.run(
            ["python3", "-c", holder, str(pathlib.Path(store.path, "lock"))], stderr=subprocess.PIPE, user=NOBODY,
            group=NOBODY, extra_groups=[], cwd="/")
        self.assertIn(b"PermissionError", done.stderr)

    def test_a_store_of_somebody_else_that_may_be_read_is_read_and_left_alone(self):
        store = self.older(self.reachable(self.store()))
        self.expect(0, store("add", "papers", "a"))
        before = self.modes(self.older(store))
        for command in ("status", "verify", "list"):
            words = [command, "papers"] if command == "list" else [command]
            self.assertEqual(self.expect(0, self.as_nobody(store, *words)).err, "", command)
        self.expect(73, self.as_nobody(store, "add", "papers", "b"))
        self.expect(73, self.as_nobody(store, "repair"))
        self.assertEqual(self.modes(store), before)

    def test_the_doctor_says_what_a_user_may_not(self):
        store = self.reachable(self.store())
        self.expect(0, store("add", "papers", "a"))
        answer = self.expect(1, self.as_nobody(store, "doctor", "--json"))
        self.assertEqual(answer.lines[0]["fault"], "unreadable")
        self.older(store)
        store.segments()[0].chmod(0o600)
        answer = self.expect(1, self.as_nobody(store, "doctor", "--json"))
        self.assertEqual({fault["fault"] for fault in answer.lines} - {"keyOpenToOthers"}, {"unwritable", "unreadable", "provisionalVault"})

    def test_what_root_does_to_the_store_of_a_user_stays_the_users(self):
        folder = self.folder / "home"
        folder.mkdir()
        os.chown(folder, NOBODY, NOBODY)
        store = Store(folder / "store")
        self.expect(0, self.as_nobody(store, "init"))
        self.expect(0, self.as_nobody(store, "add", "papers", "a"))
        self.older(store)
        self.expect(0, store("add", "papers", "b"), TOLD)
        store.seal()
        store.snapshot()
        self.expect(0, store("add", "papers", "c"))
        pathlib.Path(store.path, "store").write_bytes(b"")
        self.expect(0, store("repair"))
        self.expect(0, store("add", "papers", "d"))
        for path in self.open_to_nobody_else(store):
            self.assertEqual(path.stat().st_uid, NOBODY, path)
        self.expect(0, self.as_nobody(store, "add", "papers", "e"))
        self.assertEqual(self.expect(0, self.as_nobody(store, "status", "--json")).object["events"], 5)

    def test_a_file_of_another_user_in_a_store_is_left_as_it_is(self):
        folder = self.folder / "home"
        folder.mkdir()
        os.chown(folder, NOBODY, NOBODY)
        store = Store(folder / "store")
        self.expect(0, self.as_nobody(store, "init"))
        self.expect(0, self.as_nobody(store, "add", "papers", "a"))
        self.expect(0, self.as_nobody(store, "compact"))
        self.older(store)
        # As a program that was run by root once left it.
        (segment,) = store.segments(".sealed")
        os.chown(segment, 0, 0)
        self.expect(0, store("add", "papers", "b"), TOLD)
        self.assertEqual((mode(segment), mode(store.path)), (0o644, 0o700))
        self.assertEqual(self.expect(0, self.as_nobody(store, "status", "--json")).object["events"], 2)


if __name__ == "__main__":
    unittest.main()
