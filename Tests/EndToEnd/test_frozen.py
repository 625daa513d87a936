"""A process that is stopped at any of its calls, with whatever it holds then: others read, and write or are told who is in the way."""

import concurrent.futures
import os
import pathlib
import unittest

import strace
from heartlog import Store, TestCase

SUCCESS, EXISTS, TRY_AGAIN = 0, 73, 75
KINDS = ("openat", "pread64", "pwrite64", "fdatasync", "fsync", "ftruncate", "rename", "renameat2", "unlink", "mkdir", "flock",
         "getdents64", "newfstatat", "fstat", "statx", "close", "mmap")
# Each stopped process that holds the lock costs the others a second of waiting. HEARTLOG_LONG=1 stops at every call.
PLACES_MAX = None if os.environ.get("HEARTLOG_LONG") else 24


@strace.needed
class FrozenTests(TestCase):
    def places(self, arguments):
        """The calls of an undisturbed run, by kind and number."""
        answer, calls = strace.calls(KINDS, *arguments)
        self.expect(0, answer)
        return [(kind, number) for kind in KINDS for number in range(1, len(calls[kind]) + 1)]

    def others(self, store, stopped):
        """What another process can do meanwhile. Returns whether it could write."""
        found = self.expect(0, store("list", "papers", "--json"))
        self.assertLessEqual({"one", "two"}, {line["id"] for line in found.lines})
        self.expect(0, store("log", "--json"))
        self.expect(0, store("verify"))
        answer = store("add", "papers", "meanwhile")
        if answer.code == TRY_AGAIN:
            self.expect(TRY_AGAIN, answer, f"process {stopped.pid} (heartlog) holds the store's lock and is stopped")
            return False
        self.expect(0, answer)
        return True

    def check(self, prepare, arguments):
        """Stops the program at calls of a verb, each in a store of its own."""
        places = self.places([word.format(**prepare()) for word in arguments])
        blocked = 0
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            tries = [pool.submit(self.stop, prepare(), arguments, place, index % 2 == 0)
                     for index, place in enumerate(strace.spread(places, PLACES_MAX))]
            for each in tries:
                blocked += not each.result()
        return blocked

    def stop(self, names, arguments, place, continues):
        """Returns whether the others could write."""
        with self.subTest(arguments=arguments, place=place, continues=continues):
            store = Store(names["store"])
            stopped = strace.Stopped(*place, *[word.format(**names) for word in arguments])
            written = {"one", "two", "afterwards"}
            try:
                could = stopped.pid is None or self.others(store, stopped)
                if stopped.pid is not None and could:
                    written.add("meanwhile")
            finally:
                answer = stopped.end(continues)
            if continues:
                self.expect(0, answer)
            self.expect(0, store("add", "papers", "afterwards"))
            self.expect(0, store("verify"))
            self.assertLessEqual(written, {line["id"] for line in store("list", "papers", "--json").lines})
            return could

    def prepared(self):
        store = self.store()
        self.expect(0, store("add", "papers", "one"))
        self.expect(0, store("add", "papers", "two"))
        return store

    def test_while_it_writes(self):
        names = lambda: {"store": self.prepared().path}
        self.assertGreater(self.check(names, ["--store", "{store}", "add", "papers", "three"]), 0)

    def test_while_it_seals(self):
        names = lambda: {"store": self.prepared().path}
        self.assertGreater(self.check(names, ["--store", "{store}", "compact"]), 0)

    def test_while_it_receives(self):
        source = self.store("other")
        self.expect(0, source("add", "papers", "three"))
        folder = self.folder / "shared"
        folder.mkdir()
        self.expect(0, source("sync", f"folder:{folder}"))
        names = lambda: {"store": self.prepared().path, "folder": str(folder)}
        self.assertGreater(self.check(names, ["--store", "{store}", "sync", "folder:{folder}", "--pull"]), 0)


@strace.needed
class FrozenInitTests(TestCase):
    def test_while_it_creates_a_store(self):
        """Whoever creates the same store meanwhile does so, finds it there, or is told who is in the way."""
        def path():
            folder = self.folder / os.urandom(8).hex()
            folder.mkdir()
            return str(folder / "store")

        answer, calls = strace.calls(KINDS, "--store", path(), "init")
        self.expect(0, answer)
        places = [(kind, number) for kind in KINDS for number in range(1, len(calls[kind]) + 1)]
        locking = [place for place in places if place[0] in ("flock", "pwrite64")]

        def stop(place, continues):
            store = Store(path())
            stopped = strace.Stopped(*place, "--store", store.path, "init")
            try:
                answer = store("init")
                with self.subTest(place=place):
                    self.assertIn(answer.code, (SUCCESS, EXISTS, TRY_AGAIN), answer.err)
                    if answer.code == TRY_AGAIN:
                        self.expect(TRY_AGAIN, answer, f"process {stopped.pid} (heartlog)")
            finally:
                ended = stopped.end(continues)
            if continues:
                self.assertIn(ended.code, (SUCCESS, EXISTS), ended.err)
            self.assertIn(store("init").code, (SUCCESS, EXISTS))
            self.expect(0, store("add", "papers", "one"))
            self.expect(0, store("verify"))
            return answer.code

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            tries = [pool.submit(stop, place, index % 2 == 0) for index, place in enumerate(locking + strace.spread(places, PLACES_MAX))]
            codes = {each.result() for each in tries}
        self.assertIn(TRY_AGAIN, codes)
        self.assertEqual(len(list(pathlib.Path(self.folder).iterdir())), len(tries) + 1)


if __name__ == "__main__":
    unittest.main()
