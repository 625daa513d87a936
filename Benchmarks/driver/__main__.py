"""python3 -m driver [NAME…] [--quick] [--write]: see Scripts/bench, which makes everything ready first."""

import argparse
import os
import sys
import time

from . import bars, charts, measures, page, tables
from .results import Results
from .workshop import ROOT, Failure, Workshop, busy_share, machine, today

KEPT = ROOT / "Benchmarks" / "results.json"


def main():
    parser = argparse.ArgumentParser(prog="Scripts/bench")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.names == ["page"]:
        return publish(Results.read(KEPT))
    unknown = set(options.names) - set(measures.ALL)
    if unknown:
        parser.error(f"there is no measure {', '.join(sorted(unknown))}; there are {', '.join(measures.ALL)}")
    # In their order: some write to stores that others have opened before.
    names = [name for name in measures.ALL if name in options.names or not options.names]

    results = Results.read(KEPT) if options.write else Results()
    failed = measure(names, results, options.quick)
    if options.quick:
        print("A quick run has fewer events than the bars ask for.\n")
    print(tables.bars(bars.judge(results)))
    if options.write:
        results.write(KEPT)
        publish(results)
    if failed:
        sys.exit(f"not measured: {', '.join(failed)}")


def publish(results):
    charts.write(results, ROOT / "docs" / "charts")
    page.update(results, ROOT / "docs" / "benchmarks.md")


def measure(names, results, quick):
    """Runs measures; returns the names of those that failed."""
    shop = Workshop(quick, int(os.environ.get("ROUNDS", "2" if quick else "5")))
    failed = []
    try:
        for name in names:
            try:
                run(name, shop, results, quick)
            except Failure as failure:
                failed.append(name)
                print(f"{name}: {failure}", file=sys.stderr)
    finally:
        shop.close()
    return failed


def run(name, shop, results, quick):
    make, rounds_max = measures.ALL[name]
    rounds = min(shop.rounds, rounds_max)
    started, others = time.monotonic(), busy_share()
    results.forget(name)
    turns = make(shop)
    for _ in range(rounds):
        for turn in turns:
            for sample in turn():
                results.add(sample)
    command = f"Scripts/bench {name}" + (" --quick" if quick else "")
    results.took(
        name, {"date": today(), "machine": machine(), "rounds": rounds, "command": command, "others": others})
    print(tables.measure(results, name), end="\n\n", flush=True)
    print(f"{name}: {time.monotonic() - started:.0f} s", file=sys.stderr)


main()
