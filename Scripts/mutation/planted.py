"""Bugs that are planted on purpose: Scripts/mutation/planted.toml."""

import tomllib

import tree

LIST = tree.ROOT / "Scripts" / "mutation" / "planted.toml"


class Bug:
    def __init__(self, number, entry):
        self.number = number
        self.name, self.description, self.file = entry["name"], entry["description"], entry["file"]
        self.original, self.replacement = entry["original"].strip("\n"), entry["replacement"].strip("\n")
        self.detectors = entry.get("detectors", [])
        self.is_quick = entry.get("quick", False)
        self.start = None

    def find(self):
        path = tree.ROOT / self.file
        if not path.is_file():
            raise tree.Failure(f"{self.name}: there is no {self.file}")
        text = path.read_text(encoding="utf-8")
        count = text.count(self.original)
        if count != 1:
            raise tree.Failure(f"{self.name}: the original text stands {count} times in {self.file}, and must stand there once")
        if "planted" not in self.replacement:
            raise tree.Failure(f"{self.name}: the replacement does not ask whether the bug is planted")
        self.start = text.index(self.original)

    def switched(self, mutant, inner):
        # The original, where it is part of the replacement, may have other changes in it.
        return self.replacement.replace(self.original, inner).replace("planted", mutant)


def load():
    with open(LIST, "rb") as file:
        entries = tomllib.load(file)["bug"]
    bugs = [Bug(tree.FIRST_PLANTED + index, entry) for index, entry in enumerate(entries)]
    names = [bug.name for bug in bugs]
    for name in names:
        if names.count(name) > 1:
            raise tree.Failure(f"two planted bugs have the name {name}")
    for bug in bugs:
        bug.find()
    return bugs


def edits(bugs):
    return [tree.Edit(bug.number, bug.file, bug.start, bug.start + len(bug.original), bug.switched) for bug in bugs]
