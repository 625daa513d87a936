"""What the store refuses, an independent reader of docs/format.md refuses, and nothing else.

Streams with one changed byte and good checksums, with cut tails and with gaps in their chain lie in one store; what
`verify` finds in each is compared with what the reader finds. $SEED tries others.
"""

import os
import random
import struct
import unittest

import format_writer as writer
from format_blocks import Block, Secret
from format_editor import patched_header
from format_encoder import encoded_block, encoded_columns, encoded_row
from format_hashes import Tree, leaf_hash
from format_reader import Store
from format_segments import xxh3
from heartlog import TestCase, run
from test_format import FOREIGN_SECRET, drop_withheld, foreign_commits

STREAMS = 250  # of each kind
IDENTITY = b"segment identity"


def changed(chance, data):
    data = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2))):
        at = chance.randrange(len(data))
        way = chance.randrange(5)
        if way == 0:
            data[at] ^= 1 << chance.randrange(8)
        elif way == 1:
            data[at] = chance.choice((0, 1, 2, 3, 4, 5, 6, 7, 127, 128, 255))
        elif way == 2:
            data[at] = (data[at] + chance.choice((-2, -1, 1, 2))) % 256
        elif way == 3 and len(data) > 1:
            del data[at]
        else:
            data.insert(at, chance.choice((0, 1, 128, 255)))
    return bytes(data)


def served(secret, commits):
    numbers = {commit.number for commit in commits}
    return Secret(1, b"", {0: {place: salt for place, salt in secret.runs[0].items() if place[0] in numbers}})


def tail(commits, last_body, flags=0, is_followed=True):
    """An open segment, its last commit's body as given, and a whole frame after it that says so far all was durable."""
    data = writer.header(IDENTITY, commits[0].replica, 1, 1, secret=FOREIGN_SECRET)
    for commit in commits:
        body = last_body if commit is commits[-1] else encoded_row(commit)
        data += writer.frame(
            IDENTITY, len(data), 1, body, commit.number, 1, 4096, flags if commit is commits[-1] else 0)
    if is_followed:
        data += writer.frame(IDENTITY, len(data), 77, b"", len(commits) + 1, 0, len(data))
    return {"0000000000000001.open": data}


def changed_row(chance, replica):
    commits, _ = foreign_commits(replica)
    drop_withheld(commits)
    commits = commits[:chance.randint(1, 5)]
    return tail(commits, changed(chance, encoded_row(commits[-1])), is_followed=chance.random() < 0.5)


def changed_compressed_row(chance, replica):
    commits, _ = foreign_commits(replica)
    drop_withheld(commits)
    body, flags = writer.compressed(encoded_row(commits[-1]))
    return tail(commits, changed(chance, body), flags, chance.random() < 0.5)


def changed_block(chance, replica):
    commits, secret = foreign_commits(replica)
    commits = commits[:chance.choice((1, 2, 3, 5))]
    block, columns = Block(commits, [], [served(secret, commits)], {}), encoded_columns(commits)
    if chance.random() < 0.7:
        key = chance.choice(list(columns))
        columns[key] = changed(chance, columns[key])
        body = encoded_block(block, columns)
    else:
        body = changed(chance, encoded_block(block, columns))
    frame = writer.frame(IDENTITY, 4096, 2, body, 1, len(commits))
    counts = len(commits), sum(len(commit.events) for commit in commits), 4096 + len(frame)
    return {"0000000000000001.sealed": writer.header(IDENTITY, replica, 1, 1, counts) + frame}


def changed_frame(chance, replica):
    """Good checksums over a header of a frame that says something else."""
    commits, _ = foreign_commits(replica)
    drop_withheld(commits)
    name, data = tail(commits, encoded_row(commits[-1]), is_followed=chance.random() < 0.5).popitem()
    header = bytearray(data[4096:4096 + 32])
    if chance.random() < 0.2:  # of a later kind, which carries no commits, and has flags of its own
        header[0], header[16:20] = chance.choice((3, 77, 255)), bytes(4)
    at = chance.randrange(24)
    header[at] = chance.choice((0, 1, 2, 3, 4, 5, 6, 255, header[at] ^ 1))
    low, high = struct.unpack("<QQ", IDENTITY)
    frame = bytes(header) + struct.pack("<Q", xxh3(header, (low ^ high) + 4096))
    return {name: data[:4096] + frame + data[4136:]}


def changed_header(chance, replica):
    """Good checksums over a header that says something else, in one copy or in both; the version is left alone, for it concerns the whole store."""
    commits, _ = foreign_commits(replica)
    drop_withheld(commits)
    name, data = tail(commits, encoded_row(commits[-1])).popitem()
    at = chance.choice((0, 10, 11, 12, 16, 31, 32, 48, 50, 56, 64, 80, 88, 120, 128, 159, 160, 1824, 1952, 2039))
    new = bytes([chance.choice((0, 1, 2, 3, 127, 128, data[at] ^ 1))])
    return {name: patched_header(data[:4096], {at: new}, chance.choice(((0,), (2048,), (0, 2048)))) + data[4096:]}


def changed_file(chance, replica):
    commits, _ = foreign_commits(replica)
    drop_withheld(commits)
    data = bytearray(writer.header(IDENTITY, replica, 1, 1, secret=FOREIGN_SECRET))
    durable = 4096
    for commit in commits:
        durable = len(data) if chance.random() < 0.4 else durable
        data += writer.frame(IDENTITY, len(data), 1, encoded_row(commit), commit.number, 1, durable)
    data += bytes(chance.choice((0, 8, 100, 4096)))
    if chance.random() < 0.4:
        del data[chance.randrange(4096, len(data)):]
    else:
        data[chance.randrange(4096, len(data))] ^= 1 << chance.randrange(8)
    return {"0000000000000001.open": bytes(data)}


def broken_chain(chance, replica):
    """Three files, of which one may be missing, and names heads or subtrees that are not those before it."""
    commits, secret = foreign_commits(replica)
    tree, heads, files = Tree(), {}, {}
    for place, part in enumerate((commits[:2], commits[2:3], commits[3:])):
        known, frontier = sorted(heads.items()), list(tree.frontier)
        if known and chance.random() < 0.2:
            known[0] = known[0][0], chance.randint(1, 12)
        if chance.random() < 0.1:
            known = known[1:]
        if frontier and chance.random() < 0.2:
            frontier[chance.randrange(len(frontier))] = bytes(32)
        data = writer.sealed_segment(
            bytes([place]) * 16, [Block(part, known, [served(secret, part)], {})], frontier)
        for commit in part:
            heads |= dict(commit.heads)
            tree.append(leaf_hash(commit, [secret]))
        if place == 0 or chance.random() < 0.9:
            files[f"{part[0].number:016}.sealed"] = data
        if chance.random() < 0.2:
            files[f"{part[0].number:016}.open"] = b"passed over where there is a sealed one"
            files[f"{part[0].number:016}.sealed"] = data
    return files


class RefusalTests(TestCase):
    def check(self, make):
        seed, path = int(os.environ.get("SEED", 2026)), self.folder / "store"
        self.expect(0, run("--store", str(path), "init"))
        for place in range(STREAMS):
            replica = b"\7" + (seed + place).to_bytes(15, "big")
            stream = path / "replicas" / replica.hex()
            stream.mkdir(parents=True)
            for name, data in make(random.Random(seed + place), replica).items():
                (stream / name).write_bytes(data)
        theirs = {line["replica"]: line for line in run("--store", str(path), "verify", "--json").lines}
        store = Store(path)
        sound = 0
        for stream in store.streams:
            line = theirs[stream.replica]
            found = line.get("finding")
            mine = stream.root, list(dict.fromkeys(problem["verdict"] for problem in stream.problems))
            self.assertEqual(
                mine, (line["root"], [found["verdict"]] if found else []),
                f"seed {int(stream.replica[2:], 16)}: {stream.problems}, {found}")
            sound += not stream.problems
        self.assertTrue(0 < sound < STREAMS, f"seed {seed}: {sound} of {STREAMS} streams are sound")

    def test_rows_with_a_changed_byte(self):
        self.check(changed_row)

    def test_compressed_rows_with_a_changed_byte(self):
        self.check(changed_compressed_row)

    def test_blocks_with_a_changed_byte(self):
        self.check(changed_block)

    def test_frames_with_a_changed_header(self):
        self.check(changed_frame)

    def test_headers_that_say_something_else(self):
        self.check(changed_header)

    def test_tails_that_are_cut_or_changed(self):
        self.check(changed_file)

    def test_chains_that_are_broken(self):
        self.check(broken_chain)


if __name__ == "__main__":
    unittest.main()
