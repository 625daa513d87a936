"""A store taken apart, edited, and written again with all its checksums right, as docs/format.md says.

What is not edited stays byte for byte as it was: a frame is encoded anew only where its commits have changed.
"""

import pathlib
import re
import struct
from dataclasses import dataclass, field, replace

from format_blocks import Block, Secret, read_block
from format_decoder import WITHHELD, Commit, decompressed, read_row
from format_encoder import encoded_block, encoded_row
from format_hashes import Tree, leaf_hash
from format_segments import COPY_BYTES, FRAME_HEADER_BYTES, HEADER_BYTES, read_header, xxh3
from format_snapshot import INTEGERS, TEXT_PAGE, Snapshot, per_page, unpacked
from format_writer import compressed, frame, header

AHEAD_BYTES = 64 << 10  # the own open segment is written ahead in steps of this
COMPRESSED_BYTES_MIN = 512
SEGMENT_NAME = re.compile(r"\d{16}\.(?:sealed|suspect|open)")


@dataclass
class Frame:
    kind: int
    flags: int
    durable: int
    body: bytes
    commits: list
    heads: list = field(default_factory=list)  # of a block
    secrets: list = field(default_factory=list)
    offset: int = 0  # where it stood
    encoding: bytes = b""  # of the commits, when they were read
    number: int | None = None  # in place of the first commit's
    count: int | None = None  # in place of the commits' count

    def encoded(self):
        if self.kind == 1:
            return encoded_row(self.commits[0])
        if self.kind == 2:
            return encoded_block(Block(self.commits, self.heads, self.secrets, {}))
        return self.encoding

    def stored(self):
        """The body and the flags of the frame."""
        data = self.encoded()
        if data == self.encoding:
            return self.body, self.flags
        return compressed(data) if self.kind == 1 and len(data) >= COMPRESSED_BYTES_MIN else (data, 0)


@dataclass
class Segment:
    ending: str
    identity: bytes
    replica: bytes
    name: str
    first: int
    sequence: int
    secret: bytes
    tree_size: int
    frontier: list
    frames: list
    is_ahead: bool = False  # zeros follow, up to the next step
    patches: dict = field(default_factory=dict)  # offset in the header → bytes, in both copies
    counts: tuple | None = None  # in place of those that are right
    first_in_name: int | None = None
    tail: bytes = b""  # behind the last frame
    frames_end: int = 0  # set by `data`

    @property
    def commits(self):
        return [commit for frame in self.frames for commit in frame.commits]

    @property
    def file(self):
        return f"{self.first if self.first_in_name is None else self.first_in_name:016}.{self.ending}"

    @property
    def is_sealed(self):
        return self.ending == "sealed"

    def secrets_of(self, commit):
        for part in self.frames:
            if part.kind == 2 and any(commit is other for other in part.commits):
                return part.secrets
        return [Secret(self.first, self.secret)]

    def data(self):
        places, data = {}, bytearray()
        for part in self.frames:
            offset = HEADER_BYTES + len(data)
            places[part.offset] = offset
            body, flags = part.stored()
            number = part.commits[0].number if part.commits and part.number is None else part.number
            count = len(part.commits) if part.count is None else part.count
            durable = 0 if self.is_sealed else places.get(part.durable, min(part.durable, offset))
            data += frame(self.identity, offset, part.kind, body, number, count, durable, flags)
        self.frames_end = HEADER_BYTES + len(data)
        counts = (0, 0, 0)
        if self.is_sealed:
            counts = len(self.commits), sum(len(commit.events) for commit in self.commits), self.frames_end
        head = header(self.identity, self.replica, self.first, self.sequence, counts if self.counts is None else self.counts,
                      self.secret, self.frontier, self.name, self.tree_size)
        data = patched_header(head, self.patches) + data + self.tail
        return data + bytes(-len(data) % AHEAD_BYTES if self.is_ahead else 0)


def patched_header(head, patches, copies=(0, COPY_BYTES)):
    """The header with other bytes at some offsets of these copies, and right checksums."""
    head = bytearray(head)
    for copy in copies:
        for offset, data in patches.items():
            head[copy + offset:copy + offset + len(data)] = data
        head[copy + 2040:copy + 2048] = struct.pack("<Q", xxh3(head[copy:copy + 2040], copy))
    return bytes(head)


def read_segment(path):
    data = path.read_bytes()
    found = read_header(path, data)
    segment = Segment(
        path.suffix[1:], found.identity, found.replica, found.name, found.first, found.sequence, found.secret,
        found.tree_size, found.frontier, [])
    offset, end = HEADER_BYTES, len(data) if segment.is_sealed else len(data.rstrip(b"\0"))
    while offset < end:
        kind, flags, length, first, count, durable = struct.unpack_from("<BB2xIQII", data, offset)
        body = data[offset + FRAME_HEADER_BYTES:offset + FRAME_HEADER_BYTES + length]
        part = Frame(kind, flags, durable, body, [], offset=offset)
        if kind == 1:
            row = decompressed(body[4:], struct.unpack_from("<I", body)[0]) if flags & 1 else body
            part.commits = [read_row(row, segment.replica, first)]
        elif kind == 2:
            block = read_block(body, segment.replica, first, count)
            part.commits, part.heads, part.secrets = block.commits, block.heads, block.secrets
        else:
            part.number, part.count = first, count
        part.encoding = part.encoded() if kind < 3 else body
        segment.frames.append(part)
        offset += FRAME_HEADER_BYTES + length + (-length & 7)
    segment.is_ahead = len(data) > offset
    return segment


class Stream:
    def __init__(self, folder):
        self.replica = bytes.fromhex(folder.name)
        paths = sorted(path for path in folder.iterdir() if SEGMENT_NAME.fullmatch(path.name))
        self.segments = [read_segment(path) for path in paths]
        ended = folder / "ended"
        self.ended = int(ended.read_text().split()[3]) if ended.exists() else None

    @property
    def commits(self):
        return [commit for segment in self.segments for commit in segment.commits]

    def commit(self, number):
        return self.commits[number - 1]

    def place(self, commit):
        """The segment and the frame of a commit."""
        return next((segment, part) for segment in self.segments for part in segment.frames
                    if any(commit is other for other in part.commits))

    def remove(self, commit):
        segment, part = self.place(commit)
        part.commits = [other for other in part.commits if other is not commit]
        if not part.commits:
            segment.frames.remove(part)

    def insert(self, commit, before):
        """Puts a commit in front of another one."""
        segment, part = self.place(before)
        if part.kind == 2:
            place = next(place for place, other in enumerate(part.commits) if other is before)
            part.commits.insert(place, commit)
        else:
            segment.frames.insert(segment.frames.index(part), Frame(1, 0, 0, b"", [commit], offset=-1))

    def append(self, commit):
        segment = self.segments[-1]
        last = segment.frames[-1]
        if last.kind == 2:
            heads = dict(last.heads)
            for other in last.commits:
                heads |= dict(other.heads)
            segment.frames.append(Frame(2, 0, last.offset, b"", [commit], sorted(heads.items()), last.secrets[-1:], offset=-1))
            self.list_salts({})
        else:
            segment.frames.append(Frame(1, 0, last.offset, b"", [commit], offset=-1))

    def cut(self, last):
        """Ends the stream after its commit `last`."""
        for commit in self.commits[last:]:
            self.remove(commit)
        self.segments = [segment for segment in self.segments if segment.frames]

    def split(self, place):
        """Makes two sealed segments of one, of half its commits each."""
        segment = self.segments[place]
        (block,) = segment.frames
        half = len(block.commits) // 2
        commits = block.commits[half:]
        heads = dict(block.heads)
        for commit in block.commits[:half]:
            heads |= dict(commit.heads)
        secrets = [replace(secret) for secret in block.secrets]
        rest = replace(segment, identity=bytes(byte ^ 0x55 for byte in segment.identity), first=commits[0].number,
                       sequence=commits[0].sequence, frames=[Frame(2, 0, 0, b"", commits, sorted(heads.items()), secrets)])
        block.commits = block.commits[:half]
        self.segments.insert(place + 1, rest)
        self.follow_on()

    def follow_on(self):
        """Makes numbers, sequence numbers, heads in force, the first ones of segments and of secrets follow from the commits."""
        commits = self.commits
        listed = self.listed_salts()
        moved = {}
        for number, commit in enumerate(commits, 1):
            moved[commit.number] = number
        starts = {}
        for segment in self.segments:
            for secret in (secret for part in segment.frames for secret in part.secrets):
                later = [number for number in moved if number >= secret.first]
                starts[id(secret)] = secret, moved[min(later)] if later else secret.first
        for secret, first in starts.values():
            secret.first = first
        sequence = 1
        for number, commit in enumerate(commits, 1):
            commit.number, commit.sequence = number, sequence
            sequence += len(commit.events)
        heads = {}
        for segment in self.segments:
            segment.first, segment.sequence = segment.commits[0].number, segment.commits[0].sequence
            segment.tree_size = segment.first - 1 if segment.is_sealed else min(segment.tree_size, segment.first - 1)
            for part in segment.frames:
                if part.kind == 2:
                    part.heads = sorted(heads.items())
                    firsts = [secret.first for secret in part.secrets]
                    kept = [secret for secret, after in zip(part.secrets, [*firsts[1:], 1 << 60]) if after > part.commits[0].number]
                    part.secrets = [secret for secret in kept if secret.first <= part.commits[-1].number]
                for commit in part.commits:
                    heads |= dict(commit.heads)
        self.list_salts(listed)

    def listed_salts(self):
        """The salts that blocks list one by one, by commit."""
        listed = {}
        for part in (part for segment in self.segments for part in segment.frames):
            salts = {place: salt for secret in part.secrets for run in secret.runs.values() if isinstance(run, dict)
                     for place, salt in run.items()}
            for commit in part.commits:
                listed[id(commit)] = [salts.get((commit.number, place)) for place in range(len(commit.events))]
        return listed

    def list_salts(self, listed):
        """Lists those of the commits that are there now; a new event has a salt of zeros."""
        for part in (part for segment in self.segments for part in segment.frames):
            for place, secret in enumerate(part.secrets):
                if not any(isinstance(run, dict) for run in secret.runs.values()):
                    continue
                end = part.secrets[place + 1].first if place + 1 < len(part.secrets) else 1 << 60
                runs = {}
                for commit in part.commits:
                    if not secret.first <= commit.number < end:
                        continue
                    run = (commit.number - secret.first) // 256
                    if isinstance(secret.runs.get(run), bytes):
                        runs[run] = secret.runs[run]
                        continue
                    known = listed.get(id(commit)) or [
                        (secret.runs.get(run) or {}).get((commit.number, at)) for at in range(len(commit.events))]
                    for at, event in enumerate(commit.events):
                        if event.action != WITHHELD:
                            salt = known[at] if at < len(known) and known[at] else bytes(16)
                            runs.setdefault(run, {})[commit.number, at] = salt
                part.secrets[place] = replace(secret, runs=runs)

    def frontiers(self):
        """The frontier after each commit, from 0 on; and the leaf hashes."""
        tree, found, leaves = Tree(), [[]], []
        for segment in self.segments:
            for commit in segment.commits:
                leaves.append(leaf_hash(commit, segment.secrets_of(commit)))
                tree.append(leaves[-1])
                found.append(list(tree.frontier))
        return found, leaves

    def make_frontiers_right(self):
        frontiers, _ = self.frontiers()
        for segment in self.segments:
            segment.frontier = frontiers[segment.tree_size]


class EditedStore:
    """A store in memory; `write` puts it into its folder again."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.lines = (self.folder / "store").read_text(encoding="utf-8").splitlines()[:-1]
        self.own = bytes.fromhex(self.line("replica"))
        self.streams = {path.name: Stream(path) for path in sorted((self.folder / "replicas").iterdir())}
        self.snapshots = {path.name: path.read_bytes() for path in sorted((self.folder / "snapshots").glob("*.snapshot"))}
        self.page = None  # the words of the lock page to change; None: as the own open segment has them
        self.lock_is_right = True

    def line(self, key):
        return next(line.partition(" ")[2] for line in self.lines if line.partition(" ")[0] == key)

    def set_line(self, key, value):
        self.lines = [f"{key} {value}" if line.partition(" ")[0] == key else line for line in self.lines]

    @property
    def own_stream(self):
        return self.streams[self.own.hex()]

    def write(self):
        with_checksum(self.folder / "store", self.lines)
        for name in {path.name for path in (self.folder / "replicas").iterdir()} - self.streams.keys():
            remove_tree(self.folder / "replicas" / name)
        for name, stream in self.streams.items():
            folder = self.folder / "replicas" / name
            folder.mkdir(exist_ok=True)
            for path in list(folder.iterdir()):
                if path.name != "checkpoint":  # nobody without the key can write another
                    path.unlink()
            for segment in stream.segments:
                (folder / segment.file).write_bytes(segment.data())
            if stream.ended is not None:
                with_checksum(folder / "ended", ["heartlog 1", f"ended {stream.ended}"])
        snapshots = self.folder / "snapshots"
        for path in list(snapshots.glob("*")):
            path.unlink()
        for name, data in self.snapshots.items():
            (snapshots / name).write_bytes(data)
        if self.lock_is_right:
            self.write_page()

    def write_page(self):
        """The page of the lock, saying of the own open segment what is so."""
        path = self.folder / "lock"
        words = list(struct.unpack("=512Q", path.read_bytes()[:4096].ljust(4096, b"\0")))
        stream = self.streams.get(self.own.hex())
        last = stream.segments[-1] if stream and stream.segments else None
        words[2:7] = [0] * 5
        if last is not None and last.ending == "open" and last.frames_end:
            words[2:4] = struct.unpack("=2Q", last.identity)
            words[4] = words[5] = last.frames_end
            words[6] = last.first
        words[9], words[10] = struct.unpack(">2Q", self.own)
        for place, word in (self.page or {}).items():
            words[place] = word
        path.write_bytes(struct.pack("=512Q", *words))


def with_checksum(path, lines):
    data = "".join(line + "\n" for line in lines).encode()
    path.write_bytes(data + b"checksum %016x\n" % xxh3(data, 0))


def remove_tree(folder):
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()


def copied(commit):
    return replace(commit, heads=list(commit.heads), members=list(commit.members),
                   events=[replace(event, fields=list(event.fields), members=list(event.members)) for event in commit.events])


def packed_page(records, size):
    """A page of records, packed."""
    kinds, bases, widths = bytearray(), bytearray(), []
    for offset, width in INTEGERS[size]:
        values = [int.from_bytes(record[offset:offset + width], "little") for record in records]
        least, differences = min(values), 0
        for value in values:
            differences |= value - least
        zeros = next((place for place in range(8) if differences >> 8 * place & 0xFF), 0)
        used = ((differences >> 8 * zeros).bit_length() + 7) // 8
        kinds.append(used | zeros << 4 | (0x80 if least else 0))
        bases += least.to_bytes(width, "little") if least else b""
        widths.append((offset, width, least, zeros, used))
    rows = b"".join((int.from_bytes(record[offset:offset + width], "little") - least >> 8 * zeros).to_bytes(used, "little")
                    for record in records for offset, width, least, zeros, used in widths)
    return bytes([sum(used for *_, used in widths)]) + kinds + bases + rows


class EditedSnapshot(Snapshot):
    """A snapshot of which packed records and texts can be changed. Changed pages are written behind the others."""

    def __init__(self, data):
        self.parts, self.runs = [], []
        super().__init__(bytes(data))
        (self.length,) = struct.unpack_from("<Q", data, len(data) - 56)
        self.changed = bytearray(data[:self.start])

    def records(self, place, size):
        self.parts.append((place[0], size, place[1]))
        return super().records(place, size)

    def texts(self, place):
        self.runs.append(place)
        return super().texts(place)

    def page(self, entry):
        (place,) = struct.unpack_from("<Q", self.changed, entry)
        offset = place & (1 << 48) - 1
        return bytes(self.changed[offset:offset + (place >> 48)])

    def put_page(self, entry, page):
        offset = len(self.changed)
        self.changed += page
        checksum = xxh3(page, 0) ^ (self.seed + entry & (1 << 64) - 1)
        struct.pack_into("<QQ", self.changed, entry, offset | len(page) << 48, checksum)

    def put(self, part, number, offset, data):
        """Changes bytes of a record of a packed part."""
        index, size, count = part
        page, place = divmod(number, per_page(size))
        entry = index + 16 * page
        records = unpacked(self.page(entry), min(per_page(size), count - page * per_page(size)), size)
        records[place] = records[place][:offset] + data + records[place][offset + len(data):]
        self.put_page(entry, packed_page(records, size))

    def put_text(self, place, offset, data):
        """Changes texts, on one page."""
        index, count = place
        page, start = divmod(offset, TEXT_PAGE)
        entry, length = index + 16 * page, min(TEXT_PAGE, count - page * TEXT_PAGE)
        stored = self.page(entry)
        texts = stored if len(stored) == length else decompressed(stored, length)
        self.put_page(entry, texts[:start] + data + texts[start + len(data):])

    def data_again(self, directory=None):
        """The file; with another directory behind its parts, if one is given."""
        if directory is None:
            directory = self.data[self.start:self.start + self.length]
        data = self.changed + bytes(-len(self.changed) % 64)
        start = len(data)

        def total(offset, count):
            return struct.pack("<Q", xxh3(data[offset:offset + count], 0) ^ (self.seed + offset & (1 << 64) - 1))

        data += directory + bytes(-len(directory) % 64)
        trailer = struct.pack("<2Q", start, len(directory)) + total(start, len(directory))
        end = len(data)
        trailer += struct.pack("<Q", end + 64) + bytes(24)
        data += trailer
        data += total(end, 56)
        return bytes(data)


__all__ = ["Commit", "EditedSnapshot", "EditedStore", "Frame", "Secret", "copied", "packed_page", "patched_header"]
