#!/usr/bin/env python3
"""A second reader of Heartlog stores, written from docs/format.md alone, to show that the page suffices.

    format_reader.py STORE                      the streams and the digest of the state, as JSON
    format_reader.py STORE --events             every event, as `heartlog log --json` prints them
    format_reader.py --vectors docs/format.md   the worked examples of that page

It takes no lock and changes nothing. Exit code 65 where something is damaged; a torn tail is not.
"""

import argparse
import ctypes
import json
import pathlib
import re
import struct
import sys
from dataclasses import dataclass, field

import format_vectors
from format_decoder import (
    ADDED, CHANGED, HAS_DATE, HAS_FIELDS, LATER, NUMBER_MAX, REMOVED, ROW_BYTES_MAX, TOGGLED_OFF, TOGGLED_ON, WITHHELD,
    Bytes, Malformed, Newer, Secret, date_text, decoded, decompressed, json_text, read_block, read_row, require)
from format_hashes import Tree, leaf_hash, sha256

HEADER_BYTES, COPY_BYTES, FRAME_HEADER_BYTES = 4096, 2048, 40
MASK = (1 << 64) - 1
SEGMENT_NAME = re.compile(r"(\d{16})\.(sealed|suspect|open)")
PRECEDENCE = ("sealed", "suspect", "open")

xxhash = ctypes.CDLL("libxxhash.so.0")
xxhash.XXH3_64bits_withSeed.restype = ctypes.c_uint64
xxhash.XXH3_64bits_withSeed.argtypes = ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64


def xxh3(data, seed):
    return xxhash.XXH3_64bits_withSeed(bytes(data), len(data), seed & MASK)


# The file `store`


def read_store(path):
    data = path.read_bytes()
    lines = decoded(data).split("\n")
    require(lines[0].startswith("heartlog "), "no store")
    if lines[0] != "heartlog 1":
        raise Newer
    keys = [line.partition(" ")[0] for line in lines]
    require(keys[1:6] == ["replica", "name", "machine", "inode", "birth"], "`store` is malformed")
    require(lines.pop() == "" and len(lines) > 6 and keys[len(lines) - 1] == "checksum", "`store` has no checksum")
    before = data[:len(data) - len(lines[-1].encode()) - 1]
    require(lines[-1] == "checksum %016x" % xxh3(before, 0), "the checksum of `store` is wrong")
    values = [line.partition(" ")[2] for line in lines]
    require(re.fullmatch("[0-9a-f]{32}", values[1]), "the replica in `store` is malformed")
    require(len(values[2].encode()) <= 127, "the name in `store` is too long")
    require(re.fullmatch("[0-9a-f]{64}", values[3]), "the machine in `store` is malformed")
    require(values[4].isdecimal() and values[5].isdecimal(), "a number in `store` is malformed")
    return {"replica": values[1], "name": values[2]}


# Segments


@dataclass
class Segment:
    path: object
    is_sealed: bool = False
    identity: bytes = b""
    replica: bytes = b""
    name: str = ""
    first: int = 0
    sequence: int = 0
    sealed_counts: tuple = (0, 0, 0)  # commits, events, bytes
    secret: bytes = b""
    tree_size: int = 0
    frontier: list = field(default_factory=list)
    commits: list = field(default_factory=list)
    blocks: list = field(default_factory=list)
    rows: list = field(default_factory=list)  # (commit, its row's bytes)
    header_problem: dict | None = None
    problem: dict | None = None

    def secrets_of(self, commit):
        """A commit in a block has those that the block lists, one in a row the secret of its segment."""
        for block in self.blocks:
            if block.commits[0].number <= commit.number <= block.commits[-1].number:
                return block.secrets
        return [Secret(self.first, self.secret)]

    @property
    def last(self):
        return self.first + len(self.commits) - 1

    @property
    def base(self):
        low, high = struct.unpack("<QQ", self.identity)
        return low ^ high


def header_copies(data):
    """The copies whose checksums are good, by their offsets."""
    copies = {offset: data[offset:offset + COPY_BYTES] for offset in (0, COPY_BYTES)}
    return {
        offset: copy for offset, copy in copies.items()
        if len(copy) == COPY_BYTES and struct.unpack_from("<Q", copy, 2040)[0] == xxh3(copy[:2040], offset)}


def read_header(path, data):
    good = header_copies(data)
    require(good, "both copies of a segment's header are bad")
    copy = Bytes(next(iter(good.values())))
    segment = Segment(path)
    if len(good) == 1:
        segment.header_problem = {
            "file": path.name, "offset": COPY_BYTES if 0 in good else 0, "verdict": "corrupt",
            "problem": "one copy of a segment's header is bad"}
    require(copy.take(8) == b"\x89HLOG\r\n\x1a", "no segment")
    version = copy.number("H")
    if version > 1:
        raise Newer
    require(version == 1, "a segment's format version cannot be")
    kind, name_length, _ = copy.u8(), copy.u8(), copy.number("I")
    require(kind in (1, 2) and name_length <= 127, "a segment's header is malformed")
    segment.is_sealed = kind == 2
    segment.identity, segment.replica = copy.take(16), copy.take(16)
    segment.first, segment.sequence = copy.number("Q"), copy.number("Q")
    require(1 <= segment.first <= NUMBER_MAX and 1 <= segment.sequence <= NUMBER_MAX, "a segment's first is malformed")
    segment.sealed_counts = copy.number("Q"), copy.number("Q"), copy.number("Q")
    segment.secret, segment.tree_size = copy.take(32), copy.number("Q")
    require(all(segment.sealed_counts) if segment.is_sealed else not any(segment.sealed_counts),
            "a segment's counts are malformed")
    require(not segment.is_sealed or segment.secret == bytes(32), "a sealed segment has a secret in its header")
    require(segment.tree_size == segment.first - 1 if segment.is_sealed else segment.tree_size < segment.first,
            "a segment's tree size is malformed")
    roots = segment.tree_size.bit_count()
    segment.frontier = [copy.take(32) for _ in range(roots)]
    copy.take(32 * (53 - roots))
    segment.name = decoded(copy.take(128)[:name_length])
    return segment


def read_segment(path):
    data = path.read_bytes()
    segment = read_header(path, data)
    require(segment.is_sealed == path.name.endswith(".sealed"), "a segment's kind is not its name's")
    require(int(path.name[:16]) == segment.first, "a segment's first commit is not its name's")
    require(segment.replica.hex() == path.parent.name, "a segment lies in another stream's folder")
    offset = HEADER_BYTES
    end = len(data) if segment.is_sealed else len(data.rstrip(b"\0"))
    while offset < end:
        try:
            offset = read_frame(segment, data, offset)
        except Malformed as problem:
            segment.problem = {
                "file": path.name, "offset": offset, "problem": str(problem), "verdict": verdict(segment, data, offset)}
            return segment
    if segment.is_sealed:
        counts = len(segment.commits), sum(len(commit.events) for commit in segment.commits), len(data)
        if counts != segment.sealed_counts:
            segment.problem = {
                "file": path.name, "offset": offset, "verdict": "corrupt",
                "problem": "a sealed segment is not what its header says"}
    return segment


def verdict(segment, data, bad):
    """On the bytes from `bad` on, if this is a stream's last segment."""
    if segment.is_sealed:
        return "corrupt"
    named = []
    for offset in range(bad + -bad % 8, len(data) - FRAME_HEADER_BYTES + 1, 8):
        header = data[offset:offset + FRAME_HEADER_BYTES]
        length, durable, body_sum, header_sum = struct.unpack_from("<4xI12xIQQ", header)
        start = offset + FRAME_HEADER_BYTES
        if offset > bad and header_sum == xxh3(header[:32], segment.base + offset) and start + length <= len(data) \
                and body_sum == xxh3(data[start:start + length], segment.base + start):
            named.append(durable)
    if max(named, default=0) > bad:
        return "corrupt"
    if recorded_length(segment) > bad:
        return "corrupt" if named else "lost"
    return "torn"


def recorded_length(segment):
    """The durable length in the lock page, if the page names this segment."""
    lock = segment.path.parent.parent.parent / "lock"
    page = lock.read_bytes()[:4096] if lock.exists() else b""
    if len(page) < 48 or page[16:32] != segment.identity:
        return 0
    return int.from_bytes(page[40:48], sys.byteorder)


def read_frame(segment, data, offset):
    """Adds the commits of the frame at `offset`; answers with the offset after it."""
    header = data[offset:offset + FRAME_HEADER_BYTES]
    require(len(header) == FRAME_HEADER_BYTES, "a frame's header is cut")
    kind, flags, zero, length, first, count, _, body_sum, header_sum = struct.unpack("<BBHIQIIQQ", header)
    require(header_sum == xxh3(header[:32], segment.base + offset), "the checksum of a frame's header is wrong")
    require(kind >= 1 and flags <= 1 and zero == 0, "a frame's header is malformed")
    start = offset + FRAME_HEADER_BYTES
    body, after = data[start:start + length], start + length + (-length & 7)
    require(len(body) == length, "a frame's body is cut")
    require(body_sum == xxh3(body, segment.base + start), "the checksum of a frame's body is wrong")
    require(after <= len(data) and not any(data[start + length:after]), "a frame's padding is not zero")
    require(first == segment.last + 1, "a frame's first commit does not follow")
    if flags & 1 and kind == 1:
        require(length >= 4, "a compressed body is cut")
        whole = struct.unpack_from("<I", body)[0]
        require(whole <= ROW_BYTES_MAX, "a body is too long")
        body = decompressed(body[4:], whole)
    if kind == 1:
        require(not segment.is_sealed and count == 1, "a commit's frame is malformed")
        commits = [read_row(body, segment.replica, first)]
        segment.rows.append((commits[0], body))
    elif kind == 2:
        require(count >= 1 and not flags, "a block's frame is malformed")
        block = read_block(body, segment.replica, first, count)
        commits = block.commits
        segment.blocks.append(block)
    else:
        require(count == 0, "a frame without commits counts some")
        return after
    for commit in commits:
        before = segment.commits[-1] if segment.commits else None
        expected = before.sequence + len(before.events) if before else segment.sequence
        require(commit.sequence == expected, "sequence numbers do not follow")
        require(before is None or commit.stamp > before.stamp, "stamps do not rise")
        segment.commits.append(commit)
    return after


# Streams


@dataclass
class Stream:
    replica: str
    segments: list
    problems: list
    name: str = ""
    root: str = ""
    leaf_hashes: list = field(default_factory=list)

    @property
    def commits(self):
        return [commit for segment in self.segments for commit in segment.commits]


def read_stream(folder):
    stream = Stream(folder.name, [], [])
    candidates = []
    for path in folder.iterdir():
        found = SEGMENT_NAME.fullmatch(path.name)
        if found:
            candidates.append((int(found[1]), PRECEDENCE.index(found[2]), path))
    def damaged(path, sentence):
        stream.problems.append({"file": path.name, "offset": 0, "problem": sentence, "verdict": "corrupt"})

    before = None
    for first, _, path in sorted(candidates):
        if before is not None and first == before.first:
            continue  # of one first commit the best comes first
        try:
            segment = read_segment(path)
        except Malformed as problem:
            damaged(path, str(problem))
            break
        if before is not None and first <= before.last and segment.last <= before.last:
            continue  # a leftover of sealing
        if first != (before.last + 1 if before else 1):
            damaged(path, "a segment does not follow")
            break
        if before is not None and before.problem:
            before.problem["verdict"] = "corrupt"  # only a stream's last segment can be torn
            break
        stream.segments.append(segment)
        before = segment
        if segment.header_problem:
            stream.problems.append(segment.header_problem)
        if segment.problem:
            stream.problems.append(segment.problem)
    check_stream(stream)
    return stream


def check_stream(stream):
    """What holds between the segments of a stream: the chain, the heads at each block, the frontiers, the root."""
    tree, heads, expected, stamp = Tree(), {}, 1, -1
    frontiers = {0: []}
    wanted = {segment.tree_size for segment in stream.segments}
    for place, segment in enumerate(stream.segments):
        blocks = {block.commits[0].number: block for block in segment.blocks}
        try:
            require(segment.sequence == expected, "a segment's first sequence number does not follow")
            for commit in segment.commits:
                require(commit.stamp > stamp, "stamps do not rise")
                if commit.number in blocks:
                    block = blocks[commit.number]
                    require(dict(block.heads) == heads, "a block's heads are not those in force")
                require(all(heads.get(replica, 0) < number for replica, number in commit.heads), "a head does not rise")
                heads |= dict(commit.heads)
                stream.leaf_hashes.append(leaf_hash(commit, segment.secrets_of(commit)))
                tree.append(stream.leaf_hashes[-1])
                if tree.size in wanted:
                    frontiers[tree.size] = list(tree.frontier)
                expected, stamp = commit.sequence + len(commit.events), commit.stamp
            require(frontiers.get(segment.tree_size) == segment.frontier, "a frontier is not that of the commits before")
        except Malformed as problem:
            stream.problems.append(
                {"file": segment.path.name, "offset": 0, "problem": str(problem), "verdict": "corrupt"})
            del stream.segments[place + 1:]
            del segment.commits[tree.size - segment.first + 1:]  # what is sound comes before
        stream.name = segment.name
    stream.root = tree.root.hex()


# The state


def total_order(commit):
    return commit.stamp, commit.replica, commit.number


@dataclass
class Item:
    is_favorite: bool = False
    date: int = 0
    fields: dict = field(default_factory=dict)  # name → (tag, value)

    @property
    def values(self):
        return {name: pair for name, pair in sorted(self.fields.items()) if pair[0] != 0}


def state(commits):
    """The items by (library, id): each register has what was written to it last in the total order."""
    items = {}
    for commit in sorted(commits, key=total_order):
        for event in commit.events:
            if not event.has_item:
                continue
            item = items.setdefault((event.library, event.item), Item())
            if event.action in (ADDED, TOGGLED_ON):
                item.is_favorite, item.date = True, event.date if event.head & HAS_DATE else commit.wall
            elif event.action in (REMOVED, TOGGLED_OFF):
                item.is_favorite = False
            for name, byte, value in event.fields:
                item.fields[name] = byte & 63, value
    return items


def with_length(data):
    return struct.pack("<I", len(data)) + data


def digest_of_value(tag, value):
    if tag < 3:
        return bytes([1, tag - 1])
    if tag == 3:
        return struct.pack("<Bq", 2, value)
    if tag == 4:
        return struct.pack("<Bd", 3, value)
    if tag < 7:
        return bytes([tag - 1]) + with_length(value.encode())
    return bytes([6, tag]) + with_length(value)


def digest(items):
    libraries = {}
    for (library, ident), item in sorted(items.items()):  # strings compare as their UTF-8 bytes do
        if not item.is_favorite and not item.values:
            continue
        data = with_length(ident.encode()) + (struct.pack("<Bq", 1, item.date) if item.is_favorite else b"\0")
        data += struct.pack("<I", len(item.values))
        for name, pair in item.values.items():
            data += with_length(name.encode()) + digest_of_value(*pair)
        libraries.setdefault(library, []).append(data)
    return sha256(*(with_length(name.encode()) + sha256(*parts) for name, parts in libraries.items())).hex()


# The command


class Store:
    def __init__(self, folder):
        folder = pathlib.Path(folder)
        identity = read_store(folder / "store")
        self.replica, self.name = identity["replica"], identity["name"]
        replicas = folder / "replicas"
        names = sorted(path.name for path in replicas.iterdir()) if replicas.is_dir() else []
        self.streams = [read_stream(replicas / name) for name in names if re.fullmatch("[0-9a-f]{32}", name)]

    @property
    def commits(self):
        return [commit for stream in self.streams for commit in stream.commits]

    @property
    def problems(self):
        return [problem for stream in self.streams for problem in stream.problems]

    @property
    def is_damaged(self):
        return any(problem["verdict"] != "torn" for problem in self.problems)

    @property
    def summary(self):
        return {
            "replica": self.replica, "name": self.name,
            "streams": [{
                "replica": stream.replica, "name": stream.name, "commits": len(stream.commits),
                "events": sum(len(commit.events) for commit in stream.commits), "segments": len(stream.segments),
                "root": stream.root, "problems": stream.problems} for stream in self.streams],
            "digest": digest(state(self.commits))}

    def event_lines(self):
        for commit in sorted(self.commits, key=total_order):
            for place, event in enumerate(commit.events):
                yield event_line(commit, place, event)


def event_line(commit, place, event):
    parts = [
        ("replica", commit.replica.hex()), ("sequence", commit.sequence + place), ("commit", commit.number),
        ("time", date_text(commit.wall)), ("stamp", "%016x" % commit.stamp)]
    if event.has_item:
        parts += [("library", event.library), ("item", event.item)]
    names = {ADDED: "added", REMOVED: "removed", CHANGED: "changed"}
    if event.action == WITHHELD:
        parts += [("withheld", event.hash.hex())]
    elif event.action == LATER:
        parts += [("unknownKind", event.later[0]), ("bytes", event.later[1].hex())]
    else:
        parts.append(("action", names.get(event.action, "toggled")))
    if event.action in (ADDED, REMOVED, TOGGLED_ON, TOGGLED_OFF):
        parts.append(("isFavorite", event.action in (ADDED, TOGGLED_ON)))
    if event.head & HAS_DATE:
        parts.append(("favoritedDate", date_text(event.date)))
    lines = [json_text(name) + ":" + json_text(value) for name, value in parts]
    if event.head & HAS_FIELDS:
        values = (json_text(name) + ":" + value_text(byte & 63, value) for name, byte, value in event.fields)
        lines.append('"fields":{' + ",".join(values) + "}")
    if event.members:
        members = ('{"tag":%d,"bytes":"%s"}' % (tag, data.hex()) for tag, data in event.members)
        lines.append('"members":[' + ",".join(members) + "]")
    if commit.origin:
        lines.append('"origin":' + json_text(commit.origin))
    return "{" + ",".join(lines) + "}"


def value_text(tag, value):
    if tag > 6:
        return '{"unknownTag":%d,"unknownBytes":"%s"}' % (tag, value.hex())
    return value if tag == 6 else json_text(value)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", nargs="?")
    parser.add_argument("--events", action="store_true")
    parser.add_argument("--vectors", metavar="PAGE")
    options = parser.parse_args()
    if options.vectors:
        failures, unknown = format_vectors.check(pathlib.Path(options.vectors).read_text(encoding="utf-8"))
        for name in unknown:
            print("no check for the example", name)
        for failure in failures:
            print(failure)
        sys.exit(1 if failures else 0)
    if not options.store:
        parser.error("which store?")
    try:
        store = Store(options.store)
    except Newer:
        sys.exit(f"{options.store}: made by a newer Heartlog")
    except (Malformed, OSError) as problem:
        sys.exit(f"{options.store}: {problem}")
    if options.events:
        for line in store.event_lines():
            print(line)
    else:
        print(json.dumps(store.summary, ensure_ascii=False, indent=2))
    sys.exit(65 if store.is_damaged else 0)


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")
    main()
