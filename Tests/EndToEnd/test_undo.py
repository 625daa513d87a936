"""Undo and restore with the real program: moments come back, undo is undone, what others wrote is kept."""

import random
import unittest

from heartlog import TestCase, lines, seed, trace


def event(line):
    return f"{line['replica']}:{line['sequence']}"


class UndoTests(TestCase):
    def assert_keys(self, value, *names):
        self.assertEqual(list(value), list(names))

    def test_restore_returns_to_any_moment_and_undo_takes_it_back(self):
        chance = random.Random(seed())
        store = self.store()
        self.expect(0, store.apply(trace(600, seed=chance.randrange(1000))))
        events = store.log()
        for _ in range(12):
            moment = chance.choice(events)
            when = event(moment) if chance.random() < 0.5 else moment["time"]
            then = self.expect(0, store("status", "--at", when, "--json")).object
            before = self.digest(store)
            if then["digest"] == before:
                continue
            plan = self.expect(0, store("undo", "--after", when, "--dry-run", "--json")).lines
            self.assertEqual(self.digest(store), before)
            done = self.expect(0, store("undo", "--after", when, "--json")).lines
            self.assertEqual(plan[:-1], done[:-1])
            self.assertEqual(self.digest(store), then["digest"])
            for library in then["libraries"]:
                shown = self.expect(0, store("list", library["name"], "--json")).lines
                self.assertEqual(len(shown), library["favorites"])
            self.expect(1, store("undo", "--after", when), "nothing to undo")
            self.expect(0, store("undo", "--last"))
            self.assertEqual(self.digest(store), before)
        self.expect(0, store("verify"))
        self.expect(0, store("replay"))

    def test_an_undo_of_any_events_and_its_undo(self):
        chance = random.Random(seed())
        store = self.store()
        self.expect(0, store.apply(trace(400, seed=chance.randrange(1000))))
        written = 0
        for _ in range(25):
            events = [event(line) for line in chance.sample(store.log(), chance.randrange(1, 6))]
            before = self.digest(store)
            answer = store("undo", *events, "--json")
            summary = answer.lines[-1]
            self.assertEqual(summary["restored"], sum(line["kind"] == "restored" for line in answer.lines))
            if answer.code == 1:
                self.assertEqual((summary["restored"], self.digest(store)), (0, before))
                continue
            self.expect(0, answer)
            written += 1
            self.expect(0, store("undo", *map(event, summary["events"])))
            self.assertEqual(self.digest(store), before)
        self.assertGreater(written, 3)
        self.expect(0, store("replay"))

    def test_what_another_device_wrote_later_is_kept(self):
        phone, tablet = self.store("Anna's phone"), self.store("Anna's tablet")
        self.expect(0, phone("add", "papers", "a", "title=A", "--date", "2024-12-24"))
        self.expect(0, phone("set", "papers", "a", "title=B", "@note=mine"))
        self.expect(0, phone("remove", "papers", "a"))
        self.expect(0, tablet("sync", phone.path))
        self.expect(0, tablet("set", "papers", "a", "@note=hers"))
        self.expect(0, phone("sync", tablet.path))
        shown = self.expect(0, phone("undo", "--last", "2"))
        self.assertIn("Anna's tablet", shown.out)
        item = phone("show", "papers", "a", "--json").object
        self.assertEqual(item["favoritedDate"], "2024-12-24T00:00:00.000Z")
        self.assertEqual(item["fields"], {"title": "A", "@note": "hers"})
        self.expect(0, phone("sync", tablet.path))
        self.assertEqual(self.digest(phone), self.digest(tablet))
        # One device takes back what the other one did, by its name.
        self.expect(0, phone("undo", "--since", "2020-01-01", "--replica", "Anna's tablet"))
        self.assertEqual(phone("show", "papers", "a", "--json").object["fields"], {"title": "A", "@note": "mine"})

    def test_the_json_keys(self):
        store = self.store()
        self.expect(0, store("add", "papers", "a", "n:=1", "--date", "2024-12-24"))
        self.expect(0, store("remove", "papers", "a"))
        self.expect(0, store("set", "papers", "a", "n:=2"))
        self.expect(0, store("set", "papers", "a", "n:=3"))
        first, second, third, fourth = store.log()
        membership, kept, summary = self.expect(0, store("undo", event(second), event(third), "--json")).lines
        self.assert_keys(membership, "kind", "library", "id", "register", "isFavorite", "favoritedDate", "replaced")
        self.assertEqual(membership["favoritedDate"], "2024-12-24T00:00:00.000Z")
        self.assert_keys(membership["replaced"], "replica", "sequence", "stamp", "isFavorite")
        self.assert_keys(kept, "kind", "library", "id", "register", "field", "undone", "later")
        self.assert_keys(kept["later"], "replica", "sequence", "stamp", "value")
        self.assertEqual((event(kept["undone"]), event(kept["later"]), kept["later"]["value"]), (event(third), event(fourth), 3))
        self.assert_keys(summary, "kind", "dryRun", "restored", "kept", "unreadable", "events")
        self.assertEqual([event(one) for one in summary["events"]], [event(store.log()[-1])])
        field, summary = self.expect(0, store("undo", event(fourth), "--dry-run", "--json")).lines
        self.assert_keys(field, "kind", "library", "id", "register", "field", "value", "replaced")
        self.assertEqual((field["value"], summary["dryRun"], summary["events"]), (2, True, []))

    def test_a_dry_run_writes_nothing(self):
        store = self.store()
        self.expect(0, store("add", "papers", "a"))
        before = store.log()
        self.expect(0, store("undo", "--last", "--dry-run"))
        self.expect(0, store("undo", "--after", "2020-01-01", "--dry-run"))
        self.assertEqual(store.log(), before)

    def test_undo_beside_writers_loses_nothing_of_theirs(self):
        chance = random.Random(seed())
        store = self.store()
        self.expect(0, store.apply([{"op": "add", "library": "papers", "id": f"p{n}"} for n in range(50)]))
        operations = [{"op": "add", "library": "cities", "id": f"c{n}"} for n in range(300)]
        with self.ended(store.start("apply", "--ack", stdin=-1)) as writer:
            for number in range(10):
                part = operations[number * 30:number * 30 + 30]
                writer.stdin.write(lines(part).encode())
                writer.stdin.flush()
                if chance.random() < 0.5:
                    store("undo", "--since", "2020-01-01", "--library", "papers")
                else:
                    store("undo", "--after", "2020-01-01", "--library", "papers")
                store.apply([{"op": "add", "library": "papers", "id": f"p{chance.randrange(50)}"}])
            writer.stdin.close()
            writer.stdout.read()
            self.assertEqual(writer.wait(), 0)
        self.assertEqual(len(store("list", "cities", "--json").lines), 300)
        self.expect(0, store("undo", "--after", "2020-01-01", "--library", "papers"))
        self.assertEqual(store("list", "papers", "--json").lines, [])
        self.expect(0, store("verify"))
        self.expect(0, store("replay"))


if __name__ == "__main__":
    unittest.main()
