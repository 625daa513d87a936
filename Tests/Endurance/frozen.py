"""An app and its extension share a store, and each is frozen and killed at any moment: `frozen.py MINUTES [SEED]`.

Nothing that was acknowledged is lost, and neither waits longer than a second for the other, unless an error names it.
"""

import bisect
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import tempfile
import threading
import time

from load import Broken, answer, environment, main, require
from heartlog import BINARY, model  # its folder is on the path now

TORTURE = str(pathlib.Path(BINARY).parent / "HeartlogTorture")
ROLES = ("app", "extension")
SECONDS_PER_ROUND = 20
# Larger stores are slower to check, and have nothing that smaller ones have not.
ROUNDS_PER_STORE = 4
WAIT_MAX = 1.0
# For a process that is told to end, to do so.
SECONDS_TO_END = 60
NAMES_HOLDER = re.compile(r"process (\d+) \(HeartlogTorture\) holds the store's lock and is stopped: continue it, or end it")


class Call:
    """A call of a process, with the times of its begin and its end, in nanoseconds of the clock that all processes share."""

    def __init__(self, process, begins):
        self.process, self.name, self.begin, self.about = process, begins["begins"], begins["from"], begins
        self.end = self.outcome = None

    @property
    def error(self):
        return (self.outcome or {}).get("error")

    def waited(self):
        """The seconds that it took while the process was not frozen itself. An unfinished call took until the process ended."""
        end = self.end or self.process.ended
        frozen = sum(max(0, min(end, to) - max(self.begin, since)) for since, to in self.process.freezes)
        return (end - self.begin - frozen) / 1e9

    def __str__(self):
        state = f"ended with {self.error}: {self.outcome['message']}" if self.error else "ended" if self.end else "was not over"
        return f"{self.name} of {self.process} {state} after {self.waited():.3f} s"


class Process:
    """A `HeartlogTorture neighbour`."""

    def __init__(self, store, role, number, seed):
        self.role, self.number = role, number
        self.calls, self.freezes, self.ended, self.is_killed = [], [], None, False
        self.has_told = threading.Event()
        words = [TORTURE, "neighbour", "--number", str(number), "--seed", str(seed), "--extension", str(int(role == "extension"))]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env=environment(HEARTLOG_STORE=store))
        self.pid = self.process.pid
        self.thread = threading.Thread(target=self.listen, daemon=True)
        self.thread.start()

    def __str__(self):
        return f"{self.role} {self.number} (process {self.pid})"

    def listen(self):
        current = {}
        for line in self.process.stdout:
            # A kill may cut off the last one.
            if not line.endswith(b"\n"):
                break
            self.has_told.set()
            told = json.loads(line)
            if "begins" in told:
                current[told["thread"]] = call = Call(self, told)
                self.calls.append(call)
            else:
                call = current[told["thread"]]
                call.begin, call.end, call.outcome = told["from"], told["to"], told

    def wait_for_line(self):
        """Waits until it begins or ends a call: it often holds the lock then."""
        self.has_told.clear()
        self.has_told.wait(1)

    def freeze(self, seconds):
        since = time.monotonic_ns()
        os.kill(self.pid, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(self.pid, signal.SIGCONT)
        self.freezes.append((since, time.monotonic_ns()))

    def kill(self, frozen_seconds=None):
        since = time.monotonic_ns()
        if frozen_seconds is not None:
            os.kill(self.pid, signal.SIGSTOP)
            time.sleep(frozen_seconds)
        self.ended, self.is_killed = time.monotonic_ns(), True
        self.process.kill()
        if frozen_seconds is not None:
            self.freezes.append((since, time.monotonic_ns()))
        self.finish()

    def end(self):
        """Lets it end by itself."""
        self.process.stdin.close()
        try:
            self.process.wait(SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            os.kill(self.pid, signal.SIGKILL)
            self.ended = time.monotonic_ns()
            self.finish()
            raise Broken(f"{self} does not end: {self.calls[-1] if self.calls else 'no call'}") from None
        self.ended = time.monotonic_ns()
        self.finish()

    def finish(self):
        self.process.wait()
        self.thread.join()
        self.said = self.process.stderr.read().decode(errors="replace")
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()

    def freezes_between(self, since, to):
        return [freeze for freeze in self.freezes if freeze[0] <= to and freeze[1] >= since]

    def is_at_rest(self, freeze):
        """Whether its last call before it was frozen was `rest`, and it had returned."""
        since, to = freeze
        last = next((call for call in reversed(self.calls) if call.about["thread"] == 0 and call.begin <= to), None)
        return last is not None and last.name == "rest" and last.end is not None and last.end <= since and not last.error


class Role:
    """The processes of a role, one after another, and what is done to them. What is done follows from a seed; what it meets does not."""

    def __init__(self, store, name, chance):
        self.store, self.name, self.chance = store, name, chance
        self.processes, self.failure = [], None

    def start(self):
        self.processes.append(Process(self.store, self.name, len(self.processes) + 1, self.chance.randrange(1 << 32)))

    def begin_round(self, seconds):
        self.start()
        self.thread = threading.Thread(target=self.harm, args=(time.monotonic() + seconds,), daemon=True)
        self.thread.start()

    def harm(self, end):
        try:
            while time.monotonic() < end:
                self.harm_once()
        except Exception as error:  # told by whoever waits for the thread
            self.failure = error

    def harm_once(self):
        chance, process = self.chance, self.processes[-1]
        time.sleep(chance.choice((0, chance.uniform(0, 0.05), chance.uniform(0, 1), chance.uniform(0, 3))))
        what = chance.random()
        if chance.random() < 0.7:
            process.wait_for_line()
        if what < 0.5:
            process.freeze(self.duration())
        elif what < 0.65:
            # Stopped again as soon as it may go on.
            for _ in range(chance.randint(2, 8)):
                process.freeze(chance.uniform(0, 0.6))
                time.sleep(chance.choice((0, chance.uniform(0, 0.003), chance.uniform(0, 0.02))))
        elif what < 0.9:
            process.kill(self.duration() if what > 0.8 else None)
            time.sleep(chance.choice((0, chance.uniform(0, 0.3))))
            self.start()

    def duration(self):
        chance = self.chance
        return chance.choice((chance.uniform(0, 0.02), chance.uniform(0, 0.3), chance.uniform(0.3, 1.5), chance.uniform(1, 5)))

    def end_harm(self):
        self.thread.join()
        if self.failure:
            raise self.failure

    def end_round(self):
        self.processes[-1].end()

    def calls(self, name=None):
        return [call for process in self.processes for call in process.calls if name in (None, call.name)]


class Figures:
    def __init__(self):
        self.calls = self.acknowledged = self.kills = self.freezes = self.rests = self.refusals = self.rounds = 0
        self.longest = {}

    def take(self, kind, call):
        if kind not in self.longest or self.longest[kind].waited() < call.waited():
            self.longest[kind] = call

    def __str__(self):
        longest = ", ".join(f"{kind} {call.waited():.3f} s" for kind, call in sorted(self.longest.items()))
        return (f"{self.rounds} rounds, {self.calls} calls, {self.acknowledged} commits acknowledged, {self.kills} kills, "
                f"{self.freezes} freezes ({self.rests} of them at rest), {self.refusals} errors that name a stopped process; longest waits: {longest}")


class Shared:
    """A store, and both roles that use it."""

    def __init__(self, store, chance):
        self.store = store
        self.roles = [Role(store, name, random.Random(chance.randrange(1 << 32))) for name in ROLES]
        self.model, self.commits = model.Store(), 0
        self.judged = set()

    def round(self, seconds, figures, judges_waits):
        for role in self.roles:
            role.begin_round(seconds)
        for role in self.roles:
            role.end_harm()
        for role in self.roles:
            role.end_round()
        for role, other in zip(self.roles, reversed(self.roles)):
            self.check_calls(role, other, figures, judges_waits)
        self.check_log()
        self.check_reads()
        for role in self.roles:
            for process in role.processes:
                self.judged.add(process)
        figures.rounds += 1

    def check_calls(self, role, other, figures, judges_waits):
        for process in role.processes:
            if process in self.judged:
                continue
            code = process.process.returncode
            require(code == (-9 if process.is_killed else 0) and not process.said, process, "ended with", code, process.said)
            figures.kills += process.is_killed
            figures.freezes += len(process.freezes)
            figures.rests += sum(process.is_at_rest(freeze) for freeze in process.freezes)
            for call in process.calls:
                require(call.end or process.is_killed, call)
                figures.calls += 1
                figures.acknowledged += call.name == "write" and call.end is not None and not call.error
                if call.error:
                    self.check_error(call, other)
                    figures.refusals += 1
                figures.take("refused" if call.error else call.name, call)
                if judges_waits and call.waited() > WAIT_MAX:
                    raise Broken(f"{call}, that is too long. {self.freezes_during(call)}")

    def freezes_during(self, call):
        """When who was frozen, in seconds since the begin of a call."""
        end = call.end or call.process.ended
        times = [(since, to, process) for role in self.roles for process in role.processes for since, to in process.freezes
                 if since < end and to > call.begin]
        times.sort(key=lambda each: each[:2])
        told = [f"{process} from {(since - call.begin) / 1e9:.3f} to {(to - call.begin) / 1e9:.3f} s" for since, to, process in times]
        return "Frozen meanwhile: " + "; ".join(told or ["nobody"])

    def check_error(self, call, other):
        """An error says that the other process holds the lock and is stopped, which is so."""
        named = NAMES_HOLDER.match(call.outcome["message"])
        require(call.error == "locked" and named and call.name not in ("read", "glance", "refresh"), call)
        holders = [process for process in other.processes if process.pid == int(named.group(1))]
        require(holders, call, "which is not", other.name)
        freezes = [(holder, freeze) for holder in holders for freeze in holder.freezes_between(call.begin, call.end)]
        require(freezes, call, "which was not stopped")
        require(not all(holder.is_at_rest(freeze) for holder, freeze in freezes), call, "which was at rest")

    def check_log(self):
        """The log has the acknowledged commits as they were acknowledged, and of all others only those during which a process was killed."""
        answer(self.store, "verify", "--json")
        calls = {(role.name, call.about["line"]): call for role in self.roles for call in role.calls("write")}
        groups = {}
        for event in answer(self.store, "log", "--json").lines:
            groups.setdefault(event["commit"], []).append(event)
        found, last = {}, dict.fromkeys(ROLES, 0)
        for expected, (number, events) in enumerate(groups.items(), 1):
            require(number == expected and len({event["replica"] for event in events}) == 1, "commit", number, "is at", expected)
            marks = [event for event in events if event["library"] == "neighbours"]
            require(len(marks) == 1 and marks[0]["origin"] == marks[0]["item"], "commit", number, "is not one that was tried")
            role, line = marks[0]["item"], marks[0]["fields"]["line"]
            call = calls.get((role, line))
            require(call, "commit", number, "has line", line, "of", role, "which was not tried")
            require(line > last[role], "line", line, "of", role, "is behind", last[role])
            require(not call.error, call, "and is in the log")
            require(call.outcome is None or call.outcome["commit"] == number, call, "and has become commit", number)
            found[role, line], last[role] = number, line
            if number > self.commits:
                self.apply(call, events)
        for key, call in calls.items():
            require(key in found or call.error or call.end is None, call, "and is not in the log")
        digest = self.model.digest()
        for words in (("status", "--json"), ("replay", "--json")):
            require(answer(self.store, *words).object["digest"] == digest, *words, "shows another state than the model")

    def apply(self, call, events):
        """Lets the model do what a commit did, and compares the events."""
        before = self.model.sequence
        self.model.commit(call.about["operations"], model.milliseconds(events[0]["time"]))
        self.commits += 1
        require(self.model.sequence - before == len(events), call, "with", len(events), "events and not", self.model.sequence - before)

    def check_reads(self):
        """Who reads sees the commits that were acknowledged before, of both processes, and none that was not tried yet."""
        for place, role in enumerate(self.roles):
            tried = role.calls("write")
            begins, begun = [call.begin for call in tried], [call.about["line"] for call in tried]
            acknowledged = [call for call in tried if call.end and not call.error]
            ends, lines = [call.end for call in acknowledged], [call.about["line"] for call in acknowledged]
            for reader in self.roles:
                for call in reader.calls("read") + reader.calls("glance"):
                    if call.end is None or call.process in self.judged:
                        continue
                    seen = call.outcome["sees"][place]
                    least, most = bisect.bisect_left(ends, call.begin), bisect.bisect_right(begins, call.end)
                    require(seen >= (lines[least - 1] if least else 0), call, "shows line", seen, "of", role.name, "after", lines[least - 1])
                    require(seen <= (begun[most - 1] if most else 0), call, "shows line", seen, "of", role.name, "before it was written")


def run(seconds, seed, judges_waits=True, seconds_per_round=SECONDS_PER_ROUND):
    """Returns the figures."""
    chance, figures, end = random.Random(seed), Figures(), time.monotonic() + seconds
    while time.monotonic() < end:
        with tempfile.TemporaryDirectory(prefix="heartlog-") as folder:
            store = os.path.join(folder, "store")
            answer(store, "init")
            shared = Shared(store, chance)
            try:
                for _ in range(ROUNDS_PER_STORE):
                    shared.round(min(seconds_per_round, max(1, end - time.monotonic())), figures, judges_waits)
                    if time.monotonic() >= end:
                        break
            finally:
                for role in shared.roles:
                    for process in role.processes:
                        if process.process.poll() is None:
                            process.process.kill()
                            process.process.wait()
    return figures


if __name__ == "__main__":
    main(lambda minutes, seed: f"{minutes:g} minutes, {run(minutes * 60, seed)}: nothing lost")
