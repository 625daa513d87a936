"""Blocks of commits, read as docs/format.md says."""

from dataclasses import dataclass, field

from format_columns import check_first_use, read_doubles, read_ints, read_kinds, read_strings
from format_decoder import (
    EVENTS_MAX, HAS_DATE, HAS_FIELDS, HAS_MEMBERS, LATER, MIB, NUMBER_MAX, WITHHELD, Bytes, Commit, Event, check_date,
    check_head_byte, check_tag_byte, check_times, checked_json, checked_library, checked_name, decompressed, read_heads,
    read_members, require, rising)

COLUMN_BYTES_MAX = 64 * MIB


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
    check_secrets(secrets, commits)
    return Block(commits, heads, secrets, columns.bytes)


def check_secrets(secrets, commits):
    """Runs and salts serve commits of the block, and salts serve events that there are."""
    firsts = [secret.first for secret in secrets] + [commits[-1].number + 1]
    for secret, after in zip(secrets, firsts[1:]):
        low = max(secret.first, commits[0].number)
        require((after - 1 - secret.first) // 256 < 1 << 32, "a secret has more runs than there can be")
        for run, content in secret.runs.items():
            require((low - secret.first) // 256 <= run <= (after - 1 - secret.first) // 256, "a run is out of place")
            for number, event in content if isinstance(content, dict) else ():
                require(low <= number < after and (number - secret.first) // 256 == run
                        and event < len(commits[number - commits[0].number].events), "a salt is out of place")
