"""The command line as docs/cli.md promises it: keys, exit codes, filters, and what it does on a terminal."""

import datetime
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import termios
import unittest

from heartlog import BINARY, TestCase, environment, lines, run, trace

ID = re.compile(r"[0-9a-f]{32}")
DIGEST = re.compile(r"[0-9a-f]{64}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def at(minute, day=2):
    return f"2026-03-{day:02}T07:{minute:02}:00Z"


class KeyTests(TestCase):
    def assert_keys(self, value, *names):
        self.assertEqual(list(value), list(names))

    def test_an_event(self):
        store = self.store("Anna's phone")
        self.expect(0, store.apply([
            {"op": "add", "library": "papers", "id": "x", "fields": {"n": None, "title": "T", "list": [1, {"b": 1, "a": None}]}, "time": at(0)},
            {"op": "add", "library": "papers", "id": "y", "favoritedDate": "1969-07-20T20:17:40.5Z", "time": at(1)},
            {"op": "toggle", "library": "papers", "id": "x", "time": at(2)}, {"op": "toggle", "library": "papers", "id": "x", "time": at(3)},
            {"op": "remove", "library": "papers", "id": "x", "time": at(4)},
            {"op": "set", "library": "papers", "id": "z", "fields": {"a": 1, "b": -0.0, "c": 1.5, "d": True, "e": "é"}, "time": at(4)},
            {"op": "set", "library": "papers", "id": "z", "fields": {"a": None}, "time": at(4)},
        ]))
        added, dated, off, on, removed, changed, cleared = store.log()
        self.assert_keys(added, "replica", "sequence", "commit", "time", "stamp", "library", "item", "action", "isFavorite", "fields", "origin")
        self.assertRegex(added["replica"], ID)
        self.assertEqual(added["replica"], store("status", "--json").object["replica"])
        self.assertEqual([added[key] for key in ("sequence", "commit", "time", "library", "item", "action", "isFavorite", "origin")],
                         [1, 1, "2026-03-02T07:00:00.000Z", "papers", "x", "added", True, "cli"])
        milliseconds = int(datetime.datetime(2026, 3, 2, 7, tzinfo=datetime.timezone.utc).timestamp()) * 1000
        self.assertEqual(added["stamp"], f"{milliseconds << 16:016x}")
        self.assertEqual(added["fields"], {"list": [1, {"a": None, "b": 1}], "title": "T"})  # a null where nothing was held is none
        self.assert_keys(dated, "replica", "sequence", "commit", "time", "stamp", "library", "item", "action", "isFavorite", "favoritedDate", "origin")
        self.assertEqual(dated["favoritedDate"], "1969-07-20T20:17:40.500Z")
        for event, action, is_favorite in ((off, "toggled", False), (on, "toggled", True), (removed, "removed", False)):
            self.assert_keys(event, "replica", "sequence", "commit", "time", "stamp", "library", "item", "action", "isFavorite", "origin")
            self.assertEqual((event["action"], event["isFavorite"]), (action, is_favorite))
        self.assert_keys(changed, "replica", "sequence", "commit", "time", "stamp", "library", "item", "action", "fields", "origin")
        self.assertEqual(changed["action"], "changed")
        self.assertEqual(json.dumps(changed["fields"], ensure_ascii=False), '{"a": 1, "b": 0, "c": 1.5, "d": true, "e": "é"}')
        self.assertEqual(cleared["fields"], {"a": None})
        self.assertEqual(int(cleared["stamp"], 16), int(changed["stamp"], 16) + 1)
        # What a writing command prints is the event.
        written = self.expect(0, store("toggle", "papers", "w", "k=v", "--json")).object
        self.assertEqual(written, store.log()[-1])
        self.assertRegex(written["time"], TIME)

    def test_an_item(self):
        store = self.store()
        self.expect(0, store("add", "papers", "x", "title=T", "pages:=12", "--date", "2024-12-24"))
        self.expect(0, store("set", "papers", "y", "list:=[1,2]", "gone:=1"))
        self.expect(0, store("set", "papers", "y", "gone:=null"))
        shown = self.expect(0, store("show", "papers", "x", "--json")).object
        self.assert_keys(shown, "library", "id", "isFavorite", "favoritedDate", "fields")
        self.assertEqual(shown, {"library": "papers", "id": "x", "isFavorite": True, "favoritedDate": "2024-12-24T00:00:00.000Z",
                                 "fields": {"pages": 12, "title": "T"}})
        self.assertEqual(store("list", "papers", "--json").lines, [shown])
        other = self.expect(0, store("show", "papers", "y", "--json")).object
        self.assert_keys(other, "library", "id", "isFavorite", "favoritedDate", "fields")
        self.assertEqual(other, {"library": "papers", "id": "y", "isFavorite": False, "favoritedDate": None, "fields": {"list": [1, 2]}})
        self.assertEqual(store("list", "papers", "--all", "--json").lines, [shown, other])

    def test_a_commit_is_known_by_the_value_of_its_name(self):
        names = ['{"a":1,"b":{"c":[{"d":1,"e":2}],"f":2}}', '{"b":{"f":2,"c":[{"e":2,"d":1}]},"a":1}', '{"a":1,"b":{"c":[{"d":1,"e":2}],"f":3}}',
                 '[1,2]', '[2,1]', '{"é":1}', '{"e\\u0301":1}', '{"a":9007199254740993}', '{"a":9007199254740993}', '1', '1.0', '"1"']
        text = "".join('{"op":"add","library":"papers","id":"%d","commit":%s}\n' % (number, name) for number, name in enumerate(names))
        store = self.store()
        self.expect(0, store("apply", input=text))
        self.assertEqual([event["commit"] for event in store.log()], [1, 1, 2, 3, 4, 5, 6, 7, 7, 8, 8, 9])

    def test_status_and_replay(self):
        store = self.store("Anna's phone")
        empty = self.expect(0, store("status", "--json")).object
        self.assertEqual((empty["events"], empty["commits"], empty["libraries"]), (0, 0, []))
        self.assertEqual([replica["head"] for replica in empty["replicas"]], [0])
        self.expect(0, store.apply([{"op": "add", "library": "papers", "id": "x", "commit": 1}, {"op": "add", "library": "cities", "id": "1", "commit": 1},
                                    {"op": "set", "library": "papers", "id": "y", "fields": {"f": 1}}]))
        for command in ("status", "replay"):
            with self.subTest(command):
                answer = self.expect(0, store(command, "--json")).object
                self.assert_keys(answer, "store", "replica", "name", "vault", "digest", "events", "commits", "bytes", "replicas", "libraries")
                self.assertEqual((answer["store"], answer["name"], answer["events"], answer["commits"]), (store.path, "Anna's phone", 3, 2))
                self.assertRegex(answer["digest"], DIGEST)
                self.assertEqual(answer["bytes"], sum(path.stat().st_size for path in store.segments()))
                (replica,) = answer["replicas"]
                self.assert_keys(replica, "id", "name", "head", "events", "wallClockAheadSeconds")
                self.assertEqual((replica["id"], replica["name"], replica["head"], replica["events"], replica["wallClockAheadSeconds"]),
                                 (answer["replica"], "Anna's phone", 2, 3, 0))
                self.assertEqual(answer["libraries"], [{"name": "cities", "favorites": 1, "items": 1, "events": 1},
                                                       {"name": "papers", "favorites": 1, "items": 2, "events": 2}])
                for library in answer["libraries"]:
                    self.assert_keys(library, "name", "favorites", "items", "events")
        self.assertEqual(store("status", "--json").object["digest"], store("replay", "--json").object["digest"])

    def test_a_clock_that_is_ahead_is_told(self):
        store = self.store()
        self.expect(0, store.apply([{"op": "add", "library": "papers", "id": "x", "time": "2199-01-01T00:00:00Z"}]))
        (replica,) = store("status", "--json").object["replicas"]
        self.assertGreater(replica["wallClockAheadSeconds"], 86_400)
        self.assertIn("ahead", store("status").out)

    def test_init_apply_verify_and_seal(self):
        path = str(self.folder / "new")
        made = self.expect(0, run("--store", path, "init", "--name", "n", "--json")).object
        self.assert_keys(made, "store", "replica", "name", "vault", "digest", "events", "commits", "bytes", "replicas", "libraries")
        store = self.store()
        answer = self.expect(0, store.apply([{"op": "add", "library": "papers", "id": "x"}, {"op": "add", "library": "papers", "id": "x"}], "--json", "--ack"))
        *acks, end = answer.lines
        self.assertEqual(acks, [{"ack": 1}, {"ack": 2}])
        self.assert_keys(end, "applied", "events", "commits", "digest")
        self.assertEqual((end["applied"], end["events"], end["commits"]), (2, 1, 1))
        self.assertEqual(end["digest"], store("status", "--json").object["digest"])
        stream = self.expect(0, store("verify", "--json")).object
        self.assert_keys(stream, "replica", "name", "commits", "events", "segments", "bytes", "root", "isSound", "signedCommits")
        self.assertRegex(stream["root"], DIGEST)
        self.assertEqual((stream["commits"], stream["events"], stream["segments"], stream["isSound"]), (1, 1, 1, True))
        sealed = self.expect(0, store("compact", "--json")).object
        self.assert_keys(
            sealed, "erased", "remaining", "replacedFiles", "sealedFiles", "events", "bytesBefore", "bytesAfter", "snapshot")
        self.assertEqual((sealed["replacedFiles"], sealed["sealedFiles"], sealed["events"]), (1, 1, 1))
        again = self.expect(0, store("verify", "--json")).lines[0]
        self.assertEqual(again["root"], stream["root"])
        self.assertEqual(self.expect(0, store("compact", "--json")).object["sealedFiles"], 0)

    def test_the_global_options_may_stand_anywhere(self):
        store = self.store()
        self.expect(0, run("add", "papers", "x", f"--store={store.path}"))
        for words in (["--json", "--store", store.path, "list", "papers"], ["list", "--store", store.path, "papers", "--json"]):
            self.assertEqual(self.expect(0, run(*words)).object["id"], "x")
        self.assertEqual(self.expect(0, run("list", "papers", "--json", env=environment(HEARTLOG_STORE=store.path))).object["id"], "x")
        home = environment(HOME=str(self.folder), HEARTLOG_STORE=None)
        self.expect(0, run("init", env=home))
        self.assertTrue((self.folder / ".local/share/heartlog/favorites.heartlog/store").exists())


class WritingTests(TestCase):
    def test_add_makes_a_favorite_once(self):
        store = self.store()
        self.expect(0, store("add", "papers", "x", "title=A"))
        answer = self.expect(1, store("add", "papers", "x", "title=B", "--date", "2020-01-01"), "already a favorite")
        self.assertEqual(answer.out, "")
        self.assertEqual(len(store.log()), 1)
        self.assertEqual(store("show", "papers", "x", "--json").object["fields"], {"title": "A"})
        # Added again after a removal it has a new date, and fields that differ are written.
        self.expect(0, store("remove", "papers", "x"))
        self.expect(0, store("add", "papers", "x", "title=A", "more=1", "--date", "2020-01-01T01:02:03.0049+01:00"))
        self.assertEqual(store.log()[-1]["fields"], {"more": "1"})
        self.assertEqual(store("show", "papers", "x", "--json").object["favoritedDate"], "2020-01-01T00:02:03.004Z")

    def test_toggle_flips_what_the_store_holds(self):
        store = self.store()
        self.assertTrue(self.expect(0, store("toggle", "papers", "x", "title=A", "--json")).object["isFavorite"])
        answer = self.expect(0, store("toggle", "papers", "x", "title=B", "--json"), "ignored")
        self.assertFalse(answer.object["isFavorite"])
        self.assertNotIn("fields", answer.object)
        self.expect(0, store("toggle", "papers", "y"))
        self.expect(0, store("toggle", "papers", "y", "--date", "2020-01-01"), "ignored")
        self.assertEqual(self.expect(0, store("toggle", "papers", "x")).err, "")
        self.assertEqual(store("show", "papers", "x", "--json").object["fields"], {"title": "A"})

    def test_remove_keeps_the_fields(self):
        store = self.store()
        answer = self.expect(1, store("remove", "papers", "x"), "not a favorite")
        self.assertEqual(answer.out, "")
        self.expect(0, store("add", "papers", "x", "title=A"))
        self.expect(0, store("remove", "papers", "x"))
        self.expect(1, store("remove", "papers", "x"))
        self.assertEqual(store("list", "papers", "--json").lines, [])
        self.assertEqual(store("list", "papers", "--all", "--json").lines, [store("show", "papers", "x", "--json").object])
        self.assertEqual(store("show", "papers", "x", "--json").object["fields"], {"title": "A"})

    def test_set_writes_what_differs_for_any_item(self):
        store = self.store()
        self.expect(0, store("set", "books", "x", "a:=1", "b=two", "--fields", '{"c":[3]}'))
        self.expect(1, store("set", "books", "x", "a:=1.0"), "already")
        self.expect(0, store("set", "books", "x", "a:=1", "b=2"))
        self.assertEqual(store.log()[-1]["fields"], {"b": "2"})
        self.expect(0, store("set", "books", "x", "a:=null", "b:=null"))
        self.assertEqual(store("show", "books", "x", "--json").object["fields"], {"c": [3]})
        self.expect(1, store("set", "books", "x", "a:=null"))
        self.expect(0, store("set", "books", "x", "c:=null"))
        # All that was ever there is null: it is not visible, and was no favorite.
        self.assertEqual(store("list", "books", "--all", "--json").lines, [])
        self.assertEqual(store("status", "--json").object["digest"], self.store()("status", "--json").object["digest"])

    def test_field_arguments(self):
        store = self.store()
        self.expect(0, store("set", "books", "x", "a=b=c", "url=http://x/?q:=1", 'e:="="', "empty=", "@note=n", "n:=-0.0", "é=1", "e\u0301=2"))
        self.assertEqual(store("show", "books", "x", "--json").object["fields"],
                         {"a": "b=c", "url": "http://x/?q:=1", "e": "=", "empty": "", "@note": "n", "n": 0, "é": "1", "e\u0301": "2"})
        self.expect(0, store("add", "books", "--", "--x", "-f=1"))
        self.expect(0, store("show", "books", "--", "--x"))
        self.expect(0, store("add", "cities", "-7"))

    def test_show_of_what_is_not_there(self):
        store = self.store()
        self.assertEqual(self.expect(1, store("show", "papers", "x"), "there is no item").out, "")
        self.assertEqual(self.expect(1, store("show", "papers", "x", "--json")).out, "")
        self.assertEqual(self.expect(0, store("list", "papers", "--json")).out, "")
        self.assertEqual(self.expect(0, store("log", "--json")).out, "")
        self.expect(0, store("replay"))
        self.expect(0, store("verify"))

    def test_help_and_version(self):
        commands = re.findall(r"^(?:[A-Z][a-z]+)? +([a-z-]+)  ", run("help").out, re.M)
        for command in ("init", "status", "add", "remove", "toggle", "set", "apply", "list", "show", "log", "replay", "verify", "compact"):
            self.assertIn(command, commands)
        for command in set(commands) - {"heartlog"}:
            page = self.expect(0, run("help", command)).out
            self.assertEqual(self.expect(0, run(command, "--help")).out, page)
            self.assertIn("xample", page)
        self.expect(0, run("--version"))
        self.expect(0, run("man"))
        for shell in ("bash", "zsh", "fish"):
            self.expect(0, run("completions", shell))


class ListTests(TestCase):
    def test_order_limit_and_match(self):
        store = self.store()
        self.expect(0, store.apply([
            {"op": "add", "library": "papers", "id": "b", "time": at(1), "fields": {"title": "Straße ÄÖ"}},
            {"op": "add", "library": "papers", "id": "a", "time": at(1)}, {"op": "add", "library": "papers", "id": "e", "time": at(0), "favoritedDate": at(9)},
            {"op": "add", "library": "papers", "id": "old", "favoritedDate": "1950-01-01T00:00:00Z", "time": at(2), "fields": {"n": [1, "deep"]}},
            {"op": "add", "library": "papers", "id": "gone", "time": at(3)}, {"op": "remove", "library": "papers", "id": "gone", "time": at(4)},
            {"op": "set", "library": "papers", "id": "c", "fields": {"f": 1}, "time": at(5)}]))

        def ids(*words):
            return [item["id"] for item in self.expect(0, store("list", "papers", "--json", *words)).lines]
        self.assertEqual(ids(), ["e", "a", "b", "old"])
        self.assertEqual(ids("--order", "newest"), ["e", "a", "b", "old"])
        self.assertEqual(ids("--order", "oldest"), ["old", "b", "a", "e"])
        self.assertEqual(ids("--order", "id"), ["a", "b", "e", "old"])
        self.assertEqual(ids("--all"), ["e", "a", "b", "old", "c", "gone"])
        self.assertEqual(ids("--all", "--order", "oldest"), ["old", "b", "a", "e", "c", "gone"])
        self.assertEqual(ids("--all", "--order", "id"), ["a", "b", "c", "e", "gone", "old"])
        self.assertEqual(ids("--limit", "2"), ["e", "a"])
        self.assertEqual(ids("--limit", "0"), [])
        for text in ["äö", "ao", "STRASSE"]:
            self.assertEqual(ids("--match", text), ["b"])
        self.assertEqual(ids("--match", "ao", "--exact"), [])
        self.assertEqual(ids("--match", "Ö", "--exact"), ["b"])
        self.assertEqual(ids("--match", "deep", "--field", "title"), [])
        self.assertEqual(ids("--match", "1", "--all"), [])
        self.assertEqual(ids("--match", "1", "--all", "--field", "f"), ["c"])
        self.assertEqual(ids("--match", "OL", "--limit", "1"), ["old"])
        self.assertEqual(ids("--match", "deep"), ["old"])
        self.assertEqual(ids("--match", "nothing"), [])
        self.assertEqual(len(self.expect(0, store("list", "papers")).out.splitlines()), 4)


class LogTests(TestCase):
    def setUp(self):
        super().setUp()
        self.history = self.store("Anna's phone")
        operations = [{"op": "toggle", "library": ("papers", "cities")[number % 2], "id": str(number % 3), "time": at(number % 60, 2 + number // 60),
                       "commit": number // 2} for number in range(120)]
        operations = [operation | {"time": operations[number // 2 * 2]["time"]} for number, operation in enumerate(operations)]
        self.expect(0, self.history.apply(lines(operations)))
        self.all = self.history.log()
        self.assertEqual(len(self.all), 120)

    def shown(self, *words):
        return self.expect(0, self.history("log", "--json", *words)).lines

    def test_by_library_and_item(self):
        self.assertEqual(self.shown("papers"), [event for event in self.all if event["library"] == "papers"])
        self.assertEqual(self.shown("cities", "1"), [event for event in self.all if event["library"] == "cities" and event["item"] == "1"])
        self.assertEqual(self.shown("books"), [])
        self.assertEqual(self.shown("papers", "none"), [])

    def test_by_replica(self):
        replica = self.all[0]["replica"]
        for words in ("Anna's phone", replica, replica[:4], replica[:8].upper()):
            self.assertEqual(self.shown("--replica", words), self.all)
        self.assertEqual(self.shown("--replica", replica, "--replica", "Anna's phone", "papers"), self.shown("papers"))
        for words in ("anna", "zzzz", "Anna"):
            self.expect(1, self.history("log", "--replica", words))

    def test_by_time_date_and_event(self):
        replica = self.all[0]["replica"][:8]
        since, until = "2026-03-02T07:10:00.000Z", "2026-03-02T07:40:00.000Z"
        self.assertEqual(self.shown("--since", since), [event for event in self.all if event["time"] >= since])
        self.assertEqual(self.shown("--until", until), [event for event in self.all if event["time"] <= until])
        self.assertEqual(self.shown("--since", since, "--until", until), [event for event in self.all if since <= event["time"] <= until])
        self.assertEqual(self.shown("--until", "2026-03-02T08:10:00+01:00"), self.shown("--until", since))
        self.assertEqual(self.shown("--since", "2026-03-03"), self.all[60:])
        self.assertEqual(self.shown("--until", "2026-03-02"), self.all[:60])
        self.assertEqual(self.shown("--since", "2026-03-02", "--until", "2026-03-03"), self.all)
        # An event stands for its whole commit.
        for sequence in (51, 52):
            self.assertEqual(self.shown("--since", f"{replica}:{sequence}"), self.all[50:])
            self.assertEqual(self.shown("--until", f"{replica}:{sequence}"), self.all[:52])
        self.expect(1, self.history("log", "--since", f"{replica}:121"))
        self.expect(1, self.history("log", "--since", "ffff:1") if not replica.startswith("ffff") else self.history("log", "--since", "0000:1"))

    def test_the_last_ones(self):
        self.assertEqual(self.shown("-n", "5"), self.all[-5:])
        self.assertEqual(self.shown("-n5", "papers"), self.shown("papers")[-5:])
        self.assertEqual(self.shown("-n", "0"), [])
        self.assertEqual(self.shown("-n", "1000"), self.all)
        self.assertEqual(len(self.history("log", "-n", "5").out.splitlines()), 5)

    def test_following(self):
        process = self.history.start("log", "--follow", "-n", "2", "--json", "papers", bufsize=0)  # select sees no buffer
        with self.ended(process):
            def next():
                ready, _, _ = select.select([process.stdout], [], [], 60)
                self.assertTrue(ready, "nothing comes")
                return json.loads(process.stdout.readline())
            self.assertEqual([next(), next()], self.shown("papers")[-2:])
            for ident in ("new", "newer"):
                self.expect(0, self.history("toggle", "cities", ident))
                self.expect(0, self.history("toggle", "papers", ident))
                self.assertEqual(next()["item"], ident)
            self.expect(0, self.history("compact"))
            self.expect(0, self.history("toggle", "papers", "newest"))
            self.assertEqual(next()["item"], "newest")
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(60), -signal.SIGINT)

    def test_replay_as_of_then(self):
        replica = self.all[0]["replica"][:8]

        def commits(*words):
            return self.expect(0, self.history("status", "--json", *words)).object["commits"]
        self.assertEqual(commits(), 60)
        self.assertEqual(commits("--at", "2026-03-02"), 30)
        self.assertEqual(commits("--at", "2026-03-01"), 0)
        self.assertEqual(commits("--at", at(10)), 6)
        self.assertEqual(commits("--at", "2026-03-02T07:09:59.999Z"), 5)
        self.assertEqual(commits("--at", f"{replica}:1"), 1)
        self.assertEqual(commits("--at", f"{replica}:2"), 1)
        self.assertEqual(commits("--at", f"{replica}:3"), 2)
        self.expect(1, self.history("status", "--at", f"{replica}:121"))
        half = self.store()
        self.expect(0, half.apply(lines([{"op": "toggle", "library": event["library"], "id": event["item"], "time": event["time"]} for event in self.all[:60]])))
        self.assertEqual(half("status", "--json").object["digest"], self.history("status", "--at", "2026-03-02", "--json").object["digest"])


class TerminalTests(TestCase):
    ESCAPE = b"\x1b"

    def on_terminal(self, *words, env=None, columns=100, stdout=True):
        """Runs the program with a terminal as standard error, and as standard output too unless that is left out."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        out_read, out_write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.dup2(slave if stdout else out_write, 1)
            os.dup2(slave, 2)
            os.execve(BINARY, [BINARY, *words], env or environment(TERM="xterm-256color"))
        os.close(slave)
        os.close(out_write)
        shown, printed = b"", b""
        sources = [master, out_read]
        while sources:
            ready, _, _ = select.select(sources, [], [], 60)
            self.assertTrue(ready, "it hangs")
            for source in ready:
                try:
                    data = os.read(source, 65536)
                except OSError:  # what Linux says when the last one has left a terminal
                    data = b""
                if not data:
                    sources.remove(source)
                elif source == master:
                    shown += data
                else:
                    printed += data
        os.close(master)
        os.close(out_read)
        _, status = os.waitpid(pid, 0)
        return os.waitstatus_to_exitcode(status), shown, printed

    def test_no_escape_codes_off_a_terminal(self):
        store = self.store()
        self.expect(0, store.apply(trace(2_000)))
        for words in (["status"], ["list", "papers"], ["log"], ["replay"], ["verify"], ["show", "papers", "none"], ["help"], ["help", "log"],
                      ["apply"], ["toggle", "papers", "\x1b[31mred"], ["frobnicate"]):
            with self.subTest(words=words):
                answer = store(*words, env=environment(TERM="xterm-256color", CLICOLOR_FORCE="1"))
                self.assertNotIn(self.ESCAPE, answer.out_bytes)
                self.assertNotIn("\x1b", answer.err)
                self.assertNotIn("\r", answer.err)

    def test_colours_on_a_terminal_unless_they_are_not_wanted(self):
        store = self.store()
        self.expect(0, store("add", "papers", "x", "title=\u009b31mred\u202e"))
        code, shown, _ = self.on_terminal("--store", store.path, "list", "papers")
        self.assertEqual(code, 0)
        self.assertIn(b"\x1b[", shown)
        # What an item is called cannot steer the terminal.
        self.assertNotIn("\u009b".encode(), shown)
        self.assertNotIn("\u202e".encode(), shown)
        for changes in ({"NO_COLOR": "1", "TERM": "xterm-256color"}, {"TERM": "dumb"}):
            for words in (["list", "papers"], ["status"], ["log"], ["show", "papers", "x"], ["show", "papers", "none"], ["help"]):
                with self.subTest(changes=changes, words=words):
                    _, shown, _ = self.on_terminal("--store", store.path, *words, env=environment(**changes))
                    self.assertNotIn(self.ESCAPE, shown)
        _, shown, _ = self.on_terminal("--store", store.path, "list", "papers", "--json")
        self.assertNotIn(self.ESCAPE, shown)
        _, shown, printed = self.on_terminal("--store", store.path, "list", "papers", stdout=False)
        self.assertNotIn(self.ESCAPE, printed)

    def test_no_line_is_wider_than_the_terminal(self):
        store = self.store()
        self.expect(0, store.apply(trace(500)))
        for words in (["list", "papers"], ["log"]):
            for columns in (60, 100):
                with self.subTest(words=words, columns=columns):
                    _, shown, _ = self.on_terminal("--store", store.path, *words, columns=columns, env=environment(NO_COLOR="1", TERM="xterm"))
                    for line in shown.decode().splitlines():
                        self.assertLessEqual(len(line), columns, line)

    def test_long_work_shows_a_bar_on_a_terminal_and_takes_it_away(self):
        store = self.store()
        operations = self.folder / "operations"
        operations.write_bytes(trace(60_000))
        code, shown, printed = self.on_terminal("--store", store.path, "apply", str(operations), "--json", stdout=False)
        self.assertEqual(code, 0)
        self.assertEqual(json.loads(printed)["applied"], 60_000)
        # The machine says how often it is drawn; but what is drawn is wiped.
        drawn = shown.count("applying".encode())
        self.assertGreater(drawn, 0)
        self.assertIn("%".encode(), shown)
        self.assertTrue(shown.endswith(b"\r\x1b[K"), shown[-40:])
        for line in re.split(rb"\r|\n", shown):
            self.assertLess(len(re.sub(rb"\x1b\[[0-9;]*[A-Za-z]", b"", line).decode()), 100)
        self.assertNotIn("applying", store("apply", str(operations)).err)
        for words in (["replay"], ["verify"]):
            code, shown, _ = self.on_terminal("--store", store.path, *words)
            self.assertEqual(code, 0)
            self.assertTrue(b"%" not in shown or b"\r\x1b[K" in shown)


if __name__ == "__main__":
    unittest.main()
