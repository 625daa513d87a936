"""The tokens of a Swift file, as far as a search for places to change needs them.

It relies on what swift-format writes: spaces around a binary operator, none in a generic argument list.
"""

import re

KEYWORDS = frozenset(
    """actor as associatedtype await break case catch class continue default defer deinit do else enum extension fallthrough for func
    guard if import in init internal is let operator package precedencegroup private protocol public repeat return some static struct
    subscript switch throw throws try typealias var where while""".split())
OPERATOR = re.compile(r"[-/=+!*%<>&|^~?]+|\.[-./=+!*%<>&|^~?]*")
NAME = re.compile(r"[$A-Za-z_\u0080-\U0010ffff][A-Za-z0-9_\u0080-\U0010ffff]*|`[^`]+`")
NUMBER = re.compile(r"0x[0-9A-Fa-f_]+|0b[01_]+|0o[0-7_]+|[0-9][0-9_]*(?:\.[0-9][0-9_]*)?(?:[eE][-+]?[0-9]+)?")
INLINABLE = {"@inlinable", "@_transparent", "@_alwaysEmitIntoClient"}
# The conditions under which a part is compiled here. A part of debug builds alone is not looked at: it only checks.
KNOWN_TRUE = {"canImport(Glibc)", "!canImport(Darwin)", "os(Linux)"}


class Token:
    def __init__(self, kind, text, start, end):
        self.kind, self.text, self.start, self.end = kind, text, start, end  # name, keyword, number, operator, string, mark
        self.is_spaced = False  # an operator with a space on both sides
        self.follows_line = False  # the first one of a line
        self.is_inlinable = False  # the first one of a declaration whose body other modules may contain

    def __repr__(self):
        return f"{self.kind}:{self.text}"


def end_of_string(text, start):
    """The end of the string literal at `start`, with all that is interpolated in it."""
    hashes = len(text[start:]) - len(text[start:].lstrip("#"))
    quote = '"""' if text.startswith('"""', start + hashes) else '"'
    end, escape = quote + "#" * hashes, "\\" + "#" * hashes
    position = start + hashes + len(quote)
    while not text.startswith(end, position):
        if text.startswith(escape + "(", position):
            position += len(escape) + 1
            depth = 1
            while depth:
                if text[position] in '"#' and re.match(r'#*"', text[position:]):
                    position = end_of_string(text, position)
                    continue
                depth += {"(": 1, ")": -1}.get(text[position], 0)
                position += 1
        elif text.startswith(escape, position):
            position += len(escape) + 1
        else:
            position += 1
    return position + len(end)


def end_of_comment(text, start):
    if text.startswith("//", start):
        end = text.find("\n", start)
        return len(text) if end < 0 else end
    depth, position = 0, start
    while True:
        if text.startswith("/*", position):
            depth, position = depth + 1, position + 2
        elif text.startswith("*/", position):
            depth, position = depth - 1, position + 2
            if not depth:
                return position
        else:
            position += 1


def is_compiled(condition):
    return condition in KNOWN_TRUE


def tokens(text):
    """The tokens of a file, without comments, attributes, and parts that are not compiled here."""
    found, position, follows_line, is_inlinable = [], 0, True, False
    conditions = []  # of each #if around: whether this part is compiled, and whether one was
    while position < len(text):
        character = text[position]
        if character.isspace():
            follows_line |= character == "\n"
            position += 1
            continue
        if text.startswith(("//", "/*"), position):
            position = end_of_comment(text, position)
            continue
        directive = re.compile(r"#(if|elseif|else|endif)\b([^\n]*)").match(text, position)
        if directive:
            word, condition = directive[1], directive[2].split("//")[0].strip()
            if word == "if":
                conditions.append([is_compiled(condition), is_compiled(condition) or condition == "DEBUG"])
            elif word == "endif":
                conditions.pop()
            else:
                here = not conditions[-1][1] and (word == "else" or is_compiled(condition))
                conditions[-1] = [here, conditions[-1][1] or here]
            position = directive.end()
            continue
        if character == '"' or re.compile(r'#+"').match(text, position):
            kind, end = "string", end_of_string(text, position)
        elif character == "@":
            end = re.compile(r"@\w+").match(text, position).end()
            if end < len(text) and text[end] == "(":
                depth = 0
                while True:
                    depth += {"(": 1, ")": -1}.get(text[end], 0)
                    end += 1
                    if not depth:
                        break
            is_inlinable |= text[position:end] in INLINABLE
            position = end
            continue
        elif match := re.compile(r"#\w+").match(text, position):
            kind, end = "name", match.end()
        elif match := re.compile(r"try[?!]").match(text, position):
            kind, end = "keyword", match.end()
        elif match := NAME.match(text, position):
            kind, end = "keyword" if match[0] in KEYWORDS else "name", match.end()
        elif match := NUMBER.match(text, position):
            kind, end = "number", match.end()
        elif match := OPERATOR.match(text, position):
            kind, end = "operator", match.end()
        else:
            kind, end = "mark", position + 1
        token = Token(kind, text[position:end], position, end)
        token.follows_line, token.is_inlinable = follows_line, is_inlinable
        if kind == "operator":
            token.is_spaced = text[position - 1].isspace() and (end == len(text) or text[end].isspace())
        # What follows a full stop is a name, whatever it is elsewhere.
        if kind == "keyword" and found and found[-1].text == ".":
            token.kind = "name"
        if all(here for here, _ in conditions):
            found.append(token)
            follows_line = is_inlinable = False
        position = end
    return found
