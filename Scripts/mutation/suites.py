"""The test suites of a build, each run in a process of its own, with or without a mutant."""

import hashlib
import os
import re
import shutil
import signal
import subprocess
import threading
import time

import tree

# Those that reach what is changed. The others see it through these.
TARGETS = (
    "HeartlogFormatTests", "HeartlogEngineTests", "HeartlogStateTests", "HeartlogTests", "HeartlogSyncTests",
    "HeartlogSimulatorTests", "ArchivesTests", "BooksTests", "BreedsTests", "CitiesTests", "PapersTests", "PodcastsTests",
    "InterchangeTests")
OPTIONS = ["--build-tests"]
SECONDS_MIN, TIMES_NORMAL = 20.0, 5.0  # how long a suite may take before it counts as one that hangs
COUNT = re.compile(r"Test run with (\d+) tests?")
FAILED = re.compile(r'^\S+ Test (".*"|\S+) (?:recorded an issue|failed after)', re.M)


class Outcome:
    """How a run of suites ended."""

    def __init__(self, passed, how, output, seconds, is_over=True):
        self.passed, self.how, self.output, self.seconds, self.is_over = passed, how, output, seconds, is_over


def build(edits, refuse):
    os.environ["HEARTLOG_TARGETS"] = ",".join(TARGETS)
    tree.build(edits, *OPTIONS, refuse=refuse)


class Suites:
    def __init__(self):
        self.program = next(tree.products(*OPTIONS).glob("*.xctest"), None)
        if self.program is None:
            raise tree.Failure("the build has no tests")
        listed = subprocess.run([self.program, "--testing-library", "swift-testing", "--list-tests"], capture_output=True, text=True)
        self.names = sorted({line.split("/")[0] for line in listed.stdout.splitlines() if "/" in line})
        if not self.names:
            raise tree.Failure(f"the build lists no tests: {listed.stdout}{listed.stderr}")

    def run(self, names, seconds_max, number=0, trace=None):
        """Runs some suites in one process."""
        # Generated tests draw the same each time, and what a mutant leaves behind goes with its folder.
        temporary = tree.WORK / "temporary" / f"{threading.get_ident()}"
        temporary.mkdir(parents=True, exist_ok=True)
        environment = os.environ | {
            "HEARTLOG_MUTANT": str(number), "HEARTLOG_MUTANT_TRACE": str(trace or ""), "SEED": "1", "TMPDIR": str(temporary),
            "SWIFT_BACKTRACE": "enable=no"}
        arguments = [self.program, "--testing-library", "swift-testing"]
        for name in names:
            arguments += ["--filter", f"^{re.escape(name)}/"]
        started = time.monotonic()
        process = subprocess.Popen(
            arguments, cwd=tree.copied(), env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace", start_new_session=True)
        try:
            output, _ = process.communicate(timeout=seconds_max)
            is_over = True
        except subprocess.TimeoutExpired:
            is_over = False
        finally:
            # With the processes that it started.
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        seconds = time.monotonic() - started
        if not is_over:
            output, _ = process.communicate()
        shutil.rmtree(temporary, ignore_errors=True)
        if not is_over:
            return Outcome(False, "it hangs", output, seconds, is_over=False)
        if process.returncode < 0:
            return Outcome(False, f"it ends by {signal.Signals(-process.returncode).name}", output, seconds)
        if process.returncode:
            failed = FAILED.search(output)
            return Outcome(False, failed[1] if failed else f"it ends with {process.returncode}", output, seconds)
        count = COUNT.search(output)
        if not count or count[1] == "0":
            raise tree.Failure(f"no test of {', '.join(names)} was run")
        return Outcome(True, "", output, seconds)


def fingerprints(names):
    """For each suite, a hash of what it depends on: the sources, its own files, and those of its target that have no tests."""
    common = hashlib.sha256()
    by_target = {}
    for name in tree.project_files():
        data = (tree.ROOT / name).read_bytes()
        if name.startswith(("Sources/", "Scripts/mutation/switch/")) or name == "Package.swift":
            common.update(name.encode() + b"\0" + hashlib.sha256(data).digest())
        elif name.startswith("Tests/"):
            by_target.setdefault(name.split("/")[1], []).append((name, data))
    found = {}
    for suite in names:
        target, type_name = suite.split(".")
        declaration = re.compile(rf"\b(?:struct|class|extension) {type_name}\b".encode())
        digest = common.copy()
        for name, data in by_target[target]:
            if b"@Test" not in data or declaration.search(data):
                digest.update(name.encode() + b"\0" + hashlib.sha256(data).digest())
        found[suite] = digest.hexdigest()[:16]
    return found
