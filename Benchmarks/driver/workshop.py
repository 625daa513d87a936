"""What measures are made with: programs, traces, and stores that are written once a run."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / ".build" / "bench"
# Traces stay from run to run: their names say of which generator they are.
GENERATION = 1
# What a peer ends with where the machine or its file system lacks what it needs: EX_UNAVAILABLE.
MISSING = 69


class Failure(Exception):
    pass


class Workshop:
    def __init__(self, quick, rounds):
        self.quick, self.rounds = quick, rounds
        self.folder = BUILD / "work"
        self.bin = BUILD / "release"
        self.python = os.environ["BENCH_PYTHON"]
        self.heartlog = self.bin / "heartlog"
        self.counter = self.bin / "libAllocationCounter.so"
        self.number = 0
        self.stores = {}
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def size(self, full, quick):
        """How many: a quick run takes fewer."""
        return quick if self.quick else full

    def run(self, *words, under=(), **environment):
        """Runs a program; returns the samples that it prints."""
        done = subprocess.run(
            [*under, *map(str, words)], capture_output=True, text=True, cwd=ROOT, env={**os.environ, **environment})
        if done.returncode == MISSING:
            print(f"{' '.join(map(str, words[1:3]))}: not on this machine: {done.stderr.strip()}", file=sys.stderr)
            return []
        if done.returncode != 0:
            raise Failure(f"{' '.join(map(str, words))}\nended with {done.returncode}\n{done.stderr[-2000:]}")
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]

    def installed(self):
        """The program as people install it."""
        subprocess.run([ROOT / "Scripts/install", BUILD / "installed"], check=True, stdout=subprocess.DEVNULL)
        return BUILD / "installed/bin/heartlog"

    def empty_program(self, linking):
        """A program that starts and ends: what every Swift program takes that is linked in this way."""
        program = BUILD / f"empty{linking}"
        subprocess.run(
            ["swiftc", "-O", linking, "-Xlinker", "--gc-sections", "-Xlinker", "-s", "-o", program, "-"],
            check=True, input="", text=True, stderr=subprocess.DEVNULL)
        return program

    def bench(self, command, peer, under=(), program="heartlog-bench", environment=None, **options):
        """Runs one measure of one peer in a process of its own."""
        words = [f"{name}={value}" for name, value in options.items()]
        return self.run(self.bin / program, command, f"peer={peer}", *words, under=under, **(environment or {}))

    def repeated(self, command, peer, **options):
        """The same several times, where it is over soon: the first moments of a process wander."""
        started, samples = time.monotonic(), []
        for _ in range(5):
            samples += self.bench(command, peer, **options)
            if time.monotonic() - started > 1:
                break
        return samples

    @property
    def at_once(self):
        """Runs a program before all others of the machine, where that is allowed.

        What waits for a disk would else wait for others' turns on a core too, whole milliseconds each.
        """
        words = "chrt", "--fifo", "1"
        return words if subprocess.run([*words, "true"], capture_output=True).returncode == 0 else ()

    def fresh(self, command, peer, **options):
        """The same in a new folder, which is removed afterwards."""
        folder = self.new_folder()
        try:
            return self.bench(command, peer, folder=folder, **options)
        finally:
            shutil.rmtree(folder)

    def new_folder(self):
        self.number += 1
        folder = self.folder / str(self.number)
        folder.mkdir()
        return folder

    def trace(self, events, items):
        """The file of a trace; every event adds a new item where there are no more events than items."""
        place = BUILD / "traces" / f"{GENERATION}-{events}-{items}.tsv"
        if not place.exists():
            place.parent.mkdir(exist_ok=True)
            unfinished = place.with_suffix(".unfinished")
            self.run(self.bin / "heartlog-bench", "trace", f"events={events}", f"items={items}", f"to={unfinished}")
            unfinished.rename(place)
        return place

    def adds(self, count):
        """A trace that adds so many items, with a few lines more for what a store shall not know."""
        return self.trace(count + count // 20, count + count // 20)

    def store(self, peer, trace, count, tail=0):
        """The folder of a store that holds the first operations of a trace, and was closed: made once a run.

        With a tail, as many commits follow, and nobody closed it.
        """
        key = peer, trace, count, tail
        if key not in self.stores:
            folder = self.new_folder()
            self.bench("prepare", peer, folder=folder, trace=trace, count=count)
            if tail:
                self.bench("prepare-tail", peer, folder=folder, trace=trace, count=tail)
            self.stores[key] = folder
        return self.stores[key]

    def prepared(self, command, peer, **options):
        """A new folder with what a command makes there."""
        folder = self.new_folder()
        self.bench(command, peer, folder=folder, **options)
        return folder

    def crdt(self, measure, peer, trace):
        """A measure of one of the libraries in Python; what it builds is kept beside the traces."""
        return self.run(self.python, "-m", "crdts", measure, peer, trace, BUILD / "crdts")

    def size_by_command_line(self, events):
        """Bytes an event of the trace of all libraries, as the programs that people use write it: before `seal` and after."""
        store = self.new_folder() / "favorites.heartlog"
        lines = subprocess.run(
            [self.python, ROOT / "Scripts" / "make-trace.py", str(events)], capture_output=True, check=True).stdout

        def heartlog(*words, lines=None):
            done = subprocess.run(
                [self.heartlog, "--store", store, *words], input=lines, capture_output=True, check=True)
            return done.stdout

        heartlog("init")
        heartlog("apply", lines=lines)
        sizes = [json.loads(heartlog("status", "--json"))]
        heartlog("compact")
        sizes.append(json.loads(heartlog("status", "--json")))
        return [status["bytes"] / status["events"] for status in sizes]

    def system_calls(self, *words, **options):
        """How many system calls a process makes, on all its threads."""
        output = self.folder / "strace.txt"
        self.bench(*words, under=("strace", "-f", "-c", "-o", str(output)), **options)
        total = [line.split() for line in output.read_text().splitlines() if line.endswith("total")]
        # Without errors the column of them is empty: calls come after "usecs/call" either way.
        return int(total[0][3])

    def instructions(self, *words, **options):
        """How many instructions the counted part of a process takes, on all its threads, and what it reports."""
        output = self.folder / "callgrind.out"
        for old in self.folder.glob("callgrind.out*"):
            old.unlink()
        # Valgrind does not understand what Swift tells debuggers.
        bare = self.folder / "heartlog-bench"
        if not bare.exists():
            subprocess.run(["strip", "--strip-debug", "-o", bare, self.bin / "heartlog-bench"], check=True)
        samples = self.bench(
            *words, program=bare, under=(
                "valgrind", "--quiet", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={output}"),
            **options)
        dumps = [path.read_text() for path in self.folder.glob("callgrind.out*")]
        totals = [int(found) for dump in dumps for found in re.findall(r"^totals: (\d+)", dump, re.M)]
        return max(totals, default=0), samples


def busy_share():
    """How much of the cores other programs use: to be asked while no benchmark runs."""
    def times():
        columns = [int(column) for column in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
        return sum(columns), sum(columns[3:5])

    (all_before, idle_before) = times()
    time.sleep(1)
    (all_after, idle_after) = times()
    return round(1 - (idle_after - idle_before) / max(1, all_after - all_before), 2)


def machine():
    """Where it was measured, in a few words."""
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    system = re.search(r'PRETTY_NAME="([^"]*)"', Path("/etc/os-release").read_text())
    swift = subprocess.run(["swift", "--version"], capture_output=True, text=True).stdout
    version = re.search(r"Swift version ([\d.]+)", swift)
    kind = subprocess.run(["df", "--output=fstype", BUILD], capture_output=True, text=True).stdout.split()[-1]
    return ", ".join([
        f"{os.cpu_count()} cores" + (f" ({model[1].strip()})" if model else ""),
        system[1].split(" (")[0].replace(" GNU/Linux", "") if system else "Linux",
        f"Swift {version[1]}" if version else "Swift", kind])


def today():
    return time.strftime("%Y-%m-%d", time.gmtime())
