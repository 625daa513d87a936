"""Yrs (pycrdt) and Loro on the trace that merge-bench wrote: what shipping and taking in the other's events costs.

    peers.py TRACE ROUNDS

Each peer keeps items as JSON texts or numbers in flat maps, which is its fastest layout, and a commit an event. It prints lines of
name, measure, median, as merge-bench does; times are nanoseconds of
computing an event, the mean of the two sides.
"""

import json
import statistics
import sys
import time


def steps(path):
    parts = [[]]
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                parts[-1].append(json.loads(line))
            else:
                parts.append([])
    return parts[:3]


class Loro:
    name = "loro"

    def __init__(self):
        import loro

        self.loro = loro

    def new(self, device):
        document = self.loro.LoroDoc()
        document.peer_id = device
        return document

    def play(self, document, part):
        items, favorites, positions = (document.get_map(n) for n in ("items", "favorites", "positions"))
        for step in part:
            kind, when, key = step[:3]
            if kind == "P":
                positions.insert(key, step[3])
            elif kind == "R":
                favorites.insert(key, None)
            else:
                if kind == "A" and key not in items:
                    items.insert(key, json.dumps(step[3], separators=(",", ":")))
                was_on = key in favorites and favorites.get(key).value is not None
                favorites.insert(key, None if was_on and kind == "T" else when)
            document.commit_with(timestamp=when // 1000)

    def version(self, document):
        return document.oplog_vv

    def updates(self, document, version):
        return document.export(self.loro.ExportMode.Updates(version))

    def all(self, document):
        return document.export(self.loro.ExportMode.Updates(self.loro.VersionVector()))

    def take(self, document, update):
        document.import_(update)

    def state(self, document):
        return document.get_deep_value()

    def copy(self, device, update):
        document = self.new(device)
        document.import_(update)
        return document


class Yrs:
    name = "yrs"

    def __init__(self):
        import pycrdt

        self.pycrdt = pycrdt

    def new(self, device):
        document = self.pycrdt.Doc(client_id=device, skip_gc=True)
        for name in ("items", "favorites", "positions"):
            document.get(name, type=self.pycrdt.Map)
        return document

    def maps(self, document):
        return [document.get(name, type=self.pycrdt.Map) for name in ("items", "favorites", "positions")]

    def play(self, document, part):
        items, favorites, positions = self.maps(document)
        known, on = set(items.keys()), favorites.to_py() or {}
        for step in part:
            kind, when, key = step[:3]
            with document.transaction():
                if kind == "P":
                    positions[key] = step[3]
                    continue
                if kind == "A" and key not in known:
                    items[key] = json.dumps(step[3], separators=(",", ":"))
                    known.add(key)
                value = None if kind == "R" or (kind == "T" and on.get(key) is not None) else when
                favorites[key] = on[key] = value

    def version(self, document):
        return document.get_state()

    def updates(self, document, version):
        return document.get_update(version)

    def all(self, document):
        return document.get_update()

    def take(self, document, update):
        document.apply_update(update)

    def state(self, document):
        return [one.to_py() for one in self.maps(document)]

    def copy(self, device, update):
        document = self.new(device)
        document.apply_update(update)
        return document


def main():
    base, mine, theirs = steps(sys.argv[1])
    rounds = int(sys.argv[2])
    for peer in (Yrs(), Loro()):
        a = peer.new(1)
        peer.play(a, base)
        shared = peer.all(a)
        b = peer.copy(2, shared)
        before = peer.version(b)
        peer.play(a, mine)
        peer.play(b, theirs)
        to_b, to_a = peer.updates(a, before), peer.updates(b, before)
        all_of_a, all_of_b = peer.all(a), peer.all(b)
        times = []
        for _ in range(rounds):
            one, other = peer.copy(11, all_of_a), peer.copy(12, all_of_b)
            started = time.process_time_ns()
            peer.take(one, peer.updates(b, before))
            peer.take(other, peer.updates(a, before))
            times.append((time.process_time_ns() - started) / (len(mine) + len(theirs)))
            if peer.state(one) != peer.state(other):
                sys.exit(f"{peer.name}: the two sides differ")
        print(f"{peer.name}\tfirst sync, bytes/event\t{len(shared) / len(base):.1f}")
        print(f"{peer.name}\tdiverged sync, bytes/event\t{(len(to_a) + len(to_b)) / (len(mine) + len(theirs)):.1f}")
        print(f"{peer.name}\tsync in memory\t{statistics.median(times):.1f}")


main()
