"""Tables, as Markdown that reads well in a terminal too."""

from .names import TITLES, label
from .results import figure


def table(header, rows, padded=True, texts=1):
    """A Markdown table; what stands behind its first columns of texts are figures. Padded it reads well in a terminal too."""
    widths = [max(len(row[place]) for row in (header, *rows)) if padded else 0 for place in range(len(header))]

    def line(cells):
        return "| " + " | ".join(
            cell.ljust(width) if place < texts else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(cells, widths))) + " |"

    ruler = "|" + "|".join("-" * (width + 2) if place < texts else "-" * (width + 1) + ":"
                           for place, width in enumerate(widths)) + "|"
    return "\n".join([line(header), ruler, *(line(row) for row in rows)])


def measure(results, name):
    """The tables of a measure with its title."""
    return f"{TITLES[name]}\n\n{figures(results, name)}"


def figures(results, name, padded=True):
    """A row a peer, a column a figure: the median, and the least and the most where there are several rounds.

    What a name says behind a comma (`1,000,000, memory`) makes a table of its own.
    """
    kinds = {}
    for found in results.of(name):
        column, _, kind = found.name.partition(", ")
        kinds.setdefault(kind, []).append((column, found))
    return "\n\n".join(one_kind(kind, found, padded) for kind, found in kinds.items()) or "Nothing was measured."


def one_kind(kind, found, padded):
    columns = list(dict.fromkeys((column, figure.unit) for column, figure in found))
    peers = list(dict.fromkeys(figure.peer for _, figure in found))
    held = {(figure.peer, column): figure for column, figure in found}
    rows = [[label(peer), *(cell(held.get((peer, column))) for column, _ in columns)] for peer in peers]
    return table([kind, *(f"{column}, {unit}" if unit else column for column, unit in columns)], rows, padded)


def cell(found):
    if found is None:
        return ""
    low, high = (figure(value) for value in found.spread)
    return figure(found.median) if low == high else f"{figure(found.median)} ({low}–{high})"


def bars(judged, padded=True):
    """The bars: what, which, what was measured, beside whom, met or not."""
    rows = [[bar.what, bar.bar, bar.measured, bar.peers, bar.met] for bar in judged]
    return table(["what", "bar", "measured", "beside it", "met"], rows, padded, texts=5)
