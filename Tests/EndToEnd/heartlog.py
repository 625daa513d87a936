"""The program under test, stores to try it on, and what it should answer.

Run all with `python3 -m unittest discover -s Tests/EndToEnd`, or one file with `python3 Tests/EndToEnd/test_cli.py`. The
program is $HEARTLOG_BIN, else the release build. Generated tests print their seed; $SEED repeats one.
"""

import contextlib
import importlib.util
import json
import os
import pathlib
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

PACKAGE = pathlib.Path(__file__).resolve().parents[2]
SCRIPTS = PACKAGE / "Scripts"
FORTNIGHT = PACKAGE / "fixtures" / "fortnight"
SECONDS_MAX = 300  # after which a process that hangs is ended; no test passes or fails by less


# Whoever is started in the background of a script ignores this, and so would the programs that are to be stopped by it.
signal.signal(signal.SIGINT, signal.default_int_handler)


def _model():
    spec = importlib.util.spec_from_file_location("model", SCRIPTS / "model.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BINARY = os.environ.get("HEARTLOG_BIN") or str(PACKAGE / ".build" / "release" / "heartlog")
model = _model()
if not os.access(BINARY, os.X_OK):
    sys.exit(f"there is no program at {BINARY}: run Scripts/release first")


def seed():
    """The seed of a generated test, said before it is used."""
    number = int(os.environ.get("SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"SEED={number}", file=sys.stderr, flush=True)
    return number


def unescaped(text):
    """JSON in which only that is escaped which must be. What is printed has escapes for all that cannot be seen."""
    def replaced(match):
        if match[1]:
            return match[0]
        return "".join(char if char >= " " else f"\\u{ord(char):04x}" for char in json.loads(f'"{match[0]}"'))
    return re.sub(r"(\\\\)|(?:\\u[0-9a-f]{4})+", replaced, text)


class Answer:
    """What a run of the program printed, and its exit code."""

    def __init__(self, code, out, err):
        self.code, self.out_bytes, self.err = code, out, err.decode(errors="replace")

    @property
    def out(self):
        return self.out_bytes.decode()

    @property
    def lines(self):
        """Standard output as JSON Lines."""
        return [json.loads(line) for line in self.out_bytes.splitlines()]

    @property
    def object(self):
        """Standard output as the one JSON object that it is."""
        (only,) = self.lines
        return only

    @property
    def acknowledged(self):
        return [line["ack"] for line in self.lines if "ack" in line]


def environment(**changes):
    """Ours without what the program listens to, in UTC; a change to None takes a variable away."""
    names = ("HEARTLOG_STORE", "XDG_DATA_HOME", "NO_COLOR", "COLUMNS")
    values = {name: value for name, value in os.environ.items() if name not in names} | {"TZ": "UTC"} | changes
    return {name: value for name, value in values.items() if value is not None}


def run(*arguments, input=None, env=None, prefix=(), program=BINARY, **options):
    """Runs the program with these words to its end. `prefix` is a command that runs it, such as strace."""
    if isinstance(input, str):
        input = input.encode()
    feed = {"input": input} if input is not None else {"stdin": subprocess.DEVNULL}
    done = subprocess.run(
        [*prefix, program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=SECONDS_MAX,
        env=env or environment(), **({} if "stdin" in options else feed), **options)
    return Answer(done.returncode, done.stdout, done.stderr)


def start(*arguments, **options):
    """Starts the program; the caller ends it."""
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": environment()} | options
    return subprocess.Popen([BINARY, *arguments], **options)


def lines(operations):
    """Operations as `apply` reads them."""
    return "".join(json.dumps(operation, ensure_ascii=False) + "\n" for operation in operations)


def trace(count, seed=7, libraries="mixed"):
    command = [sys.executable, str(SCRIPTS / "make-trace.py"), str(count), "--seed", str(seed), "--libraries", libraries]
    return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout


class Store:
    """A store in a folder."""

    def __init__(self, path):
        self.path = str(path)

    def __call__(self, *arguments, **options):
        return run("--store", self.path, *arguments, **options)

    def start(self, *arguments, **options):
        return start("--store", self.path, *arguments, **options)

    def seal(self):
        """Seals the log as `compact` does, and writes no snapshot."""
        self._finish(self.start_half("seal"))

    def snapshot(self):
        """Writes a snapshot as `compact` does, and leaves the end of the log open."""
        self._finish(self.start_half("snapshot"))

    def start_half(self, half):
        """Starts one half of what `compact` does."""
        program = pathlib.Path(BINARY).parent / "HeartlogTorture"
        return subprocess.Popen([program, half], env=environment(HEARTLOG_STORE=self.path), stdin=subprocess.DEVNULL)

    @staticmethod
    def _finish(process):
        if process.wait(SECONDS_MAX) != 0:
            raise AssertionError(f"{process.args} ended with {process.returncode}")

    def apply(self, operations, *options):
        text = operations if isinstance(operations, (str, bytes)) else lines(operations)
        return self("apply", *options, input=text)

    def log(self, *arguments):
        """The events of the whole log."""
        return self("log", "--json", *arguments).lines

    def segments(self, ending=""):
        """The files of the streams, in order."""
        return sorted(path for path in pathlib.Path(self.path).glob("replicas/*/*") if path.name.endswith(ending))

    def copy(self, path):
        """A copy by the same name and inode would be the same store; this one is another place, so it is read only here."""
        shutil.copytree(self.path, path)
        return Store(path)


class TestCase(unittest.TestCase):
    maxDiff = 2000

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="heartlog-")))

    def store(self, name="device"):
        """A new store, in a folder of its own."""
        store = Store(pathlib.Path(tempfile.mkdtemp(dir=self.folder)) / "store")
        self.expect(0, store("init", "--name", name))
        return store

    def expect(self, code, answer, *words):
        """Checks an exit code, and that standard error has the words; returns the answer."""
        self.assertEqual(answer.code, code, f"stdout: {answer.out_bytes[-400:]!r} stderr: {answer.err[-800:]}")
        for word in words:
            self.assertIn(word, answer.err)
        if code not in (0, 1, 65):
            self.assertTrue(answer.err.startswith("heartlog: "), answer.err)
        self.assertNotIn("Fatal error", answer.err)
        return answer

    def digest(self, store):
        return self.expect(0, store("status", "--json")).object["digest"]

    def replica(self, store):
        return self.expect(0, store("status", "--json")).object["replica"]

    def serving(self, store):
        """The address of a store that a process serves."""
        return "exec:" + " ".join(shlex.quote(word) for word in (BINARY, "--store", store.path, "serve", "--stdio"))

    def sync(self, store, peer, *options, code=0):
        return self.expect(code, store("sync", peer, "--json", *options))

    @contextlib.contextmanager
    def ended(self, process):
        """Sees to it that a process is gone when the test goes on."""
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream:
                    with contextlib.suppress(OSError):
                        stream.close()
