"""Charts as SVG, by hand: no library, readable in light and dark, a label at every mark."""

import math

from .names import short_label
from .results import figure

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 760, 230, 110, 56, 48
ROW = 30
STYLE = """
  text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #24292f }
  .title { font-size: 15px; font-weight: 600 }
  .quiet { fill: #57606a; font-size: 12px }
  .grid { stroke: #d0d7de; stroke-width: 1 }
  .ground { fill: #ffffff }
  .own { fill: #cf222e; stroke: #cf222e } .c1 { fill: #0969da; stroke: #0969da } .c2 { fill: #1a7f37; stroke: #1a7f37 }
  .c3 { fill: #9a6700; stroke: #9a6700 } .c4 { fill: #8250df; stroke: #8250df } .c5 { fill: #bf3989; stroke: #bf3989 }
  .raw { fill: #6e7781; stroke: #6e7781 }
  .line { fill: none; stroke-width: 2 } text.mark { stroke: none }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .quiet { fill: #9198a1 } .grid { stroke: #3d444d } .ground { fill: #0d1117 }
    .own { fill: #ff7b72; stroke: #ff7b72 } .c1 { fill: #4493f8; stroke: #4493f8 } .c2 { fill: #3fb950; stroke: #3fb950 }
    .c3 { fill: #d29922; stroke: #d29922 } .c4 { fill: #ab7df8; stroke: #ab7df8 } .c5 { fill: #db61a2; stroke: #db61a2 }
    .raw { fill: #9198a1; stroke: #9198a1 }
  }"""
COLORS = {
    "heartlog": "own", "heartlog-awaited": "own", "heartlog-fields": "own", "raw": "raw", "group-log": "raw",
    "sqlite": "c1", "sqlite-batched": "c1", "sqlite-each": "c1", "sqlite-columns": "c1", "sqlite-json": "c1", "lmdb": "c2", "leveldb": "c3", "rocksdb": "c5",
    "loro": "c4", "yrs": "c2", "automerge": "c3",
}


class Drawing:
    def __init__(self, title, height):
        self.height = height
        self.parts = [f"<style>{STYLE}</style>", f'<rect class="ground" width="{WIDTH}" height="{height}" rx="6"/>']
        self.text(16, 26, title, "title")
        self.title = title

    def text(self, x, y, text, kind="", anchor="start"):
        text = text.replace("&", "&amp;").replace("<", "&lt;")
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{text}</text>')

    def line(self, x1, y1, x2, y2, kind="grid"):
        self.parts.append(f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>')

    def __str__(self):
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height}" role="img" '
                f'aria-label="{self.title}">\n' + "\n".join(self.parts) + "\n</svg>\n")


class Scale:
    """From figures to places; by tens where they are far apart."""

    def __init__(self, low, high, start, end, by_tens):
        self.by_tens = by_tens
        if by_tens:
            low, high = 10 ** math.floor(math.log10(low)), 10 ** math.ceil(math.log10(high))
            if low == high:
                high *= 10
        else:
            low = 0
        self.low, self.high, self.start, self.end = low, high, start, end

    def __call__(self, value):
        if self.by_tens:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = value / self.high
        return self.start + share * (self.end - self.start)

    @property
    def ticks(self):
        if self.by_tens:
            tens = range(round(math.log10(self.low)), round(math.log10(self.high)) + 1)
            return [10.0 ** ten for ten in tens]
        rough = self.high / 5
        step = 10 ** math.floor(math.log10(rough))
        step = next(step * many for many in (1, 2, 5, 10) if step * many >= rough)
        return [step * count for count in range(int(self.high / step) + 1)]


def bars(measures, title, axis):
    """A bar each, the least first; a thin line is the range of the rounds."""
    measures = sorted(measures, key=lambda m: m.median)
    drawing = Drawing(title, TOP + ROW * len(measures) + BOTTOM)
    scale = Scale(0, max(m.spread[1] for m in measures), LEFT, WIDTH - RIGHT, False)
    bottom = drawing.height - BOTTOM
    for tick in scale.ticks:
        drawing.line(scale(tick), TOP - 8, scale(tick), bottom)
        drawing.text(scale(tick), bottom + 16, figure(tick), "quiet", "middle")
    drawing.text((LEFT + WIDTH - RIGHT) / 2, bottom + 36, axis, "quiet", "middle")
    for place, measure in enumerate(measures):
        y, color = TOP + ROW * place, COLORS.get(measure.peer, "raw")
        drawing.text(LEFT - 10, y + 16, short_label(measure.peer), "", "end")
        middle = scale(measure.median)
        drawing.parts.append(f'<rect class="{color}" x="{LEFT}" y="{y + 3}" width="{middle - LEFT:.1f}" height="17"/>')
        few, many = (scale(value) for value in measure.spread)
        if many - few > 1:
            drawing.line(few, y + 22, many, y + 22, f"{color} line")
        drawing.text(max(middle, many) + 6, y + 16, figure(measure.median))
    return str(drawing)


def lines(series, title, x_axis, y_axis):
    """A line a peer over sizes, both by tens, each named at its end."""
    drawing = Drawing(title, 400)
    xs = sorted({x for points in series.values() for x, _ in points})
    ys = [y for points in series.values() for _, y in points]
    left, bottom = 76, drawing.height - 56
    across = Scale(min(xs), max(xs), left, WIDTH - LEFT, True)
    across.low, across.high = min(xs), max(xs)
    up = Scale(min(ys), max(ys), bottom, TOP, True)
    for tick in up.ticks:
        drawing.line(left, up(tick), WIDTH - LEFT, up(tick))
        drawing.text(left - 8, up(tick) + 4, figure(tick), "quiet", "end")
    for x in xs:
        drawing.line(across(x), bottom, across(x), bottom + 5)
        drawing.text(across(x), bottom + 20, f"{x:,}", "quiet", "middle")
    drawing.text((left + WIDTH - LEFT) / 2, bottom + 42, x_axis, "quiet", "middle")
    drawing.text(16, TOP - 12, y_axis, "quiet")
    ends = []
    for peer, points in series.items():
        color = COLORS.get(peer, "raw")
        path = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in sorted(points))
        drawing.parts.append(f'<polyline class="{color} line" style="fill:none" points="{path}"/>')
        drawing.parts += [f'<circle class="{color}" cx="{across(x):.1f}" cy="{up(y):.1f}" r="3.5"/>' for x, y in points]
        x, y = max(points)
        ends.append([up(y), f"{short_label(peer)}, {figure(y)}", color])
    # Names that would lie on each other make room, from the top down.
    last = -math.inf
    for end in sorted(ends):
        end[0] = last = max(end[0], last + 16)
        drawing.text(WIDTH - LEFT + 10, end[0] + 4, end[1], f"{end[2]} mark")
    return str(drawing)


def of(results, measure, name):
    return [m for m in results.of(measure) if m.name == name]


def by_size(results, measure, suffix=""):
    """Points of a measure whose names begin with a number."""
    series = {}
    for m in results.of(measure):
        number = m.name.removesuffix(suffix).replace(",", "")
        if number.isdigit() and m.name.endswith(suffix):
            series.setdefault(m.peer, []).append((int(number), m.median))
    return {peer: points for peer, points in series.items() if len(points) > 1}


def write(results, folder):
    """Draws what was measured."""
    folder.mkdir(exist_ok=True)
    sizes = [*of(results, "size", "compacted"), *of(results, "size", "the whole folder")]
    opening, writing = by_size(results, "open"), by_size(results, "writers", " writers")
    charts = {
        "latency": (bars, of(results, "durable", "p50"), "One durable commit, one writer, median", "µs"),
        "size": (bars, sizes, "The whole folder after 100,000 events", "bytes an event"),
        "list": (bars, of(results, "typed", "list of 50"), "A list of 50 items of a type, of 100,000", "µs"),
        "search": (bars, of(results, "typed", "search for few"), "A search of 100,000 items that finds few", "ms"),
        "writers": (lines, writing, "Durable commits by writers at once", "writers", "commits a second, by tens"),
        "open": (lines, opening, "Opening, a lookup and a page of 50", "favorites in the store", "ms, by tens"),
    }
    for name, (draw, figures, *words) in charts.items():
        if figures:
            (folder / f"{name}.svg").write_text(draw(figures, *words))
