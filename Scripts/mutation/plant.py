"""Looks for planted bugs: see Scripts/plant."""

import argparse
import concurrent.futures
import os
import re
import signal
import subprocess
import threading
import time

import planted
import tree

PROGRAM = "HeartlogTorture"
# A piece of work that a process is started for. A run that ends it with a trap is then known to within this number.
SEEDS = 250
PIECE_SECONDS_MAX = 1_200.0
# How much of what a detector enumerates is tried at a time, and how many such parts until a bug counts as missed: one in so many of the
# changes of a store, of the failing file operations, and of the moments at which a process is stopped.
PARTS = {"damage": (149, 12), "calls": (32, 32), "interleavings": (16, 4)}
VIOLATION = re.compile(r"^(?:seed (\d+), step \d+|crashes|damage|calls|interleavings): (.*)$", re.M)


class Trial:
    """What one detector says of one bug."""

    def __init__(self, caught, effort, seconds, detail):
        self.caught, self.effort, self.seconds, self.detail = caught, effort, seconds, detail


def run(program, number, *arguments):
    """Runs a part of the work. Returns what it said where it failed, and None where all was well."""
    # The order of sets is the same in each run, and a trap does not take seconds to describe.
    environment = os.environ | {
        "HEARTLOG_MUTANT": str(number), "SWIFT_DETERMINISTIC_HASHING": "1", "SWIFT_BACKTRACE": "enable=no"}
    process = subprocess.Popen(
        [str(program), *arguments], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace", start_new_session=True)
    try:
        output, _ = process.communicate(timeout=PIECE_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return f"{' '.join(arguments)} does not come to an end"
    if process.returncode == 0:
        return None
    if process.returncode < 0:
        lines = [line for line in output.splitlines() if "atal error" in line] or ["no message"]
        return f"ended by {signal.Signals(-process.returncode).name}: {lines[0]}"
    return output


def first_line(output):
    return output.strip().split("\n")[0]


def simulate(program, number, limits):
    started, tried = time.monotonic(), 0
    while tried < limits.runs:
        count = min(SEEDS, limits.runs - tried)
        output = run(program, number, "simulate", "--worker", "1", "--seed", str(limits.seed + tried), "--runs", str(count))
        if output is not None:
            match = VIOLATION.search(output)
            runs = int(match[1]) - limits.seed + 1 if match else tried + count
            detail = match[2] if match else first_line(output)
            return Trial(True, f"{'' if match else '≤ '}{runs} runs", time.monotonic() - started, detail)
        tried += count
    return Trial(False, f"{tried} runs", time.monotonic() - started, "")


def enumerated(program, number, effort, *arguments):
    started = time.monotonic()
    output = run(program, number, *arguments)
    match = VIOLATION.search(output or "")
    detail = match[2] if match else first_line(output or "")
    return Trial(output is not None, effort, time.monotonic() - started, detail)


def crashes(program, number, limits):
    return enumerated(program, number, "2 steps", "crashes", "--steps", "2")


def sampled(name):
    """A detector that tries part after part: a change of the sources moves what is in each."""

    def detect(program, number, limits):
        started = time.monotonic()
        parts, tries = PARTS[name]
        for part in range(tries):
            trial = enumerated(
                program, number, f"{part + 1} of {parts}", name, "--part", str(part), "--parts", str(parts))
            if trial.caught:
                break
        trial.seconds = time.monotonic() - started
        return trial

    return detect


DETECTORS = {
    "simulate": simulate, "calls": sampled("calls"), "crashes": crashes, "damage": sampled("damage"),
    "interleavings": sampled("interleavings"),
}


def look_for(bug, program, limits):
    trials = []
    for name in [limits.detector] if limits.detector else bug.detectors or DETECTORS:
        trial = DETECTORS[name](program, bug.number, limits)
        trials.append((f"{name:13}  {trial.effort:>11}", trial))
        if trial.caught:
            break
    return trials


def torture(bugs, limits):
    """Builds the bugs of the store. Returns what looks for one of them."""
    tree.use("planted")
    # All of them, whatever is looked for: another choice builds nothing.
    options = ["-c", "release", "--product", PROGRAM]
    tree.build(planted.edits(bugs), *options)
    program = tree.products(*options) / PROGRAM
    sound = simulate(program, 0, argparse.Namespace(runs=SEEDS, seed=limits.seed))
    if sound.caught:
        raise tree.Failure(f"something is found without a bug: {sound.detail}")
    return lambda bug: look_for(bug, program, limits)


def main():
    parser = argparse.ArgumentParser(prog="plant", description="Looks for bugs that are planted on purpose.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a bug of the list (all)")
    parser.add_argument("--runs", type=int, default=20_000, help="simulated runs before a bug counts as missed (20000)")
    parser.add_argument("--seed", type=int, default=1, help="the first seed (1)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="bugs at a time (as many as there are cores)")
    parser.add_argument("--detector", choices=DETECTORS, help="look with this one only")
    parser.add_argument("--quick", action="store_true", help="look for those that are found soon")
    parser.add_argument("--list", action="store_true", help="print the bugs and do nothing with them")
    arguments = parser.parse_args()
    bugs = planted.load()
    unknown = set(arguments.names) - {bug.name for bug in bugs}
    if unknown:
        raise tree.Failure(f"there is no {', '.join(sorted(unknown))}; --list prints the names")
    wanted = [bug for bug in bugs if bug.name in arguments.names or not arguments.names and (bug.is_quick or not arguments.quick)]
    if arguments.list:
        for bug in wanted:
            tree.say(f"{bug.name}: {bug.description}")
        return 0
    started = time.monotonic()
    look = torture(bugs, arguments)
    tree.say(f"{len(bugs)} bugs are built, {time.monotonic() - started:.0f} s")
    width = max(len(bug.name) for bug in wanted)
    lock, missed = threading.Lock(), []
    started = time.monotonic()

    def work(bug):
        trials = look(bug)
        with lock:
            for name, trial in trials:
                how = f"{name}  {trial.seconds:6.1f} s"
                tree.say(f"{bug.name:{width}}  {how}  {trial.detail if trial.caught else 'MISSED'}")
            if not trials[-1][1].caught:
                missed.append(bug.name)

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for future in [pool.submit(work, bug) for bug in wanted]:
            future.result()
    tree.say(f"{len(wanted) - len(missed)} of {len(wanted)} planted bugs are caught, {time.monotonic() - started:.0f} s")
    if missed:
        tree.say(f"missed: {', '.join(sorted(missed))}")
    return 1 if missed else 0
