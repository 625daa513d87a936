"""Every system call of the real program fails: it says what failed, and loses nothing that was acknowledged."""

import concurrent.futures
import json
import os
import pathlib
import unittest

import strace
from heartlog import Store, TestCase

# The documented exit codes: docs/cli.md.
CODES = {0, 1, 64, 65, 66, 73, 74, 75}
ERRORS = ("EIO", "ENOSPC", "EMFILE", "EROFS", "EACCES")
KINDS = ("openat", "read", "pread64", "write", "pwrite64", "fsync", "fdatasync", "ftruncate", "rename", "renameat2", "unlink",
         "unlinkat", "mkdir", "mkdirat", "mmap", "fcntl", "flock", "getdents64", "close", "statx", "newfstatat", "fstat", "fchmod",
         "statfs")
# Of each verb, this many calls of a kind fail, with one error each. HEARTLOG_LONG=1: every call, with every error.
IS_LONG = bool(os.environ.get("HEARTLOG_LONG"))
PLACES_MAX = None if IS_LONG else 7


class Scene:
    """A store to try a verb on, with a peer and a folder beside it."""

    def __init__(self, test):
        self.test = test
        self.store, self.peer = test.store(), test.store("peer")
        for number in range(3):
            test.expect(0, self.store("add", "papers", f"{number}"))
        test.expect(0, self.peer("add", "papers", "elsewhere"))
        self.folder = pathlib.Path(self.store.path).parent / "shared"
        self.folder.mkdir()
        test.expect(0, self.peer("sync", f"folder:{self.folder}"))

    def words(self, arguments):
        return ["--store", self.store.path, *(word.format(peer=self.peer.path, folder=self.folder) for word in arguments)]

    def ids(self):
        return {line["id"] for line in self.test.expect(0, self.store("list", "papers", "--json")).lines}


@strace.needed
class FailingCallTests(TestCase):
    def damage(self, scene):
        """Makes the identity of the store one that must be repaired."""
        path = pathlib.Path(scene.store.path) / "store"
        data = bytearray(path.read_bytes())
        data[12] ^= 1
        path.write_bytes(data)

    def check(self, arguments, effect=lambda scene: None, prepare=lambda scene: None, kept=("0", "1", "2"), isRead=False):
        """Lets calls of a verb fail.

        `effect` looks for what the verb does; it holds whenever the verb says that it succeeded. `prepare` goes before it. The items
        `kept` are there whatever happens. What only reads prints all of it, or fails.
        """
        scene = Scene(self)
        prepare(scene)
        undisturbed, calls = strace.calls(KINDS, *scene.words(arguments))
        self.expect(0, undisturbed)
        effect(scene)
        tries = []
        for kind in KINDS:
            # Without memory no program goes on: only mappings of files fail.
            numbers = [number for number, line in enumerate(calls[kind], 1) if kind != "mmap" or "MAP_ANONYMOUS" not in line]
            for index, number in enumerate(strace.spread(numbers, PLACES_MAX)):
                errors = [(error, lasts) for error in ERRORS for lasts in (False, True)]
                # An interrupted call is made again. One that always is would be made for ever, and a mapping never is.
                if kind != "mmap":
                    errors.append(("EINTR", False))
                tries += [(kind, number, *error) for error in (errors if IS_LONG else [errors[index * 3 % len(errors)]])]
            if not IS_LONG and numbers and kind != "mmap":
                tries.append((kind, numbers[len(numbers) // 2], "EINTR", False))
        self.assertGreater(len(tries), 30)

        def attempt(kind, number, error, lasts):
            with self.subTest(arguments=arguments, kind=kind, number=number, error=error, lasts=lasts):
                scene = Scene(self)
                prepare(scene)
                answer, failed = strace.fail(kind, error, number, lasts, *scene.words(arguments))
                if any("MAP_ANONYMOUS" in line for line in failed):
                    return  # Another number than before, or a later one: there was no memory.
                self.judge(answer, failed, error)
                if answer.code == 0:
                    if isRead:
                        self.assertEqual(self.normal(answer.out, scene), expected)
                    effect(scene)
                # What failed to make a store is made again. Where there was one, its items are not in a new one.
                if mend := {65: "repair", 66: "init"}.get(scene.store("status").code):
                    self.expect(0, scene.store(mend))
                self.assertLessEqual(set(kept), scene.ids())
                self.expect(0, scene.store("add", "papers", "afterwards"))
                self.expect(0, scene.store("verify"))

        expected = self.normal(undisturbed.out, scene)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for each in [pool.submit(attempt, *one) for one in tries]:
                each.result()
        return len(tries)

    def normal(self, text, scene):
        """What a command prints, without what is different in each store."""
        lines = [json.loads(line) for line in text.splitlines()] if text.startswith("{") else text.splitlines()
        return [sorted(line) if isinstance(line, dict) else len(line) for line in lines]

    def judge(self, answer, failed, error):
        """The exit code is one of those that are documented, and a sentence says what failed."""
        if answer.code == 127 and "error while loading shared libraries" in answer.err:
            return  # The system did not get as far as the program.
        self.assertIn(answer.code, CODES, f"{failed} {answer.err}")
        self.assertNotIn("Fatal error", answer.err)
        if error == "EINTR":
            self.assertEqual(answer.code, 0, f"{failed} {answer.err}")
        saysNothing = any("write(2," in line for line in failed)
        if answer.code > 1 and not saysNothing:
            self.assertTrue(answer.err.startswith("heartlog: "), answer.err)
            self.assertTrue(any(name in answer.err for name in ("/", "standard output", "the channel to the peer")), answer.err)

    def test_add(self):
        self.check(["add", "papers", "new"], lambda scene: self.assertIn("new", scene.ids()))

    def test_list(self):
        self.check(["list", "papers", "--json"], isRead=True)

    def test_verify(self):
        self.check(["verify", "--json"], isRead=True)

    def test_sync_with_a_store(self):
        self.check(["sync", "{peer}"], lambda scene: self.assertIn("elsewhere", scene.ids()))

    def test_sync_with_a_folder(self):
        self.check(["sync", "folder:{folder}"], lambda scene: self.assertIn("elsewhere", scene.ids()))

    def test_compact(self):
        def effect(scene):
            self.assertTrue(scene.store.segments(".sealed"))
            self.assertTrue(list(pathlib.Path(scene.store.path, "snapshots").glob("*.snapshot")))
        self.check(["compact"], effect)

    def test_init(self):
        def prepare(scene):
            scene.store = Store(f"{scene.store.path}-new")
        self.check(["init"], lambda scene: self.expect(0, scene.store("status")), prepare, kept=())

    def test_erase(self):
        self.check(["erase", "papers", "0"], lambda scene: self.assertNotIn("0", scene.ids()), kept=("1", "2"))

    def test_repair(self):
        self.check(["repair"], lambda scene: self.expect(0, scene.store("status")), prepare=self.damage)


if __name__ == "__main__":
    unittest.main()
