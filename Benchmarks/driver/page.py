"""docs/benchmarks.md: what stands between its marks is made anew, and all else is left as it is.

A mark is a comment: `<!-- figures: NAME -->`, up to `<!-- end -->`.
"""

import re
from collections import Counter

from . import bars, tables


def update(results, path):
    text = path.read_text()

    def anew(found):
        return f"{found[1]}\n{content(results, found[2])}\n{found[3]}"

    path.write_text(re.sub(r"(<!-- figures: (\S+) -->)\n.*?(<!-- end -->)", anew, text, flags=re.S))


def content(results, name):
    if name == "bars":
        table = tables.bars(bars.judge(results), padded=False)
        if any("--quick" in run["command"] for run in results.runs.values()):
            table += "\n\nSome of these are of quick runs, which have fewer events than the bars ask for."
        return table
    usual = Counter(map(circumstances, results.runs.values())).most_common(1)[0][0]
    if name == "usual":
        return f"{usual}; medians of the rounds, with the least and the most of several."
    if name not in results.runs:
        return "Not measured yet."
    run = results.runs[name]
    table = tables.figures(results, name, padded=False)
    others = f", with other programs on {run['others']:.0%} of the cores" if run["others"] > 0.1 else ""
    if circumstances(run) == usual and not others:
        return table
    return f"`{run['command']}`, {circumstances(run)}{others}.\n\n{table}"


def circumstances(run):
    return f"{run['date']}, {run['machine']}"
