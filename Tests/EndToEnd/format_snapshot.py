"""A snapshot, read as docs/format.md says, and as nothing else says: every byte of it that says anything, and every checksum."""

import struct
from dataclasses import dataclass

from format_decoder import decompressed, require
from format_segments import xxh3
from format_state import Item

MASK = (1 << 64) - 1
ENTRY, ITEM, FIELD, RIVAL, BY_ID, RUN, SEEN = 8, 96, 48, 48, 4, 24, 16
TEXT_PAGE = 4_096
# Where the integers of a record of a packed part are, and how many bytes each has.
INTEGERS = {
    ITEM: [(at, 8 if at in (0, 8, 16, 32, 40, 48, 88) else 1 if at in (28, 29) else 4)
           for at in (0, 8, 16, 24, 28, 29, 32, 40, 48, 56, 60, 64, 68, 72, 76, 80, 84, 88)],
    FIELD: [(at, 8 if at < 24 else 1 if at > 40 else 4) for at in (0, 8, 16, 24, 28, 32, 36, 40, 44, 45)],
}
A, B, C = 0xA0761D6478BD642F, 0xE7037ED1A0B428DB, 0x8EBC6AF09C88C6E3


def fold(a, b):
    product = a * b
    return product >> 64 ^ product & MASK


def hash_of(ident, seed):
    count = len(ident)
    h = seed ^ count
    if count <= 24:
        words = struct.unpack("<QQQ", ident.ljust(24, b"\0"))
        h = fold(h ^ words[0], A)
        if count > 8:
            h = fold(h ^ words[1], B)
        if count > 16:
            h = fold(h ^ words[2], C)
    else:
        for start in range(0, count - 7, 8):
            h = fold(h ^ int.from_bytes(ident[start:start + 8], "little"), A)
        h = fold(h ^ int.from_bytes(ident[-8:], "little"), B)
    return (h ^ h >> 32) & 0xFFFFFFFF


def per_page(size):
    """How many records of this size a page has."""
    return 1 << (2_048 // size).bit_length() - 1


def unpacked(page, count, size):
    """The records of a packed page."""
    integers = INTEGERS[size]
    kinds, at = page[1:1 + len(integers)], 1 + len(integers)
    bases = []
    for kind, (_, width) in zip(kinds, integers):
        bases.append(int.from_bytes(page[at:at + width], "little") if kind & 0x80 else 0)
        at += width if kind & 0x80 else 0
    require(sum(kind & 15 for kind in kinds) == page[0] and at + count * page[0] == len(page), "a packed page of a wrong size")
    records = []
    for _ in range(count):
        record = bytearray(size)
        for kind, base, (offset, width) in zip(kinds, bases, integers):
            stored = int.from_bytes(page[at:at + (kind & 15)], "little")
            at += kind & 15
            value = base + (stored << 8 * (kind >> 4 & 7)) & (1 << 8 * width) - 1
            record[offset:offset + width] = value.to_bytes(width, "little")
        records.append(bytes(record))
    return records


@dataclass(frozen=True)
class Write:
    """Which write a register shows, or a rival is."""
    stamp: int
    sequence: int
    replica: bytes


class Directory:
    """Numbers one after the other."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        require(self.at + count <= len(self.data), "a directory that ends early")
        self.at += count
        return self.data[self.at - count:self.at]

    def u64(self):
        return struct.unpack("<Q", self.take(8))[0]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def bytes(self):
        return self.take(self.varint())

    def place(self):
        return self.varint(), self.varint()

    def list(self, read):
        return [read() for _ in range(self.varint())]


class Library:
    def __init__(self, snapshot, directory):
        self.snapshot = snapshot
        self.name = directory.bytes().decode()
        self.events = directory.u64()
        self.item_count, self.favorite_count, self.listed_count = (directory.varint() for _ in range(3))
        self.seed = directory.u64()
        entries, items, fields, rivals, by_id, texts = (directory.place() for _ in range(6))
        self.entries = [struct.unpack("<Q", record)[0] for record in snapshot.records(entries, ENTRY)]
        self.items = snapshot.records(items, ITEM)
        self.fields, self.rivals = snapshot.records(fields, FIELD), snapshot.records(rivals, RIVAL)
        self.by_id = [struct.unpack("<I", record)[0] for record in snapshot.records(by_id, BY_ID)]
        self.texts = snapshot.texts(texts)
        self.ids = [self.id(item[:28]) for item in self.items]

    def text(self, name, count):
        require(name >> 63 == 1, "a text that is not named")
        offset = name & MASK >> 1
        require(offset + count <= len(self.texts), "a text that is not there")
        return self.texts[offset:offset + count]

    def id(self, key):
        (count,) = struct.unpack_from("<I", key, 24)
        if count > 24:
            require(key[8:24] == bytes(16), "a key with more than a name")
            return self.text(struct.unpack_from("<Q", key)[0], count)
        require(key[count:24] == bytes(24 - count), "a key that goes on behind its end")
        return key[:count]

    def write(self, record, replica_at, stamp_at=0):
        stamp, sequence = struct.unpack_from("<QQ", record, stamp_at)
        (replica,) = struct.unpack_from("<I", record, replica_at)
        return Write(stamp, sequence, self.snapshot.replicas[replica - 1]["id"]) if replica else None

    def value(self, record):
        (length,), tag = struct.unpack_from("<I", record, 24), record[44]
        if tag < 5:
            require(length == 0, "a number with a length")
            kind = {3: "<q", 4: "<d"}.get(tag)
            return tag, struct.unpack_from(kind, record, 16)[0] if kind else None
        if length > 8:
            data = self.text(struct.unpack_from("<Q", record, 16)[0], length)
        else:
            data = record[16:16 + length]
            require(record[16 + length:24] == bytes(8 - length), "a text that goes on behind its end")
        return tag, data.decode() if tag < 7 else data

    def fields_of(self, number):
        first, count, zero, other_zero, held = struct.unpack_from("<IIIII", self.items[number], 60)
        require((zero, other_zero) == (0, 0), "an item with fields that were added")
        found = [(struct.unpack_from("<I", record, 32)[0], record) for record in self.fields[first:first + count]]
        require(len(found) == count and [name for name, _ in found] == sorted({name for name, _ in found}), "fields out of order")
        require(held == sum(self.value(record)[0] != 0 for _, record in found), "fields that are counted wrong")
        return {self.snapshot.names[name]: record for name, record in found}

    def membership(self, record):
        return self.write(record, 56, stamp_at=32)

    def item(self, number):
        record = self.items[number]
        (date,) = struct.unpack_from("<q", record, 48)
        require(record[84:88] + record[29:30] == bytes(5) and record[28] < 2, "an item with more than it should have")
        fields = {name.decode(): self.value(field) for name, field in self.fields_of(number).items()}
        return Item(bool(record[28]), date if record[28] else 0, fields)

    def chain(self, first):
        found = []
        while first:
            record = self.rivals[first - 1]
            found.append(record)
            require(len(found) <= len(self.rivals), "rivals in a ring")
            (first,) = struct.unpack_from("<I", record, 40)
        return found

    def find(self, ident):
        h = hash_of(ident, self.seed)
        place = h % len(self.entries)
        for _ in self.entries:
            entry = self.entries[place]
            if entry == 0:
                return None
            if entry >> 32 == h and self.ids[(entry & 0xFFFFFFFF) - 1] == ident:
                return (entry & 0xFFFFFFFF) - 1
            place = (place + 1) % len(self.entries)
        return None

    def check(self):
        """All that the page promises of a library."""
        count = self.item_count
        require(count == len(self.items) == len(self.by_id) == len(set(self.ids)), "parts that do not fit")
        require(len(self.entries) > count and len(self.entries) & len(self.entries) - 1 == 0, "entries of a wrong number")
        require(sum(entry != 0 for entry in self.entries) == count, "entries of no item")
        require([self.find(ident) for ident in self.ids] == list(range(count)), "an id that is not found")
        require(self.find(b"nobody has this id") is None, "an id that is found")
        require([self.ids[number] for number in self.by_id] == sorted(self.ids), "ids out of order")
        items = [self.item(number) for number in range(count)]
        writes = [self.membership(record) for record in self.items]
        favorites = [(item.date, write.stamp, write.replica, write.sequence)
                     for item, write in zip(items, writes) if item.is_favorite]
        require(len(favorites) == self.favorite_count and all(item.is_favorite for item in items[:len(favorites)]), "favorites out of place")
        require(favorites == sorted(favorites, reverse=True) and self.ids[len(favorites):] == sorted(self.ids[len(favorites):]), "items out of order")
        listed = sum(bool(item.is_favorite or item.values or self.membership(record)) for item, record in zip(items, self.items))
        require(listed == self.listed_count, "items that are counted wrong")
        require(sum(struct.unpack_from("<I", record, 64)[0] for record in self.items) == len(self.fields), "fields of no item")
        self.check_hints()
        seen = 0
        for number, record in enumerate(self.items):
            (first_field,) = struct.unpack_from("<I", record, 60)
            registers = [(0, struct.unpack_from("<I", record, 80)[0])]
            registers += [(place + 1, struct.unpack_from("<I", self.fields[place], 40)[0])
                          for place in range(first_field, first_field + struct.unpack_from("<I", record, 64)[0])]
            for register, first in registers:
                for rival in self.chain(first):
                    require(struct.unpack_from("<II", rival, 32) == (number, register) and self.write(rival, 28), "a rival of another register")
                    seen += 1
        require(seen == len(self.rivals), "rivals of no register")

    def check_hints(self):
        """Where each item's texts begin: behind those of all ids, one item's behind the other's."""
        at = sum(len(ident) for ident in self.ids if len(ident) > 24)
        for number, record in enumerate(self.items):
            require(struct.unpack_from("<Q", record, 88)[0] == at, "a hint that leads elsewhere")
            lengths = [struct.unpack_from("<I", field, 24)[0] for field in self.fields_of(number).values()]
            at += sum(length for length in lengths if length > 8)


class Snapshot:
    def __init__(self, data):
        self.data = data
        require(len(data) % 64 == 0 and len(data) >= 128, "a snapshot of a wrong size")
        require(data[:8] == bytes.fromhex("8948534E41500D0A") and struct.unpack_from("<I", data, 8)[0] == 7, "no snapshot")
        require(struct.unpack_from("<Q", data, 56)[0] == xxh3(data[:56], 0), "a damaged header")
        low, high = struct.unpack_from("<QQ", data, 16)
        self.seed = low ^ high
        end = len(data) - 64
        self.start, length, checksum, size = struct.unpack_from("<QQQQ", data, end)
        require(struct.unpack_from("<Q", data, end + 56)[0] == self.sum(end, 56), "a damaged trailer")
        require(size == len(data) and self.start % 64 == 0 and self.start + length <= end, "a trailer of another file")
        require(checksum == self.sum(self.start, length), "a damaged directory")
        self.covered = [(0, 64), (self.start, self.start + length), (end, len(data))]
        directory = Directory(data[self.start:self.start + length])
        self.positions = directory.bytes()
        self.events, self.commits, self.last_stamp, self.erased = (directory.u64() for _ in range(4))
        self.erasing = directory.list(lambda: (directory.take(16), directory.varint(), directory.list(directory.bytes)))
        self.replicas = directory.list(lambda: self.replica(directory))
        self.names = directory.list(directory.bytes)
        require(self.names == sorted(set(self.names)), "names out of order")
        self.libraries = directory.list(lambda: Library(self, directory))
        require(directory.at == length, "a directory that goes on")
        self.check_rest()

    def sum(self, offset, count, place=None):
        place = offset if place is None else place
        return xxh3(self.data[offset:offset + count], 0) ^ (self.seed + place & MASK)

    def records(self, place, size):
        offset, count = place
        each = per_page(size)
        found = []
        if size in INTEGERS:
            for page in self.packed(offset, -(-count // each)):
                found += unpacked(page, min(each, count - len(found)), size)
            return found
        require(offset % 64 == 0, "a part that is out of line")
        while len(found) < count:
            page = self.data[offset:offset + each * size]
            end = offset + len(page) + 64
            require(end <= self.start, "a part that is not in the file")
            part = len(page) // 8
            sums = [self.sum(offset + start, part) for start in range(0, len(page), part)]
            require(list(struct.unpack_from("<8Q", self.data, end - 64)) == sums, "a damaged page")
            self.covered.append((offset, end))
            used = min(each, count - len(found))
            require(page[used * size:] == bytes(len(page) - used * size), "a page that is not zeros to its end")
            found += [page[place * size:(place + 1) * size] for place in range(used)]
            offset = end
        return found

    def packed(self, index, count):
        """The pages of which an index says where they are."""
        require(index % 64 == 0 and index + 16 * count <= self.start, "an index that is out of line")
        self.covered.append((index, index + 16 * count))
        for entry in range(index, index + 16 * count, 16):
            place, checksum = struct.unpack_from("<QQ", self.data, entry)
            offset, size = place & (1 << 48) - 1, place >> 48
            require(offset + size <= self.start and checksum == self.sum(offset, size, entry), "a damaged packed page")
            self.covered.append((offset, offset + size))
            yield self.data[offset:offset + size]

    def texts(self, place):
        index, count = place
        found = b""
        for page in self.packed(index, -(-count // TEXT_PAGE)):
            length = min(TEXT_PAGE, count - len(found))
            found += page if len(page) == length else decompressed(page, length)
        return found

    def replica(self, directory):
        found = {"id": directory.take(16), "head": directory.u64(), "events": directory.u64(), "stamp": directory.u64()}
        found["beyond"] = directory.list(lambda: (directory.u64(), directory.u64(), directory.varint()))
        found["runs"] = [struct.unpack("<QQQ", record) for record in self.records(directory.place(), RUN)]
        found["next"] = directory.u64(), directory.u64()
        found["seen"] = {number: [struct.unpack("<QQ", record) for record in self.records(place, SEEN)]
                         for number, place in directory.list(lambda: (directory.varint(), directory.place()))}
        return found

    def check_rest(self):
        """What nothing leads to is zeros, and less than a line of them."""
        at = 0
        for start, end in sorted(self.covered):
            require(0 <= start - at < 64 and self.data[at:start] == bytes(start - at), f"bytes of nobody at {at}")
            at = max(at, end)

    def state(self):
        """The items by (library, id), as the log's commits make them."""
        return {(library.name, ident.decode()): library.item(number)
                for library in self.libraries for number, ident in enumerate(library.ids)}
