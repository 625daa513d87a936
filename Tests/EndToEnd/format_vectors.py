"""The worked examples of docs/format.md, read from the page, decoded, encoded again, and compared with what it says."""

import re
import struct

from format_blocks import Secret, read_block
from format_columns import read_doubles, read_ints, read_kinds, read_strings
from format_decoder import ADDED, HAS_DATE, HAS_FIELDS, TOGGLED_OFF, Bytes, Commit, Event, Malformed, read_row
from format_editor import packed_page
from format_encoder import (
    encoded_block, encoded_doubles, encoded_event, encoded_ints, encoded_kinds, encoded_row, encoded_strings)
from format_hashes import Tree, leaf, leaf_hash, run_salt, run_secret, salt, sha256
from format_segments import read_header
from format_snapshot import FIELD, Snapshot, unpacked
from format_writer import compressed, frame, header

EXAMPLE = re.compile(r"^```hex (\S+)\n(.*?)^```$", re.M | re.S)
REPLICA = bytes.fromhex("00112233445566778899aabbccddeeff")
OTHER_REPLICA = bytes.fromhex("ffeeddccbbaa99887766554433221100")
SECRET = bytes(range(32))
SEGMENT = bytes(range(0xA0, 0xB0))
MILLISECONDS = 1_772_438_400_000
ROW = Commit(REPLICA, 7, (MILLISECONDS + 123 << 16) + 2, MILLISECONDS + 120, 300, "cli", [(OTHER_REPLICA, 41)], [], [
    Event(ADDED | HAS_DATE | HAS_FIELDS, "papers", "2403.01234v2", 1_709_640_000_000,
          [("@note", 0, None), ("pages", 3, 17), ("title", 5, "Logs")]),
    Event(TOGGLED_OFF, "cities", "urn:ngsi-ld:Zürich")])
BLOCK = [
    Commit(REPLICA, 1, MILLISECONDS << 16, MILLISECONDS, 1, "cli", [], [], [
        Event(16, "papers", "2403.01234v2", None, [("title", 5, "Logs")])]),
    Commit(REPLICA, 2, MILLISECONDS + 60_000 << 16, MILLISECONDS + 60_000, 2, "cli", [], [], [
        Event(TOGGLED_OFF, "papers", "2403.01234v2")]),
    Commit(REPLICA, 3, (MILLISECONDS + 60_000 << 16) + 1, MILLISECONDS + 59_999, 3, "cli", [], [], [
        Event(20, "books", "1", None, [("currentPosition", 128 + 4, 0.25)])])]


def joined(lines):
    return b"".join(data for data, _ in lines)


def integers(comment):
    return [int(number) for number in re.findall(r"-?\d+", comment)]


def doubles(comment):
    return [float(number.replace("10^", "1e")) for number in re.findall(r"10\^-?\d+|-?\d+\.\d+", comment)]


def strings(comment):
    return re.findall('"(.*?)"', comment)


def check_payloads(read, encode, values_of):
    """Lines that are each a payload, with `NAME: VALUES` or the values beside it."""
    def run(lines):
        for data, comment in lines:
            values = values_of(comment.partition(": ")[2] or comment)
            assert values, comment
            source = Bytes(data)
            assert list(read(source, len(values))) == values, comment
            source.end()
            assert encode(values) == data, comment
    return run


def check_row(lines):
    assert read_row(joined(lines), REPLICA, 7) == ROW
    assert encoded_row(ROW) == joined(lines)


def check_block(lines):
    block = read_block(joined(lines), REPLICA, 1, 3)
    assert block.commits == BLOCK and block.heads == [] and block.secrets == [Secret(1, SECRET)]
    assert encoded_block(block) == joined(lines)


def check_salts(lines):
    assert [data for data, _ in lines] == [salt([Secret(1, SECRET)], 7, place) for place in (0, 1)]
    assert run_salt(run_secret(SECRET, 0), 7, 1) == lines[1][0]


def hashes():
    return [sha256(salt([Secret(1, SECRET)], 7, place), encoded_event(event)) for place, event in enumerate(ROW.events)]


def equals(value_of):
    def run(lines):
        assert joined(lines) == value_of()
    return run


def segment_header():
    data = header(SEGMENT, REPLICA, 7, 300, secret=SECRET, name="Anna's phone")
    segment = read_header(None, data)
    assert (segment.identity, segment.replica, segment.first, segment.sequence) == (SEGMENT, REPLICA, 7, 300)
    assert (segment.is_sealed, segment.secret, segment.tree_size, segment.name) == (False, SECRET, 0, "Anna's phone")
    return data


def frame_header():
    body, flags = compressed(encoded_row(ROW))
    return frame(SEGMENT, 4096, 1, body, ROW.number, 1, 4096, flags)[:40]


def leaf_hashes():
    return [leaf_hash(commit, [Secret(1, SECRET)]) for commit in BLOCK]


def root():
    tree = Tree()
    for node in leaf_hashes():
        tree.append(node)
    return tree.root


def branch():
    """The replica of the history that goes on with the last commit of the block."""
    first = BLOCK[-1]
    seed = REPLICA + struct.pack("<Q", first.number) + leaf_hashes()[-1]
    return sha256(b"branch/2", seed)[:16]


def check_snapshot(lines):
    snapshot = Snapshot(joined(lines))
    assert (snapshot.data[16:32], snapshot.positions, snapshot.start) == (SEGMENT, b"\0", 64)
    assert (snapshot.events, snapshot.commits, snapshot.last_stamp) == (0, 0, 0)
    assert (snapshot.replicas, snapshot.names, snapshot.libraries) == ([], [], [])


def check_packed_page(lines):
    page = joined(lines)
    records = unpacked(page, 2, FIELD)
    assert packed_page(records, FIELD) == page
    stamp = struct.unpack("<Q", bytes.fromhex("0000079f3a8f0100"))[0]
    for record, sequence, number, name in zip(records, (768, 1024), (5, 7), (2, 3), strict=True):
        assert struct.unpack("<QQqIIIIIBBxx", record) == (stamp, sequence, number, 0, 1, name, 0, 0, 3, 0)


CHECKS = {
    "segment-header": equals(lambda: segment_header()[:128]),
    "segment-header-checksums": equals(lambda: segment_header()[2040:2048] + segment_header()[4088:]),
    "frame-header": equals(frame_header),
    "row": check_row,
    "block": check_block,
    "ints": check_payloads(read_ints, encoded_ints, integers),
    "strings": check_payloads(read_strings, encoded_strings, strings),
    "doubles": check_payloads(read_doubles, encoded_doubles, doubles),
    "kinds": check_payloads(read_kinds, encoded_kinds, integers),
    "run-secret": equals(lambda: run_secret(SECRET, 0)),
    "salts": check_salts,
    "event-hashes": equals(lambda: b"".join(hashes())),
    "leaf": equals(lambda: leaf(ROW, hashes())),
    "leaf-hash": equals(lambda: leaf_hash(ROW, [Secret(1, SECRET)])),
    "leaf-hashes": equals(lambda: b"".join(leaf_hashes())),
    "root": equals(root),
    "branch": equals(branch),
    "snapshot": check_snapshot,
    "packed-page": check_packed_page,
}


def check(page):
    """The failures, and the names of the examples that nothing here checks."""
    failures, unknown, found = [], [], set()
    for name, body in EXAMPLE.findall(page):
        found.add(name)
        lines = []
        for line in body.splitlines():
            digits, _, comment = line.partition(";")
            lines.append((bytes.fromhex(digits), comment.replace("\N{MINUS SIGN}", "-").strip()))
        if name not in CHECKS:
            unknown.append(name)
            continue
        try:
            CHECKS[name](lines)
        except (AssertionError, Malformed, ValueError, struct.error) as problem:
            failures.append(f"the example {name} is not what it says: {problem}")
    return failures + [f"there is no example {name}" for name in sorted(CHECKS.keys() - found)], unknown
