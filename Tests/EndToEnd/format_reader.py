#!/usr/bin/env python3
"""A second reader of Heartlog stores, written from docs/format.md alone, to show that the page suffices.

    format_reader.py STORE                      the streams and the digest of the state, as JSON
    format_reader.py STORE --events             every event, as `heartlog log --json` prints them
    format_reader.py --vectors docs/format.md   the worked examples of that page

It takes no lock and changes nothing. Exit code 65 where something is damaged; a torn tail is not.
"""

import argparse
import json
import pathlib
import re
import sys
from dataclasses import dataclass, field

import format_vectors
from format_columns import date_text
from format_decoder import (
    ADDED, CHANGED, HAS_DATE, HAS_FIELDS, LATER, REMOVED, TOGGLED_OFF, TOGGLED_ON, WITHHELD, Malformed, Newer,
    json_text, require)
from format_hashes import Tree, leaf_hash
from format_segments import read_segment, read_store
from format_state import digest, state, total_order

SEGMENT_NAME = re.compile(r"(\d{16})\.(sealed|suspect|open)")
PRECEDENCE = ("sealed", "suspect", "open")


# Streams


@dataclass
class Stream:
    replica: str
    segments: list
    problems: list
    name: str = ""
    root: str = ""
    leaf_hashes: list = field(default_factory=list)

    @property
    def commits(self):
        return [commit for segment in self.segments for commit in segment.commits]


def read_stream(folder):
    stream = Stream(folder.name, [], [])
    candidates = []
    for path in folder.iterdir():
        found = SEGMENT_NAME.fullmatch(path.name)
        if found:
            candidates.append((int(found[1]), PRECEDENCE.index(found[2]), path))
    def damaged(path, sentence):
        stream.problems.append({"file": path.name, "offset": 0, "problem": sentence, "verdict": "corrupt"})

    before = None
    for first, _, path in sorted(candidates):
        if before is not None and first == before.first:
            continue  # of one first commit the best comes first
        try:
            segment = read_segment(path)
        except Malformed as problem:
            damaged(path, str(problem))
            break
        if before is not None and first <= before.last and segment.last <= before.last:
            continue  # a leftover of sealing
        if first != (before.last + 1 if before else 1):
            damaged(path, "a segment does not follow")
            break
        if before is not None and before.problem:
            before.problem["verdict"] = "corrupt"  # only a stream's last segment can be torn
            break
        stream.segments.append(segment)
        before = segment
        if segment.header_problem:
            stream.problems.append(segment.header_problem)
        if segment.problem:
            stream.problems.append(segment.problem)
    check_stream(stream)
    return stream


def check_stream(stream):
    """What holds between the segments of a stream: the chain, the heads at each block, the frontiers, the root."""
    tree, heads, expected, stamp = Tree(), {}, 1, -1
    frontiers = {0: []}
    wanted = {segment.tree_size for segment in stream.segments}
    for place, segment in enumerate(stream.segments):
        blocks = {block.commits[0].number: block for block in segment.blocks}
        try:
            require(frontiers.get(segment.tree_size) == segment.frontier, "a frontier is not that of the commits before")
            require(segment.sequence == expected, "a segment's first sequence number does not follow")
            for commit in segment.commits:
                require(commit.stamp > stamp, "stamps do not rise")
                if commit.number in blocks:
                    block = blocks[commit.number]
                    require(dict(block.heads) == heads, "a block's heads are not those in force")
                require(all(heads.get(replica, 0) < number for replica, number in commit.heads), "a head does not rise")
                heads |= dict(commit.heads)
                stream.leaf_hashes.append(leaf_hash(commit, segment.secrets_of(commit)))
                tree.append(stream.leaf_hashes[-1])
                if tree.size in wanted:
                    frontiers[tree.size] = list(tree.frontier)
                expected, stamp = commit.sequence + len(commit.events), commit.stamp
        except Malformed as problem:
            stream.problems.append(
                {"file": segment.path.name, "offset": 0, "problem": str(problem), "verdict": "corrupt"})
            del stream.segments[place + 1:]
            del segment.commits[tree.size - segment.first + 1:]  # what is sound comes before
        stream.name = segment.name
    stream.root = tree.root.hex()


# The command


class Store:
    def __init__(self, folder):
        folder = pathlib.Path(folder)
        identity = read_store(folder / "store")
        self.replica, self.name = identity["replica"], identity["name"]
        replicas = folder / "replicas"
        names = sorted(path.name for path in replicas.iterdir()) if replicas.is_dir() else []
        self.streams = [read_stream(replicas / name) for name in names if re.fullmatch("[0-9a-f]{32}", name)]

    @property
    def commits(self):
        return [commit for stream in self.streams for commit in stream.commits]

    @property
    def problems(self):
        return [problem for stream in self.streams for problem in stream.problems]

    @property
    def is_damaged(self):
        return any(problem["verdict"] != "torn" for problem in self.problems)

    @property
    def summary(self):
        return {
            "replica": self.replica, "name": self.name,
            "streams": [{
                "replica": stream.replica, "name": stream.name, "commits": len(stream.commits),
                "events": sum(len(commit.events) for commit in stream.commits), "segments": len(stream.segments),
                "root": stream.root, "problems": stream.problems} for stream in self.streams],
            "digest": digest(state(self.commits))}

    def event_lines(self):
        for commit in sorted(self.commits, key=total_order):
            for place, event in enumerate(commit.events):
                yield event_line(commit, place, event)


def event_line(commit, place, event):
    parts = [
        ("replica", commit.replica.hex()), ("sequence", commit.sequence + place), ("commit", commit.number),
        ("time", date_text(commit.wall)), ("stamp", "%016x" % commit.stamp)]
    if event.has_item:
        parts += [("library", event.library), ("item", event.item)]
    names = {ADDED: "added", REMOVED: "removed", CHANGED: "changed"}
    if event.action == WITHHELD:
        parts += [("withheld", event.hash.hex())]
    elif event.action == LATER:
        parts += [("unknownKind", event.later[0]), ("bytes", event.later[1].hex())]
    else:
        parts.append(("action", names.get(event.action, "toggled")))
    if event.action in (ADDED, REMOVED, TOGGLED_ON, TOGGLED_OFF):
        parts.append(("isFavorite", event.action in (ADDED, TOGGLED_ON)))
    if event.head & HAS_DATE:
        parts.append(("favoritedDate", date_text(event.date)))
    lines = [json_text(name) + ":" + json_text(value) for name, value in parts]
    if event.head & HAS_FIELDS:
        values = (json_text(name) + ":" + value_text(byte & 63, value) for name, byte, value in event.fields)
        lines.append('"fields":{' + ",".join(values) + "}")
        if quiet := [json_text(name) for name, byte, _ in event.fields if byte & 128]:
            lines.append('"quiet":[' + ",".join(quiet) + "]")
    if event.members:
        members = ('{"tag":%d,"bytes":"%s"}' % (tag, data.hex()) for tag, data in event.members)
        lines.append('"members":[' + ",".join(members) + "]")
    if commit.origin:
        lines.append('"origin":' + json_text(commit.origin))
    return "{" + ",".join(lines) + "}"


def value_text(tag, value):
    if tag > 6:
        return '{"unknownTag":%d,"unknownBytes":"%s"}' % (tag, value.hex())
    return value if tag == 6 else json_text(value)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", nargs="?")
    parser.add_argument("--events", action="store_true")
    parser.add_argument("--vectors", metavar="PAGE")
    options = parser.parse_args()
    if options.vectors:
        failures, unknown = format_vectors.check(pathlib.Path(options.vectors).read_text(encoding="utf-8"))
        for name in unknown:
            print("no check for the example", name)
        for failure in failures:
            print(failure)
        sys.exit(1 if failures else 0)
    if not options.store:
        parser.error("which store?")
    try:
        store = Store(options.store)
    except Newer:
        sys.exit(f"{options.store}: made by a newer Heartlog")
    except (Malformed, OSError) as problem:
        sys.exit(f"{options.store}: {problem}")
    if options.events:
        for line in store.event_lines():
            print(line)
    else:
        print(json.dumps(store.summary, ensure_ascii=False, indent=2))
    sys.exit(65 if store.is_damaged else 0)


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")
    main()
