"""Files that Heartlog writes, read by programs that know nothing of it; and files that these write, read by Heartlog."""

import csv
import datetime
import html.parser
import io
import json
import random
import unittest

from heartlog import TestCase, seed

WORDS = ["Lisboa", "Łódź", "two\nlines", "a,b", 'say "x"', "<b>&amp;</b>", " padded ", "İstanbul", "東京", "007", "true", "=1+1", "semi;colon", "tab\there"]


def milliseconds(text):
    return round(datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000)


class Bookmarks(html.parser.HTMLParser):
    """The bookmarks of a file, as a browser would see them."""

    def __init__(self, text):
        super().__init__()
        self.found, self.inside = [], False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        if tag == "a":
            self.found.append([dict(attributes), ""])
        self.inside = tag == "a"

    def handle_endtag(self, tag):
        self.inside = self.inside and tag != "a"

    def handle_data(self, data):
        if self.inside:
            self.found[-1][1] += data


def cell(text):
    """A text in a column of which nothing is known: as JSON where it would read as JSON otherwise."""
    def refuse(name):
        raise ValueError(name)
    try:
        json.loads(text, parse_constant=refuse)
    except ValueError:
        return text
    return json.dumps(text, ensure_ascii=False)


class FileTests(TestCase):
    def filled(self):
        """A store with cities that stumble over nothing, and what is in it by id."""
        numbers = random.Random(seed())
        store, cities = self.store(), {}
        for number in range(60):
            date = datetime.datetime.fromtimestamp(numbers.randrange(10**9) + 0.5 + number, datetime.timezone.utc).isoformat()
            fields = {"name": numbers.choice(WORDS) + str(number % 7), "country": numbers.choice(["PT", "", "JP"]),
                      "lat": round(numbers.uniform(-90, 90), 5), "lon": round(numbers.uniform(-180, 180), 5)}
            if number % 5 == 0:
                fields["@note"] = numbers.choice(WORDS)
            cities[number * 1000] = (fields, date)
        operations = [{"op": "add", "library": "cities", "id": str(id), "fields": fields, "favoritedDate": date} for id, (fields, date) in cities.items()]
        self.expect(0, store.apply(operations))
        return store, cities

    def assert_same(self, store, copy, library="cities"):
        self.assertEqual(copy("list", library, "--json").lines, store("list", library, "--json").lines)

    def test_a_table(self):
        store, cities = self.filled()
        text = self.expect(0, store("export", "cities", "--format", "csv")).out
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
        self.assertEqual(len(rows), len(cities))
        for row in rows:
            fields, date = cities[int(row["id"])]
            self.assertEqual((row["name"], row["country"], float(row["lat"]), float(row["lon"]), row["note"]),
                             (fields["name"], fields["country"], fields["lat"], fields["lon"], cell(fields.get("@note", ""))))
            self.assertEqual(milliseconds(row["favoritedDate"]), milliseconds(date))
        # Written again by another program, in another order: everything in quotation marks, or with semicolons.
        for options in ({"quoting": csv.QUOTE_ALL}, {"delimiter": ";"}, {"delimiter": "\t", "lineterminator": "\n"}):
            output = io.StringIO(newline="")
            kept = ["lon", "name", "id", "country", "favoritedDate", "lat"]
            writer = csv.DictWriter(output, kept, extrasaction="ignore", **options)
            writer.writeheader()
            writer.writerows(rows)
            copy = self.store()
            self.expect(0, copy("import", "cities", "-", input="\ufeff" + output.getvalue()))
            for item in copy("list", "cities", "--json").lines:
                fields, date = cities[int(item["id"])]
                wanted = {name: value for name, value in fields.items() if name != "@note" and value != ""}
                self.assertEqual({name: value for name, value in item["fields"].items() if value != ""}, wanted)
                self.assertEqual(milliseconds(item["favoritedDate"]), milliseconds(date))

    def test_a_map(self):
        store, cities = self.filled()
        collection = json.loads(self.expect(0, store("export", "cities", "--format", "geojson")).out)
        self.assertEqual(collection["type"], "FeatureCollection")
        self.assertEqual(len(collection["features"]), len(cities))
        for feature in collection["features"]:
            fields, date = cities[feature["id"]]
            self.assertEqual((feature["type"], feature["geometry"]["type"]), ("Feature", "Point"))
            self.assertEqual(feature["geometry"]["coordinates"], [fields["lon"], fields["lat"]])
            self.assertEqual(feature["properties"]["name"], fields["name"])
            self.assertEqual(milliseconds(feature["properties"]["favoritedDate"]), milliseconds(date))
        copy = self.store()
        self.expect(0, copy("import", "cities", "-", input=json.dumps(collection, indent=2, ensure_ascii=True)))
        self.assert_same(store, copy)

    def test_bookmarks(self):
        store, cities = self.filled()
        text = self.expect(0, store("export", "cities", "--format", "bookmarks")).out
        found = Bookmarks(text).found
        self.assertEqual(len(found), len(cities))
        for attributes, title in found:
            fields, date = cities[int(attributes["data-id"])]
            self.assertEqual(title, ", ".join(filter(None, [" ".join(fields["name"].split()), fields["country"]])))
            self.assertEqual(int(attributes["add_date"]), milliseconds(date) // 1000)
            self.assertEqual(json.loads(attributes["data-fields"]), fields)
            self.assertTrue(attributes["href"].startswith("https://www.openstreetmap.org/?mlat="))

    def test_what_the_apps_keep(self):
        store = self.store()
        self.expect(0, store("add", "books", "6f9619ff-8b86-d011-b42d-00c04fc964ff", "title=Dune", "fileURL=file:///Books/Dune%201.m4b", "duration:=75600.5",
                             "currentPosition:=12.25", "--date", "2024-03-01T12:00:00.125Z"))
        self.expect(0, store("set", "settings", "playback", "playbackSpeed:=1.5"))
        (book,) = json.loads(self.expect(0, store("export", "books", "--format", "user-defaults")).out)
        self.assertEqual(book, {"id": "6F9619FF-8B86-D011-B42D-00C04FC964FF", "title": "Dune", "fileURL": "/Books/Dune 1.m4b", "duration": 75600.5,
                                "currentPosition": 12.25, "dateAdded": 730987200.125})
        self.assertEqual(json.loads(self.expect(0, store("export", "settings", "--format", "user-defaults")).out), {"playbackSpeed": 1.5})
        copy = self.store()
        again = dict(book, currentPosition="soon")
        answer = self.expect(65, copy("import", "books", "-", "--json", input="[\n" + json.dumps(again) + ",\n" + json.dumps(book, indent=1) + "]"))
        self.assertEqual(answer.lines[0], {"line": 2, "refused": "currentPosition is a string, not a number"})
        self.assert_same(store, copy, "books")

    def test_an_import_that_is_repeated_writes_nothing(self):
        store, _ = self.filled()
        for name in ("csv", "geojson", "bookmarks", "user-defaults", "jsonl"):
            with self.subTest(name):
                file = self.store("x").path + "." + name
                self.expect(0, store("export", "cities", file, "--format", name))
                copy = self.store()
                for added in (60, 0):
                    counts = self.expect(0, copy("import", "cities", file, "--format", name, "--json")).object
                    self.assertEqual((counts["added"], counts["events"], counts["refused"]), (added, added, 0))
                self.assert_same(store, copy)
                self.assertEqual({event["origin"] for event in copy.log()}, {"import:" + name})
                self.assertEqual(copy("status", "--json").object["digest"], store("status", "--json").object["digest"])

    def test_broken_files_end_in_an_answer(self):
        store, _ = self.filled()
        numbers = random.Random(seed())
        for name in ("csv", "geojson", "bookmarks", "user-defaults"):
            whole = bytearray(self.expect(0, store("export", "cities", "--format", name)).out_bytes)
            for _ in range(6):
                broken = bytearray(whole)
                for _ in range(numbers.randrange(1, 6)):
                    broken[numbers.randrange(len(broken))] = numbers.randrange(256)
                broken = broken[:numbers.randrange(len(broken))]
                answer = store("import", "cities", "-", "--format", name, "--dry-run", input=bytes(broken))
                self.assertIn(answer.code, (0, 65), answer.err)
                self.assertNotIn("Fatal error", answer.err)


if __name__ == "__main__":
    unittest.main()
