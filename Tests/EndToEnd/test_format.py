"""docs/format.md is enough to read a store: an independent reader that knows nothing else agrees with the store."""

import json
import pathlib
import random
import sys
import unittest
import uuid
from datetime import datetime, timezone

import format_vectors
from format_blocks import COLUMN_BYTES_MAX, Block, Secret, read_block
from format_columns import read_doubles, read_ints, read_strings
from format_decoder import (
    CHANGED, EVENTS_MAX, LATER, ROW_BYTES_MAX, WITHHELD, Bytes, Commit, Event, read_row)
from format_encoder import (
    encoded_block, encoded_columns, encoded_doubles, encoded_ints, encoded_row, encoded_strings)
from format_hashes import Tree, event_hash, leaf_hash, run_salt, run_secret, salt, sha256
from format_reader import Store
from format_writer import open_segment, sealed_segment
from heartlog import FORTNIGHT, PACKAGE, TestCase, run, trace, unescaped


class VectorTests(unittest.TestCase):
    def test_the_worked_examples_of_the_page_are_what_they_say(self):
        failures, unknown = format_vectors.check((PACKAGE / "docs/format.md").read_text(encoding="utf-8"))
        self.assertEqual(failures, [])
        for name in unknown:
            print(f"no check for the example {name}", file=sys.stderr)


def generated_ints(chance):
    bits = chance.choice((0, 1, 3, 8, 20, 50, 63))
    low = chance.choice((0, -5, -(1 << 63), (1 << 63) - 1 - (1 << bits)))
    shape = chance.choice(("even", "falling", "rare"))
    values = []
    for _ in range(chance.choice((1, 2, 3, 10, 100))):
        width = {"even": bits, "falling": chance.randint(0, bits), "rare": chance.choice((0, 0, 0, 0, bits))}[shape]
        values.append(max(-(1 << 63), min((1 << 63) - 1, low + chance.getrandbits(width) if width else low)))
    return values


def generated_text(chance):
    return chance.choice((
        "", "2403.01234v2", "10/12:30", "hound", "Zürich", "😀", "2024-02-29T12:00:00Z", "2023-02-29T12:00:00Z",
        "0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z", "2024-02-29T12:00:00.250Z", "2024-01-01T24:00:00Z",
        str(uuid.UUID(int=chance.getrandbits(128))), str(uuid.UUID(int=chance.getrandbits(128))).upper()))


class EncodingTests(unittest.TestCase):
    """What no command writes yet is at least read as it was written, by this side of the page."""

    def check_column(self, values, read, encode):
        data = encode(values)
        source = Bytes(data)
        self.assertEqual(list(read(source, len(values))), values, data.hex(" "))
        source.end()

    def test_columns_are_read_as_they_were_written(self):
        for seed in range(1500):
            chance = random.Random(seed)
            with self.subTest(seed=seed):
                self.check_column(generated_ints(chance), read_ints, encoded_ints)
                few = [generated_text(chance) for _ in range(chance.choice((1, 2, 3)))]
                count = chance.choice((1, 3, 8, 40))
                self.check_column([chance.choice(few) for _ in range(count)], read_strings, encoded_strings)
                digits = chance.choice((1, 3, 17, 30))
                doubles = [chance.randint(-10**6, 10**6) / 10**digits for _ in range(count)]
                self.check_column([d for d in doubles if d != int(d)] or [0.5], read_doubles, encoded_doubles)

    def test_all_parts_of_a_commit_are_read_as_they_were_written(self):
        commits, _ = foreign_commits()
        for commit in commits:
            self.assertEqual(read_row(encoded_row(commit), commit.replica, commit.number), commit)
        block = Block(commits, [(b"\1" * 16, 3)], [Secret(1, bytes(32))], {})
        again = read_block(encoded_block(block), commits[0].replica, 1, len(commits))
        self.assertEqual((again.commits, again.heads, again.secrets), (block.commits, block.heads, block.secrets))


FOREIGN_SECRET = bytes(range(100, 132))


def drop_withheld(commits):
    """What is withheld has no place beside a whole secret, as an open segment has it."""
    sequence = 1
    for commit in commits:
        commit.events = [event for event in commit.events if event.action != WITHHELD]
        commit.sequence = sequence
        sequence += len(commit.events)


def foreign_commits(replica=bytes(range(16))):
    """A stream with all that the format has; with the salts that are left after one event was withheld."""
    other, third = bytes(range(1, 17)), bytes(range(2, 18))
    start = 1_750_000_000_000
    hidden = Event(16, "papers", "secret", None, [("title", 5, "nobody shall read this")])
    member = [(3, b""), (1 << 40, b"later")]
    events = [
        [Event(0, "papers", "1", None), Event(8, "papers", "2", -1), Event(26, "papers", "3", 7, [("a", 3, 1)])],
        [Event(WITHHELD), Event(1, "papers", "1", None), Event(20, "x.y-z_0", "é" * 2048, None, [("b", 128 + 1, False)])],
        [Event(LATER, later=(8, b"")), Event(LATER, later=(1 << 63, b"\0\1")), Event(3, "papers", "2")],
        [Event(CHANGED | 32, "cities", "1", members=member), Event(CHANGED | 48, "cities", "1", None, [
            ("é", 63 + 128, b"\xff"), ("ü", 6, '{"a":[1e+300,0.5,-3,null,true,"\\u0001"]}'), ("\u0301", 7, b"")], member)],
        [Event(20, "n", str(place), None, [("d", 4, place + 0.25), ("s", 5, "cs.LG")]) for place in range(40)],
    ]
    heads = [[(other, 7)], [], [(other, 9), (third, 1)], [], [(third, (1 << 53) - 1)]]
    commits, sequence, stamp = [], 1, (start << 16) + 0xFFFE
    for place, (part, changed) in enumerate(zip(events, heads)):
        wall = start + (0, -86_400_000, 0, 5, 0)[place]
        origin = ("cli", "", "import:bibtex", "cli", "ü")[place]
        commits.append(Commit(
            replica, place + 1, stamp, wall, sequence, origin, changed, member if place == 2 else [], part))
        sequence += len(part)
        stamp += (1, 3, 1 << 16, 12_345)[place % 4]
    run = run_secret(FOREIGN_SECRET, 0)
    salts = {
        (commit.number, place): run_salt(run, commit.number, place)
        for commit in commits for place in range(len(commit.events))}
    whole = [Secret(1, FOREIGN_SECRET)]
    commits[1].events[0].hash = event_hash(hidden, lambda: salt(whole, 2, 0))
    del salts[2, 0]
    return commits, Secret(1, b"", {0: salts})


class StoreTests(TestCase):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "store"

    def run_heartlog(self, *arguments, given=None, may_fail=False):
        answer = run("--store", str(self.path), *arguments, input=given)
        if not may_fail:
            self.expect(0, answer)
        return answer.out

    def json_lines(self, *arguments):
        return [json.loads(line) for line in self.run_heartlog(*arguments, "--json").split("\n")[:-1]]

    def make(self, operations, *arguments, name="Anna's phone 📱"):
        self.run_heartlog("init", "--name", name)
        self.run_heartlog("apply", *arguments, "-", given=operations)

    def check(self):
        """Reads the store independently, and compares all that can be compared; answers with what it read."""
        store = Store(self.path)
        self.assertEqual(store.problems, [])
        status, verified = self.json_lines("status")[0], self.json_lines("verify")
        summary = store.summary
        self.assertEqual(summary["digest"], status["digest"])
        self.assertEqual((summary["replica"], summary["name"]), (status["replica"], status["name"]))
        mine = {s["replica"]: (s["name"], s["commits"], s["events"], s["root"]) for s in summary["streams"]}
        theirs = {s["replica"]: (s["name"], s["commits"], s["events"], s["root"]) for s in verified if "root" in s}
        self.assertEqual(mine, theirs)
        # What cannot be seen is escaped in what is printed.
        printed = unescaped(self.run_heartlog("log", "--json"))
        self.assertEqual(list(store.event_lines()), printed.split("\n")[:-1])
        self.check_canonical(store)
        return store

    def check_canonical(self, store):
        for stream in store.streams:
            for segment in stream.segments:
                for commit, row in segment.rows:
                    self.assertEqual(encoded_row(commit), row, f"the row of commit {commit.number}")
                for block in segment.blocks:
                    columns = encoded_columns(block.commits)
                    self.assertEqual(list(columns), list(block.columns))
                    for key, content in columns.items():
                        self.assertEqual(content.hex(), block.columns[key].hex(), f"column {key}")
                    self.assertEqual(encoded_block(block, columns), encoded_block(block, block.columns))
                for block, after in zip(segment.blocks, segment.blocks[1:]):
                    self.check_full(block, after.commits[0])

    def check_full(self, block, next_commit):
        commits = [*block.commits, next_commit]
        columns = sum(map(len, encoded_columns(commits).values()))
        self.assertTrue(
            sum(len(commit.events) for commit in commits) > EVENTS_MAX
            or sum(len(encoded_row(commit)) for commit in commits) > ROW_BYTES_MAX
            or columns > COLUMN_BYTES_MAX, "a block could have taken one commit more")

    def check_before_and_after_sealing(self):
        before = self.check().summary
        self.run_heartlog("compact")
        after = self.check()
        kinds = [segment.is_sealed for stream in after.streams for segment in stream.segments]
        self.assertTrue(kinds and all(kinds))
        after = after.summary
        for stream in before["streams"] + after["streams"]:
            del stream["segments"]
        self.assertEqual(before, after)

    def test_an_empty_store(self):
        self.run_heartlog("init", "--name", "")
        self.assertEqual(self.check().summary["streams"], [])

    def test_the_machine_in_the_file_store_is_the_hash_of_its_id_without_the_line_feed(self):
        ident = pathlib.Path("/etc/machine-id")
        if not ident.is_file():
            self.skipTest("this machine has no id in a file")
        self.run_heartlog("init")
        (line,) = [line for line in (self.path / "store").read_text().splitlines() if line.startswith("machine ")]
        self.assertEqual(line, "machine " + sha256(ident.read_bytes().strip()).hex())

    def test_the_fortnight_on_the_phone(self):
        self.make((FORTNIGHT / "phone.jsonl").read_text(encoding="utf-8"))
        self.check_before_and_after_sealing()

    def test_the_fortnight_on_the_tablet(self):
        self.make((FORTNIGHT / "tablet.jsonl").read_text(encoding="utf-8"))
        self.check_before_and_after_sealing()

    def test_a_long_mixed_life_that_goes_on_after_sealing(self):
        lines = trace(20_000).decode().splitlines(True)
        self.make("".join(lines[:9_000]))
        self.check_before_and_after_sealing()
        self.run_heartlog("apply", given="".join(lines[9_000:]))
        self.check_before_and_after_sealing()

    def test_a_long_life_with_papers(self):
        self.make(trace(20_000, libraries="papers").decode())
        self.check_before_and_after_sealing()

    def test_a_log_that_was_sealed_while_it_grew(self):
        for seed in (1, 2):
            lines = trace(20_000, seed).decode()
            if not self.path.exists():
                self.run_heartlog("init")
            self.run_heartlog("apply", given=lines.replace('"id":"', f'"id":"{seed}/'))
        kinds = [segment.is_sealed for segment in self.check().streams[0].segments]
        self.assertIn(True, kinds)
        self.assertIn(False, kinds)

    def test_blocks_are_filled_to_the_limit(self):
        lines = [
            json.dumps({"op": "set", "library": "n", "id": str(place % 7), "fields": {"v": place}, "commit": place // 30,
                        "time": "2024-01-01T00:00:00Z"}) for place in range(52_000)]
        self.make("\n".join(lines))
        self.run_heartlog("compact")
        self.check()

    def test_odd_values(self):
        self.make("\n".join(json.dumps(line, ensure_ascii=False) for line in odd_operations()))
        self.check_before_and_after_sealing()

    def test_values_drawn_at_random(self):
        for seed in range(12):
            with self.subTest(seed=seed):
                self.path = self.folder / str(seed)
                self.make("\n".join(random_operations(random.Random(seed))))
                self.check_before_and_after_sealing()

    def write_stream(self, commits, name, data):
        folder = self.path / "replicas" / commits[0].replica.hex()
        folder.mkdir(parents=True)
        (folder / f"{commits[0].number:016}.{name}").write_bytes(data)

    def test_a_received_stream_with_all_that_the_format_has(self):
        commits, secret = foreign_commits()
        tree = Tree()
        for commit in commits:
            tree.append(leaf_hash(commit, [secret]))
        self.make((FORTNIGHT / "phone.jsonl").read_text(encoding="utf-8"))
        heads, blocks = {}, []
        for part in (commits[:2], commits[2:]):
            served = {place: salt for place, salt in secret.runs[0].items() if place[0] in [c.number for c in part]}
            blocks.append(Block(part, sorted(heads.items()), [Secret(1, b"", {0: served})], {}))
            for commit in part:
                heads |= dict(commit.heads)
        self.write_stream(commits, "sealed", sealed_segment(b"segment identity", blocks, [], name="the other"))
        store = Store(self.path)
        self.assertEqual(store.problems, [])
        stream = next(stream for stream in store.streams if stream.replica == commits[0].replica.hex())
        self.assertEqual((stream.root, stream.name), (tree.root.hex(), "the other"))
        verified = {line["replica"]: line["root"] for line in self.json_lines("verify")}
        self.assertEqual(verified[stream.replica], stream.root)
        self.assertEqual(store.summary["digest"], self.json_lines("status")[0]["digest"])
        # What cannot be seen is escaped in what is printed.
        printed = unescaped(self.run_heartlog("log", "--json"))
        self.assertEqual(list(store.event_lines()), printed.split("\n")[:-1])

    def test_a_received_tail_with_frames_of_later_versions(self):
        commits, _ = foreign_commits()
        drop_withheld(commits)
        self.make((FORTNIGHT / "tablet.jsonl").read_text(encoding="utf-8"))
        later = [(2, 3, b"checkpoint"), (2, 77, b""), (4, 5, b"x" * 100)]
        data = open_segment(b"another identity", commits, FOREIGN_SECRET, later, name="the other")
        self.write_stream(commits, "open", data + bytes(1000))
        store = Store(self.path)
        self.assertEqual(store.problems, [])
        verified = {line["replica"]: line["root"] for line in self.json_lines("verify")}
        self.assertEqual({stream.replica: stream.root for stream in store.streams}, verified)
        self.assertEqual(store.summary["digest"], self.json_lines("status")[0]["digest"])
        # What cannot be seen is escaped in what is printed.
        printed = unescaped(self.run_heartlog("log", "--json"))
        self.assertEqual(list(store.event_lines()), printed.split("\n")[:-1])

    def test_an_own_tail_with_all_that_the_format_has_is_sealed(self):
        self.run_heartlog("init", "--name", "")
        commits, _ = foreign_commits(bytes.fromhex(Store(self.path).replica))
        drop_withheld(commits)
        # What the own stream had seen must be here.
        for commit in commits:
            commit.heads = []
        self.write_stream(commits, "open", open_segment(b"another identity", commits, FOREIGN_SECRET))
        self.check_before_and_after_sealing()


def odd_operations():
    nested = "x"
    for _ in range(63):
        nested = [nested]
    values = {
        "null": None, "true": True, "false": False, "zero": -0.0, "whole": 3.0, "int least": -(1 << 63),
        "int most": (1 << 63) - 1, "past int": 9223372036854776000, "tiny": 5e-324, "huge": 1.7976931348623157e308, "tenth": 0.1,
        "third": 1 / 3, "minus": -2.5e-7, "empty": "", "control": "\x00\x1f\x7f\u0085", "lines": "\u2028\u2029\n\t\"\\/",
        "emoji": "👩‍👩‍👧‍👦", "combining": "e\u0301", "late": "\ufb33", "object": {}, "array": [], "deep": {"a": nested},
        "keys": {"\u20ac": 1, "\U0001f600": 2, "\ufb33": 3, "1": 4, "\r": 5, "ö": 6, "\x80": 7},
        "numbers": [1e21, 1e-7, 1e-6, 123456789012345680000, 333333333.3333333, 4.50, 2e-3, 1e23, -0.0, 9007199254740992],
        "@note": "nöte", "date": "2024-02-30T00:00:00Z", "leap": "2000-02-29T23:59:59Z", "second": "2016-12-31T23:59:60Z",
        "milliseconds": "0000-12-31T00:00:00.001Z", "uuid": "00112233-4455-6677-8899-aAbbccddeeff", "long": "lorem " * 5000,
    }
    for place, (name, value) in enumerate(values.items()):
        yield {"op": "set", "library": "odd", "id": "all", "fields": {name: value}}
        yield {"op": "set", "library": "odd", "id": f"{place}", "fields": {"v": value if value is not None else 1}}
    yield {"op": "add", "library": "odd", "id": "all", "fields": {name: None for name in list(values)[1:9]}}
    for place, moment in enumerate(("0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z")):
        yield {"op": "add", "library": "a-b_c.0", "id": f"ïd {place}/" + "ü" * 2000, "favoritedDate": moment}
    yield {"op": "toggle", "library": "9" * 64, "id": "x", "time": "1970-01-01T00:00:00Z"}
    yield {"op": "toggle", "library": "9" * 64, "id": "x", "time": "2199-12-31T23:59:59.999Z"}
    for _ in range(3):
        yield {"op": "toggle", "library": "late", "id": "x", "time": "2024-01-01T00:00:00Z"}
    yield {"op": "add", "library": "n" * 7, "id": "f" * 4096, "fields": {"é" * 128: 1, "e" * 256: 0.5}}


def random_value(chance, depth=0):
    kind = chance.randrange(9 if depth < 3 else 7)
    if kind == 0:
        return None
    if kind == 1:
        return chance.random() < 0.5
    if kind == 2:
        bits = chance.randint(1, 53 if depth else 63)
        return chance.randint(-(1 << bits) + 1, (1 << bits) - 1)
    if kind == 3:
        return round(chance.uniform(-100, 100), chance.randint(1, 6))
    if kind == 4:
        return chance.uniform(-1, 1) * 10.0 ** chance.randint(-320, 10)
    if kind < 7:
        return "".join(chance.choice("aé€😀\u0007 \"\\0v.-/:") for _ in range(chance.randrange(12))) \
            if chance.random() < 0.6 else generated_text(chance)
    if kind == 7:
        return [random_value(chance, depth + 1) for _ in range(chance.randrange(4))]
    return {generated_text(chance): random_value(chance, depth + 1) for _ in range(chance.randrange(4))}


def random_operations(chance):
    time, group = 1_600_000_000_000, 0
    kinds = {f"f{place}": chance.randrange(4) for place in range(6)}
    for _ in range(chance.choice((5, 300, 900))):
        if chance.random() < 0.7:
            group += 1
            time = max(0, time + chance.choice((0, 0, 1, 1000, 60_000, 86_400_000, -5_000)))
        fields = {}
        for name, kind in kinds.items():
            if chance.random() < 0.4:
                fields[name] = (
                    random_value(chance) if kind == 0 else round(chance.random(), 2) if kind == 1
                    else chance.choice(("cs.LG", "cs.DB")) if kind == 2 else generated_text(chance))
        library = chance.choice("abc")
        ident = str(chance.randrange(40)) if chance.random() < 0.8 else "ü%d" % chance.randrange(9)
        operation = {"op": chance.choice(("add", "remove", "toggle", "set", "set")), "library": library, "id": ident,
                     "commit": group, "time": "%s.%03dZ" % (seconds_text(time // 1000), time % 1000)}
        if operation["op"] != "remove" and fields:
            operation["fields"] = fields
        if operation["op"] == "set" and not fields:
            operation["fields"] = {"v": time}
        if operation["op"] == "add" and chance.random() < 0.3:
            operation["favoritedDate"] = seconds_text(chance.randrange(0, 2_000_000_000)) + "Z"
        yield json.dumps(operation, ensure_ascii=False)


def seconds_text(seconds):
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")


if __name__ == "__main__":
    unittest.main()
