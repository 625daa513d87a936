"""Numbers on every way in: each comes back as itself, or is refused with the field and the number."""

import json
import random
import struct
import unittest

from heartlog import TestCase, seed

# As 64 bits or a double hold them, and as RFC 8785 writes them.
EXACT = ["0", "-1", "9007199254740993", "9223372036854775807", "-9223372036854775808", "10000000000000000000", "-100000000000000000000",
         "9223372036854776000", "18446744073709552000", "0.1", "-1.5e-7", "1e+21", "1.7976931348623157e+308", "5e-324"]
OTHERS = ["9223372036854775808", "9223372036854788153", "18446744073709551615", "-9223372036854775809", "123456789012345678901234567890"]
NESTED_OTHERS = ["9007199254740993", "-9007199254740993", "9223372036854775807", *OTHERS]


class NumberTests(TestCase):
    def ways_in(self, texts):
        """Every way to write fields with this JSON, each with the exit code of a refusal."""
        fields = "{%s}" % ",".join(f'"{name}":{text}' for name, text in texts.items())
        yield "apply", 65, ["apply"], '{"op":"add","library":"things","id":"x","fields":%s}\n' % fields
        yield "--fields", 64, ["add", "things", "x", "--fields", fields], None
        yield ":=", 64, ["add", "things", "x", *(f"{name}:={text}" for name, text in texts.items())], None
        yield "jsonl", 65, ["import", "things", "-", "--format", "jsonl"], '{"id":"x","isFavorite":true,"fields":%s}\n' % fields
        yield "geojson", 65, ["import", "things", "-", "--format", "geojson"], \
            '{"type":"FeatureCollection","features":[{"type":"Feature","id":"x","geometry":null,"properties":%s}]}' % fields
        yield "bookmarks", 65, ["import", "things", "-", "--format", "bookmarks"], \
            "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p>\n<DT><H3>things</H3>\n<DL><p>\n<DT><A HREF=\"heartlog:things/x\" DATA-HEARTLOG=\"things\" DATA-ID=\"x\" DATA-FIELDS=\"%s\">x</A>\n</DL><p>\n</DL><p>\n" \
            % fields.replace('"', "&quot;")

    def assert_holds(self, store, texts):
        """Compares the fields as they are printed, not what Python makes of them."""
        line = self.expect(0, store("show", "things", "x", "--json")).out
        self.assertTrue(line.endswith('"fields":{%s}}\n' % ",".join(f'"{name}":{texts[name]}' for name in sorted(texts))), line)

    def assert_refused(self, text, number):
        store = self.store()
        for name, code, words, lines in self.ways_in({"wanted": text}):
            with self.subTest(name, number=text):
                answer = store(*words, input=lines)
                self.expect(code, answer, number, "wanted")
                self.assertEqual(store.log(), [])

    def test_numbers_that_a_field_holds(self):
        nested = ["[9007199254740992,-9007199254740992]", '{"a":[1e+21,10000000000000000000,0.1]}']
        texts = {f"n{place:02}": text for place, text in enumerate(EXACT + nested)}
        for name, _, words, lines in self.ways_in(texts):
            with self.subTest(name):
                store = self.store()
                self.expect(0, store(*words, input=lines))
                self.assert_holds(store, texts)

    def test_integers_that_would_become_others(self):
        for text in OTHERS:
            self.assert_refused(text, text)

    def test_nested_integers_that_json_readers_would_round(self):
        for text in NESTED_OTHERS:
            self.assert_refused('{"a":[%s]}' % text, text)

    def test_a_cell_that_is_no_number_of_ours_is_a_text(self):
        store = self.store()
        self.expect(0, store("import", "things", "-", "--format", "csv", input="id,wanted\nx,9223372036854788153\n"))
        self.assert_holds(store, {"wanted": '"9223372036854788153"'})
        answer = store("import", "books", "-", "--format", "csv", input="id,title,duration\n1,Dune,9223372036854788153\n")
        self.expect(65, answer, "duration", "9223372036854788153")

    def test_numbers_survive_files(self):
        numbers = random.Random(seed())
        fields = {f"n{place}": json.loads(text) for place, text in enumerate(EXACT)}
        for place in range(200):
            (double,) = struct.unpack("<d", struct.pack("<Q", numbers.getrandbits(64) & ~(0x7FF << 52) | numbers.choice([numbers.randrange(2047), 1023 + numbers.randrange(60, 70)]) << 52))
            fields[f"double{place}"] = double
            fields[f"integer{place}"] = numbers.getrandbits(64) - 2**63
        store = self.store()
        self.expect(0, store.apply([{"op": "add", "library": "things", "id": "x", "fields": fields}]))
        shown = self.expect(0, store("show", "things", "x", "--json")).out
        for name, value in json.loads(shown)["fields"].items():
            self.assertEqual(float(value) if isinstance(fields[name], float) else value, fields[name], name)
        for name in ("jsonl", "csv", "geojson", "bookmarks"):
            with self.subTest(name):
                text = self.expect(0, store("export", "things", "--format", name)).out
                copy = self.store()
                self.expect(0, copy("import", "things", "-", "--format", name, input=text))
                self.assertEqual(self.expect(0, copy("show", "things", "x", "--json")).out, shown)


if __name__ == "__main__":
    unittest.main()
