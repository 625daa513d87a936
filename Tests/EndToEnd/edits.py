"""The edits of test_edits.py: each changes a store, and then makes right what its way says.

An edit has a kind (a row of the table in docs/format.md), a way (a column) and a place. The ways:

checksums    what was changed has right checksums, and the file right totals
stream       as well all that its stream says: numbers, sequence numbers, heads in force, frontiers
store        as well all that the store has beside the log: the lock page; and no snapshots
unshipped    as `store`, of commits that no other store has
"""

import json
import struct
from dataclasses import dataclass, replace
from typing import Callable

import format_decoder as d
from format_decoder import HAS_DATE, HAS_FIELDS, HAS_MEMBERS, Event
from format_editor import EditedSnapshot, Frame, Stream, copied, patched_header
from format_hashes import event_hash, run_salt, run_secret, salt, sha256
from format_blocks import Secret

CHECKSUMS, STREAM, STORE, UNSHIPPED = "checksums", "stream", "store", "unshipped"
OWN, TABLET, BRANCH, OTHER_BRANCH, DESK = "own", "tablet", "branch", "other branch", "desk"

# What stands where in the store of edited_store.py: the stream, its first and its last commit.
PLACES = {
    "own, first segment": (OWN, 1, 11),
    "own, second segment": (OWN, 12, 22),
    "own, open, in front of the snapshot": (OWN, 23, 34),
    "own, open, behind the snapshot": (OWN, 35, 40),
    "own, open, not shipped": (OWN, 41, 46),
    "tablet, sealed": (TABLET, 1, 12),
    "tablet, open, in front of the snapshot": (TABLET, 13, 18),
    "tablet, open, behind the snapshot": (TABLET, 19, 21),
    "branch": (BRANCH, 1, 5),
    "ended": (DESK, 1, 6),
}
SEALED, SECOND, OPEN, BEHIND, NEW, RECEIVED, RECEIVED_OPEN, RECEIVED_LAST, BRANCHED, ENDED = PLACES


@dataclass
class Edit:
    kind: str
    way: str
    place: str
    make: Callable  # of the EditedStore

    @property
    def name(self):
        return f"{self.kind}; {self.way}; {self.place}"


class Streams:
    """The streams of the store by the part they play."""

    def __init__(self, store):
        self.store = store
        ended = next(stream for stream in store.streams.values() if stream.ended is not None)
        branches = [stream for stream in store.streams.values()
                    if (ended.replica, ended.ended) in stream.commits[0].heads]
        own = store.own_stream
        others = [stream for stream in store.streams.values() if stream is not own and stream is not ended and stream not in branches]
        # Of the desk's two lives the segments here still hold one.
        seed = ended.replica + struct.pack("<Q", ended.ended + 1) + ended.frontiers()[1][ended.ended]
        branches.sort(key=lambda stream: stream.replica != sha256(b"branch/2", seed)[:16])
        self.by_part = {OWN: own, TABLET: others[0], BRANCH: branches[0], OTHER_BRANCH: branches[1], DESK: ended}

    def __getitem__(self, part):
        return self.by_part[part]

    def commits(self, place):
        part, first, last = PLACES[place]
        return self[part], self[part].commits[first - 1:last]


def settle(store, stream, way):
    """Makes right what the way says, after the stream was edited."""
    if way != CHECKSUMS:
        stream.follow_on()
        stream.make_frontiers_right()
    if way in (STORE, UNSHIPPED):
        store.snapshots = {}


# The contents of a commit: each of these changes one that has what it takes, and says whether it has.


def with_fields(commit):
    return next((event for event in commit.events if event.head & HAS_FIELDS), None)


def value(commit):
    event = with_fields(commit)
    place = commit.number % len(event.fields)
    name, byte, old = event.fields[place]
    new = {3: lambda: old + 1, 4: lambda: old + 0.5, 5: lambda: old + "!",
           6: lambda: json.dumps({"read": not json.loads(old)["read"]}, separators=(",", ":"))}[byte & 63]()
    event.fields[place] = name, byte, new


def field_name(commit):
    event = with_fields(commit)
    event.fields = [(name + "s" if name == "title" else name, byte, value) for name, byte, value in event.fields]


def quiet(commit):
    event = with_fields(commit)
    event.fields = [(name, byte ^ 128 if name == "pages" else byte, value) for name, byte, value in event.fields]


def membership(commit):
    event = commit.events[0]
    event.head = {d.ADDED: d.REMOVED, d.TOGGLED_ON: d.TOGGLED_OFF, d.TOGGLED_OFF: d.TOGGLED_ON}[event.action]


def item(commit):
    commit.events[0].item += "x"


def library(commit):
    commit.events[0].library = "archives"


def date(commit):
    event = next(event for event in commit.events if event.head & HAS_DATE)
    event.date += 86_400_000


def wall(commit):
    commit.wall -= 1


def stamp(commit):
    commit.stamp += 1


def origin(commit):
    commit.origin = "other"


def head_lower(commit):
    if not commit.heads:
        return False
    *rest, (replica, number) = sorted(commit.heads, key=lambda head: head[1])
    commit.heads = sorted([*rest, (replica, number - 1)])
    return True


def heads_left_out(commit):
    if not commit.heads:
        return False
    commit.heads = []
    return True


def order(commit):
    commit.events.reverse()


def event_added(commit):
    commit.events.append(Event(d.REMOVED, "papers", "of nobody"))


def event_removed(commit):
    commit.events.pop()


def later_part(commit):
    event = commit.events[0]
    event.head, event.members = event.head | HAS_MEMBERS, [(9, b"later")]


CONTENTS = {
    "a value": value,
    "the name of a field": field_name,
    "whether a write is quiet": quiet,
    "a membership": membership,
    "an item's id": item,
    "an event's library": library,
    "a favorited date": date,
    "a wall time": wall,
    "a stamp that still rises": stamp,
    "an origin": origin,
    "a head that names an earlier commit": head_lower,
    "heads left out": heads_left_out,
    "events in another order": order,
    "an event added to a commit": event_added,
    "an event taken out of a commit": event_removed,
    "a part of a later version added": later_part,
}
# The places that are tried by each way; 0 is the first commit there that has what the edit takes, −1 the last.
CONTENT_PLACES = {
    CHECKSUMS: [(SEALED, 0), (SECOND, -1), (OPEN, 0), (RECEIVED, 0), (RECEIVED_OPEN, -1)],
    STREAM: [(SEALED, -1), (OPEN, -1)],
    STORE: [(SEALED, 0), (BEHIND, 0)],
    UNSHIPPED: [(NEW, 0)],
}
# Only of some, and of those that say most.
MORE_PLACES = {
    CHECKSUMS: [(ENDED, 0), (BRANCHED, -1)],
    STREAM: [(BRANCHED, 0), (RECEIVED, -1)],
    STORE: [(BRANCHED, 0), (ENDED, -1), (RECEIVED_LAST, 0)],
    UNSHIPPED: [(NEW, -1)],
}
MORE = {"a value", "a membership", "an item's id", "a stamp that still rises"}


def content(kind, change, way, place, which):
    def make(store):
        stream, commits = Streams(store).commits(place)
        for commit in commits if which == 0 else reversed(commits):
            after = next((other for other in stream.commits if other.number == commit.number + 1), None)
            if change is stamp and after and after.stamp <= commit.stamp + 1:
                continue
            if change(commit) is not False:
                return settle(store, stream, way)
        raise LookupError(f"no commit there for {kind}")
    return Edit(kind, way, f"{place}, {'first' if which == 0 else 'last'}", make)


def contents():
    for kind, change in CONTENTS.items():
        for places in (CONTENT_PLACES, MORE_PLACES) if kind in MORE else (CONTENT_PLACES,):
            for way, some in places.items():
                for place, which in some:
                    if "head" in kind and place in (BRANCHED, ENDED, RECEIVED_LAST, RECEIVED_OPEN):
                        continue
                    yield content(kind, change, way, place, which)


# The commits of a stream


def inserted(stream, commits):
    """A commit among these, with a stamp between two."""
    before = next(later for earlier, later in zip(commits, commits[1:]) if later.stamp > earlier.stamp + 1)
    new = copied(before)
    new.stamp, new.heads, new.events = before.stamp - 1, [], [Event(d.ADDED, "papers", "of nobody")]
    stream.insert(new, before)


def exchanged(stream, commits):
    one, other = commits[len(commits) // 2], commits[len(commits) // 2 + 1]
    one.events, other.events = other.events, one.events
    one.wall, other.wall = other.wall, one.wall


def taken_out(stream, commits):
    for commit in commits[1:]:
        if not commit.heads:
            return stream.remove(commit)
    raise LookupError("only commits with heads")


def flipped(data):
    return bytes(byte ^ 1 for byte in data)


def secret(stream, commits):
    segment, part = stream.place(commits[0])
    if part.kind == 1:
        segment.secret = flipped(segment.secret)
    else:
        part.secrets = [
            replace(secret, whole=flipped(secret.whole), runs={
                run: {place: flipped(salt) for place, salt in listed.items()} if isinstance(listed, dict) else flipped(listed)
                for run, listed in secret.runs.items()})
            for secret in part.secrets]


AMONG = {"a commit added among others": inserted, "two commits exchanged": exchanged, "a commit taken out from among others": taken_out,
         "a segment's secret": secret}


def among():
    places = {CHECKSUMS: (SEALED, SECOND, OPEN, RECEIVED), STREAM: (SEALED, OPEN, RECEIVED), STORE: (SECOND, BEHIND, BRANCHED),
              UNSHIPPED: (NEW,)}
    for kind, change in AMONG.items():
        for way, some in places.items():
            for place in some:
                if kind == "a segment's secret" and place in (NEW, BEHIND):
                    continue  # it is that of the commits in front, too
                if kind == "a commit taken out from among others" and place == BRANCHED:
                    continue  # then its stream is shorter than own heads say

                def make(store, change=change, way=way, place=place):
                    stream, commits = Streams(store).commits(place)
                    change(stream, commits)
                    settle(store, stream, way)
                yield Edit(kind, way, place, make)


def cut(store, part, last, way, lock_is_right=True):
    stream = Streams(store)[part]
    stream.cut(last)
    store.lock_is_right = lock_is_right
    settle(store, stream, way)


def ends():
    """The last commits taken away, and others put behind them."""
    def cutting(kind, way, place, part, last, **options):
        return Edit(kind, way, place, lambda store: cut(store, part, last, way, **options))

    kind = "the last commits taken away, which the lock page names"
    yield cutting(kind, CHECKSUMS, "own, the last one", OWN, 45, lock_is_right=False)
    yield cutting(kind, STREAM, "own, all that were not shipped", OWN, 40, lock_is_right=False)
    yield cutting(kind, STREAM, "own, into what the snapshot has", OWN, 30, lock_is_right=False)
    kind = "the last commits taken away, which a snapshot has"
    yield cutting(kind, STREAM, "own, the last one of the snapshot", OWN, 33)
    yield cutting(kind, STREAM, "own, all of the open segment", OWN, 22)
    yield cutting(kind, STREAM, "own, into a sealed segment", OWN, 15)
    yield cutting(kind, STREAM, "tablet", TABLET, 15)
    yield cutting(kind, STREAM, "branch", BRANCH, 3)
    kind = "the last commits of another stream taken away, which own heads name"
    yield cutting(kind, STORE, "tablet, open", TABLET, 17)
    yield cutting(kind, STORE, "tablet, all of the open segment", TABLET, 12)
    yield cutting(kind, STORE, "tablet, into the sealed segment", TABLET, 5)
    yield cutting(kind, STORE, "branch", BRANCH, 4)
    kind = "the last own commits taken away, which heads of another stream name"
    yield cutting(kind, STORE, "own, the last one that was shipped", OWN, 39)
    yield cutting(kind, STORE, "own, all of the open segment", OWN, 22)
    yield cutting(kind, STORE, "own, into a sealed segment", OWN, 5)
    kind = "the last commits taken away, which nothing names"
    yield cutting(kind, STORE, "tablet, the last one", TABLET, 22)
    yield cutting(kind, UNSHIPPED, "own, the last one", OWN, 45)
    yield cutting(kind, UNSHIPPED, "own, all of them", OWN, 40)

    def adding(part, way, count, head=None):
        def make(store):
            stream = Streams(store)[part]
            for _ in range(count):
                last = stream.commits[-1]
                new = replace(copied(last), number=last.number + 1, sequence=last.sequence + len(last.events),
                              stamp=last.stamp + (1 << 20), heads=[])
                stream.append(new)
            settle(store, stream, way)
        return make

    for part in (OWN, TABLET, BRANCH):
        for way, count in ((CHECKSUMS, 1), (UNSHIPPED, 3)):
            yield Edit("commits added at the end of a stream", way, part, adding(part, way, count))

    def new_stream(store):
        streams = Streams(store)
        stream = Stream.__new__(Stream)
        stream.replica, stream.ended = b"\7" * 16, None
        stream.segments = [replace(segment, replica=stream.replica, frames=[replace(part) for part in segment.frames])
                           for segment in streams[BRANCH].segments]
        for segment in stream.segments:
            for part in segment.frames:
                part.commits = [replace(copied(commit), replica=stream.replica, heads=[]) for commit in part.commits]
        store.streams[stream.replica.hex()] = stream
        settle(store, stream, STORE)
    yield Edit("a stream added", UNSHIPPED, "of nobody", new_stream)


# Files of segments and streams


def files():
    def removing(kind, way, place, part, which, lock_is_right=True):
        def make(store):
            stream = Streams(store)[part]
            del stream.segments[which]
            store.lock_is_right = lock_is_right
            if way in (STORE, UNSHIPPED):
                store.snapshots = {}
        return Edit(kind, way, place, make)

    for way in (CHECKSUMS, STORE):
        yield removing("a segment removed, which others follow", way, "own, the first one", OWN, 0)
        yield removing("a segment removed, which others follow", way, "own, the second one", OWN, 1)
        yield removing("a segment removed, which others follow", way, "own, both sealed ones", OWN, slice(0, 2))
        yield removing("a segment removed, which others follow", way, "tablet, the first one", TABLET, 0)
    yield removing("the last segment removed, which the lock page names", CHECKSUMS, "own", OWN, 2, lock_is_right=False)
    yield removing("the last segment removed, which the lock page names", STORE, "own, all of them", OWN, slice(0, 3), lock_is_right=False)
    kind = "the last segment removed, of which a snapshot has commits"
    yield removing(kind, STREAM, "own, the open one", OWN, 2)
    yield removing(kind, STREAM, "own, the sealed one in front of it as well", OWN, slice(1, 3))
    yield removing(kind, STREAM, "own, all of them", OWN, slice(0, 3))
    yield removing(kind, STREAM, "tablet, the open one", TABLET, 1)
    yield removing(kind, STREAM, "branch", BRANCH, 0)
    kind = "the last own commits taken away, which heads of another stream name"
    yield removing(kind, STORE, "the open segment's file", OWN, 2)
    yield removing(kind, STORE, "that of the sealed one in front of it as well", OWN, slice(1, 3))
    yield removing(kind, STORE, "all files", OWN, slice(0, 3))
    yield removing("the last commits of another stream taken away, which own heads name", STORE, "tablet, the open segment's file", TABLET, 1)

    def no_stream(part):
        def make(store):
            del store.streams[Streams(store)[part].replica.hex()]
            store.snapshots = {}
        return make
    for part in (TABLET, BRANCH, DESK):
        yield Edit("a received stream removed, which own heads name", STORE, part, no_stream(part))

    def all_streams(store):
        store.streams, store.snapshots = {}, {}
    yield Edit("all streams removed", STORE, "all", all_streams)


# What holds of every stream, whoever reads it: broken in a commit that nothing else tells of


def row(change):
    def make(store):
        stream, commits = Streams(store).commits(NEW)
        change(stream, commits)
        store.snapshots = {}
    return make


def rules():
    def number(by):
        def change(stream, commits):
            stream.place(commits[2])[1].number = commits[2].number + by
        return change

    def sequence(by):
        def change(stream, commits):
            commits[2].sequence += by
        return change

    def head(replica, number):
        def change(stream, commits):
            commits[3].heads = [(replica(stream), number)]
        return change

    def count(stream, commits):
        stream.place(commits[2])[1].count = 2

    def not_rising(stream, commits):
        commits[2].stamp = commits[1].stamp

    def falling(stream, commits):
        commits[2].stamp = commits[0].stamp - 5

    def seen(stream):
        return next(replica for commit in reversed(stream.commits) for replica, _ in commit.heads)

    for name, by in (("one more", 1), ("one less", -1), ("the first one", -42)):
        yield Edit("a commit's number", UNSHIPPED, name, row(number(by)))
    for name, by in (("one more", 1), ("one less", -1)):
        yield Edit("a commit's sequence number", UNSHIPPED, name, row(sequence(by)))
    yield Edit("a frame's number of commits", UNSHIPPED, "two instead of one", row(count))
    yield Edit("a stamp that does not rise", UNSHIPPED, "that of the commit before", row(not_rising))
    yield Edit("a stamp that does not rise", UNSHIPPED, "lower than that of the commit before", row(falling))
    yield Edit("a head that does not rise", UNSHIPPED, "the same again", row(head(seen, 21)))
    yield Edit("a head that does not rise", UNSHIPPED, "a lower one", row(head(seen, 3)))
    yield Edit("a head that names the own stream", UNSHIPPED, "own", row(head(lambda stream: stream.replica, 3)))
    yield Edit("an own head that names what is not here", UNSHIPPED, "a commit past the end", row(head(seen, 500)))
    yield Edit("an own head that names what is not here", UNSHIPPED, "a stream of nobody", row(head(lambda stream: b"\7" * 16, 1)))

    def received_head(store):
        stream, commits = Streams(store).commits(RECEIVED_LAST)
        commits[-1].heads = [(b"\7" * 16, 3)]
        settle(store, stream, STORE)
    yield Edit("a head of a received stream that names what is not here", STORE, "a stream of nobody", received_head)

    malformed = {
        "a control character in an id": lambda commit: setattr(commit.events[0], "item", "a\nb"),
        "a library in capitals": lambda commit: setattr(commit.events[0], "library", "Papers"),
        "an id of no byte": lambda commit: setattr(commit.events[0], "item", ""),
        "a removal with a date": lambda commit: setattr(commit.events[1], "head", commit.events[1].head & ~7 | d.REMOVED),
        "a change of nothing": lambda commit: setattr(commit.events[0], "head", d.CHANGED),
        "fields out of order": lambda commit: commit.events[1].fields.reverse(),
        "a field twice": lambda commit: commit.events[1].fields.append(commit.events[1].fields[-1]),
        "a double that is an integer": lambda commit: commit.events[1].fields.__setitem__(1, ("rating", 4, 2.0)),
        "JSON that is not canonical": lambda commit: commit.events[1].fields.__setitem__(2, ("tags", 6, '{"read": true}')),
        "a wall time past the year 2999": lambda commit: setattr(commit, "wall", d.TIME_MAX + 1),
        "heads out of order": lambda commit: setattr(commit, "heads", [(b"\7" * 16, 1), (b"\6" * 16, 1)]),
    }
    for name, change in malformed.items():
        yield Edit("a commit that is malformed", UNSHIPPED, name, row(lambda stream, commits, change=change: change(commits[3])))

    def heads_in_force(place):
        def make(store):
            stream, commits = Streams(store).commits(place)
            _, part = stream.place(commits[0])
            part.heads = [(replica, number - 1) for replica, number in part.heads]
        return make
    for place in (SECOND, RECEIVED_OPEN):
        yield Edit("the heads at the start of a block", CHECKSUMS, place, heads_in_force(place))

    def foreign_secret(store):
        stream, commits = Streams(store).commits(SEALED)
        stream.place(commits[0])[1].secrets.append(Secret(500, bytes(32)))
    yield Edit("a secret that serves nothing", CHECKSUMS, SEALED, foreign_secret)


# Headers of segments, and frames without commits


def headers():
    def header(kind, place, part, which, change, way=CHECKSUMS, **more):
        def make(store):
            segment = Streams(store)[part].segments[which]
            change(segment)
            if way in (STORE, UNSHIPPED):
                store.snapshots = {}
        return Edit(kind, way, place, make)

    def set_(name, value):
        return lambda segment: setattr(segment, name, value(segment) if callable(value) else value)

    def patch(offset, data):
        return lambda segment: segment.patches.update({offset: data})

    kind = "a frontier in a header"
    for place, part, which in (("own, sealed", OWN, 1), ("own, open", OWN, 2), ("tablet, open", TABLET, 1)):
        yield header(kind, place, part, which, lambda segment: segment.frontier.__setitem__(0, bytes(32)), STORE)
    yield header("how much a frontier sums up", "own, sealed", OWN, 1, set_("tree_size", 8), STORE)
    yield header("a segment's first sequence number", "own, sealed", OWN, 1, patch(56, struct.pack("<Q", 3)), STORE)
    yield header("a segment's first sequence number", "own, open", OWN, 2, patch(56, struct.pack("<Q", 3)), STORE)
    for name, counts in (("commits", (10, 22, 0)), ("events", (11, 23, 0)), ("bytes", (11, 22, 8))):
        def change(segment, counts=counts):
            segment.data()
            segment.counts = counts[0], counts[1], segment.frames_end + counts[2]
        yield header("the totals of a sealed segment", name, OWN, 1, change, STORE)
    yield header("a segment's replica, kind or first commit", "replica", OWN, 1, patch(32, b"\7" * 16), STORE)
    yield header("a segment's replica, kind or first commit", "kind", OWN, 2, patch(10, b"\2"), STORE)
    yield header("a segment's replica, kind or first commit", "first commit", OWN, 1, patch(48, struct.pack("<Q", 13)), STORE)
    yield header("a segment's replica, kind or first commit", "the file's name", OWN, 1, set_("first_in_name", 13), STORE)
    yield header("a format version that is not known", "segment", OWN, 1, patch(8, b"\2\0"), STORE)

    def copies_differ(store):
        segment = Streams(store)[OWN].segments[1]
        sound = segment.data
        segment.data = lambda: patched_header(sound()[:4096], {1824: b"x"}, (2048,)) + sound()[4096:]
        store.snapshots = {}
    yield Edit("two good copies of a header that differ", STORE, "own, sealed", copies_differ)

    def smaller_tree(store):
        stream = Streams(store)[OWN]
        stream.segments[2].tree_size = 11
        stream.make_frontiers_right()
    yield Edit("an earlier frontier in an open segment", STREAM, "own, open", smaller_tree)
    yield Edit("an earlier frontier in an open segment", STREAM, "own, open, none", lambda store: (
        setattr(Streams(store)[OWN].segments[2], "tree_size", 0), setattr(Streams(store)[OWN].segments[2], "frontier", [])))
    yield header("a segment's id", "own, sealed", OWN, 1, set_("identity", b"another segment!"), STREAM)
    yield header("a segment's id", "own, open", OWN, 2, set_("identity", b"another segment!"), STREAM)
    yield header("a device's name in a header", "own, open", OWN, 2, set_("name", "another"), STREAM)
    yield header("a device's name in a header", "tablet, open", TABLET, 1, set_("name", "another"), STREAM)
    for place, which in (("own, sealed", 1), ("own, open", 2)):
        yield header("bytes in a header that readers do not look at", place, OWN, which, patch(1952, b"later"), STREAM)
    yield header("bytes behind a sealed segment", "own, zeros", OWN, 1, set_("tail", bytes(8)), STORE)
    yield header("bytes behind a sealed segment", "own, others", OWN, 1, set_("tail", b"x"), STORE)
    yield header("the zeros behind an open segment", "own, none", OWN, 2, set_("is_ahead", False), STREAM)
    yield header("the zeros behind an open segment", "tablet, some", TABLET, 1, set_("tail", bytes(4096)), STREAM)
    yield header("the zeros behind an open segment", "own, others behind them: an unfinished batch", OWN, 2,
                 set_("tail", bytes(16) + b"x"), STREAM)

    def record(which, part, kind, place=1):
        def change(segment):
            number = segment.frames[place].commits[0].number if place else segment.first
            segment.frames.insert(place, Frame(kind, 0, 0, b"of a later version", [], encoding=b"of a later version",
                                               number=number, count=0, offset=-1))
        return header("a frame of a later version added", f"{part}, of kind {kind}", part, which, change, STREAM)
    yield record(2, OWN, 3, 15)
    yield record(2, OWN, 77, 20)
    yield record(1, TABLET, 5, -1)
    yield record(0, OWN, 6, 0)

    def flags(segment):
        number = segment.frames[20].commits[0].number
        segment.frames.insert(20, Frame(77, 6, 0, b"later", [], encoding=b"later", number=number, count=0, offset=-1))
    yield header("a frame of a later version added", "own, with flags of its own", OWN, 2, flags, STREAM)

    def no_kind(segment):
        segment.frames[3].kind, segment.frames[3].number, segment.frames[3].count = 0, segment.frames[3].commits[0].number, 1
        segment.frames[3].encoding = segment.frames[3].body
        segment.frames[3].commits = []
    yield header("a frame's kind", "own, 0", OWN, 2, no_kind, STORE)


# The same history in other files


def same_history():
    def two_blocks(store):
        stream = Streams(store)[OWN]
        segment = stream.segments[0]
        (part,) = segment.frames
        rest = replace(part, commits=part.commits[6:], secrets=[replace(secret) for secret in part.secrets], encoding=b"", offset=-1)
        part.commits = part.commits[:6]
        segment.frames.append(rest)
        stream.follow_on()
    yield Edit("the same commits in other blocks or files", STREAM, "one block as two", two_blocks)

    def split(store):
        Streams(store)[OWN].split(0)
        Streams(store)[OWN].make_frontiers_right()
    yield Edit("the same commits in other blocks or files", STREAM, "one sealed segment as two", split)

    def encoded_again(store):
        _, part = Streams(store)[TABLET].place(Streams(store)[TABLET].commits[0])
        part.encoding = b""
    yield Edit("the same commits in other blocks or files", STREAM, "columns that are not compressed", encoded_again)

    def withheld(place, number):
        """An event is replaced by its hash, and the secret by the salts of all others of its run."""
        def make(store):
            stream, _ = Streams(store).commits(place)
            commit = stream.commits[number]
            segment, part = stream.place(commit)
            serving = max((secret for secret in part.secrets if secret.first <= commit.number), key=lambda secret: secret.first)
            event = commit.events[1]
            digest = event_hash(event, lambda: salt([serving], commit.number, 1))
            last = min([secret.first for secret in part.secrets if secret.first > serving.first], default=1 << 60)
            run = run_secret(serving.whole, 0)
            salts = {(other.number, at): run_salt(run, other.number, at)
                     for other in part.commits for at in range(len(other.events))
                     if serving.first <= other.number < last and (other is not commit or at != 1)}
            commit.events[1] = Event(d.WITHHELD, hash=digest)
            part.secrets[part.secrets.index(serving)] = Secret(serving.first, b"", {0: salts})
            store.snapshots = {}
        return make
    yield Edit("an event withheld, with its right hash", STORE, SEALED, withheld(SEALED, 3))
    yield Edit("an event withheld, with its right hash", STORE, RECEIVED, withheld(RECEIVED, 3))

    def leftover(ending, part, which, data):
        def make(store):
            stream = Streams(store)[part]
            segment = stream.segments[which]
            other = replace(segment, ending=ending)
            other.data = lambda: data(segment)
            stream.segments.append(other)
        return make
    yield Edit("a file that is passed over", STREAM, "an open segment beside the sealed one",
               leftover("open", OWN, 0, lambda segment: segment.data()[:4096]))
    yield Edit("a file that is passed over", STREAM, "what recovery cut", leftover("cut-4096", OWN, 2, lambda segment: b"cut"))
    yield Edit("a file that is passed over", STREAM, "an unfinished file", leftover("open.tmp-1", OWN, 2, lambda segment: b"x"))
    yield Edit("a file that is passed over", STREAM, "a foreign file", leftover("txt", OWN, 2, lambda segment: b"x"))

    def suspect(store):
        store.own_stream.segments[2].ending = "suspect"
        store.page = {place: 0 for place in range(2, 7)}
    yield Edit("a file that is passed over", STREAM, "the open segment as a suspect", suspect)


# The ends of streams, `store`, the lock page, snapshots


def position_offset(positions, replica):
    """Where the position of a stream begins."""
    source = d.Bytes(positions)
    for _ in range(source.varint()):
        start = source.at
        found, commit = source.take(16), source.number("Q")
        source.take(80 + 32 * commit.bit_count())
        for _ in range(source.varint()):
            source.take(16)
            source.varint()
        if found == replica:
            return start
    raise LookupError("no position of that stream")


def beside():
    def end(part, at, way=STORE):
        def make(store):
            Streams(store)[part].ended = at
            if way in (STORE, UNSHIPPED):
                store.snapshots = {}
        return make

    yield Edit("`ended` removed", STREAM, "desk", end(DESK, None, STREAM))
    yield Edit("`ended` removed", STORE, "desk", end(DESK, None))
    for at in (5, 0):
        yield Edit("`ended` of an earlier commit", STORE, f"desk, {at}", end(DESK, at))
    for at in (7, 11, 40):
        yield Edit("`ended` of a later commit", STORE, f"desk, {at}", end(DESK, at))
    for part, at in ((OWN, 45), (OWN, 30), (OWN, 0), (TABLET, 12), (BRANCH, 3)):
        yield Edit("`ended` in a stream that was not forked, in front of commits", STORE, f"{part}, {at}", end(part, at))
    yield Edit("`ended` in a stream that was not forked, behind its last commit", STORE, "tablet", end(TABLET, 23))

    def behind_the_end(store):
        commit = Streams(store)[DESK].commits[8]
        value(commit)
    yield Edit("a commit behind the end of its stream", STREAM, "desk", behind_the_end)

    def line(key, value):
        return lambda store: store.set_line(key, value(store) if callable(value) else value)
    yield Edit("`store`: the device's name", STREAM, "another", line("name", "another"))
    for key, value_ in (("machine", "0" * 64), ("inode", "17"), ("birth", "17")):
        yield Edit("`store`: machine, inode or birth", STREAM, key, line(key, value_))
    yield Edit("`store`: a line of a later version", STREAM, "another", lambda store: store.lines.append("later 17"))
    yield Edit("`store`: the format version", STREAM, "2", lambda store: store.lines.__setitem__(0, "heartlog 2"))
    yield Edit("`store`: the replica, one of nobody", STREAM, "of nobody", line("replica", "07" * 16))
    for part in (TABLET, BRANCH, DESK, OTHER_BRANCH):
        kind = "`store`: the replica, that of a branch whose origin is not here" if part == OTHER_BRANCH else "`store`: the replica, that of another stream"
        yield Edit(kind, STREAM, part, line("replica", lambda store, part=part: Streams(store)[part].replica.hex()))

    def page(words):
        def make(store):
            store.page = words
        return make
    yield Edit("the lock page forgotten", STREAM, "all zeros", page({place: 0 for place in range(11)}))
    yield Edit("the lock page forgotten", STREAM, "of another replica", page({9: 17, 10: 17}))
    yield Edit("the lock page forgotten", STREAM, "a shorter durable length", page({4: 4096, 5: 4096}))
    yield Edit("the lock page with more than is there", STREAM, "a longer durable length", page({4: 60_000, 5: 60_000}))
    yield Edit("the lock page with more than is there", STREAM, "a segment of nobody", page({2: 17, 3: 17, 6: 47}))

    def snapshots(change):
        def make(store):
            store.snapshots = {name: change(EditedSnapshot(data)) for name, data in store.snapshots.items()}
        return make

    yield Edit("snapshots removed", STREAM, "all", lambda store: store.snapshots.clear())

    def part(snapshot, library, name, sizes={"items": 96, "fields": 48}):
        """The place of a part of a library: those of this size, one a library."""
        found = [part for part in snapshot.parts if part[1] == sizes[name]]
        return found[library]

    def cities(snapshot):
        return next(place for place, library in enumerate(snapshot.libraries) if library.name == "cities")

    def item_membership(snapshot):
        snapshot.put(part(snapshot, cities(snapshot), "items"), 2, 28, b"\0")
        return snapshot.data_again()

    def item_date(snapshot):
        snapshot.put(part(snapshot, cities(snapshot), "items"), 0, 48, struct.pack("<q", 1_700_000_000_000))
        return snapshot.data_again()

    def item_id(snapshot):
        snapshot.put(part(snapshot, cities(snapshot), "items"), 1, 0, b"X")
        return snapshot.data_again()

    def field_value(snapshot):
        library = snapshot.libraries[cities(snapshot)]
        number = next(number for number, record in enumerate(library.fields) if record[44] == 3)
        library_fields = [part for part in snapshot.parts if part[1] == 48 and part[2] == len(library.fields)]
        snapshot.put(library_fields[0], number, 16, struct.pack("<q", 12_345))
        return snapshot.data_again()

    def text(snapshot):
        place = next(place for place in snapshot.runs if place[1] > 0)
        snapshot.put_text(place, place[1] - 1, b"?")
        return snapshot.data_again()
    for name, change in (("a membership", item_membership), ("a date", item_date), ("an id", item_id), ("a field's value", field_value),
                         ("a text", text)):
        yield Edit("what a snapshot shows", STREAM, name, snapshots(change))

    def totals(snapshot):
        directory = bytearray(snapshot.data[snapshot.start:snapshot.start + snapshot.length])
        at = directory.index(snapshot.positions) + len(snapshot.positions)
        directory[at:at + 8] = struct.pack("<Q", snapshot.events + 1)
        return snapshot.data_again(bytes(directory))
    yield Edit("what a snapshot counts", STREAM, "events", snapshots(totals))

    def position(change):
        """Changes the own position."""
        def make(store):
            for name, data in store.snapshots.items():
                snapshot = EditedSnapshot(data)
                directory = bytearray(data[snapshot.start:snapshot.start + snapshot.length])
                change(directory, directory.index(snapshot.positions) + position_offset(snapshot.positions, store.own))
                store.snapshots[name] = snapshot.data_again(bytes(directory))
        return make

    def patch(offset, data):
        def change(directory, at):
            directory[at + offset:at + offset + len(data)] = data
        return change
    told = {"commit": patch(16, struct.pack("<Q", 33)), "commit past the end": patch(16, struct.pack("<Q", 48)),
            "events": patch(24, struct.pack("<Q", 67)), "stamp": patch(32, b"\7"), "wall time": patch(40, b"\7"), "latest wall time": patch(48, b"\7"), "frontier": patch(104, bytes(32))}
    for name, change in told.items():
        yield Edit("a snapshot's position: commit, events, stamp, times or frontier", STREAM, name, position(change))
    found = {"offset": patch(80, struct.pack("<Q", 8192)), "size": patch(88, struct.pack("<Q", 800)), "checksum": patch(96, bytes(8))}
    for name, change in found.items():
        yield Edit("a snapshot's position: the frame", STREAM, name, position(change))
    for name, change in {"id": patch(56, b"another segment!"), "first commit": patch(72, struct.pack("<Q", 24))}.items():
        yield Edit("a snapshot's position: the segment", STREAM, name, position(change))

    def of_nobody(store):
        """The tablet's position as one of a stream that is not here."""
        for name, data in store.snapshots.items():
            snapshot = EditedSnapshot(data)
            directory = bytes(data[snapshot.start:snapshot.start + snapshot.length])
            tablet = Streams(store)[TABLET].replica
            store.snapshots[name] = snapshot.data_again(directory.replace(tablet, tablet[:15] + bytes([tablet[15] ^ 1])))
    yield Edit("a snapshot of another store", STREAM, "a stream of nobody", of_nobody)


def edits():
    return [*contents(), *among(), *ends(), *files(), *rules(), *headers(), *same_history(), *beside()]
