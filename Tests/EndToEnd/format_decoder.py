"""Bytes, values and rows of a Heartlog store, read as docs/format.md says, and as nothing else says."""

import ctypes
import json
import re
import struct
from dataclasses import dataclass, field

MIB = 1 << 20
EVENTS_MAX, HEADS_MAX, NUMBER_MAX = 50_000, 4_096, (1 << 53) - 1
ROW_BYTES_MAX, VALUE_BYTES_MAX = 16 * MIB, MIB
TIME_MAX = 32_503_679_999_999
DATE_MIN, DATE_MAX = -62_167_219_200_000, 253_402_300_799_999
ADDED, REMOVED, TOGGLED_ON, TOGGLED_OFF, CHANGED, WITHHELD, LATER = range(7)
HAS_DATE, HAS_FIELDS, HAS_MEMBERS = 8, 16, 32
LIBRARY = re.compile(r"[a-z0-9._-]{1,64}")
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")

lz4 = ctypes.CDLL("liblz4.so.1")


class Malformed(Exception):
    pass


class NoFrame(Malformed):
    """Bytes where a frame should be, which may be what an unfinished write has left."""


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
