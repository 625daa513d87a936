"""Segment files written as docs/format.md says, for stores that no command makes yet: received streams, parts of later
versions, withheld events."""

import ctypes
import struct

from format_decoder import lz4
from format_encoder import encoded_block, encoded_row
from format_segments import xxh3

HEADER_BYTES, COPY_BYTES = 4096, 2048


def header(identity, replica, first, sequence, sealed=(0, 0, 0), secret=bytes(32), frontier=(), name="", tree_size=0):
    data = b"\x89HLOG\r\n\x1a" + struct.pack("<HBBI", 1, 2 if any(sealed) else 1, len(name.encode()), 0)
    data += identity + replica + struct.pack("<5Q", first, sequence, *sealed) + secret + struct.pack("<Q", tree_size)
    data += b"".join(frontier).ljust(53 * 32, b"\0") + name.encode().ljust(128, b"\0") + bytes(88)
    return b"".join(data + struct.pack("<Q", xxh3(data, offset)) for offset in (0, COPY_BYTES))


def frame(identity, offset, kind, body, first, count, durable=0, flags=0):
    low, high = struct.unpack("<QQ", identity)
    base = low ^ high
    data = struct.pack("<BBHIQII", kind, flags, 0, len(body), first, count, durable)
    data += struct.pack("<Q", xxh3(body, base + offset + 40))
    data += struct.pack("<Q", xxh3(data, base + offset))
    return data + body + bytes(-len(body) % 8)


def compressed(data):
    """An LZ4 block with its length before compression, where that is smaller."""
    target = ctypes.create_string_buffer(lz4.LZ4_compressBound(len(data)))
    size = lz4.LZ4_compress_default(data, target, len(data), len(target))
    short = struct.pack("<I", len(data)) + target.raw[:size]
    return (short, 1) if len(short) < len(data) else (data, 0)


def open_segment(identity, commits, secret, extra_frames=(), **parts):
    """One frame a commit; `extra_frames` are (number of the next commit, kind, body)."""
    first = commits[0]
    data = header(identity, first.replica, first.number, first.sequence, secret=secret, **parts)
    for commit in commits:
        for number, kind, body in extra_frames:
            if number == commit.number:
                data += frame(identity, len(data), kind, body, number, 0, HEADER_BYTES)
        body, flags = compressed(encoded_row(commit))
        data += frame(identity, len(data), 1, body, commit.number, 1, HEADER_BYTES, flags)
    return data


def sealed_segment(identity, blocks, frontier, **parts):
    commits = [commit for block in blocks for commit in block.commits]
    first = commits[0]
    frames = b""
    for block in blocks:
        offset = HEADER_BYTES + len(frames)
        frames += frame(identity, offset, 2, encoded_block(block), block.commits[0].number, len(block.commits))
    counts = len(commits), sum(len(commit.events) for commit in commits), HEADER_BYTES + len(frames)
    return header(identity, first.replica, first.number, first.sequence, counts, frontier=frontier,
                  tree_size=first.number - 1, **parts) + frames
