"""The places of the sources that can be changed, and the change of each: see Scripts/mutate."""

import hashlib
import re

import lexer
import tree

COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "===": "!==", "!==": "==="}
ARITHMETIC = {
    "+": "-", "-": "+", "*": "+", "/": "*", "%": "/", "&+": "&-", "&-": "&+", "&*": "&+", "<<": ">>", ">>": "<<", "&<<": "&>>",
    "&>>": "&<<", "&": "|", "|": "&", "^": "|"}
ASSIGNMENTS = {
    "+=": "-=", "-=": "+=", "*=": "+=", "/=": "*=", "%=": "/=", "&+=": "&-=", "&-=": "&+=", "&*=": "&+=", "<<=": ">>=", ">>=": "<<=",
    "|=": "&=", "&=": "|=", "^=": "|="}
LOGIC = {"&&": "||", "||": "&&"}
RANGES = {"..<": "...", "...": "..<"}
# What only checks, and what changes nothing but the time that something takes.
UNTOUCHED = re.compile(
    r"assert\w*|precondition\w*|fatalError|reserveCapacity|prefetch\w*|debugPrint|print|withExtendedLifetime|sched_yield")
HEADERS = {
    "func", "init", "deinit", "subscript", "struct", "class", "enum", "extension", "protocol", "actor", "typealias", "associatedtype",
    "operator", "precedencegroup", "import"}
TYPES = {"struct", "class", "enum", "extension", "protocol", "actor"}
CONTROL = {"if", "guard", "while", "for", "switch", "do", "repeat", "defer", "catch", "else"}
ACCESSORS = {"get", "set", "willSet", "didSet", "_read", "_modify"}
# What an expression cannot contain at its own level.
BOUNDS = {
    "return", "if", "guard", "while", "in", "case", "where", "else", "throw", "try", "try?", "try!", "await", "let", "var", "switch", "for",
    "repeat", "do", "catch", "default", "func", "init"}


class Site:
    """A change of one file, as far as it can be made."""

    def __init__(self, file, kind, text, extent, change, template, mutated):
        self.file, self.kind = file, kind
        # What the switch stands around may be larger than the change itself.
        self.start, self.end = extent
        start, end, new = change
        self.line = text.count("\n", 0, start) + 1
        first, last = text.rfind("\n", 0, start) + 1, text.find("\n", end)
        self.original = " ".join(text[first:last].split())
        self.changed = " ".join((text[first:start] + new + text[end:last]).split())
        self.mutated = text[self.start:start] + new + text[end:self.end] if mutated is None else mutated
        self.template = template
        self.key = None  # what names it in every version of the sources that has it
        self.number = None

    def switched(self, mutant, inner):
        return self.template.format(mutant=mutant, mutated=self.mutated, inner=inner)

    def edit(self):
        return tree.Edit(self.number, self.file, self.start, self.end, self.switched)


EXPRESSION = "({mutant} ? {mutated} : {inner})"
STATEMENT = "if {mutant} {{ {mutated} }} else {{ {inner} }}"
REMOVAL = "if !{mutant} {{ {inner} }}"


class Reader:
    """One file, statement by statement."""

    def __init__(self, file, text):
        self.file, self.text = file, text
        self.tokens = lexer.tokens(text)
        self.partner, self.opener = {}, {}  # of a bracket, the other one; of each token, the bracket around it
        self.begins = set()  # the first tokens of statements
        self.braces = {}  # of each brace, what opened it: a keyword's index, or None for a closure
        self.untouched = []  # parts in which nothing is changed, as positions in the text
        self.found = []
        self.match_brackets()
        self.read_statements()
        self.leave_out()

    # Structure

    def match_brackets(self):
        stack = []
        for index, token in enumerate(self.tokens):
            if token.kind == "mark" and token.text in ")]}":
                opener = stack.pop()
                self.partner[opener], self.partner[index] = index, opener
            self.opener[index] = stack[-1] if stack else None
            if token.kind == "mark" and token.text in "([{":
                stack.append(index)

    def is_bracket(self, index, text):
        return index is not None and self.tokens[index].kind == "mark" and self.tokens[index].text in text

    def signature_end(self, brace):
        """The `in` of a closure's signature, if it has one."""
        index = brace + 1
        while index < self.partner[brace]:
            token = self.tokens[index]
            if token.text == "in":
                return index
            if index in self.partner and token.text in "([":
                index = self.partner[index]
            elif token.kind not in ("name", "operator") and token.text not in (",", ":", "throws"):
                return None
            index += 1
        return None

    def read_statements(self):
        pending, labels, expected = {}, set(), {0}
        for index, token in enumerate(self.tokens):
            around = self.opener[index]
            is_code = around is None or self.is_bracket(around, "{")
            before = self.tokens[index - 1] if index else None
            if is_code and not self.is_bracket(index, "}") and (
                index in expected or token.follows_line and not self.continues(before, token)):
                self.begins.add(index)
                pending.pop(around, None)
                labels.discard(around)
                if token.text in ("case", "default") and token.kind == "keyword":
                    labels.add(around)
            if token.text == ";":
                expected.add(index + 1)
            if token.text == ":" and around in labels:
                labels.discard(around)
                expected.add(index + 1)
            if token.kind == "keyword" and token.text in CONTROL | HEADERS:
                pending[around] = index
            elif token.text in ("var", "let") and around not in pending:
                pending[around] = index
            elif token.text in ACCESSORS and index in self.begins:
                pending[around] = index
            elif token.text == "=" and token.is_spaced and self.text_of(pending.get(around)) in ("var", "let"):
                del pending[around]
            if self.is_bracket(index, "{"):
                opened = pending.get(around)
                if self.text_of(opened) == "guard":
                    opened = None
                self.braces[index] = opened
                if opened is not None:
                    del pending[around]
                signature = self.signature_end(index) if opened is None else None
                expected.add(index + 1 if signature is None else signature + 1)

    def text_of(self, index):
        return None if index is None else self.tokens[index].text

    def continues(self, before, token):
        """Whether a line goes on with the statement of the line before."""
        if before is None:
            return False
        if token.kind == "operator" and (token.is_spaced or token.text.startswith(".")):
            return True
        if token.text in (":", "{", ")", "]") or token.kind == "keyword" and token.text in ("else", "catch", "where", "as", "is", "in", "throws"):
            return True
        if before.kind == "operator" and (before.is_spaced or before.text == "->"):
            return True
        return before.text in (",", "(", "[", ":") or before.kind == "keyword" and before.text in BOUNDS - {"default"}

    def end_of_statement(self, start):
        """The index behind a statement."""
        around = self.opener[start]
        index = start
        while index < len(self.tokens):
            if index in self.partner and self.partner[index] > index:
                index = self.partner[index]
            elif self.partner.get(index) == around and around is not None or self.tokens[index].text == ";":
                return index
            index += 1
            if index in self.begins:
                return index
        return index

    def is_alone(self, start):
        """Whether no other statement stands beside this one, in its brace or its case."""
        around = self.opener[start]
        beside = sorted(index for index in self.begins if self.opener[index] == around)
        if self.text_of(self.braces[around]) != "switch":
            return len(beside) == 1
        place = beside.index(start)
        return all(self.text_of(index) in ("case", "default") for index in beside[max(0, place - 1):place] + beside[place + 1:place + 2])

    def is_value(self, brace):
        """Whether the only statement in a brace may be the value of it."""
        if brace is None:
            return False
        keyword = self.braces[brace]
        if keyword is None:
            return True
        text = self.tokens[keyword].text
        if text in TYPES or text in ("init", "deinit", "set", "willSet", "didSet", "defer", "guard"):
            return False
        if text in ("func", "subscript", "var", "let", "get", "_read", "_modify"):
            return text != "func" or any(self.tokens[index].text == "->" for index in range(keyword, brace) if self.opener[index] == self.opener[brace])
        first = keyword
        while first not in self.begins and self.opener[first - 1] == self.opener[keyword] or self.is_bracket(first - 1, "}"):
            first = self.partner[first - 1] if self.is_bracket(first - 1, "})]") else first - 1
        if first not in self.begins:
            return True
        if self.tokens[first].text not in ("if", "switch"):
            return self.tokens[first].text in ("return", "let", "var", "_") or self.tokens[first].kind == "name"
        return self.is_alone(first) and self.is_value(self.opener[first])

    # What is left out

    def skip(self, first, last):
        self.untouched.append((self.tokens[first].start, self.tokens[last].end))

    def leave_out(self):
        for index, token in enumerate(self.tokens):
            following = self.tokens[index + 1] if index + 1 < len(self.tokens) else None
            if token.kind == "keyword" and token.text in HEADERS or token.is_inlinable:
                end = index
                while end + 1 < len(self.tokens) and end + 1 not in self.begins and not self.is_bracket(end + 1, "{}"):
                    end = self.partner[end + 1] if self.is_bracket(end + 1, "([") else end + 1
                if token.is_inlinable and self.is_bracket(end + 1, "{"):
                    end = self.partner[end + 1]
                self.skip(index, end)
            elif token.kind == "name" and UNTOUCHED.fullmatch(token.text) and following and following.text == "(":
                self.skip(index, self.partner[index + 1])
            elif token.text == "case" and index in self.begins and self.is_in_type(index):
                self.skip(index, self.end_of_statement(index) - 1)

    def is_in_type(self, index):
        keyword = self.braces.get(self.opener[index])
        return keyword is not None and self.tokens[keyword].text in TYPES

    # Expressions

    def is_operator(self, index, texts):
        return self.tokens[index].kind == "operator" and self.tokens[index].is_spaced and self.tokens[index].text in texts

    def bounds(self, index, others):
        """Whether an expression ends at a token."""
        token = self.tokens[index]
        if token.kind == "mark" and token.text in ",;:":
            return True
        if token.kind == "keyword" and token.text in BOUNDS:
            return True
        return token.kind == "operator" and (
            token.is_spaced and (token.text in others or token.text in ("=", "?") or token.text in ASSIGNMENTS) or token.text == "->")

    def expression(self, index, others=frozenset()):
        """The tokens of the expression around an operator, which ends at operators of `others`, too."""
        return self.left_end(index, others), self.right_end(index, others)

    def left_end(self, index, others=frozenset()):
        first = index
        while first not in self.begins and first - 1 >= 0:
            before = first - 1
            if self.is_bracket(before, "([{") or self.bounds(before, others):
                break
            first = self.partner[before] if self.is_bracket(before, ")]}") else before
        return first

    def right_end(self, index, others=frozenset()):
        last = index
        while last + 1 < len(self.tokens) and last + 1 not in self.begins:
            after = last + 1
            if self.is_bracket(after, ")]}") or self.bounds(after, others):
                break
            if self.is_bracket(after, "{") and self.braces[after] is not None:
                break
            last = self.partner[after] if self.is_bracket(after, "([{") else after
        return last

    def extent(self, first, last):
        return self.tokens[first].start, self.tokens[last].end

    # Sites

    def add(self, kind, extent, change, template=EXPRESSION, mutated=None):
        # What is left out lies around the change, or, where a whole part is changed, begins with it.
        if not any(start <= change[0] < end for start, end in self.untouched):
            self.found.append(Site(self.file, kind, self.text, extent, change, template, mutated))

    def replace(self, kind, index, new, others=frozenset()):
        first, last = self.expression(index, others)
        if first < index < last:
            token = self.tokens[index]
            self.add(kind, self.extent(first, last), (token.start, token.end, new))

    def sites(self):
        for index, token in enumerate(self.tokens):
            if token.kind == "operator":
                self.at_operator(index, token)
            elif token.kind == "number":
                self.at_number(index, token)
            elif token.kind == "keyword" and token.text in ("if", "guard"):
                self.at_condition(index)
            elif token.text in ("true", "false"):
                self.at_boolean(index, token)
            if index in self.begins:
                self.at_statement(index)
        return self.found

    def at_operator(self, index, token):
        if token.text in RANGES:
            self.at_range(index, token)
        elif not token.is_spaced:
            return
        elif token.text in COMPARISONS:
            self.replace("comparison", index, COMPARISONS[token.text], LOGIC)
        elif token.text in ARITHMETIC:
            self.replace("arithmetic", index, ARITHMETIC[token.text], LOGIC)
        elif token.text in LOGIC:
            self.replace("logic", index, LOGIC[token.text])
        elif token.text in ASSIGNMENTS:
            start = self.left_end(index)
            if start in self.begins:
                end = self.end_of_statement(start) - 1
                self.add("arithmetic", self.extent(start, end), (token.start, token.end, ASSIGNMENTS[token.text]), STATEMENT)
        elif token.text == "?":
            first = self.left_end(index)
            if first < index:
                start, end = self.extent(first, index - 1)
                self.add("branch", (start, end), (start, end, f"!({self.text[start:end]})"))

    def at_range(self, index, token):
        """A range that is one longer or one shorter."""
        last = self.right_end(index, LOGIC.keys() | COMPARISONS.keys() | {"??"})
        if last == index or self.tokens[index + 1].text in (")", "]"):
            return
        start, end = self.extent(index + 1, last)
        if start != token.end and not token.is_spaced:
            return
        by = "+" if token.text == "..<" else "-"
        change = token.start, token.end, RANGES[token.text]
        self.add("boundary", (start, end), change, mutated=f"({self.text[start:end]}) {by} 1")

    def at_number(self, index, token):
        before = self.tokens[index - 1] if index else None
        if not token.text.replace("_", "").isalnum() or "e" in token.text and not token.text.startswith("0x") or before and before.text == ".":
            return
        base = {"0x": 16, "0b": 2, "0o": 8}.get(token.text[:2], 10)
        digits = token.text.replace("_", "")
        value = int(digits[2:] if base != 10 else digits, base) + 1
        new = {16: hex, 2: bin, 8: oct, 10: str}[base](value)
        if before and before.kind == "operator" and not before.is_spaced and before.text.endswith("<"):
            return
        extent = token.start, token.end
        self.add("constant", extent, (*extent, new))

    def at_condition(self, index):
        """Each boolean condition of an `if` or a `guard`, in turn."""
        first = index + 1
        while True:
            while self.tokens[first].text in ("try", "await"):
                first += 1
            is_boolean = self.tokens[first].text not in ("let", "var", "case", "#available", "#unavailable", "_")
            last = self.right_end(first, {}) if not self.is_bracket(first, "([") else self.right_end(self.partner[first], {})
            if not is_boolean:
                # Up to the comma behind the value.
                while not (self.text_of(last + 1) in (",", "else") or self.is_bracket(last + 1, "{") or last + 1 in self.begins):
                    last = self.partner[last + 1] if self.is_bracket(last + 1, "([{") else last + 1
            if is_boolean:
                start, end = self.extent(first, last)
                self.add("branch", (start, end), (start, end, f"!({self.text[start:end]})"))
            if self.text_of(last + 1) != ",":
                return
            first = last + 2

    def at_boolean(self, index, token):
        before = self.tokens[index - 1]
        is_returned = before.text == "return"
        if before.text == "{" or index in self.begins:
            is_returned = self.end_of_statement(index) == index + 1 and self.is_alone(index)
        if is_returned:
            extent = token.start, token.end
            self.add("boolean", extent, (*extent, "false" if token.text == "true" else "true"))

    def at_statement(self, index):
        """A statement that is a call, and nothing else."""
        around, end = self.opener[index], self.end_of_statement(index)
        if around is None or self.is_in_type(index) or not self.is_bracket(end - 1, ")}"):
            return
        first = index
        if self.text_of(first) == "_" and self.text_of(first + 1) == "=":
            first += 2
        while self.text_of(first) in ("try", "try?", "await"):
            first += 1
        if self.tokens[first].kind != "name" or self.tokens[first].text in ACCESSORS or not self.is_call(first, end):
            return
        names = [self.tokens[position] for position in range(first, end) if self.opener[position] == around]
        if any(token.text == "init" or token.kind == "name" and UNTOUCHED.fullmatch(token.text) for token in names):
            return
        if self.is_alone(index) and self.is_value(around):
            return
        start, stop = self.extent(index, end - 1)
        self.add("removal", (start, stop), (start, stop, "/* removed */"), REMOVAL)

    def is_call(self, first, end):
        """Whether a name, members, arguments and trailing closures are all that there is."""
        position, has_arguments = first + 1, False
        while position < end:
            token = self.tokens[position]
            if self.is_bracket(position, "([{"):
                has_arguments |= token.text in "({"
                position = self.partner[position] + 1
            elif token.text in (".", "?", "!", "?.", "!.") or token.kind == "name":
                position += 1
            else:
                return False
        return has_arguments


def sites(file):
    """All sites of a file."""
    found = Reader(file, (tree.ROOT / file).read_text(encoding="utf-8")).sites()
    seen = {}
    for site in found:
        name = "\0".join((site.file, site.kind, site.original, site.changed))
        seen[name] = seen.get(name, 0) + 1
        site.key = hashlib.sha256(f"{name}\0{seen[name]}".encode()).hexdigest()[:16]
    return found


def all_sites():
    """All sites of the modules that are changed, by module."""
    return {
        module: [site for file in sorted(tree.project_files()) if file.startswith(f"Sources/{module}/") and file.endswith(".swift")
                 for site in sites(file)]
        for module in tree.MODULES}


def drawn(seed, sites):
    """All sites in an order that follows from the seed. A change of the sources changes it only where it changes them."""
    return sorted(sites, key=lambda site: hashlib.sha256(f"{seed} {site.key}".encode()).digest())
