"""The trace, read from its lines: TraceFile.swift says what is in them."""

import json

FIELDS = "authors", "categories", "date", "title"


def steps(path):
    """Kind, milliseconds, id, and what is new: the item as JSON, whether a toggle switches on, or a position."""
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            kind, time, key, *rest = line.rstrip("\n").split("\t")
            if kind == "A":
                news = json.dumps(dict(zip(FIELDS, rest)), separators=(",", ":")) if rest else None
            else:
                news = rest[0] == "1" if kind == "T" else float(rest[0]) if kind == "P" else None
            yield kind, int(time), key, news


def changes(path):
    """Each event as what it writes: a map's name, a key and a value; and with a new item, its text."""
    for kind, time, key, news in steps(path):
        if kind == "P":
            yield time, "positions", key, news, None
        else:
            on = kind == "A" or (kind == "T" and news)
            yield time, "favorites", key, time if on else None, news if kind == "A" else None


def favorites_at(path, count):
    """How many favorites there are after so many events."""
    on = {}
    for place, (_, name, key, value, _) in enumerate(changes(path)):
        if place == count:
            break
        if name == "favorites":
            on[key] = value is not None
    return sum(on.values())
