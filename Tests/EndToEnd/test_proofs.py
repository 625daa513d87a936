"""Proofs: the examples of docs/audit.md and what the command makes, checked by proof_checker.py, which shares no code with it."""

import re
import struct
import unittest

import heartlog
import proof_checker

EXAMPLE = re.compile(r"^```hex (\S+)\n(.*?)^```$", re.M | re.S)


def examples():
    page = (heartlog.PACKAGE / "docs" / "audit.md").read_text()
    return {name: bytes.fromhex("".join(line.split(";")[0] for line in text.splitlines()))
            for name, text in EXAMPLE.findall(page)}


def is_refused(data):
    try:
        proof_checker.check(data)
    except (AssertionError, IndexError, ValueError, OverflowError, struct.error):
        return True
    return False


class Examples(unittest.TestCase):
    def test_the_checker_has_at_most_120_lines(self):
        path = heartlog.PACKAGE / "Tests" / "EndToEnd" / "proof_checker.py"
        self.assertLessEqual(len(path.read_text().splitlines()), 120)

    def test_the_examples_of_the_page_prove_what_it_says(self):
        found = examples()
        self.assertEqual(set(found), {"event-proof", "history-proof"})
        owner = "21fe31dfa154a261626bf854046fd2271b7bed4b6abe45aa58877ef47f9721b9"
        event = proof_checker.check(found["event-proof"])
        self.assertEqual(event, event | {
            "proof": "event", "event": f"{owner[:32]}:3", "commit": 2, "size": 3, "action": "toggledOff",
            "library": "cities", "id": "urn:ngsi-ld:Zürich", "fingerprint": owner,
            "witnesses": ["39f713d0a644253f04529421b9f51b9b"]})
        history = proof_checker.check(found["history-proof"])
        self.assertEqual(history, history | {
            "proof": "history", "commits": 2, "isSigned": True, "size": 3, "fingerprint": owner, "witnesses": []})

    def test_no_part_of_an_example_can_be_another(self):
        for data in examples().values():
            for place in range(len(data)):
                changed = bytearray(data)
                changed[place] ^= 1 << place % 8
                self.assertTrue(is_refused(bytes(changed)), place)
            for count in range(0, len(data), 7):
                self.assertTrue(is_refused(data[:count]), count)
            self.assertTrue(is_refused(data + b"\0"))


if __name__ == "__main__":
    unittest.main()
