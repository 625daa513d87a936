#!/usr/bin/env python3
"""Prints N operations, one JSON object a line, as `heartlog apply` reads them: a long life with favorites, for tests
of size, speed and correctness. The same arguments give the same bytes.

Every line writes an event, so that its shares are those of the log: 14 % adds with about 130 bytes of metadata, 70 %
toggles, 6 % removals, 10 % playback positions. An add brings a new item, one in twenty takes a removed one back (the
store then writes no fields, as it still holds them). Which item is used follows Zipf's law, as taps do. Times rise by
four minutes on average. `mixed` spreads the operations over the five libraries, `papers` over papers and books.
"""

import argparse
import bisect
import itertools
import json
import random
import signal
import sys
import uuid
from datetime import datetime, timedelta, timezone

ADDS, TOGGLES, REMOVALS, POSITIONS = 0.14, 0.70, 0.06, 0.10
RETURNS = 0.05  # of the adds
GAP_SECONDS_MEAN = 240
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
SHARES = {
    "mixed": {"papers": 0.45, "archives": 0.25, "books": 0.10, "cities": 0.10, "breeds": 0.10},
    "papers": {"papers": 1.0},
}
CATEGORIES = "cs.LG cs.DC cs.DB cs.CL cs.CV stat.ML math.OC math.CO quant-ph hep-th gr-qc astro-ph.GA".split()
COUNTRIES = "AR BR CA CN DE EG ES FR GB ID IN IT JP KE MX NG PL RU TR US".split()
BREEDS = "akita beagle borzoi boxer collie/border hound/afghan husky malamute pug retriever/golden saluki shiba".split()
IMAGE_SETS = [2085620 + 137 * i for i in range(len(BREEDS))]


class Words:
    """Pronounceable words, the common ones short to say and often used."""

    def __init__(self):
        chance = random.Random("words")
        syllables = [c + v + e for c in ("b c d f g h k l m n p r s t v z br ch pl sh st tr".split() + [""])
                     for v in "a e i o u ai ea io ou".split() for e in ("", "", "l", "n", "r", "s", "x")]
        self.words = ["".join(chance.choices(syllables, k=chance.choice((1, 2, 2, 3)))) for _ in range(3000)]

    def phrase(self, chance, length):
        text = ""
        while len(text) < length:
            text += (" " if text else "") + self.words[int(len(self.words) * chance.random() ** 2)]
        return text.capitalize()

    def person(self, chance):
        first, last = chance.choice(self.words[:300]), self.words[int(len(self.words) * chance.random() ** 1.5)]
        return first.capitalize() + " " + last.capitalize()


class Catalog:
    """The items of a library that could be favorites: each has an id and fields that depend on its number alone."""

    words = Words()

    def __init__(self, library, size):
        self.library, self.size = library, size

    def item(self, number):
        chance = random.Random(f"{self.library} {number}")
        return getattr(self, self.library)(number, chance)

    def date(self, chance):
        """A moment from 2010 to 2023."""
        moment = EPOCH + timedelta(seconds=chance.randrange(1_262_304_000, 1_704_067_200))
        return moment.strftime("%Y-%m-%dT%H:%M:%S.000Z")

    def papers(self, number, chance):
        published = self.date(chance)
        ident = "%s%s.%05dv%d" % (published[2:4], published[5:7], number % 100_000, chance.randint(1, 4))
        return ident if number < 100_000 else f"{ident}{number // 100_000}", {
            "title": self.words.phrase(chance, 70),
            "authors": [self.words.person(chance) for _ in range(chance.choice((1, 2, 3, 3, 4, 5)))],
            "categories": chance.sample(CATEGORIES, chance.choice((1, 1, 2, 3))),
            "publishedDate": published}

    def archives(self, number, chance):
        ident = self.words.phrase(chance, 12).title().replace(" ", "") + "_%d" % (number + 1000)
        return ident, {
            "title": self.words.phrase(chance, 38),
            "creators": [self.words.person(chance) for _ in range(chance.choice((1, 1, 2)))],
            "publisher": self.words.phrase(chance, 14),
            "mediatype": chance.choice(("audio", "audio", "audio", "movies", "texts", "etree")),
            "iconUrlString": "https://archive.org/services/img/" + ident}

    def books(self, number, chance):
        title = self.words.phrase(chance, 22)
        return str(uuid.UUID(int=chance.getrandbits(128), version=4)), {
            "title": title, "author": self.words.person(chance),
            "fileURL": f"file:///Books/{title.replace(' ', '%20')}.m4b",
            "duration": round(chance.uniform(3_600, 180_000), 3), "dateAdded": self.date(chance), "isDownloaded": True}

    def cities(self, number, chance):
        return str(600_000 + number * 37 + chance.randrange(37)), {
            "name": self.words.phrase(chance, 6), "country": chance.choice(COUNTRIES),
            "lon": round(chance.uniform(-180, 180), 6), "lat": round(chance.uniform(-60, 75), 6)}

    def breeds(self, number, chance):
        kind = chance.randrange(len(BREEDS))
        image = f"n{IMAGE_SETS[kind]:08d}_{number * 7 + chance.randrange(7)}.jpg"
        return f"https://images.dog.ceo/breeds/{BREEDS[kind].replace('/', '-')}/{image}", {"breed": BREEDS[kind]}


class Zipf:
    """Numbers below `size`, the n-th most popular drawn as often as 1/n; which are popular is shuffled."""

    def __init__(self, size, chance):
        self.cumulative = list(itertools.accumulate(1 / rank for rank in range(1, size + 1)))
        self.numbers = list(range(size))
        self.chance = chance
        chance.shuffle(self.numbers)

    def draw(self, among):
        """One of `among`, a set kept as a `Pool`."""
        for _ in range(200):
            rank = bisect.bisect(self.cumulative, self.chance.random() * self.cumulative[-1])
            number = self.numbers[min(rank, len(self.numbers) - 1)]
            if number in among:
                return number
        return self.chance.choice(among.members)  # what is left is unpopular


class Pool:
    """A set to draw from in constant time, in an order that does not change from run to run."""

    def __init__(self, members=()):
        self.members = list(members)
        self.places = {member: place for place, member in enumerate(self.members)}

    def __contains__(self, member):
        return member in self.places

    def __len__(self):
        return len(self.members)

    def add(self, member):
        self.places[member] = len(self.members)
        self.members.append(member)

    def remove(self, member):
        place, last = self.places.pop(member), self.members.pop()
        if last != member:
            self.members[place], self.places[last] = last, place


class Library:
    def __init__(self, name, size, chance):
        self.name, self.catalog, self.popularity = name, Catalog(name, size), Zipf(size, chance)
        self.unseen, self.seen, self.favorites, self.removed = Pool(range(size)), Pool(), Pool(), Pool()

    def can(self, kind):
        return {"add": self.unseen or self.removed, "toggle": self.seen, "remove": self.favorites}[kind]

    def operation(self, kind, chance):
        if kind == "add":
            returns = self.removed and (not self.unseen or chance.random() < RETURNS)
            number = self.popularity.draw(self.removed if returns else self.unseen)
            if not returns:
                self.unseen.remove(number)
                self.seen.add(number)
        else:
            number = self.popularity.draw(self.seen if kind == "toggle" else self.favorites)
        is_favorite = number in self.favorites
        (self.favorites.remove if is_favorite else self.favorites.add)(number)
        if number in self.removed:
            self.removed.remove(number)
        if kind == "remove":
            self.removed.add(number)
        ident, fields = self.catalog.item(number)
        operation = {"op": kind, "library": self.name, "id": ident}
        return operation | {"fields": fields} if kind == "add" else operation


def trace(count, items, seed, kind):
    chance = random.Random(seed)
    libraries = [Library(name, max(10, round(items * share)), chance) for name, share in SHARES[kind].items()]
    weights = list(SHARES[kind].values())
    shelf = Catalog("books", max(10, items // 20))
    popularity, listened, positions = Zipf(shelf.size, chance), Pool(range(shelf.size)), {}
    time = 1_672_531_200_000  # 2023-01-01, in milliseconds
    for _ in range(count):
        time += 1 + int(chance.expovariate(1 / (GAP_SECONDS_MEAN * 1000)))
        verb = chance.choices(("add", "toggle", "remove", "set"), (ADDS, TOGGLES, REMOVALS, POSITIONS))[0]
        if verb == "set":
            number = popularity.draw(listened)
            position = round(chance.random(), 6)
            while position == positions.get(number):
                position = round(chance.random(), 6)
            positions[number] = position
            book, _ = shelf.item(number)
            operation = {"op": "set", "library": "books", "id": book, "fields": {"currentPosition": position}}
        else:
            library = chance.choices(libraries, weights)[0]
            # At the start there is nothing to toggle, and in a small catalog there may be nothing left to add.
            able = [verb for verb in (verb, "add", "toggle") if library.can(verb)]
            operation = library.operation(able[0], chance)
        moment = EPOCH + timedelta(milliseconds=time)
        yield operation | {"time": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, metavar="N")
    parser.add_argument("--items", type=int, metavar="M", help="items there are to choose from (default: N / 6)")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--libraries", choices=SHARES, default="mixed")
    options = parser.parse_args()
    items = options.items or options.count // 6 + 10
    for operation in trace(options.count, items, options.seed, options.libraries):
        sys.stdout.write(json.dumps(operation, ensure_ascii=False, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends it without a word
    main()
