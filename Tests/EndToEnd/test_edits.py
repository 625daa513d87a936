"""What finds an edit with right checksums: docs/format.md has a table of it, and each edit is made here and looked for.

A verdict is the first that tells: `verify` in the store alone; a `peer` that holds the original, at the next sync; `unsigned` where
nothing does but that a device has not signed it; `same` where history and state are what they were.
"""

import concurrent.futures
import pathlib
import re
import shutil
import unittest

from edited_store import make
from edits import AMONG, CHECKSUMS, CONTENTS, STORE, STREAM, UNSHIPPED, edits
from format_editor import EditedStore
from heartlog import PACKAGE, Store, TestCase

WAYS = (CHECKSUMS, STREAM, STORE, UNSHIPPED)
# What finds an edit in a signed stream, and in one of the branches of a fork, which nobody signs.
CELL = re.compile(r"(?:`(verify|peer|unsigned|same)`(?: \(branch: `(verify|peer|unsigned|same)`\))?)?")
WORKERS = 2


def table():
    """(kind, way) → verdicts, as the page has them; and how many edits it says there are."""
    page = (PACKAGE / "docs/format.md").read_text(encoding="utf-8")
    section = re.search(r"^## What finds an edit\n(.*?)^## ", page, re.M | re.S)[1]
    found = {}
    for line in section.splitlines():
        kinds, *verdicts = [cell.strip() for cell in line.strip("|").split("|")]
        cells = [CELL.fullmatch(verdict) for verdict in verdicts]
        if len(verdicts) == len(WAYS) and all(cells) and any(verdicts):
            for kind in kinds.split("; "):
                found |= {(kind, way): (cell[1], cell[2] or cell[1]) for way, cell in zip(WAYS, cells) if cell[1]}
    return found, int(re.search(r"(\d+) edits", section)[1])


class EditTests(TestCase):
    def streams(self, store):
        """What the store holds of each stream, as sound as it is."""
        lines = self.expect(0, store("verify", "--json")).lines
        return {line["replica"]: (line["commits"], line["root"]) for line in lines if line.get("commits")}

    def test_each_edit_is_found_by_what_the_page_says(self):
        expected, count = table()
        all_edits = edits()
        self.assertEqual(len({edit.name for edit in all_edits}), len(all_edits))
        self.assertEqual({(edit.kind, edit.way) for edit in all_edits}, expected.keys(), "the page has other edits")
        self.phone, self.tablet = make(self)
        self.before = self.streams(self.phone)
        files = self.files(self.phone.path)
        EditedStore(self.phone.path).write()
        self.assertEqual(self.files(self.phone.path), files, "what is not edited is written as it was")
        self.assertEqual(self.verdict(Store(self.copy("as it was", self.phone))), "same")
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as workers:
            verdicts = list(workers.map(self.verdict_of, all_edits))
        for edit, verdict in zip(all_edits, verdicts):
            with self.subTest(edit.name):
                isInBranch = edit.name.split("; ")[-1].startswith(("branch", "ended"))
                self.assertEqual(verdict, expected[edit.kind, edit.way][isInBranch])
        self.assertEqual(len(all_edits), count, "edits that the page speaks of")

    def files(self, path):
        return {file: file.read_bytes() for file in pathlib.Path(path).rglob("*") if file.is_file()}

    def copy(self, name, store):
        place = self.folder / name
        shutil.copytree(store.path, place)
        return place

    def verdict_of(self, edit):
        place = self.copy(f"edit {id(edit)}", self.phone)
        store = EditedStore(place)
        edit.make(store)
        store.write()
        verdict = self.verdict(Store(place))
        if verdict == "verify" and edit.kind in CONTENTS | AMONG:
            Store(place)("compact")
            if Store(place)("verify").code == 0:
                verdict = "verify, until it is sealed"
        shutil.rmtree(place)
        return verdict

    def verdict(self, store):
        answer = store("verify")
        if answer.code == 65:
            return "verify"
        held = self.streams(store)
        if held == self.before:
            return "same" if store("replay").code == 0 else "replay"  # the log does not say what the store shows
        peer = self.copy(pathlib.Path(store.path).name + " peer", self.tablet)
        report = self.expect(0, store("sync", str(peer), "--json")).object
        shutil.rmtree(peer)
        return "peer" if report["forks"] or report["received"]["commits"] else "unsigned"


if __name__ == "__main__":
    unittest.main()
