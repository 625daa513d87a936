"""The bars that Heartlog is held against, and what became of them.

A bar is a ratio of figures of one run, or a number that no machine changes.
"""

import math

from .measures import CRDTS, RAW_WRITES, TYPED_CALLS
from .names import label
from .results import figure


class Condition:
    """One figure, and what it must not exceed, or must reach. `value` is None where something was not measured."""

    def __init__(self, text, value, unit, *, most=None, least=None):
        self.text, self.value, self.unit, self.most, self.least = text, value, unit, most, least

    @property
    def is_met(self):
        if self.value is None:
            return None
        return self.value <= self.most if self.most is not None else self.value >= self.least

    @property
    def bar(self):
        sign, limit = ("≤", self.most) if self.most is not None else ("≥", self.least)
        return f"{sign} {limit:,g}{self.unit}{self.text}"

    @property
    def measured(self):
        return "" if self.value is None else f"{figure(self.value)}{self.unit}"


class Bar:
    def __init__(self, what, conditions, peers=()):
        self.what, self.conditions, self.beside = what, conditions, peers

    @property
    def bar(self):
        return "; ".join(c.bar for c in self.conditions)

    @property
    def measured(self):
        return "; ".join(c.measured or "?" for c in self.conditions)

    @property
    def peers(self):
        return "; ".join(f"{label(peer)} {figure(value)}" for peer, value in self.beside if value is not None)

    @property
    def met(self):
        states = [c.is_met for c in self.conditions]
        if None in states:
            return "not measured"
        return "yes" if all(states) else "no" if not any(states) else f"{states.count(True)} of {len(states)}"


def judge(results):
    """Every bar of which something was measured. All of them where a full run was made."""
    median = results.median

    def over(measure, name, peer, *, inverse=False, own="heartlog"):
        """Heartlog's figure over a peer's; the other way round for times that are to be shorter."""
        a, b = median(measure, own, name), median(measure, peer, name)
        return None if a is None or b is None else b / a if inverse else a / b

    def beside(measure, name, *peers):
        return [(peer, median(measure, peer, name)) for peer in peers]

    def least(measure, name, *peers):
        """The peer with the least figure."""
        return min(peers, key=lambda peer: median(measure, peer, name) or math.inf)

    def at_most(text, value, limit, unit=" ×"):
        return Condition(text, value, unit, most=limit)

    def at_least(text, value, limit, unit=" ×"):
        return Condition(text, value, unit, least=limit)

    def own(measure, name):
        return median(measure, "heartlog", name)

    def quotient(a, b):
        return None if a is None or not b else a / b

    def beside_rows(call):
        """How many times as fast as the better of two ways with SQLite one of the calls of `Favorites<Item>` is."""
        return over("typed", call, least("typed", call, "sqlite-columns", "sqlite-json"), inverse=True)

    def worst(pick, ratios):
        known = [ratio for ratio in ratios if ratio is not None]
        return pick(known) if known else None

    one, many, whole = "1 writers", "64 writers", "whole"
    raw = least("durable", "p50", *RAW_WRITES)
    grown = [own("growth", f"{events:,}") for events in (10_000, 1_000_000)]
    waits = own("beside", "p99 beside"), own("beside", "usual p99")
    past = least("travel", "half", *CRDTS)
    all_bars = [
        Bar("one durable commit, one writer", [
            at_most(" SQLite FULL", over("durable", "p50", "sqlite"), 1),
        ], beside("durable", "p50", "heartlog", raw, "sqlite", "lmdb", "leveldb", "rocksdb")),
        Bar("p99 of one durable commit", [at_most(" that of the best raw write", over("durable", "p99", raw), 1.5)],
            beside("durable", "p99", "heartlog", raw, "sqlite", "lmdb", "leveldb", "rocksdb")),
        Bar("64 durable writers", [
            at_least(" a group-commit log in C", over("writers", many, "group-log"), 0.8),
            at_least(" LevelDB", over("writers", many, "leveldb"), 1.2),
            at_least(" SQLite batched", over("writers", many, "sqlite-batched"), 2),
            at_least(" SQLite, a connection each", over("writers", many, "sqlite-each"), 15),
        ], beside("writers", many, "heartlog", "group-log", "leveldb", "rocksdb", "sqlite-batched", "sqlite-each",
                  "lmdb")),
        Bar("1,000,000 events in durable commits of 1,000", [
            at_least(" SQLite", over("batches", "rate", "sqlite"), 8),
        ], beside("batches", "rate", "sqlite", "lmdb", "leveldb", "rocksdb")),
        Bar("buffered appends, one event each", [
            at_least(" SQLite NORMAL", over("buffered", "rate", "sqlite"), 10),
            at_least(" LevelDB", over("buffered", "rate", "leveldb"), 1.5),
        ], beside("buffered", "rate", "raw", "sqlite", "lmdb", "leveldb", "rocksdb")),
        Bar("size of 100,000 events", [
            at_most(" bytes an event", own("size", "sealed"), 12.5, ""),
            at_most(" before `seal`", own("size", "before seal"), 28, ""),
        ], beside("size", "compacted", "loro", "yrs", "automerge")),
        Bar("the whole folder of 100,000 events", [
            at_most(" bytes an event", own("size", "the whole folder"), 35, ""),
            at_most(" SQLite", quotient(own("size", "the whole folder"), median("size", "sqlite", "compacted")), 0.6),
        ], beside("size", "compacted", "sqlite", "lmdb", "leveldb", "rocksdb")),
        Bar("full replay of 1,000,000 events", [
            at_least(" faster than Loro", over("replay", "mixed", "loro", inverse=True), 3),
        ], beside("replay", "mixed", "loro", "yrs", "lz4", "memory")),
        Bar("open 1,000,000 favorites, a lookup, a page of 50", [
            at_most(" the same of 10,000", quotient(own("open", "1,000,000"), own("open", "10,000")), 1.5),
            at_most(" SQLite", over("open", "1,000,000", "sqlite"), 1),
        ], beside("open", "1,000,000", "sqlite", "lmdb", "leveldb", "rocksdb")),
        Bar("memory after that", [at_most(" MB", own("open", "1,000,000, memory"), 2, "")],
            beside("open", "1,000,000, memory", "sqlite", "lmdb", "leveldb", "rocksdb")),
        Bar("isFavorite by id, 1,000,000 favorites", [
            at_least(" faster than SQLite", over("lookup", "contains", "sqlite", inverse=True), 15),
            at_least(" faster than SQLite, a whole item", over("lookup", "item", "sqlite", inverse=True), 10),
        ], beside("lookup", "contains", "table", "sqlite", "lmdb", "leveldb", "rocksdb")),
        Bar("each of seven calls of `Favorites<Item>`, 100,000 items", [
            at_most(" the same by id and fields", worst(max, (over("typed", call, "heartlog-fields") for call in TYPED_CALLS)), 2),
            at_least(" faster than SQLite", worst(min, map(beside_rows, TYPED_CALLS)), 1),
        ], [(f"{call} ×", beside_rows(call)) for call in TYPED_CALLS]),
        Bar("state at half of 100,000 events", [
            at_least(" faster than the fastest of the others", over("travel", "half", past, inverse=True), 1.5)],
            beside("travel", "half", *CRDTS)),
        Bar("`heartlog list papers --limit 50`", [
            at_most(" an empty static Swift program", over("list", whole, "empty"), 2.5)],
            beside("list", whole, "empty", "empty-whole")),
        Bar("a durable commit while a snapshot of 1,000,000 favorites is written", [
            at_most(" its usual p99", quotient(*waits), 2)],
            [("p99 beside, µs", waits[0]), ("the usual p99, µs", waits[1])]),
        Bar("a commit at 1,000,000 events", [
            at_most(" the instructions at 10,000", quotient(grown[1], grown[0]), 1.25)],
            [("at 10,000:", grown[0]), ("at 1,000,000:", grown[1])]),
    ]
    return [bar for bar in all_bars if any(c.value is not None for c in bar.conditions)]
