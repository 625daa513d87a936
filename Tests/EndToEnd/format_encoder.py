"""Rows and blocks of a Heartlog store, written as docs/format.md says: the one form that is canonical."""

import struct

from format_columns import NIBBLES, UUID, date_milliseconds
from format_decoder import HAS_DATE, HAS_FIELDS, HAS_MEMBERS, LATER, WITHHELD


def varint(value):
    data = bytearray()
    while value > 127:
        data.append(value & 127 | 128)
        value >>= 7
    data.append(value)
    return bytes(data)


def zigzag(value):
    return varint(value << 1 if value >= 0 else -2 * value - 1)


def blob(data):
    return varint(len(data)) + data


def text(value):
    return blob(value.encode())


# Rows


def encoded_value(tag, value):
    if tag < 3:
        return b""
    if tag == 3:
        return zigzag(value)
    if tag == 4:
        return struct.pack("<d", value)
    return blob(value) if tag > 6 else text(value)


def encoded_heads(heads):
    return varint(len(heads)) + b"".join(replica + varint(commit) for replica, commit in heads)


def encoded_members(members):
    return varint(len(members)) + b"".join(varint(tag) + blob(data) for tag, data in members)


def encoded_event(event):
    """What a row holds of an event, and what its hash is taken over."""
    data = bytes([event.head])
    if event.action == WITHHELD:
        return data + event.hash
    if event.action == LATER:
        return data + varint(event.later[0]) + blob(event.later[1])
    data += text(event.library) + text(event.item)
    if event.head & HAS_DATE:
        data += zigzag(event.date)
    if event.head & HAS_FIELDS:
        data += varint(len(event.fields))
        for name, byte, value in event.fields:
            data += text(name) + bytes([byte]) + encoded_value(byte & 63, value)
    if event.head & HAS_MEMBERS:
        data += encoded_members(event.members)
    return data


def encoded_row(commit):
    presence = bool(commit.origin) | bool(commit.heads) << 1 | bool(commit.members) << 2
    data = bytes([presence]) + struct.pack("<Q", commit.stamp) + zigzag(commit.wall - (commit.stamp >> 16))
    data += varint(commit.sequence) + varint(len(commit.events))
    if commit.origin:
        data += text(commit.origin)
    if commit.heads:
        data += encoded_heads(commit.heads)
    if commit.members:
        data += encoded_members(commit.members)
    return data + b"".join(map(encoded_event, commit.events))


# Columns


def packed_bits(fields):
    """Pairs of a value and a number of bits, in bytes that fill from the lowest bit up."""
    data, pending, count = bytearray(), 0, 0
    for value, width in fields:
        pending |= value << count
        count += width
        if count >= 512:
            whole = count >> 3
            data += (pending & (1 << 8 * whole) - 1).to_bytes(whole, "little")
            pending, count = pending >> 8 * whole, count & 7
    return bytes(data + pending.to_bytes((count + 7) // 8, "little"))


def rice(distances, k):
    for u in distances:
        quotient = u >> k
        if quotient < 24:
            yield (1 << quotient) - 1, quotient + 1
            yield u & (1 << k) - 1, k
        else:
            yield (1 << 24) - 1, 24
            yield u, 64


def encoded_ints(values):
    smallest, largest = min(values), max(values)
    if smallest == largest:
        return b"\0" + zigzag(smallest)
    distances = [value - smallest for value in values]
    plain = b"\1" + b"".join(map(zigzag, values))
    width = (largest - smallest).bit_length()
    packed = b"\2" + zigzag(smallest) + bytes([width]) + packed_bits((u, width) for u in distances)
    bits = (sum(distances) // len(values)).bit_length()
    ks = sorted({min(max(bits - less, 0), 56) for less in (0, 1, 2)})
    best = min(ks, key=lambda k: sum(width for _, width in rice(distances, k)))  # of equals `min` takes the first
    by_quotient = b"\3" + zigzag(smallest) + bytes([best]) + packed_bits(rice(distances, best))
    length_width = width.bit_length()

    def sized():
        for u in distances:
            length = u.bit_length()
            yield length, length_width
            if length > 1:
                yield u & (1 << length - 1) - 1, length - 1

    by_size = b"\4" + zigzag(smallest) + bytes([length_width]) + packed_bits(sized())
    return min((plain, packed, by_quotient, by_size), key=len)


def encoded_strings(texts, is_nested=False):
    if all(UUID.fullmatch(value) for value in texts):
        return b"\2" + b"".join(bytes.fromhex(value.replace("-", "")) for value in texts)
    if all(UUID.fullmatch(value.lower()) and value == value.upper() for value in texts):
        return b"\3" + b"".join(bytes.fromhex(value.replace("-", "")) for value in texts)
    for encoding, length, unit in ((4, 20, 1000), (5, 24, 1)):
        if all(len(value) == length for value in texts):
            times = list(map(date_milliseconds, texts))
            if None not in times:
                return bytes([encoding]) + encoded_ints([time // unit for time in times])
    if all(character in NIBBLES for value in texts for character in value):
        nibbles = [place for value in texts for place in [*map(NIBBLES.index, value), 15]]
        return b"\1" + packed_bits((nibble, 4) for nibble in nibbles)
    distinct = {value: place for place, value in enumerate(dict.fromkeys(texts))}
    if not is_nested and len(texts) >= 8 and 4 * len(distinct) <= len(texts):
        places = encoded_ints([distinct[value] for value in texts])
        return b"\6" + varint(len(distinct)) + encoded_strings(list(distinct), True) + places
    parts = [value.encode() for value in texts]
    return b"\0" + blob(encoded_ints(list(map(len, parts)))) + b"".join(parts)


def decimals(values, exponent):
    """The integers that, divided by a power of ten, give the doubles; None where there are none."""
    found = []
    for value in values:
        product = value * 10.0**exponent
        if not abs(product) <= 2.0**53:
            return None
        integer = round(product)  # ties to even
        if float(integer) / 10.0**exponent != value:
            return None
        found.append(integer)
    return found


def encoded_doubles(values):
    for exponent in range(1, 18):
        integers = decimals(values, exponent)
        if integers is not None:
            return bytes([1, exponent]) + encoded_ints(integers)
    return b"\0" + struct.pack("<%dd" % len(values), *values)


def encoded_kinds(heads):
    table = sorted(set(heads), key=lambda head: (-heads.count(head), head))
    return bytes([len(table)]) + bytes(table) + encoded_ints([table.index(head) for head in heads])


# Blocks


class Table:
    """Entries numbered from 0 by first use."""

    def __init__(self):
        self.places = {}

    def place(self, entry):
        return self.places.setdefault(entry, len(self.places))

    def new_or_place(self, entry):
        if entry in self.places:
            return self.places[entry] + 1
        self.place(entry)
        return 0

    @property
    def strings(self):
        return varint(len(self.places)) + encoded_strings(list(self.places)) if self.places else b""


def encoded_secret(secret):
    data = varint(secret.first)
    if secret.whole:
        return data + b"\0" + secret.whole
    data += b"\1" + varint(len(secret.runs))
    for run, content in sorted(secret.runs.items()):
        data += varint(run)
        if isinstance(content, bytes):
            data += b"\0" + content
        else:
            data += b"\1" + varint(len(content))
            for (commit, event), salt in sorted(content.items()):
                data += varint(commit) + varint(event) + salt
    return data


def encoded_columns(commits):
    """The columns before compression, by (id, index)."""
    columns = {}

    def put(column, values, encode, index=0):
        values = list(values)
        if values:
            columns[column, index] = encode(values)

    def joined(encode):
        return lambda values: b"".join(map(encode, values))

    put(1, (len(commit.events) - 1 for commit in commits), encoded_ints)
    steps, surpluses = [], []
    for before, commit in zip(commits, commits[1:]):
        steps.append((commit.stamp >> 16) - (before.stamp >> 16))
        surpluses.append((commit.stamp & 0xFFFF) - (0 if steps[-1] else (before.stamp & 0xFFFF) + 1))
    put(2, steps, encoded_ints)
    put(3, surpluses, encoded_ints)
    put(4, (commit.wall - (commit.stamp >> 16) for commit in commits), encoded_ints)
    origins = Table()
    put(5, (origins.place(commit.origin) + 1 if commit.origin else 0 for commit in commits), encoded_ints)
    columns[6, 0] = origins.strings
    put(7, (bool(commit.heads) | bool(commit.members) << 1 for commit in commits), encoded_ints)
    put(8, (commit.heads for commit in commits if commit.heads), joined(encoded_heads))
    put(9, (commit.members for commit in commits if commit.members), joined(encoded_members))

    owned = [(event, commit) for commit in commits for event in commit.events]
    events = [event for event, _ in owned]
    items, libraries, shapes, names, values = Table(), Table(), Table(), Table(), {}
    put(16, (event.head for event in events), encoded_kinds)
    put(17, (items.new_or_place((event.library, event.item)) for event in events if event.has_item), encoded_ints)
    put(18, (libraries.place(library) for library, _ in items.places), encoded_ints)
    columns[19, 0] = libraries.strings
    for library, place in libraries.places.items():
        put(20, (item for name, item in items.places if name == library), encoded_strings, place)
    put(21, (event.date - commit.wall for event, commit in owned if event.head & HAS_DATE), encoded_ints)
    with_fields = [event for event in events if event.head & HAS_FIELDS]
    put(22, (shapes.new_or_place(tuple((name, byte) for name, byte, _ in event.fields)) for event in with_fields),
        encoded_ints)
    put(23, shapes.places, joined(lambda shape: varint(len(shape)) + b"".join(
        varint(names.place(name)) + bytes([byte]) for name, byte in shape)))
    columns[24, 0] = names.strings
    for event in with_fields:
        for name, byte, value in event.fields:
            if byte & 63 > 2:
                values.setdefault((names.place(name), byte & 63), []).append(value)
    for (name, tag), column in values.items():
        encode = {3: encoded_ints, 4: encoded_doubles, 5: encoded_strings, 6: encoded_strings}.get(tag, joined(blob))
        put(25, column, encode, 64 * name + tag)
    put(26, (event.members for event in events if event.head & HAS_MEMBERS), joined(encoded_members))
    put(27, (event.hash for event in events if event.action == WITHHELD), b"".join)
    put(28, (event.later for event in events if event.action == LATER),
        joined(lambda later: varint(later[0]) + blob(later[1])))
    return {key: columns[key] for key in sorted(columns) if columns[key]}


def encoded_block(block, columns=None):
    """The block before compression; with `columns`, of these instead of those that its commits lead to."""
    columns = encoded_columns(block.commits) if columns is None else columns
    first = block.commits[0]
    data = b"\1" + varint(len(block.commits)) + varint(sum(len(commit.events) for commit in block.commits))
    data += varint(first.sequence) + struct.pack("<Q", first.stamp) + encoded_heads(block.heads)
    data += varint(len(block.secrets)) + b"".join(map(encoded_secret, block.secrets)) + varint(len(columns))
    for (column, index), content in columns.items():
        data += varint(column) + varint(index) + b"\0" + varint(len(content)) + content
    return data
