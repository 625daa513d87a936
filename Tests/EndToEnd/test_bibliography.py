"""What `export` writes of papers, read by programs that are not ours: bibtexparser, rispy and the json module."""

import json
import re
import unittest

import heartlog

try:
    import bibtexparser
    import bibtexparser.bparser
    import bibtexparser.customization
    import rispy
except ImportError:
    bibtexparser = rispy = None

NEEDS_READERS = unittest.skipUnless(
    bibtexparser and rispy, "bibtexparser and rispy are not installed: Scripts/test installs them from PyPI")
PAPERS = heartlog.PACKAGE / "fixtures" / "items" / "papers.jsonl"
FEED = heartlog.PACKAGE / "fixtures" / "api" / "papers-feed-10.atom.xml"


def words(text):
    """A text without the differences that readers make: white space, and braces that keep capitals."""
    return re.sub(r"\s+", " ", text).strip()


def plain(latex):
    """What our LaTeX says. Each escape has one reading, so that text and math alike can be compared."""
    names = {"textbackslash": "\\", "textasciitilde": "~", "textasciicircum": "^", "textbraceleft": "\1", "textbraceright": "\2", "newline": "\n"}
    pieces = re.split(r"(\$[^$]*\$)", latex.replace(r"\$", "\3"))
    for index in range(0, len(pieces), 2):
        text = re.sub(r"\\(\w+)\{\}", lambda match: names[match.group(1)], pieces[index])
        pieces[index] = re.sub(r"\\([%&#_ ])", r"\1", text).replace("{", "").replace("}", "")
    return words("".join(pieces).replace("\1", "{").replace("\2", "}").replace("\3", "$"))


def natural(name):
    """"Given Family" of "Family, Given" and of "Family, Jr., Given"."""
    parts = [part.strip() for part in name.strip("{}").split(",")]
    return " ".join(parts if len(parts) == 1 else [parts[-1], *parts[:-1]])


class BibliographyTests(heartlog.TestCase):
    def setUp(self):
        super().setUp()
        self.papers = self.store()
        items = [json.loads(line) for line in PAPERS.read_text().splitlines()]
        self.papers.apply([{"op": "add", "favoritedDate": f"2026-03-0{1 + index % 9}T10:00:{index:02}.{index:03}Z"} | item for index, item in enumerate(items)])
        self.expect(0, self.papers("import", "papers", str(FEED)))
        self.expected = {item["id"]: item for item in self.papers("list", "papers", "--json").lines}
        self.assertGreater(len(self.expected), 20)

    def export(self, name):
        return self.expect(0, self.papers("export", "papers", "--format", name)).out

    def check(self, id, title, authors, summary, date):
        fields = self.expected[id]["fields"]
        self.assertEqual(title, words(fields["title"]))
        self.assertEqual(authors, fields["authors"])
        self.assertEqual(summary, words(fields["summary"]))
        self.assertEqual(date, fields["publishedDate"][:10])

    @NEEDS_READERS
    def test_bibtexparser_reads_what_bibtex_holds(self):
        parser = bibtexparser.bparser.BibTexParser(common_strings=True, ignore_nonstandard_types=False)
        entries = bibtexparser.loads(self.export("bibtex"), parser).entries
        self.assertEqual({entry["eprint"] for entry in entries}, set(self.expected))
        for entry in entries:
            authors = [natural(plain(name)) for name in entry["author"].split(" and ")]
            self.check(entry["eprint"], plain(entry["title"]), authors, plain(entry["abstract"]), entry["date"][:10])
            self.assertEqual((entry["ENTRYTYPE"], entry["archiveprefix"], entry["ID"]), ("misc", "arXiv", entry["eprint"]))
            self.assertEqual(entry["timestamp"], self.expected[entry["ID"]]["favoritedDate"])
            self.assertEqual(entry["year"], entry["date"][:4])

    @NEEDS_READERS
    def test_rispy_reads_what_ris_holds(self):
        records = rispy.loads(self.export("ris"))
        self.assertEqual({record["id"] for record in records}, set(self.expected))
        for record in records:
            def natural_ris(name):
                family, *rest = name.split(", ")
                return " ".join([*rest[:1], family, *rest[1:]])

            authors = [natural_ris(name) for name in record["authors"]]
            date = "-".join(record["date"].split("/")[:3])
            self.check(record["id"], record["title"], authors, words(record["abstract"]), date)
            fields = self.expected[record["id"]]["fields"]
            self.assertEqual(record["keywords"], fields["categories"])
            self.assertEqual(record["urls"], [fields["linkURL"]])
            self.assertEqual(record["accession_number"], f"arXiv:{record['id']}")

    def test_json_reads_what_csl_json_holds(self):
        items = json.loads(self.export("csl-json"))
        self.assertEqual({item["id"] for item in items}, set(self.expected))
        for item in items:
            order = ("given", "non-dropping-particle", "family", "suffix", "literal")
            authors = [" ".join(name[part] for part in order if part in name) for name in item["author"]]
            year, month, day = item["issued"]["date-parts"][0]
            self.check(item["id"], words(item["title"]), authors, words(item["abstract"]), f"{year:04}-{month:02}-{day:02}")
            self.assertEqual(item["URL"], self.expected[item["id"]]["fields"]["linkURL"])

    def test_what_is_exported_is_imported_as_it_was(self):
        for name in ("bibtex", "ris", "csl-json"):
            file = self.folder / f"papers-of-{name}"
            self.expect(0, self.papers("export", "papers", str(file), "--format", name))
            copy = self.store()
            answer = self.expect(0, copy("import", "papers", str(file), "--json"))
            self.assertEqual((answer.object["format"], answer.object["added"]), (name, len(self.expected)))
            self.assertEqual(copy("list", "papers", "--json").lines, list(self.expected.values()))


if __name__ == "__main__":
    unittest.main()
