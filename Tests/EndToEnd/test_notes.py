"""Notes and collections with the real program, against plain Python values."""

import random
import unittest

from heartlog import TestCase, seed


class NoteTests(TestCase):
    def note(self, store):
        return self.expect(0, store("show", "papers", "a", "--json")).object["fields"].get("@note")

    def test_a_note_is_written_shown_and_cleared(self):
        store = self.store()
        event = self.expect(0, store("set", "papers", "a", "@note=two\nlines", "--json")).object
        self.assertEqual(event["fields"], {"@note": "two\nlines"})
        self.assertIn("two", self.expect(0, store("show", "papers", "a")).out)
        self.assertEqual(self.note(store), "two\nlines")
        self.expect(1, store("set", "papers", "a", "@note=two\nlines"), "already has these values")
        self.expect(0, store("set", "papers", "a", "@note:=null"))
        self.expect(1, store("set", "papers", "a", "@note:=null"), "already has these values")
        self.assertIsNone(self.note(store))
        self.expect(0, store("undo", "--last"))
        self.assertEqual(self.note(store), "two\nlines")
        self.assertEqual(len(store.log()), 3)


class CollectionTests(TestCase):
    def ids(self, store, name):
        return [item["id"] for item in self.expect(0, store("collection", "papers", name, "--json")).lines]

    def test_any_edits_keep_the_order_of_a_list(self):
        chance = random.Random(seed())
        store = self.store()
        expected = []
        for _ in range(120):
            action = chance.choice(("add", "add", "move", "remove"))
            items = chance.sample([f"i{number}" for number in range(12)], chance.randrange(1, 4))
            words, before = [], list(expected)
            place = chance.choice(("first", "last", "before", "after"))
            others = [item for item in expected if item not in items]
            if action != "remove":
                if place in ("before", "after"):
                    if not others:
                        continue
                    anchor = chance.choice(others)
                    words = [f"--{place}", anchor]
                else:
                    words = [f"--{place}"]
            if action == "move" and not all(item in expected for item in items):
                self.expect(1, store("collection", "papers", "list", "move", *items, *words), "is not in the collection")
                self.assertEqual(self.ids(store, "list"), expected)
                continue
            last = None
            for item in items:
                if action == "remove":
                    if item in expected:
                        expected.remove(item)
                    continue
                if action == "add" and item in expected:
                    continue
                if item in expected:
                    expected.remove(item)
                if last is not None:
                    index = expected.index(last) + 1
                else:
                    index = {"first": 0, "last": len(expected)}.get(place)
                    if index is None:
                        index = expected.index(anchor) + (place == "after")
                expected.insert(index, item)
                last = item
            answer = store("collection", "papers", "list", action, *items, *words, "--json")
            self.expect(0 if expected != before else 1, answer)
            self.assertEqual(self.ids(store, "list"), expected)
            if expected != before and chance.random() < 0.2:
                self.expect(0, store("undo", "--last"))
                self.assertEqual(self.ids(store, "list"), before)
                expected = before
        named = store("collection", "papers", "--json").lines
        self.assertEqual(named, [{"library": "papers", "collection": "list", "items": len(expected)}] if expected else [])

    def test_items_that_are_moved_to_where_they_are_change_nothing(self):
        store = self.store()
        self.expect(0, store("collection", "papers", "list", "add", "a", "b", "c"))
        for words in (["b", "c", "--last"], ["a", "b", "--first"], ["b", "c", "--after", "a"], ["a", "b", "--before", "c"]):
            self.expect(1, store("collection", "papers", "list", "move", *words), "Nothing was written")
        self.assertEqual(len(store.log()), 3)

    def test_devices_that_move_different_items_agree(self):
        phone, tablet = self.store("phone"), self.store("tablet")
        self.expect(0, phone("collection", "papers", "trip", "add", "a", "b", "c", "d"))
        self.expect(0, tablet("sync", phone.path))
        self.expect(0, phone("collection", "papers", "trip", "move", "d", "--first"))
        self.expect(0, tablet("collection", "papers", "trip", "move", "a", "--after", "c"))
        self.expect(0, phone("sync", tablet.path))
        self.assertEqual(self.ids(phone, "trip"), ["d", "b", "c", "a"])
        self.assertEqual(self.ids(tablet, "trip"), ["d", "b", "c", "a"])


if __name__ == "__main__":
    unittest.main()
