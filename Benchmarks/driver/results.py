"""Figures: what was measured, of whom, and how often."""

import json
import statistics


class Measure:
    """One figure of one peer, a value a round."""

    def __init__(self, measure, peer, name, unit, values=()):
        self.measure, self.peer, self.name, self.unit = measure, peer, name, unit
        self.values = list(values)

    @property
    def key(self):
        return self.measure, self.peer, self.name

    @property
    def median(self):
        return statistics.median(self.values)

    @property
    def spread(self):
        return min(self.values), max(self.values)


class Results:
    """All figures of a run, and of measures that were run before: each run replaces what it measures again."""

    def __init__(self):
        self.measures = {}
        self.runs = {}

    @staticmethod
    def read(path):
        results = Results()
        if path.exists():
            kept = json.loads(path.read_text())
            results.runs = kept["runs"]
            for row in kept["figures"]:
                measure = Measure(*row)
                results.measures[measure.key] = measure
        return results

    def write(self, path):
        # Within a measure in the order in which it was measured: that is the order of the page.
        kept = sorted(self.measures.values(), key=lambda m: m.measure)
        rows = [[*m.key, m.unit, [float(f"{v:.5g}") for v in m.values]] for m in kept]
        lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
        runs = json.dumps(self.runs, ensure_ascii=False, indent=1, sort_keys=True)
        path.write_text(f'{{"runs": {runs},\n"figures": [\n{lines}\n]}}\n')

    def add(self, sample):
        measure = Measure(sample["measure"], sample["peer"], sample["name"], sample["unit"])
        self.measures.setdefault(measure.key, measure).values.append(sample["value"])

    def forget(self, name):
        self.measures = {key: measure for key, measure in self.measures.items() if key[0] != name}

    def median(self, measure, peer, name):
        """None where that was not measured."""
        found = self.measures.get((measure, peer, name))
        return found.median if found else None

    def of(self, name):
        return [measure for measure in self.measures.values() if measure.measure == name]

    def took(self, name, run):
        self.runs[name] = run


def figure(value):
    """Three digits that count, thousands apart."""
    if value is None:
        return ""
    if abs(value) >= 1000:
        digits = 3 - len(str(int(abs(value))))
        return f"{round(value, digits):,.0f}" if abs(value) >= 100_000 else f"{value:,.0f}"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
