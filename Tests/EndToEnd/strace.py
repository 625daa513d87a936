"""Runs the program under strace, which counts its system calls and makes some of them fail, or stops the process there."""

import collections
import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

from heartlog import BINARY, SECONDS_MAX, Answer, environment

STRACE = shutil.which("strace")


def is_usable():
    """Whether strace is there and may trace: a container can forbid it."""
    return STRACE is not None and subprocess.run(
        [STRACE, "-f", "-o", "/dev/null", "true"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL).returncode == 0


needed = unittest.skipUnless(is_usable(), "strace is not installed here, or may not trace")


def inject(fault, *options):
    """What runs a command so that calls fail or a signal comes: `KIND,…:error=EIO:when=1+`, as strace has it."""
    return [STRACE, "-f", "-qq", "-o", "/dev/null", *options, "-e", f"trace={fault.partition(':')[0]}", "-e", f"inject={fault}", "--"]


def spread(places, most):
    """At most so many of them, from the first to the last."""
    if most is None or len(places) <= most:
        return places
    return [places[index * (len(places) - 1) // (most - 1)] for index in range(most)]


_CALL = re.compile(r"^(\d+) +(\w+)\(")


def calls(kinds, *arguments, input=None):
    """Runs the program undisturbed; returns its answer, and of each kind of call the lines of the thread that makes most of them."""
    with tempfile.TemporaryDirectory(prefix="heartlog-") as folder:
        log = pathlib.Path(folder) / "log"
        answer = _run(["-o", str(log), "-e", "trace=" + ",".join("?" + kind for kind in kinds)], arguments, input)
        lines = collections.defaultdict(list)
        for line in log.read_text(errors="replace").splitlines():
            if match := _CALL.match(line):
                lines[match.groups()].append(line)
    most = {kind: [] for kind in kinds}
    for (_, kind), found in lines.items():
        most[kind] = max(most[kind], found, key=len)
    return answer, most


def fail(kind, error, number, lasts, *arguments, input=None):
    """Runs the program with the call of that number failing, or that and all later ones.

    Returns its answer, and the lines of strace about the calls that failed.
    """
    with tempfile.TemporaryDirectory(prefix="heartlog-") as folder:
        log = pathlib.Path(folder) / "log"
        when = f"{number}+" if lasts else f"{number}"
        answer = _run(
            ["-o", str(log), "-e", f"trace={kind}", "-e", f"inject={kind}:error={error}:when={when}"], arguments, input)
        failed = [line for line in log.read_text(errors="replace").splitlines() if "(INJECTED)" in line]
    return answer, failed


def _run(options, arguments, input):
    feed = {"input": input.encode()} if input is not None else {"stdin": subprocess.DEVNULL}
    done = subprocess.run(
        [STRACE, "-f", "-qq", *options, BINARY, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        timeout=SECONDS_MAX, env=environment(), **feed)
    return Answer(done.returncode, done.stdout, done.stderr)


class Stopped:
    """A run of the program that is stopped after a call, or has ended before."""

    def __init__(self, kind, number, *arguments):
        reading, writing = os.pipe()
        self.process = subprocess.Popen(
            [STRACE, "-f", "-qq", "-o", f"/dev/fd/{writing}", "-e", f"trace={kind}", "-e",
             f"inject={kind}:signal=SIGSTOP:when={number}", BINARY, *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), pass_fds=(writing,))
        os.close(writing)
        self.log = os.fdopen(reading, errors="replace")
        self.pid = self._wait()

    def _wait(self):
        """Waits until it is stopped; returns the process, or None where it has ended."""
        for line in self.log:
            if "--- stopped by SIGSTOP" in line:
                try:
                    status = pathlib.Path(f"/proc/{line.split()[0]}/status").read_text()
                except (FileNotFoundError, ProcessLookupError):  # it ended with the process, before the file was opened or read
                    continue
                return int(re.search(r"^Tgid:\s*(\d+)", status, re.M).group(1))
        return None

    def end(self, continues):
        """Lets it go on to its end, or kills it; returns its answer. strace ends as the program did."""
        while self.pid is not None:
            with contextlib.suppress(ProcessLookupError):  # it ended since that line was read
                os.kill(self.pid, signal.SIGCONT if continues else signal.SIGKILL)
            self.pid = self._wait()
        self.log.close()
        out, err = self.process.communicate(timeout=SECONDS_MAX)
        return Answer(self.process.returncode, out, err)
