"""Tables, as Markdown that reads well in a terminal too."""

from .names import TITLES, label
from .results import figure


def table(header, rows):
    """A Markdown table whose columns line up; all but the first are figures."""
    widths = [max(len(row[place]) for row in (header, *rows)) for place in range(len(header))]

    def line(cells):
        return "| " + " | ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(cells, widths))) + " |"

    ruler = "|" + "|".join("-" * (width + 2) if place == 0 else "-" * (width + 1) + ":"
                           for place, width in enumerate(widths)) + "|"
    return "\n".join([line(header), ruler, *(line(row) for row in rows)])


def measure(results, name):
    """The table of a measure with its title."""
    return f"{TITLES[name]}\n\n{figures(results, name)}"


def figures(results, name):
    """A row a peer, a column a figure: the median, and the least and the most where there are several rounds."""
    figures = results.of(name)
    if not figures:
        return "Nothing was measured."
    columns = list(dict.fromkeys((f.name, f.unit) for f in figures))
    peers = list(dict.fromkeys(f.peer for f in figures))
    held = {(f.peer, f.name): f for f in figures}
    rows = [[label(peer), *(cell(held.get((peer, column))) for column, _ in columns)] for peer in peers]
    header = ["", *(f"{column}, {unit}" if unit else column for column, unit in columns)]
    return table(header, rows)


def cell(found):
    if found is None:
        return ""
    low, high = (figure(value) for value in found.spread)
    return figure(found.median) if low == high else f"{figure(found.median)} ({low}–{high})"


def bars(judged):
    """The bars: what, which, what was measured, beside whom, met or not."""
    rows = [[bar.what, bar.bar, bar.measured, bar.peers, bar.met] for bar in judged]
    return table(["what", "bar", "measured", "beside it", "met"], rows)
