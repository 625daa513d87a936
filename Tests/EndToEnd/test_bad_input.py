"""What is wrong with the input, the store or the disk is said in a sentence, with the right exit code, and loses nothing."""

import fcntl
import gzip
import os
import pathlib
import resource
import shutil
import subprocess
import threading
import unittest

import strace
from format_segments import xxh3
from heartlog import BINARY, Store, TestCase, lines, run, trace

USAGE, BAD_INPUT, NO_STORE, CANNOT_CREATE, INPUT_OUTPUT, TRY_AGAIN = 64, 65, 66, 73, 74, 75
NOBODY = 65534

GOOD = '{"op":"add","library":"papers","id":"good"}'


def tree(folder):
    """All that is in a folder."""
    return {path: path.read_bytes() if path.is_file() else None for path in pathlib.Path(folder).rglob("*")}


class ArgumentTests(TestCase):
    def test_names_and_ids_that_break_a_rule_are_refused_everywhere(self):
        store = self.store()
        before = tree(store.path)
        for library in ("", "a/b", "a\tb", "a\nb", "\x7f", "Papers", "é", "a b", "x" * 65, "../papers"):
            for words in (["add", library, "x"], ["toggle", library, "x"], ["remove", library, "x"], ["set", library, "x", "f=1"],
                          ["list", library], ["show", library, "x"], ["log", library]):
                with self.subTest(words=words):
                    self.expect(USAGE, store(*words))
        # The most that a command line takes is 128 KiB for one word.
        for ident in ("", "a\nb", "\x01", "\x7f", "\u0085", "x" * 4097, "é" * 2049, "x" * 100_000):
            for words in (["add", "papers", ident], ["toggle", "papers", ident], ["remove", "papers", ident],
                          ["set", "papers", ident, "f=1"], ["show", "papers", ident], ["log", "papers", ident]):
                with self.subTest(words=[word[:20] for word in words]):
                    answer = self.expect(USAGE, store(*words))
                    self.assertLess(len(answer.err), 500)
        for field in ("=1", ":=1", "a\nb=1", "n" * 257 + "=1", "f", "f:=", "f:=NaN", "f:=Infinity", "f:=1e999", "f:=[9007199254740993]",
                      'f:={"a":1,"a":2}', 'f:="\\ud800"', "f:=01", "f:=nul", "f:=[1,]", "f:=" + "[" * 65 + "]" * 65):
            with self.subTest(field=field[:20]):
                self.expect(USAGE, store("set", "papers", "x", field))
        for fields in ("", "1", "[]", "{", '{"a":NaN}', '{"a":1,"a":1}', '{"":1}'):
            with self.subTest(fields=fields):
                self.expect(USAGE, store("set", "papers", "x", "--fields", fields))
        self.expect(USAGE, store("set", "papers", "x", "a=1", "--fields", '{"a":1}'))
        self.assertEqual(tree(store.path), before)

    def test_the_longest_names_and_ids_are_taken(self):
        store = self.store()
        ident = "é" * 2048
        self.expect(0, store("add", "z" * 64, ident, "n" * 256 + "=v"))
        self.assertEqual(store("show", "z" * 64, ident, "--json").object["id"], ident)

    def test_invalid_utf_8_in_an_argument_is_refused(self):
        store = self.store()
        for words in ([b"add", b"papers", b"a\xff"], [b"add", b"papers", b"\xed\xa0\x80"], [b"add", b"papers", b"x", b"f=\xc3"],
                      [b"list", b"papers", b"--match", b"\x80"]):
            with self.subTest(words=words):
                self.expect(USAGE, store(*words), "UTF-8")
        self.expect(USAGE, run("--store", b"/tmp/\xff", "status"), "UTF-8")
        self.assertEqual(store.log(), [])

    def test_usage_errors(self):
        store = self.store()
        for words in (["frobnicate"], ["add"], ["add", "papers"], ["list"], ["show", "papers"], ["set", "papers", "x"],
                      ["list", "papers", "more"], ["status", "more"], ["--nonsense", "status"], ["list", "papers", "--nonsense"],
                      ["list", "papers", "--limit", "-1"], ["list", "papers", "--limit", "x"], ["list", "papers", "--limit"],
                      ["list", "papers", "--order", "sideways"], ["log", "-n", "1e3"], ["log", "-n", "99999999999999999999"],
                      ["log", "--since", "tomorrow"], ["log", "--until", "2026-02-30"], ["status", "--at", "2026-13-01"],
                      ["status", "--at", "xyz:1"], ["status", "--at", "ab:0"], ["status", "--at", ":1"],
                      ["add", "papers", "x", "--date", "soon"], ["add", "papers", "x", "--date", "ab:1"], ["init", "--name", "a\nb"],
                      ["init", "--name", "x" * 128], ["completions", "tcsh"], ["log", "--follow=1"]):
            with self.subTest(words=words):
                self.expect(USAGE, store(*words))
        self.expect(USAGE, run("--store", "", "status"))
        self.expect(USAGE, run("--store"))
        self.expect(USAGE, run("--store", "a", "--store", "b", "status"))
        self.assertEqual(store.log(), [])


class StorePlaceTests(TestCase):
    COMMANDS = (["status"], ["list", "papers"], ["show", "papers", "x"], ["log"], ["log", "--replica", "x"], ["replay"], ["verify"],
                ["compact"], ["add", "papers", "x"], ["toggle", "papers", "x"], ["remove", "papers", "x"], ["set", "papers", "x", "f=1"],
                ["apply"])

    def test_no_command_but_init_makes_a_store(self):
        empty, full, file = self.folder / "empty", self.folder / "full", self.folder / "file"
        empty.mkdir()
        full.mkdir()
        (full / "letter").write_text("dear")
        file.write_text("no store")
        before = tree(self.folder)
        for path in (empty, full, file, file / "below", self.folder / "missing", self.folder / "missing" / "below"):
            for words in self.COMMANDS:
                with self.subTest(path=path.name, words=words):
                    self.expect(NO_STORE, Store(path)(*words, input=GOOD), str(path))
        self.assertEqual(tree(self.folder), before)

    def test_a_file_called_store_makes_no_store(self):
        folder = self.folder / "folder"
        folder.mkdir()
        (folder / "store").write_text("groceries\n")
        for words in self.COMMANDS:
            with self.subTest(words=words):
                self.expect(NO_STORE, Store(folder)(*words, input=GOOD))
        self.assertEqual(sorted(path.name for path in folder.iterdir()), ["store"])

    def test_init_takes_no_place_that_is_taken(self):
        store = self.store()
        file, full = self.folder / "file", self.folder / "full"
        file.write_text("x")
        full.mkdir()
        (full / "letter").write_text("dear")
        before = tree(self.folder)
        for path in (store.path, file, full, file / "below", "/proc/store"):
            with self.subTest(path=path):
                self.expect(CANNOT_CREATE, Store(path)("init"))
        self.assertEqual(tree(self.folder), before)
        self.expect(0, Store(self.folder / "a" / "b" / "c")("init"))
        (self.folder / "empty").mkdir()
        self.expect(0, Store(self.folder / "empty")("init"))

    def test_a_store_of_a_newer_format_is_left_alone(self):
        store = self.store()
        self.expect(0, store("add", "papers", "x"))
        path = pathlib.Path(store.path) / "store"
        text = path.read_bytes()
        head = text[:text.rindex(b"checksum ")]
        checksum = lambda head: b"checksum %016x\n" % xxh3(head, 0)
        self.assertEqual(text, head + checksum(head))  # else this test would try something else
        head = head.replace(b"heartlog 1\n", b"heartlog 2\n")
        path.write_bytes(head + checksum(head))
        before = tree(store.path)
        for words in self.COMMANDS:
            with self.subTest(words=words):
                self.expect(BAD_INPUT, store(*words, input=GOOD), "version 2", "newer")
        self.assertEqual(tree(store.path), before)

    def test_what_may_not_be_read_is_said(self):
        if os.getuid() != 0:
            self.skipTest("only root can become somebody else")
        store = self.store()
        self.expect(0, store("add", "papers", "x"))
        other = Store(store.path)
        prefix = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        os.chmod(self.folder, 0o755)
        os.chmod(pathlib.Path(store.path).parent, 0o755)
        if not shutil.which("setpriv") or other("status", prefix=prefix).code != 0:
            self.skipTest("nobody cannot run the program here")
        for path in [pathlib.Path(store.path), pathlib.Path(store.path) / "store", pathlib.Path(store.path) / "replicas",
                     *store.segments()]:
            mode = path.stat().st_mode
            os.chmod(path, 0)
            for words in (["status"], ["list", "papers"], ["log"], ["verify"], ["replay"]):
                with self.subTest(path=path.name, words=words):
                    self.expect(INPUT_OUTPUT, other(*words, prefix=prefix), "Permission denied")
            os.chmod(path, mode)
        # Reading needs no permission to write; writing does.
        before = tree(store.path)
        for words in (["status"], ["list", "papers"], ["show", "papers", "x"], ["log"], ["verify"], ["replay"]):
            self.expect(0, other(*words, prefix=prefix))
        for words in (["add", "papers", "y"], ["compact"], ["apply"], ["init"]):
            with self.subTest(words=words):
                self.expect(CANNOT_CREATE, other(*words, prefix=prefix, input=GOOD))
        self.expect(CANNOT_CREATE, Store(self.folder / "new")("init", prefix=prefix))
        self.expect(CANNOT_CREATE, Store(self.folder / "new" / "below")("init", prefix=prefix))
        self.assertEqual(tree(store.path), before)
        operations = self.folder / "operations"
        operations.write_text(GOOD)
        os.chmod(operations, 0)
        self.expect(INPUT_OUTPUT, other("apply", str(operations), prefix=prefix))

    def test_input_that_is_not_there(self):
        store = self.store()
        self.expect(NO_STORE, store("apply", str(self.folder / "missing")), "missing")
        self.expect(INPUT_OUTPUT, store("apply", str(self.folder)))


class ApplyTests(TestCase):
    BAD_LINES = [
        b"nonsense", b"[]", b"1", b"null", b'"add"', b"{", b"{}", b'{"op":"add"}', b'{"op":"add","library":"papers"}',
        b'{"op":"add","id":"x"}', b'{"library":"papers","id":"x"}', b'{"op":"like","library":"papers","id":"x"}',
        b'{"op":1,"library":"papers","id":"x"}', b'{"op":"add","library":1,"id":"x"}', b'{"op":"add","library":"papers","id":1}',
        b'{"op":"add","library":"papers","id":"x"', b'{"op":"add","library":"papers","id":"x"}}',
        b'{"op":"add","library":"papers","id":"x"} {"op":"add","library":"papers","id":"y"}',
        b"{'op':'add','library':'papers','id':'x'}", b'{"op":"add","library":"papers","id":"x",}', b'\xef\xbb\xbf' + GOOD.encode(),
        # names and ids
        b'{"op":"add","library":"a/b","id":"x"}', b'{"op":"add","library":"","id":"x"}', b'{"op":"add","library":"Papers","id":"x"}',
        b'{"op":"add","library":"a\\tb","id":"x"}', b'{"op":"add","library":"' + b"x" * 65 + b'","id":"x"}',
        b'{"op":"add","library":"papers","id":""}', b'{"op":"add","library":"papers","id":"a\\nb"}',
        b'{"op":"add","library":"papers","id":"\\u0085"}', b'{"op":"add","library":"papers","id":"' + b"x" * 4097 + b'"}',
        b'{"op":"add","library":"papers","id":"' + b"x" * 1_000_000 + b'"}', b'{"op":"remove","library":"papers","id":""}',
        b'{"op":"remove","library":"papers","id":"' + b"x" * 1_000_000 + b'"}',
        # text
        b'{"op":"add","library":"papers","id":"a\xff"}', b'{"op":"add","library":"papers","id":"\xed\xa0\x80"}',
        b'{"op":"add","library":"papers","id":"x","fields":{"f":"\xc3"}}', b'{"op":"add","library":"papers","id":"\\ud800"}',
        b'{"op":"add","library":"papers","id":"x","fields":{"f":"\\udc00\\ud800"}}', b'{"op":"add","library":"papers","id":"a\nb"}',
        b'{"op":"add","library":"papers","id":"\x00"}', b"\x00",
        # fields
        b'{"op":"add","library":"papers","id":"x","fields":[]}', b'{"op":"add","library":"papers","id":"x","fields":{"":1}}',
        b'{"op":"add","library":"papers","id":"x","fields":{"f":NaN}}', b'{"op":"add","library":"papers","id":"x","fields":{"f":Infinity}}',
        b'{"op":"add","library":"papers","id":"x","fields":{"f":-Infinity}}', b'{"op":"add","library":"papers","id":"x","fields":{"f":1e999}}',
        b'{"op":"add","library":"papers","id":"x","fields":{"f":01}}', b'{"op":"add","library":"papers","id":"x","fields":{"f":+1}}',
        b'{"op":"add","library":"papers","id":"x","fields":{"f":1.}}', b'{"op":"add","library":"papers","id":"x","fields":{"f":1,"f":2}}',
        b'{"op":"add","library":"papers","id":"x","fields":{"f":1,"\\u0066":2}}', b'{"op":"add","op":"add","library":"papers","id":"x"}',
        b'{"op":"add","library":"papers","id":"x","fields":{"f":[9007199254740993]}}',
        b'{"op":"add","library":"papers","id":"x","fields":{"f":{"a":1,"a":1}}}',
        b'{"op":"add","library":"papers","id":"x","fields":{"f":' + b"[" * 65 + b"]" * 65 + b"}}", b"[" * 100_000,
        b'{"op":"add","library":"papers","id":"x","fields":{"' + b"n" * 257 + b'":1}}',
        b'{"op":"add","library":"papers","id":"x","fields":{"f":"' + b"x" * ((1 << 20) + 1) + b'"}}',
        b'{"op":"add","library":"papers","id":"x","fields":{"a\\nb":1}}',
        b'{"op":"set","library":"papers","id":"x"}', b'{"op":"remove","library":"papers","id":"x","fields":{"f":1}}',
        # times
        b'{"op":"set","library":"papers","id":"x","fields":{"f":1},"favoritedDate":"2026-03-02T07:15:00Z"}',
        b'{"op":"remove","library":"papers","id":"x","favoritedDate":"2026-03-02T07:15:00Z"}',
        b'{"op":"add","library":"papers","id":"x","favoritedDate":"2026-03-02"}', b'{"op":"add","library":"papers","id":"x","favoritedDate":5}',
        b'{"op":"add","library":"papers","id":"x","time":"1969-12-31T23:59:59.999Z"}', b'{"op":"add","library":"papers","id":"x","time":"3000-01-01T00:00:00Z"}',
        b'{"op":"add","library":"papers","id":"x","time":"2026-02-30T00:00:00Z"}', b'{"op":"add","library":"papers","id":"x","time":"now"}',
        b'{"op":"add","library":"papers","id":"x","time":1772438400}', b'{"op":"add","library":"papers","id":"x","time":"2026-03-02T24:00:00Z"}',
        b'{"op":"add","library":"papers","id":"x","time":"2026-03-02T07:15:00"}', b'{"op":"remove","library":"papers","id":"x","time":"x"}',
    ]

    def test_a_bad_line_is_named_and_what_came_before_it_stays(self):
        store = self.store()
        count = 0
        for line in self.BAD_LINES:
            with self.subTest(line=line[:80]):
                text = b'{"op":"add","library":"papers","id":"%d"}\n\n%s\n%s\n' % (count, line, GOOD.encode())
                answer = self.expect(BAD_INPUT, store("apply", "--ack", input=text), "line 3")
                count += 1
                self.assertEqual(answer.acknowledged, [1])
                self.assertLess(len(answer.err), 1_000)
                self.assertEqual(len(answer.err.splitlines()), 1)
        self.assertEqual([event["item"] for event in store.log()], [str(number) for number in range(count)])
        self.expect(0, store("verify"))

    OTHER = b'{"op":"add","library":"papers","id":"other"}'
    DEEP = b'[' * 100_000 + b']' * 100_000
    # Whole inputs: what it is, its bytes, the exit code, and the items of the events that are written.
    WHOLE = [
        ("nothing", b"", 0, []),
        ("white space", b" \t\r\n\n", 0, []),
        ("a hundred thousand blank lines", b"\n" * 100_000 + GOOD.encode(), 0, ["good"]),
        ("white space around a line", b" " * 10_000 + GOOD.encode() + b"\t" * 10_000, 0, ["good"]),
        ("UTF-16", GOOD.encode("utf-16"), 0, ["good"]),
        ("UTF-16 without a mark", GOOD.encode("utf-16-le"), 0, ["good"]),
        ("UTF-32", GOOD.encode("utf-32"), 0, ["good"]),
        ("a byte order mark", b"\xef\xbb\xbf" + GOOD.encode(), 0, ["good"]),
        ("a compressed file", gzip.compress(GOOD.encode()), BAD_INPUT, []),
        ("zeros", bytes(65_536), BAD_INPUT, []),
        ("a web page", b"<!doctype html><html></html>", BAD_INPUT, []),
        ("a table", b"op,library,id\nadd,papers,x\n", BAD_INPUT, []),
        ("a list of operations", b"[" + GOOD.encode() + b"," + OTHER + b"]", BAD_INPUT, []),
        ("an operation over several lines", GOOD.replace(",", ",\n").encode(), BAD_INPUT, []),
        ("a comment", GOOD.encode() + b"\n// no JSON\n" + OTHER, BAD_INPUT, ["good"]),
        ("a carriage return alone between lines", GOOD.encode() + b"\r" + OTHER, BAD_INPUT, []),
        ("a form feed behind a line", GOOD.encode() + b"\x0c\n" + OTHER, BAD_INPUT, []),
        ("U+2028 between lines", GOOD.encode() + "\u2028".encode() + OTHER, BAD_INPUT, []),
        ("the end in the middle of a text", GOOD.encode() + b"\n" + OTHER[:20], BAD_INPUT, ["good"]),
        ("the end in the middle of an escape", GOOD.encode() + b'\n{"op":"add","library":"papers","id":"\\u00', BAD_INPUT, ["good"]),
        ("no value for a key that is needed", b'{"op":null,"library":"papers","id":"x"}', BAD_INPUT, []),
        ("keys by escapes", b'{"\\u006fp":"\\u0061dd","library":"papers","id":"x"}', 0, ["x"]),
        ("an unknown key that is nested without end", b'{"op":"add","library":"papers","id":"x","k":' + DEEP + b"}", BAD_INPUT, []),
        ("an unknown key with a number past all doubles", b'{"op":"add","library":"papers","id":"x","k":1e999}', BAD_INPUT, []),
        ("a group by a value that is nested without end", b'{"op":"add","library":"papers","id":"x","commit":' + DEEP + b"}", BAD_INPUT, []),
        ("a group by a long text", b'{"op":"add","library":"papers","id":"x","commit":"' + b"c" * 100_000 + b'"}\n' + GOOD.encode(), 0, ["x", "good"]),
        ("bytes of a longer form than needed", b'{"op":"add","library":"papers","id":"\xc0\xaf"}', BAD_INPUT, []),
        ("bytes past the last character", b'{"op":"add","library":"papers","id":"\xf4\x90\x80\x80"}', BAD_INPUT, []),
        ("a path as an item", b'{"op":"add","library":"..","id":"../../etc"}', 0, ["../../etc"]),
        ("a value of two MiB", b'{"op":"add","library":"papers","id":"x","fields":{"f":"' + b"x" * (2 << 20) + b'"}}', BAD_INPUT, []),
        ("a date past the year 9999", b'{"op":"add","library":"papers","id":"x","favoritedDate":"10000-01-01T00:00:00Z"}', BAD_INPUT, []),
        ("an offset of a day", b'{"op":"add","library":"papers","id":"x","time":"2026-03-02T07:15:00+24:00"}', BAD_INPUT, []),
        ("a time in the second line of a commit", b'{"op":"add","library":"papers","id":"x","commit":1}\n'
         b'{"op":"add","library":"papers","id":"y","commit":1,"time":"2026-03-02T07:15:00Z"}', BAD_INPUT, []),
    ]

    def test_whole_inputs_that_nobody_should_write(self):
        for name, text, code, items in self.WHOLE:
            with self.subTest(name):
                store = self.store()
                answer = self.expect(code, store("apply", "--ack", input=text))
                self.assertLess(len(answer.err), 1_000)
                self.assertEqual([event["item"] for event in store.log()], items)
                self.assertEqual(len(answer.acknowledged), len(items))
        self.assertGreaterEqual(len(self.WHOLE) + len(self.BAD_LINES), 90)

    def test_a_bad_line_discards_the_group_that_it_ends(self):
        store = self.store()
        group = [{"op": "add", "library": "papers", "id": f"a{number}", "commit": "first"} for number in range(3)]
        group += [{"op": "add", "library": "papers", "id": f"b{number}", "commit": "second"} for number in range(3)]
        for place, bad in enumerate(("nonsense\n", '{"op":"add","library":"papers","id":"","commit":"second"}\n',
                                     '{"op":"add","library":"papers","id":"b","commit":"second","time":"2026-03-02T07:15:00Z"}\n')):
            with self.subTest(bad=bad):
                text = lines(group).replace('"a', f'"{place}a').replace('"id": "b', f'"id": "{place}b')
                text = text.replace(f'"{place}add"', '"add"')
                answer = self.expect(BAD_INPUT, store("apply", "--ack", input=text + bad), "line 7")
                self.assertEqual(answer.acknowledged, [1, 2, 3])
        self.assertEqual([event["item"] for event in store.log()], [f"{place}a{number}" for place in range(3) for number in range(3)])
        self.assertEqual([event["commit"] for event in store.log()], [1, 1, 1, 2, 2, 2, 3, 3, 3])

    def test_groups_end_where_the_rules_say(self):
        store = self.store()
        text = lines([
            {"op": "add", "library": "papers", "id": "1", "commit": 1}, {"op": "add", "library": "papers", "id": "2", "commit": 1},
            {"op": "commit"}, {"op": "add", "library": "papers", "id": "3", "commit": 1}, {"op": "add", "library": "papers", "id": "4"},
            {"op": "add", "library": "papers", "id": "5", "commit": None}, {"op": "add", "library": "papers", "id": "6", "commit": "1"},
            {"op": "commit"}, {"op": "commit"}, {"op": "add", "library": "papers", "id": "7", "commit": "last"},
            {"op": "add", "library": "papers", "id": "8", "commit": "last"}])
        answer = self.expect(0, store("apply", "--ack", "--json", input=text))
        self.assertEqual([event["commit"] for event in store.log()], [1, 1, 2, 3, 4, 5, 6, 6])
        self.assertEqual(answer.acknowledged, [1, 2, 4, 5, 6, 7, 10, 11])
        self.assertEqual({key: answer.lines[-1][key] for key in ("applied", "events", "commits")},
                         {"applied": 8, "events": 8, "commits": 6})

    def test_a_commit_beyond_the_limits_is_refused_whole(self):
        store = self.store()
        group = [{"op": "add", "library": "papers", "id": str(number), "commit": 1} for number in range(50_001)]
        self.expect(BAD_INPUT, store("apply", input=lines(group)), "line 50001")
        self.assertEqual(store.log(), [])
        self.expect(0, store("apply", input=lines(group[:50_000])))
        large = [{"op": "set", "library": "papers", "id": str(number), "commit": 2, "fields": {"f": "x" * (1 << 20)}} for number in range(17)]
        self.expect(BAD_INPUT, store("apply", input=lines(large)), "line")
        self.assertEqual(store.log("-n", "1")[0]["commit"], 1)
        self.expect(0, store("apply", input=lines(large[:15])))
        self.expect(0, store("verify"))
        self.expect(0, store("compact"))
        self.expect(0, store("replay"))

    def test_lines_may_end_as_they_like(self):
        store = self.store()
        text = b'{"op":"add","library":"papers","id":"1"}\r\n \t\r\n\n{"op":"add","library":"papers","id":"2"}'
        answer = self.expect(0, store("apply", "--ack", input=text))
        self.assertEqual(answer.acknowledged, [1, 4])
        self.expect(0, store("apply", input=b""))
        self.expect(0, store("apply", "-", input=b"\n\n"))

    def test_operations_that_change_nothing_are_acknowledged(self):
        store = self.store()
        operations = [{"op": "remove", "library": "papers", "id": "x"}, {"op": "add", "library": "papers", "id": "x"},
                      {"op": "add", "library": "papers", "id": "x", "fields": {"f": 1}}, {"op": "set", "library": "papers", "id": "x", "fields": {}},
                      {"op": "set", "library": "papers", "id": "y", "fields": {"f": None}}]
        answer = self.expect(0, store("apply", "--ack", "--json", input=lines(operations)))
        self.assertEqual(answer.acknowledged, [1, 2, 3, 4, 5])
        self.assertEqual((answer.lines[-1]["applied"], answer.lines[-1]["events"]), (5, 1))


class DiskTests(TestCase):
    def mount(self, size):
        """A file system of that size, and a way to change it."""
        place = self.folder / "disk"
        place.mkdir()
        if os.getuid() != 0 or not shutil.which("mount"):
            self.skipTest("only root can mount a small disk")
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", place], stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("nothing can be mounted here")
        self.addCleanup(subprocess.run, ["umount", place], check=True)
        return place, lambda options: subprocess.run(["mount", "-o", f"remount,{options}", place], check=True)

    def test_a_full_disk_loses_nothing_that_was_acknowledged(self):
        place, remount = self.mount("256k")
        store = Store(place / "store")
        self.expect(0, store("init"))
        acknowledged, whole = [], False
        for round in range(100):
            operations = [{"op": "add", "library": "papers", "id": f"{round}-{line}", "fields": {"title": "word " * 20}} for line in range(1, 201)]
            answer = store.apply(operations, "--ack")
            acknowledged += [f"{round}-{line}" for line in answer.acknowledged]
            if answer.code != 0:
                break
        self.expect(INPUT_OUTPUT, answer, "No space left", "room")
        self.assertGreater(len(acknowledged), 200)
        for words in (["add", "books", "x" * 4000, "title=" + "y" * 60_000], ["apply"]):
            self.expect(INPUT_OUTPUT, store(*words, input=lines(operations * 5).replace(f'"{round}-', '"again-')), "No space left")
        log = store.log()
        self.assertEqual([event["item"] for event in log][:len(acknowledged)], acknowledged)
        self.expect(0, store("verify"))
        self.expect(0, store("status"))
        self.expect(0, store("list", "papers"))
        remount("size=4m")
        answer = self.expect(0, store.apply(operations, "--ack"))
        self.assertEqual(len(answer.acknowledged), 200)
        after = store.log()
        self.assertEqual(after[:len(log)], log)
        self.assertEqual([event["sequence"] for event in after], list(range(1, len(after) + 1)))
        self.expect(0, store("verify"))
        self.expect(0, store("compact"))
        self.assertEqual(store.log(), after)

    def test_a_full_disk_has_no_room_for_a_store(self):
        place, remount = self.mount("64k")
        (place / "ballast").write_bytes(bytes(60 << 10))
        answer = Store(place / "store")("init")
        if answer.code == 0:  # the store itself may fit, its first segment does not
            answer = Store(place / "store")("add", "papers", "x")
        self.expect(INPUT_OUTPUT, answer, "No space left")
        remount("size=4m")
        store = Store(place / "store")
        if store("status").code == NO_STORE:
            self.expect(0, store("init"))
        self.expect(0, store("add", "papers", "x"))
        self.expect(0, store("verify"))

    def test_a_limit_on_the_size_of_files_is_an_error_like_a_full_disk(self):
        def limited(store, *words, bytes=1_000, **options):
            return store(*words, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (bytes, bytes)), **options)

        store = self.store()
        self.expect(0, store("add", "papers", "x", "title=" + "t" * 60_000))
        before = store.log()
        for words in (["set", "papers", "x", "title=" + "u" * 60_000], ["compact"]):
            with self.subTest(words[0]):
                self.expect(INPUT_OUTPUT, limited(store, *words), "File too large", "ulimit")
                self.assertEqual(store.log(), before)
                self.expect(0, store("verify"))
        self.expect(INPUT_OUTPUT, limited(Store(self.folder / "new"), "init"), "File too large")
        with open(self.folder / "listed", "wb") as file:
            answer = subprocess.run([BINARY, "--store", store.path, "list", "papers", "--json"], stdout=file, stderr=subprocess.PIPE,
                                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, 1_000)))
        self.assertEqual(answer.returncode, INPUT_OUTPUT)
        self.assertIn(b"cannot write standard output: File too large", answer.stderr)
        self.expect(0, store("set", "papers", "x", "title=" + "u" * 60_000))

    def test_a_read_only_disk_is_read(self):
        place, remount = self.mount("1m")
        store = Store(place / "store")
        self.expect(0, store("init"))
        self.expect(0, store("add", "papers", "x"))
        remount("ro")
        for words in (["status"], ["list", "papers"], ["show", "papers", "x"], ["log"], ["verify"], ["replay"]):
            self.expect(0, store(*words))
        for words in (["add", "papers", "y"], ["toggle", "papers", "y"], ["remove", "papers", "x"], ["set", "papers", "x", "f=1"], ["compact"], ["apply"]):
            with self.subTest(words=words):
                self.expect(CANNOT_CREATE, store(*words, input=GOOD), "Read-only")
        self.expect(CANNOT_CREATE, Store(place / "new")("init"))
        remount("rw")
        self.expect(0, store("add", "papers", "y"))

    @strace.needed
    def test_a_failed_fdatasync_leaves_the_outcome_open_and_the_store_sound(self):
        for when in (1, 2, 3):
            with self.subTest(when=when):
                store = self.store()
                self.expect(0, store("add", "papers", "before"))
                process = subprocess.Popen([*strace.inject(f"fdatasync:error=EIO:when={when}"), BINARY, "--store", store.path, "apply", "--ack"],
                                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                acknowledged = 0
                with self.ended(process):
                    for line in range(1, 10):
                        try:
                            process.stdin.write(b'{"op":"add","library":"papers","id":"%d"}\n' % line)
                            process.stdin.flush()
                        except BrokenPipeError:
                            break
                        if not process.stdout.readline():
                            break
                        acknowledged = line
                    code, errors = process.wait(), process.stderr.read().decode()
                self.assertEqual(code, INPUT_OUTPUT, errors)
                self.assertIn("Input/output error", errors)
                self.assertIn("whether the last commits are there", errors)
                self.assertLess(acknowledged, 9)
                self.assertEqual([path.suffix for path in store.segments()], [".suspect"])
                # Reading shows it, the next write copies it to a file that can be trusted.
                items = [event["item"] for event in store.log()]
                self.assertEqual(items[:acknowledged + 1], ["before"] + [str(line) for line in range(1, acknowledged + 1)])
                self.assertLessEqual(len(items), acknowledged + 2)
                self.expect(0, store("verify"))
                self.expect(0, store("add", "papers", "after"))
                self.assertEqual([path.suffix for path in store.segments()], [".open"])
                self.assertEqual([event["item"] for event in store.log()], items + ["after"])
                self.assertEqual([event["sequence"] for event in store.log()], list(range(1, len(items) + 2)))
                self.expect(0, store("verify"))
        # A command of one write names what shows whether it is there.
        failing = strace.inject("fdatasync:error=EIO:when=1+")
        self.expect(INPUT_OUTPUT, store("add", "papers", "x", prefix=failing), "Input/output error", "heartlog log")


class LockTests(TestCase):
    def test_a_store_that_another_process_holds_is_tried_again_later(self):
        store = self.store()
        self.expect(0, store("add", "papers", "x"))
        before = tree(store.path)
        with open(pathlib.Path(store.path) / "lock", "rb+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            # Readers never wait.
            for words in (["status"], ["list", "papers"], ["show", "papers", "x"], ["log"], ["verify"], ["replay"]):
                self.expect(0, store(*words))
            answers = {}
            writers = [threading.Thread(target=lambda words=words: answers.update({words: store(*words, input=GOOD)}))
                       for words in (("add", "papers", "y"), ("remove", "papers", "x"), ("compact",), ("apply", "--ack"))]
            for writer in writers:
                writer.start()
            for writer in writers:
                writer.join()
            for words, answer in answers.items():
                with self.subTest(words=words):
                    self.expect(TRY_AGAIN, answer, f"process {os.getpid()} (", "Try again")
                    self.assertEqual(answer.out, "")
            self.assertEqual(len(answers), 4)
        after = tree(store.path)
        for path in before:
            if path.name != "lock":
                self.assertEqual(after[path], before[path])
        self.expect(0, store("add", "papers", "y"))


class OutputTests(TestCase):
    def test_output_that_nobody_takes(self):
        store = self.store()
        self.expect(0, store.apply(trace(5_000)))
        with open("/dev/full", "wb") as full:
            answer = subprocess.run([BINARY, "--store", store.path, "log"], stdout=full, stderr=subprocess.PIPE)
            self.assertEqual(answer.returncode, INPUT_OUTPUT)
            self.assertIn(b"No space left", answer.stderr)
        # A reader that leaves early ends the command quietly.
        with self.ended(store.start("log")) as process:
            process.stdout.readline()
            process.stdout.close()
            self.assertEqual(process.wait(), 0)
            self.assertEqual(process.stderr.read(), b"")
        with self.ended(store.start("log", "--follow")) as process:
            process.stdout.readline()
            process.stdout.close()
            self.expect(0, store("toggle", "papers", "new"))
            self.assertEqual(process.wait(), 0)

    def into_nothing(self, store, *words):
        """Runs a command whose output nothing takes; what it says."""
        with open("/dev/full", "wb") as full:
            answer = subprocess.run([BINARY, "--store", store.path, *words], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(answer.returncode, INPUT_OUTPUT, answer.stderr)
        self.assertIn("No space left", answer.stderr)
        return answer.stderr

    def test_what_was_written_is_named_where_the_output_fails(self):
        store = self.store()
        replica = store("status", "--json").object["replica"][:8]
        operations, items = self.folder / "operations", self.folder / "items.jsonl"
        operations.write_text(lines([{"op": "toggle", "library": "papers", "id": str(number), "commit": number // 2} for number in range(6)]))
        items.write_text(lines([{"id": str(number)} for number in range(5)]))
        for words, said in (
                (["add", "cities", "1"], "cities 1 is a favorite now ({}:1)"),
                (["toggle", "cities", "1"], "cities 1 is not a favorite now ({}:2)"),
                (["toggle", "cities", "1", "--json"], "cities 1 is a favorite now ({}:3)"),
                (["remove", "cities", "1"], "cities 1 is not a favorite now ({}:4)"),
                (["set", "cities", "1", "f=1"], "cities 1 has new fields ({}:5)"),
                (["apply", str(operations)], "the operations up to line 6, 6 events in 3 commits up to {}:11"),
                # It ends with the acknowledgement that nobody took, before the end of the last commit.
                (["apply", str(operations), "--ack"], "the operations up to line 4, 4 events in 2 commits up to {}:15"),
                (["import", "notes", str(items)], "5 events of notes in 1 commit up to {}:20")):
            with self.subTest(words[0]):
                self.assertIn(f"Written: {said.format(replica)}.", self.into_nothing(store, *words))
        self.assertEqual([event["sequence"] for event in store.log()], list(range(1, 21)))
        # Where nothing was written nothing is said to be.
        for words in (["list", "cities", "--all"], ["status"], ["apply", "/dev/null"]):
            self.assertNotIn("Written:", self.into_nothing(store, *words))
        self.assertNotIn("Written:", self.expect(1, store("remove", "cities", "1")).err)

    def test_what_devices_exchanged_is_named_where_the_output_fails(self):
        here, there = self.store("here"), self.store("there")
        self.expect(0, here("add", "cities", "1", "name=A"))
        self.assertIn("Written: 1 event in 1 commit received, nothing sent.", self.into_nothing(there, "sync", here.path, "--pull"))
        self.expect(0, here("set", "cities", "1", "name=B"))
        self.expect(0, there("set", "cities", "1", "name=C"))
        self.assertIn("Written: 1 event in 1 commit received, 1 event in 1 commit sent.", self.into_nothing(here, "sync", there.path))
        self.assertNotIn("Written:", self.into_nothing(here, "sync", there.path))
        (conflict,) = here("conflicts", "--json").lines
        side = conflict["writes"][1]
        said = self.into_nothing(here, "conflicts", "--choose", f"{side['replica'][:8]}:{side['sequence']}")
        own, other = (store("status", "--json").object["replica"] for store in (here, there))
        self.assertIn(f"Written: cities 1 has new fields ({own[:8]}:3).", said)
        self.assertEqual(here("conflicts", "--json").lines, [])
        self.assertIn(f"Written: settings replica-{other} has new fields ({own[:8]}:4).", self.into_nothing(here, "devices", "retire", other))
        new = Store(self.folder / "new")
        self.assertIn(f"Written: the new store {new.path}.", self.into_nothing(new, "init"))
        self.expect(0, new("status"))

    def test_what_was_written_before_a_disk_was_full_is_named(self):
        store = self.store()
        operations = self.folder / "operations"
        operations.write_text(lines([{"op": "add", "library": "papers", "id": "1"}, {"op": "add", "library": "papers"}]))
        replica = store("status", "--json").object["replica"][:8]
        self.expect(BAD_INPUT, store("apply", str(operations)), "line 2", f"Written: the operations up to line 1, 1 event in 1 commit up to {replica}:1.")

    def test_closed_descriptors_never_become_files_of_the_store(self):
        store = self.store()
        self.expect(0, store("add", "papers", "x", "title=" + "t" * 300))
        lock = (pathlib.Path(store.path) / "lock").read_bytes()
        for words in (["log"], ["list", "papers"], ["status"], ["verify"]):
            with self.subTest(words=words):
                answer = run("--store", store.path, *words, stdin=subprocess.DEVNULL, preexec_fn=lambda: (os.close(0), os.close(1)))
                self.expect(INPUT_OUTPUT, answer)
                self.assertEqual((pathlib.Path(store.path) / "lock").read_bytes(), lock)
        for number in range(3):
            run("--store", store.path, "toggle", "papers", f"{number}", stdin=subprocess.DEVNULL,
                preexec_fn=lambda number=number: [os.close(descriptor) for descriptor in range(number, 3)])
        self.expect(0, store("verify"))
        self.assertEqual([event["item"] for event in store.log()], ["x", "0", "1", "2"])
        answer = run("--store", store.path, "apply", stdin=subprocess.DEVNULL, preexec_fn=lambda: os.close(0))
        self.expect(INPUT_OUTPUT, answer)


if __name__ == "__main__":
    unittest.main()
