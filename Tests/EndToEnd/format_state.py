"""What is a favorite, and the digest of it, as docs/format.md says."""

import struct
from dataclasses import dataclass, field

from format_decoder import ADDED, HAS_DATE, REMOVED, TOGGLED_OFF, TOGGLED_ON
from format_hashes import sha256


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
