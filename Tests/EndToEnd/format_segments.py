"""The file `store` and the segments of a Heartlog store, read as docs/format.md says."""

import ctypes
import re
import struct
import sys
from dataclasses import dataclass, field

from format_blocks import Secret, read_block
from format_decoder import (
    EVENTS_MAX, MIB, NUMBER_MAX, ROW_BYTES_MAX, Bytes, Malformed, Newer, NoFrame, decoded, decompressed, read_row, require)

HEADER_BYTES, COPY_BYTES, FRAME_HEADER_BYTES = 4096, 2048, 40
BODY_BYTES_MAX = 80 * MIB
MASK = (1 << 64) - 1

xxhash = ctypes.CDLL("libxxhash.so.0")
xxhash.XXH3_64bits_withSeed.restype = ctypes.c_uint64
xxhash.XXH3_64bits_withSeed.argtypes = ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64


def xxh3(data, seed):
    return xxhash.XXH3_64bits_withSeed(bytes(data), len(data), seed & MASK)


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


MAGIC = b"\x89HLOG\r\n\x1a"


def header_copies(data):
    """The copies whose checksums are good, by their offsets."""
    copies = {offset: data[offset:offset + COPY_BYTES] for offset in (0, COPY_BYTES)}
    return {
        offset: copy for offset, copy in copies.items()
        if len(copy) == COPY_BYTES and copy.startswith(MAGIC) and struct.unpack_from("<Q", copy, 2040)[0] == xxh3(copy[:2040], offset)}


def read_header(path, data):
    good = header_copies(data)
    require(good, "both copies of a segment's header are bad")
    segment, *others = [read_copy(path, copy) for copy in good.values()]
    require(all(segment == other for other in others), "the two copies of a segment's header differ")
    if not others:
        segment.header_problem = {
            "file": path.name, "offset": COPY_BYTES if 0 in good else 0, "verdict": "corrupt",
            "problem": "one copy of a segment's header is bad"}
    return segment


def read_copy(path, data):
    copy = Bytes(data)
    segment = Segment(path)
    copy.take(len(MAGIC))
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
                "file": path.name, "offset": offset, "problem": str(problem),
                "verdict": verdict(segment, data, offset) if isinstance(problem, NoFrame) else "corrupt"}
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


def whole_frame(segment, data, offset):
    """The fields of the frame at `offset`, its body, and the offset after it."""
    def check(condition, sentence):
        if not condition:
            raise NoFrame(sentence)

    header = data[offset:offset + FRAME_HEADER_BYTES]
    check(len(header) == FRAME_HEADER_BYTES, "a frame's header is cut")
    kind, flags, zero, length, first, count, _, body_sum, header_sum = struct.unpack("<BBHIQIIQQ", header)
    check(header_sum == xxh3(header[:32], segment.base + offset), "the checksum of a frame's header is wrong")
    check(kind >= 1 and zero == 0 and 1 <= first <= NUMBER_MAX and length <= BODY_BYTES_MAX, "a frame's header is malformed")
    check(flags <= 1 or kind > 2, "a frame's flags are malformed")
    check(count == 1 if kind == 1 else 1 <= count <= EVENTS_MAX if kind == 2 else count == 0, "a frame counts other commits than it has")
    start = offset + FRAME_HEADER_BYTES
    body, after = data[start:start + length], start + length + (-length & 7)
    check(len(body) == length, "a frame's body is cut")
    check(body_sum == xxh3(body, segment.base + start), "the checksum of a frame's body is wrong")
    check(after <= len(data) and not any(data[start + length:after]), "a frame's padding is not zero")
    return kind, flags, first, count, body, after


def read_frame(segment, data, offset):
    """Adds the commits of the frame at `offset`; answers with the offset after it."""
    kind, flags, first, count, body, after = whole_frame(segment, data, offset)
    require(first == segment.last + 1, "a frame's first commit does not follow")
    if kind == 1 and flags:
        require(len(body) >= 4, "a compressed body is cut")
        whole = struct.unpack_from("<I", body)[0]
        require(whole <= ROW_BYTES_MAX, "a body is too long")
        body = decompressed(body[4:], whole)
    if kind == 1:
        require(not segment.is_sealed, "a commit's frame lies in a sealed segment")
        commits = [read_row(body, segment.replica, first)]
        segment.rows.append((commits[0], body))
    elif kind == 2:
        require(not flags, "a block is compressed as a whole")
        block = read_block(body, segment.replica, first, count)
        commits = block.commits
        segment.blocks.append(block)
    else:
        return after
    for commit in commits:
        before = segment.commits[-1] if segment.commits else None
        expected = before.sequence + len(before.events) if before else segment.sequence
        require(commit.sequence == expected, "sequence numbers do not follow")
        require(before is None or commit.stamp > before.stamp, "stamps do not rise")
        segment.commits.append(commit)
    return after
