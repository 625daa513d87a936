"""What a store of several devices contained at any moment: read as of then, compared, and traced to its writes."""

import random
import unittest

from heartlog import seed
from test_sync import SyncTestCase

HOUR = 3600


class PastTestCase(SyncTestCase):
    def devices(self, chance, count=3, rounds=12):
        """Devices that write apart and sync now and then; the first one has everything in the end, an open conflict for certain."""
        stores = [self.store(f"device-{index}") for index in range(count)]
        clock = [index * 977 for index in range(count)]
        for number in range(rounds):
            for index, store in enumerate(stores):
                lines = []
                for _ in range(chance.randrange(1, 6)):
                    clock[index] += chance.randrange(1, HOUR)
                    operation = {"op": chance.choice(("add", "toggle", "toggle", "remove", "set")),
                                 "library": chance.choice(("papers", "cities")), "id": str(chance.randrange(8)),
                                 "time": "2026-03-%02dT%02d:%02d:%02dZ" % (
                                     clock[index] // 86400 + 1, clock[index] // HOUR % 24, clock[index] // 60 % 60, clock[index] % 60)}
                    if operation["op"] == "set":
                        operation["fields"] = {chance.choice(("title", "@note")): chance.choice((None, "a", "b", number))}
                    lines.append(operation)
                self.expect(0, store.apply(lines))
            if chance.random() < 0.3:
                self.sync(stores[chance.randrange(1, count)], stores[0].path)
            if number == rounds // 2:
                stores[0].seal()
                stores[0].snapshot()
        for index, store in enumerate(stores):
            self.expect(0, store.apply([{"op": "set", "library": "papers", "id": "8", "fields": {"@note": f"device {index}"},
                                         "time": "2026-03-20T00:00:00Z"}]))
        for store in stores[1:]:
            self.sync(stores[0], store.path)
        return stores

    def everything(self, store, *options):
        """All items of all libraries, by library and id."""
        return {(item["library"], item["id"]): {key: item[key] for key in ("isFavorite", "favoritedDate", "fields")}
                for library in ("cities", "papers")
                for item in self.expect(0, store("list", library, "--all", "--json", *options)).lines}


def order(event):
    return event["stamp"], event["replica"], event["sequence"]


def folded(events):
    """The items that events leave, the last write of each register last."""
    items = {}
    for event in sorted(events, key=order):
        item = items.setdefault((event["library"], event["item"]), {"isFavorite": False, "favoritedDate": None, "fields": {}})
        if "isFavorite" in event:
            item["isFavorite"] = event["isFavorite"]
            item["favoritedDate"] = event.get("favoritedDate", event["time"]) if event["isFavorite"] else None
        item["fields"].update(event.get("fields", {}))
    for item in items.values():
        item["fields"] = {name: value for name, value in item["fields"].items() if value is not None}
    return items


def visible(items):
    return {name: item for name, item in items.items() if item["isFavorite"] or item["fields"]}


class PastTests(PastTestCase):
    def moments(self, chance, events):
        """A WHEN, and the events that it contains."""
        event = chance.choice(events)
        until = [other for other in events if order(other)[:2] <= order(event)[:2]]
        kind = chance.randrange(3)
        if kind == 0:
            return f"{event['replica'][:8]}:{event['sequence']}", until
        if kind == 1:
            return f"{event['replica'][:8]}:c{event['commit']}", until
        latest, found = {}, []
        for other in sorted(events, key=lambda other: (other["replica"], other["sequence"])):
            latest[other["replica"]] = max(latest.get(other["replica"], ""), other["time"])
            if latest[other["replica"]] <= event["time"]:
                found.append(other)
        return event["time"], found

    def test_every_command_reads_the_store_as_of_a_moment_and_diff_tells_what_lies_between(self):
        chance = random.Random(seed())
        store = self.devices(chance)[0]
        events = store.log()
        earlier, before = "1970-01-01", {}
        for _ in range(25):
            when, selected = self.moments(chance, events)
            then = folded(selected)
            self.assertEqual(visible(self.everything(store, "--at", when)), visible(then), when)
            status = self.expect(0, store("status", "--json", "--at", when)).object
            self.assertEqual(status["events"], len(selected))
            self.assertEqual(self.expect(0, store("status", "--json", "--at", when)).object["digest"], status["digest"])
            library, ident = chance.choice(sorted(then))
            shown = store("show", library, ident, "--json", "--at", when)
            self.assertEqual(self.expect(0, shown).object["asOf"], status["asOf"])
            exported = self.expect(0, store("export", library, "--at", when)).lines
            self.assertEqual({item["id"]: item["fields"] for item in exported},
                             {name[1]: item["fields"] for name, item in visible(then).items() if name[0] == library})
            counted = self.expect(0, store("stats", "--json", "--at", when)).lines
            periods = [line for line in counted if line["kind"] == "period"]
            self.assertEqual(sum(line["favorited"] + line["unfavorited"] + line["changed"] for line in periods), len(selected))
            self.assertEqual(periods[-1]["favoritesAtEnd"], sum(item["isFavorite"] for item in then.values()))
            for line in counted:
                if line["kind"] == "item":
                    self.assertEqual(line["isFavorite"], then[line["library"], line["id"]]["isFavorite"])
            self.check_difference(store, earlier, before, when, visible(then))
            earlier, before = when, visible(then)

    def check_difference(self, store, earlier, before, later, after):
        nothing = {"isFavorite": False, "favoritedDate": None, "fields": {}}
        found = self.expect(0, store("diff", earlier, later, "--json")).lines
        differing = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
        self.assertEqual([(line["library"], line["id"]) for line in found], differing)
        for line in found:
            name = line["library"], line["id"]
            old, new = before.get(name, nothing), after.get(name, nothing)
            fields = {field for field in old["fields"].keys() | new["fields"].keys()
                      if old["fields"].get(field) != new["fields"].get(field)}
            for key, item in ("before", old), ("after", new):
                self.assertEqual(line[key]["isFavorite"], item["isFavorite"])
                self.assertEqual(line[key]["favoritedDate"], item["favoritedDate"])
                self.assertEqual(line[key]["fields"], {field: item["fields"].get(field) for field in fields})

    def test_conflicts_of_the_past_are_those_that_a_device_saw_then(self):
        phone, tablet = self.store("phone"), self.store("tablet")
        self.expect(0, phone("set", "papers", "a", "@note=phone"))
        self.expect(0, tablet("set", "papers", "a", "@note=tablet"))
        self.sync(phone, tablet.path)
        side = self.expect(0, phone("conflicts", "--json")).object["writes"][1]
        self.expect(0, phone("conflicts", "--choose", f"{side['replica']}:{side['sequence']}"))
        self.assertEqual(self.expect(0, phone("conflicts", "--json")).lines, [])
        last = max(phone.log()[:-1], key=order)
        when = f"{last['replica']}:c{last['commit']}"
        (then,) = self.expect(0, phone("conflicts", "--json", "--at", when)).lines
        self.assertEqual((then["asOf"], len(then["writes"])), (when, 2))
        # The conflict was resolved; the log still says what lost.
        marks = [event.get("conflicts") for event in self.expect(0, phone("log", "papers", "a", "--json")).lines]
        self.assertEqual([len(mark or []) for mark in marks], [1, 0, 0])
        self.assertEqual(marks[0][0]["lostTo"], f"{last['replica']}:{last['sequence']}")
        self.assertIn("! @note: lost to", self.expect(0, phone("log", "papers", "a")).out)
        blamed = self.expect(0, phone("blame", "papers", "a", "--json")).object
        self.assertEqual((blamed["isOpenConflict"], blamed["wonAgainst"]), (False, []))


class BlameTests(PastTestCase):
    def test_each_register_is_traced_to_the_event_that_wrote_it(self):
        chance = random.Random(seed())
        store = self.devices(chance)[0]
        events = store.log()
        sides = {(conflict["library"], conflict["id"], conflict["register"], conflict.get("field")):
                 [(write["replica"], write["sequence"]) for write in conflict["writes"]]
                 for conflict in self.expect(0, store("conflicts", "--json")).lines}
        self.assertTrue(sides)
        found = {}
        for library, ident in sorted({(event["library"], event["item"]) for event in events}):
            mine = [event for event in sorted(events, key=order) if (event["library"], event["item"]) == (library, ident)]
            for line in self.expect(0, store("blame", library, ident, "--json")).lines:
                field = line.get("field")
                writes = [event for event in mine if ("isFavorite" in event if field is None else field in event.get("fields", {}))]
                self.assertEqual((line["replica"], line["sequence"], line["commit"], line["time"], line["origin"]),
                                 tuple(writes[-1][key] for key in ("replica", "sequence", "commit", "time", "origin")))
                if field is None:
                    self.assertEqual(line["isFavorite"], writes[-1]["isFavorite"])
                else:
                    self.assertEqual(line["value"], writes[-1]["fields"][field])
                replaced = line["replaced"]
                self.assertEqual(replaced and (replaced["replica"], replaced["sequence"]),
                                 (writes[-2]["replica"], writes[-2]["sequence"]) if len(writes) > 1 else None)
                if line["isOpenConflict"]:
                    found[library, ident, line["register"], field] = [
                        (write["replica"], write["sequence"]) for write in [line, *line["wonAgainst"]]]
            marked = {(event["replica"], event["sequence"]): event.get("conflicts", [])
                      for event in self.expect(0, store("log", library, ident, "--json")).lines}
            for (conflict, ident_, register, field), writes in sides.items():
                if (conflict, ident_) == (library, ident):
                    for write in writes:
                        (mark,) = [mark for mark in marked[write] if (mark["register"], mark.get("field")) == (register, field)]
                        self.assertEqual(mark["isShown"], write == writes[0])
                        self.assertEqual(mark["openWith"], [f"{r}:{s}" for r, s in writes if (r, s) != write])
            lines = self.expect(0, store("log", library, ident)).out.splitlines()
            self.assertEqual(sum(line.startswith("  ! ") for line in lines), sum(map(len, marked.values())))
        self.assertEqual(found, sides)

    def test_an_item_that_is_not_there_is_the_answer_no(self):
        store = self.device("phone", 3)
        self.assertIn("no item", self.expect(1, store("blame", "papers", "nobody")).err)


if __name__ == "__main__":
    unittest.main()
