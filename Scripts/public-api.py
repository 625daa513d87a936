#!/usr/bin/env python3
"""Writes down the public API, or compares it with what is written down: fixtures/public-api.txt.

    Scripts/public-api.py SYMBOLS.json …

The files are symbol graphs, as swift-symbolgraph-extract writes them. One line a declaration, by module and by what it is part of, so that
every change of the API is a visible change of one file. Where the two differ, it prints the lines and exits with 1; with
HEARTLOG_UPDATE_GOLDENS=1 in the environment it writes the file anew.
"""

import difflib
import json
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent.parent
GOLDEN = HERE / "fixtures" / "public-api.txt"


def declarations(graph):
    """(what it is part of, declaration) of each symbol that stands in this repository."""
    for symbol in graph["symbols"]:
        if "location" not in symbol or "::SYNTHESIZED::" in symbol["identifier"]["precise"]:
            continue
        if symbol["kind"]["identifier"] == "swift.extension":  # what it adds is a symbol of its own
            continue
        file = pathlib.Path(symbol["location"]["uri"].removeprefix("file://"))
        if HERE not in file.parents:
            continue
        text = "".join(fragment["spelling"] for fragment in symbol["declarationFragments"])
        yield ".".join(symbol["pathComponents"][:-1]), " ".join(text.split())


def api(paths):
    """The lines of the file."""
    modules = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            graph = json.load(file)
        # What a library gives on is listed with it: the graph of an extension is named Library@Module.
        module = pathlib.Path(path).name.split(".")[0].split("@")[0]
        modules.setdefault(module, set()).update(declarations(graph))
    lines = []
    for module, found in sorted(modules.items()):
        lines.append(f"# {module}")
        lines += [f"{owner}: {text}" if owner else text for owner, text in sorted(found)]
        lines.append("")
    return lines


def main():
    lines = api(sys.argv[1:])
    if not lines:
        print("public-api: no symbols were given", file=sys.stderr)
        return 64
    if os.environ.get("HEARTLOG_UPDATE_GOLDENS") == "1":
        GOLDEN.write_text("\n".join(lines), encoding="utf-8")
        return 0
    known = GOLDEN.read_text(encoding="utf-8").split("\n")
    changes = [
        line for line in difflib.unified_diff(known, lines, "fixtures/public-api.txt", "the sources", lineterm="", n=0)
        if not line.startswith("@@")]
    for line in changes:
        print(line, file=sys.stderr)
    if changes:
        print(
            "public-api: the public API is another; HEARTLOG_UPDATE_GOLDENS=1 Scripts/docs writes it down", file=sys.stderr)
    return 1 if changes else 0


if __name__ == "__main__":
    sys.exit(main())
