"""The store against a model that knows the rules and nothing of logs."""

import json
import random
import unittest

from heartlog import FORTNIGHT, TestCase, lines, model, seed, trace, unescaped
from hostile import Hostile

# The most that the store may use, by the trace of 14 % adds with 130 bytes of metadata.
SEALED_BYTES_PER_EVENT_MAX = 14


class ModelTests(TestCase):
    def check(self, text):
        """Applies `text` to a new store, which must then be what the model says, by every way of reading; returns the store."""
        expected = model.read_store(text.split("\n")[:-1], 0, None)  # not splitlines: U+2028 ends no line
        store = self.store()
        applied = self.expect(0, store.apply(text, "--json")).object
        self.assertEqual(applied["digest"], expected.digest())
        self.assertEqual(applied["applied"], expected.operations)
        self.assertEqual(applied["events"], sum(expected.events.values()))
        self.assertEqual(applied["commits"], expected.commits)
        self.check_reading(store, expected)
        replayed = self.expect(0, store("replay", "--json")).object
        self.expect(0, store("verify"))
        self.expect(0, store("compact"))
        self.assertEqual([path.suffix for path in store.segments()], [".sealed"] * len(store.segments()))
        self.check_reading(store, expected)
        resealed = self.expect(0, store("replay", "--json")).object
        self.expect(0, store("verify"))
        for key in ("digest", "events", "commits", "replicas", "libraries"):
            if key == "replicas":  # how far a clock is ahead changes while one looks
                for replica in replayed[key] + resealed[key]:
                    del replica["wallClockAheadSeconds"]
            self.assertEqual(replayed[key], resealed[key])
        return store

    def check_reading(self, store, expected):
        replayed = self.expect(0, store("replay", "--json")).object
        self.assertEqual(replayed["digest"], expected.digest())
        summary = expected.summary()
        self.assertEqual(replayed["libraries"], summary["libraries"])
        self.assertEqual(self.expect(0, store("status", "--json")).object["libraries"], summary["libraries"])
        for library in expected.libraries:
            for everything in (False, True):
                answer = self.expect(0, store("list", library, "--json", *["--all"] * everything))
                self.assertEqual(unescaped(answer.out).split("\n")[:-1], self.listing(expected, library, everything))

    def listing(self, expected, library, everything):
        """The lines that `list --json` prints, to the byte."""
        return [
            model.json_text({
                "library": library, "id": ident, "isFavorite": item.date is not None,
                "favoritedDate": None if item.date is None else model.time_text(item.date),
                "fields": {name: json.loads(value) if tag == model.JSON else value
                           for name, (tag, value) in item.values().items()},
            }, canonical=False)
            for ident, item in expected.listing(library, everything)]

    def test_a_hundred_thousand_operations_give_the_state_of_the_model(self):
        self.check(trace(100_000, seed=seed()).decode())

    def test_each_device_of_the_fortnight_gives_the_state_of_the_model(self):
        for name in ("phone", "tablet"):
            with self.subTest(name):
                self.check((FORTNIGHT / f"{name}.jsonl").read_text())

    def test_hostile_operations_give_the_state_of_the_model(self):
        chance = random.Random(seed())
        for round in range(8):
            with self.subTest(round=round):
                self.check(Hostile(chance).lines(1500))

    def test_a_sealed_event_costs_few_bytes(self):
        store = self.store()
        self.expect(0, store.apply(trace(100_000, libraries="papers")))
        self.expect(0, store("compact"))
        status = store("status", "--json").object
        self.assertEqual(status["events"], 100_000)
        self.assertLessEqual(sum(path.stat().st_size for path in store.segments()) / 100_000, SEALED_BYTES_PER_EVENT_MAX)
        self.assertEqual(status["bytes"], sum(path.stat().st_size for path in store.segments()))

    def test_the_log_holds_what_was_applied_in_its_order(self):
        operations = [{"op": "toggle", "library": "papers", "id": f"p{number % 7}", "time": f"2026-03-02T07:15:{number % 60:02}Z",
                       "commit": number // 3} for number in range(90)]
        operations = [operation | {"time": operations[number // 3 * 3]["time"]} for number, operation in enumerate(operations)]
        store = self.store()
        self.expect(0, store.apply(lines(operations)))
        log = store.log()
        self.assertEqual([event["item"] for event in log], [operation["id"] for operation in operations])
        self.assertEqual([event["sequence"] for event in log], list(range(1, 91)))
        self.assertEqual([event["commit"] for event in log], [number // 3 + 1 for number in range(90)])
        self.assertEqual([event["time"] for event in log],
                         [operation["time"].replace("Z", ".000Z") for operation in operations])
        self.assertEqual([event["stamp"] for event in log], sorted(event["stamp"] for event in log))


if __name__ == "__main__":
    unittest.main()
