"""The store that is edited in test_edits.py: with all that a store has, on a phone that has met a tablet and a desk."""

import itertools
import pathlib
import shutil

from format_editor import EditedStore

COMMON, LIFE = 6, 5


class Device:
    """Writes operations that no other device writes, a minute after each other by the clock that all look at."""

    def __init__(self, store, test, name, clock):
        self.store, self.test, self.name, self.clock, self.count = store, test, name, clock, 0

    def write(self, count):
        """That many commits of two events each: values of all kinds, an origin, dates, items that come again."""
        operations = []
        for number in range(self.count, self.count + count):
            item = f"{self.name}-{number // 2}"
            minute = next(self.clock)
            time = "2026-03-01T%02d:%02d:00Z" % (minute // 60, minute % 60)
            fields = {"title": f"{item} {number}, a title", "pages": number, "rating": number + 0.25, "tags": {"read": number % 3 == 0}}
            operations += [
                {"op": "add" if number % 2 == 0 else "toggle", "library": "papers", "id": item, "time": time, "commit": number},
                {"op": "add", "library": "cities", "id": f"{item}-{number}", "fields": fields, "time": time, "commit": number,
                 "favoritedDate": "2024-02-%02dT12:00:00Z" % (number % 28 + 1)}]
        self.count += count
        self.test.expect(0, self.store.apply(operations))

    def merge(self, other):
        self.test.expect(0, self.store("sync", other.store.path, "--pull"))


def make(test):
    """The phone's store, and the tablet's, which has all of it but the last commits."""
    clock = itertools.count()
    phone, tablet, desk = (Device(test.store(name), test, name, clock) for name in ("phone", "tablet", "desk"))
    fork_desk(test, phone, tablet, desk)
    # The phone has newly seen the tablet in every fourth commit.
    for _ in range(5):
        tablet.write(2)
        phone.merge(tablet)
        phone.write(4)
    phone.store.seal()
    for _ in range(3):
        tablet.write(2)
        phone.merge(tablet)
        phone.write(4)
    lay_out(phone.store.path)
    phone.store.snapshot()
    tablet.write(2)
    test.expect(0, phone.store("sync", tablet.store.path))
    phone.write(6)
    tablet.merge(phone)
    tablet.write(2)
    phone.merge(tablet)
    phone.write(6)
    tablet.write(1)
    phone.merge(tablet)
    return phone.store, tablet.store


def fork_desk(test, phone, tablet, desk):
    """The desk is restored where nobody can tell, and each of the others meets one of its lives."""
    desk.write(COMMON)
    yesterday = desk.store.path + ".yesterday"
    shutil.copytree(desk.store.path, yesterday)
    desk.write(LIFE)
    phone.merge(desk)
    for path in pathlib.Path(desk.store.path).iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.copytree(yesterday, desk.store.path, dirs_exist_ok=True)
    desk.write(LIFE)
    tablet.merge(desk)
    tablet.write(2)
    phone.write(2)
    test.expect(0, phone.store("sync", tablet.store.path))


def lay_out(path):
    """Makes two sealed segments of the own one, and lets all headers name the frontier before them."""
    store = EditedStore(path)
    store.own_stream.split(0)
    for stream in store.streams.values():
        for segment in stream.segments:
            segment.tree_size = segment.first - 1
        stream.make_frontiers_right()
    store.write()
