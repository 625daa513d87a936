#!/usr/bin/env python3
r"""A last-writer-wins model of a favorites store, to check the real one against.

It reads operations, one JSON object a line, in the form that `heartlog apply` reads, and prints the state that they
lead to. It knows the rules of writing and merging and nothing of logs, so that a mistake in one is not repeated in the
other. Each FILE is a device that saw only its own operations; several files give the state after all have merged.
Without an option it prints every item of every library, as `list LIBRARY --all --json` does, then the summary. A line
that has no "time" takes --now. What is bad input is the real store's to say: here it must be good, as a rule, and a
line that makes no sense ends the model with exit code 65. `python3 -m doctest Scripts/model.py` checks this:

>>> [number_text(x) for x in (-0.0, 4.5, 1e21, 1e20, 1e-6, 1e-7, 333333333.33333329, 123456.789, 5e-324)]
['0', '4.5', '1e+21', '100000000000000000000', '0.000001', '1e-7', '333333333.3333333', '123456.789', '5e-324']
>>> print(ascii(json_text({"\ufb33": 1, "\U0001f600": [True, None], "\u20ac": "a\x1f/", "1": -3})))
'{"1":-3,"\u20ac":"a\\u001f/","\U0001f600":[true,null],"\ufb33":1}'
>>> [field_value(x) for x in (None, True, 7.0, -0.0, 0.5, 2**63, -2**63 - 1)]
[None, (1, True), (2, 7), (2, 0), (3, 0.5), (3, 9.223372036854776e+18), (2, -9223372036854775808)]
>>> [field_value(x) for x in ("é", {"b": [1.0], "a": {}})]
[(4, 'é'), (5, '{"a":{},"b":[1]}')]
>>> [time_text(milliseconds(x)) for x in ("2026-03-02T08:15:00.9999+01:00", "1969-12-31T23:59:59.9995Z")]
['2026-03-02T07:15:00.999Z', '1969-12-31T23:59:59.999Z']
"""

import argparse
import hashlib
import json
import re
import signal
import struct
import sys
from datetime import datetime, timedelta, timezone

BOOL, INT64, DOUBLE, STRING, JSON = 1, 2, 3, 4, 5  # tags of values in the state digest; a null is None
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
RFC3339 = re.compile(r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d+))?(?:[Zz]|([+-])([01]\d|2[0-3]):([0-5]\d))", re.A)
ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


# JSON


def number_text(value):
    """A number as ECMAScript writes it, which RFC 8785 asks for: repr has the same digits, but places them its way."""
    if isinstance(value, int) or value == 0:
        return str(int(value))
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    padded = whole + fraction
    digits = padded.lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(padded) - len(digits))  # the value is 0.DIGITS × 10^point
    digits = digits.rstrip("0")
    if len(digits) <= point <= 21:
        text = digits + "0" * (point - len(digits))
    elif 0 < point <= 21:
        text = digits[:point] + "." + digits[point:]
    elif -6 < point <= 0:
        text = "0." + "0" * -point + digits
    else:
        text = digits[0] + ("." if digits[1:] else "") + digits[1:] + "e%+d" % (point - 1)
    return "-" + text if value < 0 else text


def string_text(value):
    return '"' + re.sub(r'["\\\x00-\x1f]', lambda m: ESCAPES.get(m[0]) or "\\u%04x" % ord(m[0]), value) + '"'


def json_text(value, canonical=True):
    """JSON text; canonical, with names in the order of their UTF-16 code units, it is that of RFC 8785."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return string_text(value)
    if isinstance(value, (int, float)):
        return number_text(value)
    if isinstance(value, list):
        return "[" + ",".join(json_text(element, canonical) for element in value) + "]"
    names = sorted(value, key=lambda name: name.encode("utf-16-be")) if canonical else value
    return "{" + ",".join(string_text(name) + ":" + json_text(value[name], canonical) for name in names) + "}"


# Values and times


def field_value(value):
    """The value of a field as (tag, value), or None for null, from what a line gives."""
    if value is None:
        return None
    if isinstance(value, bool):
        return (BOOL, value)
    if isinstance(value, int) and -(1 << 63) <= value < 1 << 63:
        return (INT64, value)
    if isinstance(value, (int, float)):
        number = float(value)
        is_int64 = number.is_integer() and -(2.0**63) <= number < 2.0**63
        return (INT64, int(number)) if is_int64 else (DOUBLE, number)
    return (STRING, value) if isinstance(value, str) else (JSON, json_text(value))


def milliseconds(text):
    """Whole milliseconds since 1970 of an RFC 3339 time, rounded down."""
    match = RFC3339.fullmatch(text or "")
    if not match:
        raise ValueError(f"not an RFC 3339 time: {text}")
    date, clock, fraction, sign, hours, minutes = match.groups()
    time = datetime.fromisoformat(f"{date}T{clock}+00:00")
    east = (int(hours or 0) * 60 + int(minutes or 0)) * (-60_000 if sign == "-" else 60_000)
    return (time - EPOCH) // timedelta(milliseconds=1) + int(((fraction or "") + "000")[:3]) - east


def time_text(time):
    return (EPOCH + timedelta(milliseconds=time)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


# The store


class Item:
    """Registers, each (order, value) with the order of the write that won; None where none was."""

    def __init__(self):
        self.membership = None  # its value is the favorited date, None for what was removed
        self.fields = {}

    @property
    def date(self):
        """The favorited date; None where the item is not a favorite."""
        return self.membership[1] if self.membership else None

    def values(self):
        """What is not null, by the bytes of the names."""
        return {name: self.fields[name][1] for name in sorted(self.fields, key=str.encode) if self.fields[name][1]}

    def is_visible(self):
        return self.date is not None or bool(self.values())

    def merge(self, other):
        """Takes the later write of each register."""
        registers = [register for register in (self.membership, other.membership) if register]
        self.membership = max(registers, key=lambda register: register[0], default=None)
        for name, register in other.fields.items():
            self.fields[name] = max(self.fields.get(name, register), register, key=lambda register: register[0])


class Store:
    def __init__(self, replica=0):
        self.replica = replica
        self.libraries = {}  # name -> id -> Item
        self.events = {}  # name -> how many were written
        self.operations = self.commits = self.sequence = 0
        self.stamp = 0  # of the last commit: milliseconds × 2^16 + counter

    def commit(self, operations, wall):
        """Writes one commit, or none where nothing changes."""
        stamp = max(self.stamp + 1, wall << 16)
        self.operations += len(operations)
        if sum([self.apply(operation, wall, stamp) for operation in operations]) > 0:
            self.stamp = stamp
            self.commits += 1

    def apply(self, operation, wall, stamp):
        """Writes the event that the operation comes to; true where there is one."""
        kind, name, ident = operation["op"], operation["library"], operation["id"]
        item = self.libraries.get(name, {}).get(ident) or Item()
        is_favorite = item.date is not None
        switches_on = kind in ("add", "toggle") and not is_favorite
        switches_off = kind in ("remove", "toggle") and is_favorite
        fields = {}
        if switches_on or kind == "set":
            held = item.values()
            given = {field: field_value(value) for field, value in (operation.get("fields") or {}).items()}
            fields = {field: value for field, value in given.items() if held.get(field) != value}
        if not (switches_on or switches_off or fields):
            return False
        self.sequence += 1
        order = (stamp, self.replica, self.sequence)
        if switches_on:
            date = operation.get("favoritedDate")
            item.membership = (order, wall if date is None else milliseconds(date))
        elif switches_off:
            item.membership = (order, None)
        item.fields.update((field, (order, value)) for field, value in fields.items())
        self.libraries.setdefault(name, {})[ident] = item
        self.events[name] = self.events.get(name, 0) + 1
        return True

    def merge(self, other):
        for name, items in other.libraries.items():
            for ident, item in items.items():
                self.libraries.setdefault(name, {}).setdefault(ident, Item()).merge(item)
            self.events[name] = self.events.get(name, 0) + other.events[name]
        self.operations += other.operations
        self.commits += other.commits

    def listing(self, library, everything=False):
        """Favorites, newest first, of one date the last written first; `everything` adds what is not one, without a date, last and by id."""
        items = [(ident, item) for ident, item in self.libraries.get(library, {}).items()
                 if item.date is not None or everything and (item.is_visible() or item.membership)]
        favorites = sorted((pair for pair in items if pair[1].date is not None), reverse=True,
                           key=lambda pair: (pair[1].date, pair[1].membership[0]))
        return favorites + sorted((pair for pair in items if pair[1].date is None), key=lambda pair: pair[0].encode())

    def digest(self):
        def counted(text):
            return struct.pack("<I", len(text.encode())) + text.encode()

        store = hashlib.sha256()
        for name in sorted(self.libraries, key=str.encode):
            library = hashlib.sha256()
            visible = [ident for ident, item in self.libraries[name].items() if item.is_visible()]
            for ident in sorted(visible, key=str.encode):
                date, values = self.libraries[name][ident].date, self.libraries[name][ident].values()
                library.update(counted(ident) + (b"\0" if date is None else struct.pack("<Bq", 1, date)))
                library.update(struct.pack("<I", len(values)))
                for field, (tag, value) in values.items():
                    layout = {BOOL: "<B", INT64: "<q", DOUBLE: "<d"}.get(tag)
                    library.update(counted(field) + bytes([tag]))
                    library.update(struct.pack(layout, value) if layout else counted(value))
            if visible:
                store.update(counted(name) + library.digest())
        return store.hexdigest()

    def summary(self):
        """`items` counts what a listing of everything shows, `operations` also those that wrote nothing."""
        libraries = [{"name": name, "favorites": len(self.listing(name)),
                      "items": len(self.listing(name, everything=True)),
                      "events": self.events[name]} for name in sorted(self.events, key=str.encode)]
        return {"digest": self.digest(), "operations": self.operations, "events": sum(self.events.values()),
                "commits": self.commits, "libraries": libraries}


# Input and output


def read_store(lines, replica, now):
    """Consecutive lines of one `commit` value are one commit, which {"op":"commit"} ends, too."""
    store, group, label, wall = Store(replica), [], None, 0
    for number, line in enumerate(lines, 1):
        try:
            operation = json.loads(line)
            ends = operation == {"op": "commit"}
            name = None if operation.get("commit") is None else json_text(operation["commit"])  # Python holds 1 for true
            if group and (ends or label is None or name != label):
                store.commit(group, wall)
                group = []
            if ends:
                continue
            time = milliseconds(operation.get("time") or now)
            if operation["op"] not in ("add", "remove", "toggle", "set") or group and time != wall:
                raise ValueError("no such operation, or another time in the same commit")
            group, label, wall = group + [operation], name, time
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"line {number}: {error!r}") from None
    if group:
        store.commit(group, wall)
    return store


def main():
    parser = argparse.ArgumentParser(description="A last-writer-wins model of a favorites store.")
    parser.add_argument("files", nargs="+", metavar="FILE", help="operations of one device; - is standard input")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--digest", action="store_true", help="print the state digest alone")
    choice.add_argument("--summary", action="store_true", help="print digest and counts")
    choice.add_argument("--list", metavar="LIBRARY", help="print the favorites of one library")
    parser.add_argument("--all", action="store_true", help="with --list: also what is not a favorite")
    parser.add_argument("--now", metavar="TIME", help="the wall clock of lines without a time")
    options = parser.parse_args()

    store = Store()
    for replica, file in enumerate(options.files):
        try:
            with open(0 if file == "-" else file, "rb") as lines:
                store.merge(read_store(lines, replica, options.now))
        except (OSError, ValueError) as error:
            print(f"{file}: {error}", file=sys.stderr)
            return 66 if isinstance(error, OSError) else 65
    if options.digest:
        print(store.digest())
        return 0
    for library in [options.list] if options.list else [] if options.summary else sorted(store.libraries):
        for ident, item in store.listing(library, options.all or not options.list):
            fields = {name: json.loads(value) if tag == JSON else value for name, (tag, value) in item.values().items()}
            date = None if item.date is None else time_text(item.date)
            print(json_text({"library": library, "id": ident, "isFavorite": date is not None, "favoritedDate": date,
                             "fields": fields}, canonical=False))
    if not options.list:
        print(json_text(store.summary(), canonical=False))
    return 0


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends it without a word
    sys.exit(main())
