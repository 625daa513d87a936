"""Rows and blocks of a Heartlog store, read as docs/format.md says, and as nothing else says."""

import ctypes
import json
import re
import struct
from dataclasses import dataclass, field

MIB = 1 << 20
EVENTS_MAX, HEADS_MAX, NUMBER_MAX = 50_000, 4_096, (1 << 53) - 1
ROW_BYTES_MAX, COLUMN_BYTES_MAX, VALUE_BYTES_MAX = 16 * MIB, 64 * MIB, MIB
TIME_MAX = 32_503_679_999_999
DATE_MIN, DATE_MAX = -62_167_219_200_000, 253_402_300_799_999
ADDED, REMOVED, TOGGLED_ON, TOGGLED_OFF, CHANGED, WITHHELD, LATER = range(7)
HAS_DATE, HAS_FIELDS, HAS_MEMBERS = 8, 16, 32
NIBBLES = "0123456789.v-/:"
LIBRARY = re.compile(r"[a-z0-9._-]{1,64}")
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{3}))?Z", re.A)

lz4 = ctypes.CDLL("liblz4.so.1")


class Malformed(Exception):
    pass


class Newer(Exception):
    """Of a format version past 1: refused as a whole."""


def require(condition, sentence):
    if not condition:
        raise Malformed(sentence)


@dataclass
class Event:
    head: int  # the head byte
    library: str = ""
    item: str = ""
    date: int | None = None
    fields: list = field(default_factory=list)  # (name, tag byte, value)
    members: list = field(default_factory=list)  # (tag, bytes)
    hash: bytes = b""  # withheld
    later: tuple = ()  # (kind, bytes)

    @property
    def action(self):
        return self.head & 7

    @property
    def has_item(self):
        return self.action < WITHHELD


@dataclass
class Commit:
    replica: bytes
    number: int
    stamp: int
    wall: int
    sequence: int
    origin: str
    heads: list  # (replica, commit)
    members: list
    events: list


class Bytes:
    """A run of bytes, read from the front."""

    def __init__(self, data):
        self.data, self.at = data, 0

    @property
    def left(self):
        return len(self.data) - self.at

    def take(self, count):
        require(count <= self.left, "bytes are missing")
        self.at += count
        return self.data[self.at - count:self.at]

    def number(self, form):
        return struct.unpack("<" + form, self.take(struct.calcsize(form)))[0]

    def u8(self):
        return self.take(1)[0]

    def varint(self, least=0, most=(1 << 64) - 1):
        value, shift = 0, 0
        while True:
            byte = self.u8()
            value |= (byte & 127) << shift
            if byte < 128:
                break
            shift += 7
            require(shift < 70, "a varint is too long")
        require(byte or not shift, "a varint is not in its shortest form")
        require(least <= value <= most, "a number is past its limits")
        return value

    def zigzag(self):
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def blob(self, most=None):
        return self.take(self.varint(0, self.left if most is None else most))

    def text(self, least=0, most=None):
        data = self.blob(most)
        require(len(data) >= least, "a text is too short")
        return decoded(data)

    def end(self):
        require(not self.left, "bytes are left over")


def decoded(data):
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise Malformed("a text is not UTF-8") from None


def decompressed(data, length):
    target = ctypes.create_string_buffer(max(length, 1))
    require(lz4.LZ4_decompress_safe(bytes(data), target, len(data), length) == length, "LZ4 does not decompress")
    return target.raw[:length]


# Names and values


def checked_library(name):
    require(LIBRARY.fullmatch(name), "a library's name is malformed")
    return name


def checked_name(name, most):
    require(1 <= len(name.encode()) <= most and not CONTROL.search(name), "a name is malformed")
    return name


def number_text(value):
    """A number as ECMAScript writes it."""
    if value == 0:
        return "0"
    sign, digits, exponent = re.fullmatch(r"(-?)([\d.]+)(?:e([+-]\d+))?", repr(value)).groups()
    whole, _, fraction = digits.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))  # the value is 0.DIGITS × 10^point
    digits = digits.rstrip("0")
    if len(digits) <= point <= 21:
        return sign + digits.ljust(point, "0")
    if 0 < point <= 21:
        return sign + digits[:point] + "." + digits[point:]
    if -6 < point <= 0:
        return sign + "0." + "0" * -point + digits
    return sign + digits[0] + ("." if digits[1:] else "") + digits[1:] + "e%+d" % (point - 1)


def json_text(value):
    """RFC 8785."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return number_text(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return "[" + ",".join(map(json_text, value)) + "]"
    names = sorted(value, key=lambda name: name.encode("utf-16-be"))
    return "{" + ",".join(json_text(name) + ":" + json_text(value[name]) for name in names) + "}"


def json_depth(value):
    if isinstance(value, (list, dict)):
        return 1 + max(map(json_depth, value if isinstance(value, list) else value.values()), default=0)
    return 0


def checked_json(text):
    def members(pairs):
        require(len(dict(pairs)) == len(pairs), "JSON has a key twice")
        return dict(pairs)

    def real(digits):
        value = float(digits)
        require(value - value == 0, "JSON has a number past all doubles")
        require(not 1 << 53 < abs(value) < 1 << 63 and value != -(1 << 63), "JSON has an integer past 2^53")
        return value

    try:
        value = json.loads(text, object_pairs_hook=members, parse_int=real, parse_float=real)
    except (ValueError, RecursionError):
        raise Malformed("nested JSON is malformed") from None
    require(isinstance(value, (list, dict)) and json_depth(value) <= 64, "nested JSON is no object or array, or too deep")
    require(json_text(value) == text, "nested JSON is not in its canonical form")
    return text


def checked_double(value):
    require(value - value == 0, "a double is not finite")
    require(value != int(value) or not -(1 << 63) <= value < 1 << 63, "a double is an int64")
    return value


def read_value(source, tag):
    if tag < 3:
        return (None, False, True)[tag]
    if tag == 3:
        return source.zigzag()
    if tag == 4:
        return checked_double(source.number("d"))
    if tag == 5:
        return source.text(most=VALUE_BYTES_MAX)
    if tag == 6:
        return checked_json(source.text(most=VALUE_BYTES_MAX))
    return source.blob()


def rising(keys, what):
    require(all(a < b for a, b in zip(keys, keys[1:])), what + " are out of order")


def read_heads(source, own=None, least=1):
    count = source.varint(least, HEADS_MAX)
    heads = [(source.take(16), source.varint(1, NUMBER_MAX)) for _ in range(count)]
    rising([replica for replica, _ in heads], "heads")
    require(own is None or own not in dict(heads), "a commit names its own stream as a head")
    return heads


def read_members(source):
    members = [(source.varint(), source.blob()) for _ in range(source.varint(1))]
    rising([tag for tag, _ in members], "members")
    return members


def check_tag_byte(byte):
    require(not byte & 64, "a field's tag is malformed")


def check_head_byte(head):
    action = head & 7
    require(action != 7 and head < 64, "an event's head is malformed")
    require(action < WITHHELD or head == action, "an event's head is malformed")
    require(not head & HAS_DATE or action in (ADDED, TOGGLED_ON), "a favorited date stands with the wrong action")
    require(action != CHANGED or head & (HAS_FIELDS | HAS_MEMBERS), "an event changes nothing")


def check_date(date, wall):
    require(DATE_MIN <= date <= DATE_MAX and date != wall, "a favorited date is malformed")


def read_event(source, wall):
    event = Event(source.u8())
    check_head_byte(event.head)
    if event.action == WITHHELD:
        event.hash = source.take(32)
    elif event.action == LATER:
        event.later = source.varint(8), source.blob()
    else:
        event.library = checked_library(source.text(most=64))
        event.item = checked_name(source.text(most=4_096), 4_096)
        if event.head & HAS_DATE:
            event.date = source.zigzag()
            check_date(event.date, wall)
        if event.head & HAS_FIELDS:
            for _ in range(source.varint(1)):
                name, tag = checked_name(source.text(most=256), 256), source.u8()
                check_tag_byte(tag)
                event.fields.append((name, tag, read_value(source, tag & 63)))
            rising([name for name, _, _ in event.fields], "fields")
        if event.head & HAS_MEMBERS:
            event.members = read_members(source)
    return event


def check_times(stamp, wall):
    require(stamp >> 16 <= TIME_MAX and 0 <= wall <= TIME_MAX, "a time is past its limits")


def read_row(data, replica, number):
    require(len(data) <= ROW_BYTES_MAX, "a commit is too long")
    source = Bytes(data)
    presence, stamp = source.u8(), source.number("Q")
    require(presence < 8, "a commit's presence byte is malformed")
    wall = (stamp >> 16) + source.zigzag()
    check_times(stamp, wall)
    sequence, count = source.varint(1, NUMBER_MAX), source.varint(1, EVENTS_MAX)
    require(sequence + count - 1 <= NUMBER_MAX, "a sequence number is past its limit")
    origin = checked_name(source.text(1, 256), 256) if presence & 1 else ""
    heads = read_heads(source, replica) if presence & 2 else []
    members = read_members(source) if presence & 4 else []
    events = [read_event(source, wall) for _ in range(count)]
    source.end()
    return Commit(replica, number, stamp, wall, sequence, origin, heads, members, events)


# Columns


class Bits:
    """Bits that fill bytes from the lowest up; nothing of the source is used before `close`."""

    def __init__(self, source):
        self.source, self.at = source, source.at * 8

    def take(self, count):
        first, last = self.at >> 3, self.at + count + 7 >> 3
        require(last <= len(self.source.data), "bits are missing")
        value = int.from_bytes(self.source.data[first:last], "little") >> (self.at & 7)
        self.at += count
        return value & (1 << count) - 1

    def close(self):
        rest = -self.at & 7
        require(self.take(rest) == 0, "the bits after a column's last are not zero")
        self.source.at = self.at >> 3


def read_ints(source, count):
    encoding = source.u8()
    require(encoding <= 4, "a column of integers has an encoding that is not known")
    if encoding == 0:
        return [source.zigzag()] * count
    if encoding == 1:
        require(count <= source.left, "bytes are missing")
        return [source.zigzag() for _ in range(count)]
    smallest, width = source.zigzag(), source.u8()
    least, most = {2: (1, 64), 3: (0, 56), 4: (1, 7)}[encoding]
    require(least <= width <= most, "a column of integers has a width that cannot be")
    require(count <= source.left * 8, "bits are missing")
    bits = Bits(source)
    values = []
    for _ in range(count):
        if encoding == 2:
            u = bits.take(width)
        elif encoding == 3:
            quotient = 0
            while quotient < 24 and bits.take(1):
                quotient += 1
            u = bits.take(64) if quotient == 24 else quotient << width | bits.take(width)
        else:
            length = bits.take(width)
            require(length <= 64, "a number has more than 64 bits")
            u = 1 << length - 1 | bits.take(length - 1) if length else 0
        require(smallest + u < 1 << 63, "a number is past its limits")
        values.append(smallest + u)
    bits.close()
    return values


def days(year, month, day):
    """Days since 1970-01-01 in the Gregorian calendar, the year 0 too."""
    year -= month <= 2
    within = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return 365 * year + year // 4 - year // 100 + year // 400 + within - 719_468


def date_milliseconds(text):
    """Of a date and time to the second or to the millisecond; None where it is none."""
    found = DATE.fullmatch(text)
    if not found:
        return None
    year, month, day, hour, minute, second = map(int, found.groups()[:6])
    if not 1 <= month <= 12 or hour > 23 or minute > 59 or second > 59 or not day:
        return None
    if days(year, month, day) >= days(year + month // 12, month % 12 + 1, 1):
        return None
    return ((days(year, month, day) * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + int(found[7] or 0)


def date_text(milliseconds, has_fraction=True):
    require(DATE_MIN <= milliseconds <= DATE_MAX, "a date is past the year 9999 or before the year 0")
    day, rest = divmod(milliseconds, 86_400_000)
    year = day * 400 // 146_097 + 1969
    while days(year + 1, 1, 1) <= day:
        year += 1
    month = 12
    while days(year, month, 1) > day:
        month -= 1
    text = "%04d-%02d-%02dT%02d:%02d:%02d" % (
        year, month, day - days(year, month, 1) + 1, rest // 3_600_000, rest // 60_000 % 60, rest // 1000 % 60)
    return text + (".%03dZ" % (rest % 1000) if has_fraction else "Z")


def read_strings(source, count, is_nested=False):
    encoding = source.u8()
    if encoding in (2, 3):
        texts = []
        for _ in range(count):
            digits = source.take(16).hex()
            texts.append("-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])))
        return texts if encoding == 2 else [text.upper() for text in texts]
    if encoding in (4, 5):
        scale = 1000 if encoding == 4 else 1
        return [date_text(value * scale, encoding == 5) for value in read_ints(source, count)]
    if encoding == 1:
        bits, texts = Bits(source), []
        for _ in range(count):
            text = ""
            while (nibble := bits.take(4)) < 15:
                text += NIBBLES[nibble]
            texts.append(text)
        bits.close()
        return texts
    if encoding == 6:
        require(not is_nested, "repeated strings within repeated strings")
        distinct = source.varint(1, count)
        texts = read_strings(source, distinct, True)
        places = read_ints(source, count)
        check_first_use(places, distinct)
        return [texts[place] for place in places]
    require(encoding == 0, "a column of strings has an encoding that is not known")
    part = Bytes(source.take(source.varint()))
    lengths = read_ints(part, count)
    part.end()
    require(all(0 <= length <= VALUE_BYTES_MAX for length in lengths), "a string has a length that cannot be")
    return [decoded(source.take(length)) for length in lengths]


def check_first_use(places, count):
    """Places from 0 in a table that was filled by first use: each is at most one more than the highest before."""
    seen = 0
    for place in places:
        require(0 <= place <= seen, "a place in a table is out of order")
        seen = max(seen, place + 1)
    require(seen == count, "a table has entries that nothing uses")


def read_doubles(source, count):
    encoding = source.u8()
    if encoding == 0:
        return [checked_double(source.number("d")) for _ in range(count)]
    require(encoding == 1, "a column of doubles has an encoding that is not known")
    exponent = source.u8()
    require(1 <= exponent <= 17, "a column of doubles has an exponent that cannot be")
    integers = read_ints(source, count)
    require(all(abs(m) <= 1 << 53 for m in integers), "a decimal fraction has more than 53 bits")
    return [checked_double(float(m) / 10.0**exponent) for m in integers]


def read_kinds(source, count):
    heads = [source.u8() for _ in range(source.u8())]
    places = read_ints(source, count)
    require(all(0 <= place < len(heads) for place in places), "a kind is out of its table")
    require(len(set(heads)) == len(heads) and set(places) == set(range(len(heads))), "a table of kinds is malformed")
    return [heads[place] for place in places]


# Blocks


@dataclass
class Secret:
    """The secret of the segment that began with commit `first`: whole, or in runs, or those in salts."""

    first: int
    whole: bytes = b""
    runs: dict = field(default_factory=dict)  # run → its secret, or {(commit, event): salt}


@dataclass
class Block:
    commits: list
    heads: list
    secrets: list
    columns: dict  # (id, index) → the column's bytes


def read_secret(source):
    secret = Secret(source.varint(1, NUMBER_MAX))
    form = source.u8()
    require(form <= 1, "a secret is malformed")
    if form == 0:
        secret.whole = source.take(32)
        return secret
    numbers = []
    for _ in range(source.varint()):
        numbers.append(source.varint())
        form = source.u8()
        require(form <= 1, "a secret is malformed")
        if form == 0:
            secret.runs[numbers[-1]] = source.take(32)
        else:
            salts = [((source.varint(), source.varint()), source.take(16)) for _ in range(source.varint(1))]
            rising([place for place, _ in salts], "salts")
            secret.runs[numbers[-1]] = dict(salts)
    rising(numbers, "runs")
    return secret


class Columns:
    """The columns of a block, each to be read once and to its end."""

    def __init__(self, source):
        self.bytes, self.unread = {}, set()
        total, last = 0, (0, 0)
        for _ in range(source.varint()):
            key = source.varint(), source.varint()
            require(key > last, "columns are out of order")
            last = key
            form, length = source.u8(), source.varint(1)
            total += length
            require(form <= 1 and total <= COLUMN_BYTES_MAX, "a column is malformed")
            self.bytes[key] = decompressed(source.blob(), length) if form else source.take(length)
            self.unread.add(key)

    def open(self, key):
        require(key in self.unread, "a column is missing")
        self.unread.remove(key)
        return Bytes(self.bytes[key])

    def read(self, column, read, count, index=0):
        """`count` entries; no column where there are none."""
        if not count:
            return iter(())
        source = self.open((column, index))
        values = read(source, count)
        source.end()
        return iter(values)

    def table(self, column, places, check):
        """The strings that places from 0 refer to, by first use."""
        count = max(places, default=-1) + 1
        check_first_use(places, count)
        if not count:
            return []
        source = self.open((column, 0))
        require(source.varint() == count, "a table has another number of entries than are used")
        texts = read_strings(source, count)
        source.end()
        return [check(text) for text in texts]


def each(read):
    return lambda source, count: [read(source) for _ in range(count)]


def read_shape(source):
    shape = [(source.varint(), source.u8()) for _ in range(source.varint(1))]
    for _, tag in shape:
        check_tag_byte(tag)
    return shape


def new_or_known(codes):
    """Places from 0, from codes where 0 is the next new one and the others are places from 1."""
    places, seen = [], 0
    for code in codes:
        require(0 <= code <= seen, "a place in a table is out of order")
        places.append(code - 1 if code else seen)
        seen += code == 0
    return places, seen


def read_block(data, replica, first, count):
    source = Bytes(data)
    require(source.u8() == 1, "a block has a version that is not known")
    require(source.varint(1, EVENTS_MAX) == count, "a block has another number of commits than its frame says")
    event_count, sequence = source.varint(1, EVENTS_MAX), source.varint(1, NUMBER_MAX)
    require(sequence + event_count - 1 <= NUMBER_MAX, "a sequence number is past its limit")
    stamp = source.number("Q")
    heads = read_heads(source, replica, least=0)
    secrets = [read_secret(source) for _ in range(source.varint(1))]
    firsts = [secret.first for secret in secrets]
    rising(firsts, "secrets")
    require(firsts[0] <= first and firsts[-1] < first + count and (len(firsts) == 1 or firsts[1] > first),
            "a block lists a secret that serves none of its commits")
    columns = Columns(source)
    source.end()

    # Commits
    sizes = [more + 1 for more in columns.read(1, read_ints, count)]
    require(min(sizes) >= 1 and sum(sizes) == event_count, "a block's events are not as many as its commits have")
    stamps = [stamp]
    steps = zip(columns.read(2, read_ints, count - 1), columns.read(3, read_ints, count - 1))
    for milliseconds, surplus in steps:
        expected = (stamps[-1] & 0xFFFF) + 1 if milliseconds == 0 else 0
        require(0 <= expected + surplus <= 0xFFFF, "a stamp's counter is past its limits")
        stamps.append(((stamps[-1] >> 16) + milliseconds << 16) + expected + surplus)
        require(stamps[-1] > stamps[-2], "stamps do not rise")
    walls = [(stamp >> 16) + delta for stamp, delta in zip(stamps, columns.read(4, read_ints, count))]
    for pair in zip(stamps, walls):
        check_times(*pair)
    places = list(columns.read(5, read_ints, count))
    require(min(places) >= 0, "an origin is out of its table")
    origins = columns.table(6, [place - 1 for place in places if place], lambda text: checked_name(text, 256))
    presence = list(columns.read(7, read_ints, count))
    require(all(0 <= bits <= 3 for bits in presence), "a commit's presence is malformed")
    all_heads = columns.read(8, each(lambda source: read_heads(source, replica)), sum(bits & 1 for bits in presence))
    all_members = columns.read(9, each(read_members), sum(bits >> 1 for bits in presence))
    commits = []
    for place in range(count):
        commits.append(Commit(
            replica, first + place, stamps[place], walls[place], sequence,
            origins[places[place] - 1] if places[place] else "",
            next(all_heads) if presence[place] & 1 else [], next(all_members) if presence[place] & 2 else [], []))
        sequence += sizes[place]

    # Events
    events = [Event(head) for head in columns.read(16, read_kinds, event_count)]
    for event in events:
        check_head_byte(event.head)
    with_item = [event for event in events if event.has_item]
    item_places, item_count = new_or_known(columns.read(17, read_ints, len(with_item)))
    library_places = list(columns.read(18, read_ints, item_count))
    libraries = columns.table(19, library_places, checked_library)
    names = [
        columns.read(20, read_strings, library_places.count(place), place) for place in range(len(libraries))]
    items = [(libraries[place], checked_name(next(names[place]), 4_096)) for place in library_places]
    for event, place in zip(with_item, item_places):
        event.library, event.item = items[place]
    owners = [commit for commit, size in zip(commits, sizes) for _ in range(size)]
    dated = [(event, owner) for event, owner in zip(events, owners) if event.head & HAS_DATE]
    for (event, owner), delta in zip(dated, columns.read(21, read_ints, len(dated))):
        event.date = owner.wall + delta
        check_date(event.date, owner.wall)

    # Fields
    with_fields = [event for event in events if event.head & HAS_FIELDS]
    shape_places, shape_count = new_or_known(columns.read(22, read_ints, len(with_fields)))
    shapes = list(columns.read(23, each(read_shape), shape_count))
    name_table = columns.table(24, [name for shape in shapes for name, _ in shape], lambda text: checked_name(text, 256))
    for shape in shapes:
        rising([name_table[name] for name, _ in shape], "fields")
    wanted = {}
    for place in shape_places:
        for name, tag in shapes[place]:
            if tag & 63 > 2:
                wanted[name, tag & 63] = wanted.get((name, tag & 63), 0) + 1
    readers = {3: read_ints, 4: read_doubles, 5: read_strings, 6: read_strings}
    values = {
        (name, tag): columns.read(25, readers.get(tag, each(Bytes.blob)), entries, 64 * name + tag)
        for (name, tag), entries in wanted.items()}
    for event, place in zip(with_fields, shape_places):
        for name, byte in shapes[place]:
            tag = byte & 63
            value = next(values[name, tag]) if tag > 2 else (None, False, True)[tag]
            event.fields.append((name_table[name], byte, checked_json(value) if tag == 6 else value))

    with_members = [event for event in events if event.head & HAS_MEMBERS]
    for event, members in zip(with_members, columns.read(26, each(read_members), len(with_members))):
        event.members = members
    withheld = [event for event in events if event.action == WITHHELD]
    for event, digest in zip(withheld, columns.read(27, each(lambda source: source.take(32)), len(withheld))):
        event.hash = digest
    later = [event for event in events if event.action == LATER]
    for event, part in zip(
            later, columns.read(28, each(lambda source: (source.varint(8), source.blob())), len(later))):
        event.later = part
    require(not columns.unread, "a block has a column that nothing refers to")
    for event, owner in zip(events, owners):
        owner.events.append(event)
    return Block(commits, heads, secrets, columns.bytes)
