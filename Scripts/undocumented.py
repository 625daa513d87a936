#!/usr/bin/env python3
"""Names the public declarations that have no documentation, and exits with 1 where there is one.

    Scripts/undocumented.py SYMBOLS.json …

The files are symbol graphs, as swift-symbolgraph-extract writes them. What the compiler makes, and what a protocol of another
package asks for (==, hash(into:), description, init(from:)), is documented there and needs nothing here.
"""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent.parent


def undocumented(graph):
    """(file, line, name) of each symbol that a person wrote and nobody described."""
    # What implements a requirement says of which; the requirements of the package itself are documented where they are declared.
    inherited = {relation["source"] for relation in graph["relationships"] if "sourceOrigin" in relation}
    for symbol in graph["symbols"]:
        identity = symbol["identifier"]["precise"]
        if "docComment" in symbol or "location" not in symbol or "::SYNTHESIZED::" in identity or identity in inherited:
            continue
        if symbol["kind"]["identifier"] == "swift.extension":  # what it adds is a symbol of its own
            continue
        file = pathlib.Path(symbol["location"]["uri"].removeprefix("file://"))
        if HERE in file.parents:
            name = ".".join(symbol["pathComponents"])
            yield str(file.relative_to(HERE)), symbol["location"]["position"]["line"] + 1, name


def main():
    found = set()
    count = 0
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            graph = json.load(file)
        count += len(graph["symbols"])
        found.update(undocumented(graph))
    if count == 0:
        print("undocumented: no symbols were given", file=sys.stderr)
        return 64
    for file, line, name in sorted(found):
        print(f"{file}:{line}: {name} has no documentation", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
