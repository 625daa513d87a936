"""Operations that no app would make, all of them within the rules."""

import json

# Ids and names that differ by normalisation, width or invisible characters alone are different ones.
TEXTS = [
    "a", "A", "1", "\u00e9", "e\u0301", "\u212b", "\u00c5", "A\u030a", "\u1e9b\u0323", "\ufb01", "fi", "\U0001f600",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f1e9\U0001f1ea", "\u05d0\u05d1", "\u202eabc", "\u200b", "\u00ad",
    "\ufeff", "\u2028", "\uffff", "\U0010ffff", "\ue000", "\u3042", "\uff41", " ", "  x", "x ", "/", "..", "-x", "--all", "=",
    "a=b", "a:=1", "\\", '"', "'", "%00", "null", "\u0130", "\u0131", "\u00df", "SS", "\u1100\u1161", "\uac00",
]
NUMBERS = [
    "0", "-0", "-0.0", "0.0", "1", "-1", "1.0", "1e0", "0.1", "1e300", "-1e300", "5e-324", "1e-400", "2.5", "1e21", "1e20",
    "9007199254740991", "9007199254740992", "9007199254740993", "-9007199254740993", "9223372036854775807",
    "-9223372036854775808", "9223372036854776000", "-18446744073709552000", "1.2345678901234568e+29", "9.223372036854775807e18", "9223372036854774784.0", "1E+2", "0.30000000000000004",
    "1.7976931348623157e308", "333333333.33333329",
]
NESTED_NUMBERS = ["0", "-0.0", "1.0", "1e300", "9007199254740991", "-9007199254740991", "0.1", "1e21", "1e-7", "5e-324"]
TIMES = [
    "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.0005Z", "2026-03-02T07:15:00Z", "2026-03-02T07:15:00.123Z",
    "2026-03-02t08:15:00.123+01:00", "2026-03-01T23:45:00.1239999-07:30", "2024-02-29T23:59:59.999z", "2000-01-01T00:00:00Z",
    "2026-03-02T07:15:00.123456789Z",
]
# Before 1970 and at the ends of the calendar, which only favorited dates may be.
DATES = TIMES + ["1969-12-31T23:59:59.9995Z", "1901-12-13T20:45:52Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z",
                 "1969-12-31T16:00:00.001-08:00", "1582-10-15T12:00:00Z"]
LIBRARIES = ["papers", "a", "z" * 64, "0", "-", "_", ".", "..", "a.b-c_d", "settings"]


class Hostile:
    """Draws operations; few items and few values, so that they meet often."""

    def __init__(self, chance):
        self.chance = chance
        letters = "".join(TEXTS)
        self.ids = TEXTS + ["".join(chance.choices(letters, k=chance.randint(1, 9))) for _ in range(20)]
        self.ids += ["x" * 4096, "\U0001f600" * 1024]
        self.names = TEXTS[:24] + ["title", "@note", "n" * 256]

    def text(self):
        chance = self.chance
        return chance.choice(["", "\u0000\u001f\u007f", "\n\t\r", "x" * chance.choice((1, 100, 20_000)), *TEXTS])

    def value(self, depth=0):
        """JSON text."""
        chance = self.chance
        kind = chance.choice(("null", "bool", "number", "text", "text", "list", "object") if depth < 4 else ("number", "text"))
        match kind:
            case "null":
                return "null"
            case "bool":
                return chance.choice(("true", "false"))
            case "number":
                return chance.choice(NESTED_NUMBERS if depth else NUMBERS)
            case "text":
                return json.dumps(self.text(), ensure_ascii=chance.random() < 0.5)
            case "list":
                return "[" + ",".join(self.value(depth + 1) for _ in range(chance.randint(0, 3))) + "]"
        return self.object({name: self.value(depth + 1) for name in chance.sample(["", *TEXTS], chance.randint(0, 4))})

    def object(self, members):
        names = [json.dumps(name, ensure_ascii=self.chance.random() < 0.5) for name in members]
        space = self.chance.choice(("", " ", "\t"))
        return "{" + ",".join(f"{name}{space}:{space}{text}" for name, text in zip(names, members.values())) + "}"

    def operation(self, group, time):
        """One line. Lines of one group need one time."""
        chance = self.chance
        kind = chance.choices(("add", "remove", "toggle", "set"), (3, 2, 4, 3))[0]
        line = {"op": json.dumps(kind), "library": json.dumps(chance.choice(LIBRARIES)),
                "id": json.dumps(chance.choice(self.ids), ensure_ascii=chance.random() < 0.5), "time": json.dumps(time)}
        if kind == "set" or kind != "remove" and chance.random() < 0.5:
            line["fields"] = self.object({name: self.value() for name in chance.sample(self.names, chance.randint(0, 5))})
        if kind in ("add", "toggle") and chance.random() < 0.3:
            line["favoritedDate"] = json.dumps(chance.choice(DATES))
        if group is not None:
            line["commit"] = group
        if chance.random() < 0.1:
            line["unknown"] = self.value()
        names = list(line)
        chance.shuffle(names)
        return self.object({name: line[name] for name in names})

    def lines(self, count):
        """That many operations, some in groups, times going back and forth and standing still."""
        chance, text, time = self.chance, [], TIMES[0]
        groups = ['"a"', '"b"', "1", "1.5", "true", '"\u00e9"', '"e\u0301"', '""', "[1]", '{"a":1}']
        last = None
        while count > 0:
            if chance.random() < 0.7:
                time = chance.choice(TIMES) if chance.random() < 0.5 else (
                    "20%02d-%02d-%02dT%02d:00:00.%03dZ" % (chance.randint(0, 40), chance.randint(1, 12), chance.randint(1, 28),
                                                           chance.randint(0, 23), chance.randint(0, 999)))
            group = chance.choice([group for group in groups if group != last]) if chance.random() < 0.4 else None
            size = min(count, chance.choice((1, 2, 3, 10, 200)) if group else 1)
            text += [self.operation(group, time) for _ in range(size)]
            count -= size
            last = group
            if group and chance.random() < 0.3:
                text.append('{"op":"commit"}')
                last = None
        return "\n".join(text) + "\n"
