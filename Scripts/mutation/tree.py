"""A copy of the package with changes behind switches, and its build."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WORK = ROOT / ".build" / "mutants"
NUMBERS = 8192  # switch/mutants.c: numbers
FIRST_PLANTED = 4096
MODULES = ("HeartlogFormat", "HeartlogEngine", "HeartlogState", "HeartlogSync", "HeartlogLibraries")
SWITCH = "CHeartlogMutants"


def copied():
    """The copy of the package."""
    return WORK / "source"


class Failure(Exception):
    """What a person must see, in place of a trace of calls."""


class Edit:
    """One change of one file, behind a switch."""

    def __init__(self, number, file, start, end, switched):
        self.number, self.file, self.start, self.end = number, file, start, end
        self.switched = switched  # (text of the switch, text that is there) -> text
        self.placed = None  # where it stands in the changed file


def rewrite(text, edits):
    """The text with all edits, which lie inside or beside each other.

    Those that overlap otherwise are returned as well, and are not made.
    """
    for edit in edits:
        edit.placed = None
    order = sorted(edits, key=lambda edit: (edit.start, -edit.end, edit.number))
    made, clashing, open_ends = [], [], []
    for edit in order:
        while open_ends and open_ends[-1] <= edit.start:
            open_ends.pop()
        if open_ends and edit.end > open_ends[-1]:
            clashing.append(edit)
            continue
        open_ends.append(edit.end)
        made.append(edit)

    marks = {}

    def render(start, end, edits):
        """The text of a part. A mark of no width stands where an edit begins and where it ends."""
        pieces, position = [], start
        while edits:
            first, *rest = edits
            inside = [edit for edit in rest if edit.end <= first.end and edit.start < first.end]
            edits = rest[len(inside):]
            pieces.append(text[position:first.start])
            marks[first.number] = first
            pieces.append(
                f"\0{first.number}<" + first.switched(f"mutant({first.number})", render(first.start, first.end, inside)) + "\0>")
            position = first.end
        pieces.append(text[position:end])
        return "".join(pieces)

    changed, stack, offset = [], [], 0
    for piece in re.split("(\0\\d*[<>])", render(0, len(text), made)):
        if piece.startswith("\0") and piece.endswith("<"):
            stack.append((marks[int(piece[1:-1])], offset))
        elif piece == "\0>":
            edit, start = stack.pop()
            edit.placed = (start, offset)
        else:
            changed.append(piece)
            offset += len(piece)
    # What stands in text that another one replaces is not there.
    return "".join(changed), clashing + [edit for edit in made if edit.placed is None]


IMPORT = f"internal import {SWITCH}\n"


def project_files():
    """The files of the project, committed or not."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True)
    return sorted(name for name in os.fsdecode(listed.stdout).split("\0") if name and (ROOT / name).is_file())


def write_if_changed(path, data):
    """Leaves a file alone whose content stays: its time decides what is built again."""
    if path.is_file() and not path.is_symlink() and path.read_bytes() == data:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def index_store():
    return WORK / "build" / "debug" / "index" / "store"


def package(text, modules):
    """The package with the switch for some modules.

    Where it is built for debugging, sources are optimized, because the tests run hundreds of times, and keep their assertions. Tests
    are not: they are compiled more often than that pays. They alone are indexed, because a build of tests looks into their index.
    """
    text = text.replace("  .treatAllWarnings(as: .error),\n", "")
    text = text.replace(
        "let package = Package(",
        'let optimized = settings + [.unsafeFlags(["-O", "-assert-config", "Debug"], .when(configuration: .debug))]\n'
        f'let indexed = settings + [.unsafeFlags(["-index-store-path", "{index_store()}"], .when(configuration: .debug))]\n\n'
        "let package = Package(", 1)
    parts = re.split(r"(?=\n    \.(?:target|executableTarget|testTarget|systemLibrary)\(|\n    libraryTests\()", text)
    missing = set(modules)
    for index, part in enumerate(parts):
        # `libraryTests` is declared before all targets.
        if re.match(r"\s*\.testTarget\(", part) or "func libraryTests(" in part:
            parts[index] = part.replace("swiftSettings: settings", "swiftSettings: indexed")
        name = re.match(r'\s*\.(?:target|executableTarget)\(\s*name: "(\w+)"', part)
        if name is None:
            continue
        part = part.replace("swiftSettings: settings", "swiftSettings: optimized")
        if name[1] in missing:
            part, count = re.subn(r"dependencies: \[", f'dependencies: ["{SWITCH}", ', part, count=1)
            missing -= {name[1]} if count else set()
        parts[index] = part
    text = "".join(parts)
    text, count = re.subn(r"(?m)^  targets: \[\n", f'  targets: [\n    .target(name: "{SWITCH}"),\n', text)
    if missing or count != 1 or "let optimized" not in text:
        raise Failure(f"Package.swift has another form than Scripts/mutation/tree.py expects: {', '.join(sorted(missing))}")
    return text


def make(edits):
    """Makes the copy. Returns the edits that clash with others, and are not in it."""
    by_file = {}
    for edit in edits:
        by_file.setdefault(edit.file, []).append(edit)
    clashing, kept = [], set()
    modules = {file.split("/")[1] for file in by_file}
    for name in project_files():
        source, target = ROOT / name, copied() / name
        kept.add(name)
        if name in by_file:
            text, left = rewrite(source.read_text(encoding="utf-8"), by_file[name])
            clashing += left
            write_if_changed(target, (IMPORT + text).encode())
        elif name == "Package.swift":
            write_if_changed(target, package(source.read_text(encoding="utf-8"), modules).encode())
        else:
            data = source.read_bytes()
            if not target.is_file() or target.read_bytes() != data:
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)
            elif os.access(source, os.X_OK) != os.access(target, os.X_OK):
                shutil.copymode(source, target)
    for name in ("mutants.c", "include/heartlog_mutants.h"):
        target = f"Sources/{SWITCH}/{name}"
        kept.add(target)
        write_if_changed(copied() / target, (ROOT / "Scripts/mutation/switch" / name).read_bytes())
    for folder, _, files in os.walk(copied()):
        for file in files:
            path = pathlib.Path(folder, file)
            if str(path.relative_to(copied())) not in kept:
                path.unlink()
    return clashing


ERROR = re.compile(r"^(?:.*?)(/[^:\n]+\.swift):(\d+):(\d+): error: (.*)$", re.M)


def swift_build(*arguments):
    command = [
        "swift", "build", "--package-path", str(copied()), "--scratch-path", str(WORK / "build"), "--disable-index-store", *arguments]
    return subprocess.run(command, capture_output=True, text=True, errors="replace")


def use(name):
    """Works in another folder than that of the mutants, so that each has its own build."""
    global WORK
    WORK = ROOT / ".build" / name


def build(edits, *arguments, refuse=lambda refused: None):
    """Builds the copy, and takes edits out until it compiles.

    Calls `refuse` at once with the numbers of those that do not compile, each with what the compiler says: the next try may fail.
    """
    edits = list(edits)
    while True:
        clashing = {edit.number: "it overlaps another change" for edit in make(edits)}
        if clashing:
            refuse(clashing)
            edits = [edit for edit in edits if edit.number not in clashing]
        # The link that a build makes at its end: the index is written through it before.
        built = products(*arguments)
        built.mkdir(parents=True, exist_ok=True)
        if not (link := WORK / "build" / built.name).exists():
            link.symlink_to(built)
        result = swift_build(*arguments)
        if result.returncode == 0:
            return
        output = result.stdout + result.stderr
        found = blamed(output, edits)
        if not found:
            (WORK / "build.log").write_text(output, encoding="utf-8")
            raise Failure(f"the copy does not build, and no change is to blame: see {WORK / 'build.log'}\n{output[-2000:]}")
        refuse(found)
        edits = [edit for edit in edits if edit.number not in found]


def blamed(output, edits):
    """The numbers of the edits that the errors of a build stand in, or stand nearest to."""
    found, broken = {}, []
    for match in ERROR.finditer(output):
        path = pathlib.Path(match[1])
        if copied() not in path.parents:
            continue
        file = str(path.relative_to(copied()))
        here = [edit for edit in edits if edit.file == file and edit.placed]
        if not here:
            continue
        lines = path.read_text(encoding="utf-8").split("\n")
        # Columns count bytes.
        column = len(lines[int(match[2]) - 1].encode()[: int(match[3]) - 1].decode(errors="replace"))
        offset = sum(len(line) + 1 for line in lines[: int(match[2]) - 1]) + column - len(IMPORT)
        around = [edit for edit in here if edit.placed[0] <= offset <= edit.placed[1]]
        if not around:
            around = [min(here, key=lambda edit: min(abs(edit.placed[0] - offset), abs(edit.placed[1] - offset)))]
        drawn = [edit for edit in around if edit.number < FIRST_PLANTED]
        if not drawn and (line := f"{file}:{match[2]}: {match[4]}") not in broken:
            broken.append(line)
        for edit in drawn:
            found[edit.number] = match[4]
    if broken:
        raise Failure("planted bugs do not compile:\n" + "\n".join(broken))
    return found


def products(*arguments):
    """The folder of what was built."""
    result = swift_build("--show-bin-path", *arguments)
    if result.returncode != 0:
        raise Failure(result.stderr)
    return pathlib.Path(result.stdout.strip())


def load(name, default):
    try:
        return json.loads((WORK / name).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return default


def store(name, value):
    path = WORK / name
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(value, indent=0, sort_keys=True), encoding="utf-8")
    temporary.rename(path)


def say(*parts):
    print(*parts, flush=True)


def run_main(main):
    """Runs a command: what went wrong is said in a sentence."""
    try:
        sys.exit(main())
    except Failure as failure:
        print(f"{pathlib.Path(sys.argv[0]).name}: {failure}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
