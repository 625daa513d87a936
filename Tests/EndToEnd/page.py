"""HTML as a tree, what is in its tables, and what every page must have for people who cannot see it, or not its colors."""

import html.parser
import re


class Node:
    def __init__(self, name, attributes, parent):
        self.name, self.attributes, self.parent, self.children = name, attributes, parent, []

    def all(self, *names):
        """Every element with one of the names, in order."""
        for child in self.children:
            if isinstance(child, Node):
                if child.name in names or not names:
                    yield child
                yield from child.all(*names)

    @property
    def text(self):
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    def __getitem__(self, attribute):
        return self.attributes.get(attribute)


class Page(html.parser.HTMLParser):
    """Parses a page strictly: each end tag belongs to the open element."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.root = self.open = Node("", {}, None)
        self.feed(text)
        self.close()
        if self.open is not self.root:
            raise ValueError(f"{self.open.name} is not closed")

    def handle_starttag(self, name, attributes):
        if len(dict(attributes)) != len(attributes):
            raise ValueError(f"{name} has an attribute twice")
        node = Node(name, dict(attributes), self.open)
        self.open.children.append(node)
        if name not in {"meta"}:
            self.open = node

    def handle_endtag(self, name):
        if name != self.open.name:
            raise ValueError(f"</{name}> closes {self.open.name}")
        self.open = self.open.parent

    def handle_data(self, data):
        self.open.children.append(data)

    def all(self, *names):
        return list(self.root.all(*names))

    def table(self, caption, within=None):
        """The rows of the one table whose caption begins so, as texts; numbers are those of <data>, and a cell over several rows is in each."""
        (found,) = [table for table in (within or self.root).all("table")
                    if next(table.all("caption")).text.startswith(caption)]
        return rows(found)

    def section(self, name):
        (found,) = [section for section in self.all("section") if section["id"] == name]
        return found


def value(cell):
    for node in cell.all("data"):
        return int(node["value"])
    return cell.text.strip()


def rows(table):
    found = []
    for body in table.all("tbody"):
        pending = {}
        for row in body.all("tr"):
            cells, column = [], 0
            own = iter(cell for cell in row.children if isinstance(cell, Node))
            while True:
                if pending.get(column, (0,))[0] > 0:
                    left, shown = pending[column]
                    pending[column] = (left - 1, shown)
                    cells.append(shown)
                else:
                    cell = next(own, None)
                    if cell is None:
                        break
                    cells.append(value(cell))
                    pending[column] = (int(cell["rowspan"] or 1) - 1, cells[-1])
                column += 1
            found.append(cells)
    return found


def luminance(color):
    """The relative luminance of WCAG 2.2 of a color in hexadecimal."""
    parts = [int(color[index:index + 2], 16) / 255 for index in (1, 3, 5)]
    return sum(weight * (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4)
               for weight, part in zip((0.2126, 0.7152, 0.0722), parts))


def contrast(a, b):
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def problems(page):
    """What is wrong with the structure of a page, as a list of sentences; the checks of axe-core that apply to a page to read."""
    found = []
    every = page.all()

    def check(holds, sentence):
        if not holds:
            found.append(sentence)

    (root,) = page.all("html")
    check(root["lang"] == "en", "the page has no language")
    check(len(page.all("title")) >= 1 and page.all("title")[0].text.strip(), "the page has no title")
    for landmark in ("main", "header", "nav", "footer"):
        check(len(page.all(landmark)) == 1, f"there is not one {landmark}")
    check(page.all("nav")[0]["aria-label"], "the navigation has no label")
    headings = page.all("h1", "h2", "h3", "h4", "h5", "h6")
    check([heading.name for heading in headings].count("h1") == 1 and headings[0].name == "h1", "there is not one h1, first")
    for before, after in zip(headings, headings[1:]):
        check(int(after.name[1]) <= int(before.name[1]) + 1, f"{after.name} follows {before.name}: {after.text}")
    for heading in headings:
        check(heading.text.strip(), "a heading is empty")
    ids = [node["id"] for node in every if node["id"] is not None]
    check(len(ids) == len(set(ids)), "an id is used twice")
    for node in every:
        for name in (node["aria-labelledby"] or "").split():
            check(name in ids, f"{name} labels something and does not exist")
        if node.name == "a":
            check((node["href"] or "").startswith("#") and node["href"][1:] in ids, f"the link {node['href']} leads nowhere")
        if node.name == "section":
            check(node["aria-labelledby"], "a section has no label")
        check(node.name not in ("script", "link", "img", "iframe", "object", "embed", "form", "input", "base"),
              f"there is a {node.name}")
        for name in node.attributes:
            check(not name.startswith("on") and name not in ("src", "style", "srcset", "action"), f"{node.name} has {name}")
        if node.name in ("ul", "ol"):
            check(all(child.name == "li" for child in node.children if isinstance(child, Node)), "a list has something else than items")
        if node.name == "dl":
            check({child.name for child in node.children if isinstance(child, Node)} <= {"dt", "dd"}, "a dl has something else")
    tables = page.all("table")
    for table in tables:
        first = next(child for child in table.children if isinstance(child, Node))
        check(first.name == "caption" and first.text.strip(), "a table has no caption")
        for cell in table.all("th"):
            check(cell["scope"] in ("col", "row", "rowgroup"), f"the heading {cell.text} has no scope")
            check(cell.text, "a heading of a table is empty")
        for row in table.all("tr"):
            check(any(cell.name in ("td", "th") for cell in row.children if isinstance(cell, Node)), "a row is empty")
    for svg in page.all("svg"):
        check(svg["role"] == "img", "a chart is no image to a screen reader")
        names = (svg["aria-labelledby"] or "").split()
        labels = [node for node in svg.all("title", "desc") if node["id"] in names]
        check(len(labels) == 2 and all(label.text.strip() for label in labels), "a chart has no title or description")
    return found


def schemes(page):
    """The colors of the page by their names: in light, in dark and on paper. Those that a scheme does not set are those in light."""
    sheet = page.all("style")[0].text
    found = []
    for block in re.findall(r":root\s*{([^}]*)}", sheet):
        colors = dict(re.findall(r"--(\w+):\s*(#[0-9a-f]{6})", block))
        found.append({**found[0], **colors} if found else colors)
    return found


def contrast_problems(page):
    """Texts need 4.5 on both backgrounds, marks of the chart 3."""
    found = []
    for scheme in schemes(page):
        for ground in ("paper", "band"):
            for name, least in (("ink", 4.5), ("faint", 4.5), ("accent", 4.5), ("good", 4.5), ("bad", 4.5), ("mark", 3), ("line", 3)):
                reached = contrast(scheme[name], scheme[ground])
                if reached < least:
                    found.append(f"{name} on {ground}: {reached:.2f}")
    return found
