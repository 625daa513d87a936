"""Files that Heartlog writes, read by programs that know nothing of it; and files that these write, read by Heartlog."""

import csv
import datetime
import html.parser
import io
import json
import random
import unittest

from heartlog import PACKAGE, TestCase, seed

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
        self.expect(0, store("add", "books", "6f9619ff-8b86-d011-b42d-00c04fc964ff", "title=Dune", "downloadURL=https://example.org/dune.zip", "duration:=75600.5",
                             "currentPosition:=12.25", "--date", "2024-03-01T12:00:00.125Z"))
        self.expect(0, store("set", "settings", "playback", "playbackSpeed:=1.5"))
        (book,) = json.loads(self.expect(0, store("export", "books", "--format", "user-defaults")).out)
        self.assertEqual(book, {"id": "6F9619FF-8B86-D011-B42D-00C04FC964FF", "title": "Dune", "fileURLString": "https://example.org/dune.zip",
                                "isDownloaded": False, "duration": 75600.5, "currentPosition": 12.25, "dateAdded": 730987200.125})
        self.assertEqual(json.loads(self.expect(0, store("export", "settings", "--format", "user-defaults")).out), {"playbackSpeed": 1.5})
        copy = self.store()
        again = dict(book, currentPosition="soon")
        answer = self.expect(65, copy("import", "books", "-", "--json", input="[\n" + json.dumps(again) + ",\n" + json.dumps(book, indent=1) + "]"))
        self.assertEqual(answer.lines[0], {"line": 2, "record": 1, "id": book["id"], "refused": 'field "currentPosition": a string where a number should be'})
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

    # What is imported: the library, the format, the file, and what is refused by its line; None where the whole file is. What is sound is taken.
    CITY = '{"type":"Feature","id":%s,"geometry":%s,"properties":{}}'
    SHELF = "<!DOCTYPE NETSCAPE-Bookmark-file-1><DL><p>"
    BOOK = '"title":"T","fileURL":"/a.m4b"'
    PAPER = "@misc{b, eprint={2101.09077v1}, archiveprefix={arXiv}, title={%s}}"
    MALFORMED = [
        ("things", "jsonl", b"\x89PNG\r\n\x1a\n", [1, 2], []),
        ("things", "jsonl", '{"id":"a"}\n{"id":"b"\n{"id":"c"}\n', [2], ["a", "c"]),
        ("things", "jsonl", '{"id":"a"}\n{"id":""}\n{"id":7}\n{"id":"b","fields":[]}\n{"id":"c","favoritedDate":"soon"}\n'
         '{"id":"d","fields":{"a":1,"a":2}}\n[]\n{"id":"e"}', [2, 3, 4, 5, 6, 7], ["a", "e"]),
        ("things", "csv", "name\nx\n", None, []),
        ("things", "csv", "id,v\na\nb,1,2\nc,3\n", [2, 3], ["c"]),
        ("things", "csv", 'id,v\na,"x\nb,1\n', [2], ["b"]),
        ("things", "csv", 'id,v\na,"x"y\nb,1\n', [2], ["b"]),
        ("things", "csv", "id,favoritedDate\na,yesterday\nb,2024-03-01\n", [2], ["b"]),
        ("cities", "csv", "id,lat\nx,1\n2,91\n3,north\n4,5\n", [2, 3, 4], ["4"]),
        ("cities", "geojson", '{"type":"FeatureCollection"}', None, []),
        ("cities", "geojson", '{"type":"Point","coordinates":[1,2]}', None, []),
        ("cities", "geojson", '{"type":"FeatureCollection","features":[\n%s]}' % ",\n".join([
            CITY % (1, '{"type":"LineString","coordinates":[[1,2],[3,4]]}'), '{"type":"Feature","geometry":null,"properties":{}}',
            CITY % (3, '{"type":"Point","coordinates":[200,2]}'), CITY % (4, '{"type":"Point","coordinates":[2]}'),
            CITY % (5, '{"type":"Point","coordinates":[2,3]}')]), [2, 3, 4, 5], ["5"]),
        ("things", "bookmarks", "<html><body>no bookmarks</body></html>", None, []),
        ("things", "bookmarks", SHELF + '\n<DT><A HREF="">x</A>\n<DT><A>y</A>\n<DT><A HREF="https://a/" ADD_DATE="soon">z</A></DL>', [2, 3], ["https://a/"]),
        ("papers", "bookmarks", SHELF + '\n<DT><A HREF="https://example.com/">x</A>\n<DT><A HREF="https://arxiv.org/abs/2101.09077v1">y</A>', [2],
         ["2101.09077v1"]),
        ("archives", "archive-json", "{}", None, []),
        ("archives", "archive-json", '{"error":"no such user"}', None, []),
        ("archives", "archive-json", '["a",\n7,\n"",\n"b"]', [2, 3], ["a", "b"]),
        ("archives", "archive-json", '{"members":[{"title":"x"},{"identifier":"ok"}]}', [1], ["ok"]),
        ("books", "user-defaults", '[{"id":"6F9619FF-8B86-D011-B42D-00C04FC964FF"}]', [1], []),
        ("books", "user-defaults", '[{"id":7,%s,"dateAdded":1},\n{"id":"6F9619FF-8B86-D011-B42D-00C04FC964FF",%s,"dateAdded":1e300}]' % (BOOK, BOOK), [1, 2], []),
        ("settings", "user-defaults", "[]", None, []),
        ("breeds", "user-defaults", '[{"url":"no url","isFavorite":true},\n{"url":"https://images.dog.ceo/breeds/akita/1.jpg","isFavorite":1}]', [1, 2], []),
        ("cities", "user-defaults", '[{"_id":1,"name":"x","country":"PT","coord":{"lon":200,"lat":0}},\n{"_id":2}]', [1, 2], []),
        ("breeds", "dog-ceo", '{"message":{"akita":[]},"status":"success"}', None, []),
        ("breeds", "dog-ceo", '{"status":"error","message":"Breed not found"}', None, []),
        ("books", "librivox", '{"error":"Audiobooks could not be found"}', None, []),
        ("books", "librivox", '{"books":[{"title":"x"},\n{"id":"7"}]}', [1, 2], []),
        ("papers", "bibtex", "@article{a, title={x}\n" + PAPER % "T", [1], ["2101.09077v1"]),
        ("papers", "bibtex", "@article{,}\n" + PAPER % "T", [1], ["2101.09077v1"]),
        ("papers", "bibtex", "no bibliography", None, []),
        ("papers", "ris", "TY  - JOUR\nAU  - x\nER  - \n", [1], []),
        ("papers", "ris", "no bibliography", None, []),
        ("papers", "csl-json", '[{"author":[{"family":"x"}]},\n7,\n{"id":"a","issued":{"date-parts":[["x"]]}}]', [1, 2], ["a"]),
        ("papers", "arxiv-atom", "<feed><entry><id>http://arxiv.org/abs/2101.09077v1", None, []),
        ("papers", "arxiv-atom", '<!DOCTYPE x [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><feed>&b;</feed>', None, []),
        ("papers", "arxiv-atom", "<html></html>", None, []),
        ("papers", "arxiv-jsonl", '{"id":"2101.09077","title":7}\n{"title":"x"}\nnonsense\n', [1, 2, 3], []),
    ]

    def test_files_of_any_encoding_are_read(self):
        files = [("things", "jsonl", '{"id":"ü"}\n{"id":"b"}\n'), ("things", "csv", "id,v\nü,é\nb,1\n"),
                 ("things", "json", '[{"id":"ü"},\n{"id":"b"}]'), ("things", "bookmarks", self.SHELF + '<DT><A HREF="ü">x</A>\n<DT><A HREF="b">y</A>')]
        for library, name, text in files:
            for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32", "latin-1"):
                with self.subTest(format=name, encoding=encoding):
                    store = self.store()
                    answer = self.expect(0, store("import", library, "-", "--format", name, "--json", input=text.encode(encoding)))
                    self.assertEqual((answer.lines[-1]["added"], len(answer.lines)), (2, 2 if encoding == "latin-1" else 1))
                    self.assertEqual({item["id"] for item in store("list", library, "--json").lines}, {"ü", "b"})
        store = self.store()
        answer = self.expect(65, store("import", "things", "-", "--format", "csv", input=b"\x89PNG\r\n\x1a\n\0\0"))
        self.assertIn("not text", answer.err)

    def test_what_is_malformed_is_refused_and_what_is_sound_is_taken(self):
        for number, (library, name, text, refused, items) in enumerate(self.MALFORMED):
            with self.subTest(number=number, format=name):
                store = self.store()
                answer = self.expect(65, store("import", library, "-", "--format", name, "--json", input=text))
                if refused is None:
                    self.assertEqual(answer.out, "")
                    self.expect(65, answer, f"cannot be imported as {name}")
                else:
                    self.assertEqual([line["line"] for line in answer.lines[:-1] if "refused" in line], refused)
                    self.assertEqual(answer.lines[-1]["refused"], len(refused))
                self.assertEqual([item["id"] for item in store("list", library, "--json", "--order", "id").lines], items)
                self.assertEqual(len(store.log()), len(items))

    WRITTEN = {
        "archives": ["jsonl", "csv", "bookmarks", "archive-json"], "tracks": ["jsonl", "csv", "bookmarks"],
        "papers": ["jsonl", "csv", "bookmarks", "bibtex", "ris", "csl-json"], "cities": ["jsonl", "csv", "bookmarks", "geojson", "user-defaults"],
        "breeds": ["jsonl", "csv", "bookmarks", "user-defaults"], "books": ["jsonl", "csv", "bookmarks", "user-defaults"],
        "settings": ["jsonl", "csv", "user-defaults"],
        "recipes": ["jsonl", "csv", "bookmarks", "geojson", "archive-json", "bibtex", "ris", "csl-json"],
    }

    @staticmethod
    def shared(line):
        """What an export has of an item: of a book, none of the fields that belong to one device."""
        if line["library"] == "books":
            fields = line["fields"]
            address = fields.pop("fileURL", "file:")
            for name in ("isDownloaded", "associatedFiles", "coverFileURL"):
                fields.pop(name, None)
            if fields.get("coverImageURL", "").startswith("file:"):
                del fields["coverImageURL"]
            if not address.startswith("file:"):
                fields.setdefault("downloadURL", address)
        return line

    def test_every_library_comes_back_from_every_format_that_holds_it(self):
        store, operations = self.store(), []
        for library in self.WRITTEN:
            source = PACKAGE / "fixtures" / "items" / f"{library if library != 'recipes' else 'papers'}.jsonl"
            for number, line in enumerate(source.read_text(encoding="utf-8").splitlines()):
                item = json.loads(line)
                operation = {"op": "set", "library": library, "id": item["id"], "fields": item["fields"]}
                if library != "settings":
                    operation |= {"op": "add", "favoritedDate": "2025-03-%02dT10:%02d:00.%03dZ" % (number % 28 + 1, number % 60, number * 37 % 1000)}
                    operation["fields"] |= {"@note": f'nöte {number}\nsecond line, "x" & <b>'} if number % 3 == 0 else {}
                    operation["fields"] |= {"@in/later": f"V{number}"} if number % 4 == 0 else {}
                operations.append(operation)
        self.expect(0, store.apply(operations))
        for library, formats in self.WRITTEN.items():
            for name in formats:
                with self.subTest(library=library, format=name):
                    file = self.expect(0, store("export", library, "--format", name)).out_bytes
                    copy = self.store()
                    self.expect(0, copy("import", library, "-", "--format", name, input=file))
                    listed = [self.shared(line) for line in store("list", library, "--all", "--json").lines]
                    self.assertEqual(copy("list", library, "--all", "--json").lines, listed)
                    self.assertEqual(self.expect(0, copy("export", library, "--format", name)).out_bytes, file)
                    again = self.expect(0, copy("import", library, "-", "--format", name, "--json", input=file)).object
                    self.assertEqual((again["events"], again["refused"]), (0, 0))


if __name__ == "__main__":
    unittest.main()
