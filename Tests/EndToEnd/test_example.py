"""The example: what it prints for the commands that it is given, and that another program on its store shows by itself."""

import os
import pathlib
import queue
import signal
import subprocess
import threading
import unittest

import heartlog
from heartlog import Store, TestCase

EXAMPLE = str(pathlib.Path(heartlog.BINARY).with_name("heartlog-example"))


class Program:
    """The program with a pipe for its commands. Its lines are read as they come."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen(
            [EXAMPLE, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            cwd=heartlog.PACKAGE, env=heartlog.environment())
        self.lines = queue.Queue()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))
        self.lines.put(None)

    def run(self, *commands):
        self.process.stdin.write("".join(f"{command}\n" for command in commands))
        self.process.stdin.flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.reader.join()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            pipe.close()


@unittest.skipUnless(os.access(EXAMPLE, os.X_OK), f"there is no program at {EXAMPLE}: run Scripts/release")
class ExampleTests(TestCase):
    def setUp(self):
        super().setUp()
        self.phone = Store(self.folder / "phone")

    def open(self, *arguments):
        return self.enterContext(Program(*arguments, "--store", self.phone.path, "--now", "2026-03-02T08:00:00Z"))

    def assertPrints(self, program, *texts):
        """Waits for a line with each text, in this order."""
        for text in texts:
            line = ""
            while text not in line:
                line = program.lines.get(timeout=heartlog.SECONDS_MAX)
                self.assertIsNotNone(line, f"no {text!r} before the end: {program.process.stderr.read() if line is None else ''}")

    def assertEnds(self, program, code):
        self.assertEqual(program.process.wait(heartlog.SECONDS_MAX), code)

    def test_five_apps(self):
        program = self.open()
        program.run("tap 1", "tap 2", "favorites", "note 1 nok!", "undo")
        self.assertPrints(program, "♥ ", "♥ ", "1  ♥ ", "2  ♥ ", "Note: nok!", "Undone: archives")
        program.run("papers", "tap 1", "later 2", "cities tō", "tap 1", "breeds", "pictures akita", "tap 1", "books", "tap 1", "play 1 60")
        self.assertPrints(program, "♥ ", "To read next", "♥ 🇯🇵 Tōkyō", "♥ akita", "♥ ")
        program.run("quit")
        self.assertEnds(program, 0)
        self.expect(0, self.phone("verify"))

    def test_two_programs_on_one_store(self):
        first, second = self.open("archives"), self.open("archives")
        self.assertPrints(first, "2  ♡ ")
        self.assertPrints(second, "2  ♡ ")
        self.expect(0, self.phone(
            "toggle", "cities", "2267057", "name=Lisboa", "country=PT", "lat:=38.72635", "lon:=-9.14843", "--date", "2026-03-02"))
        for program in (first, second):
            self.assertPrints(program, "♥ cities: Lisboa  by cli")
        first.run("tap 2")
        self.assertPrints(first, "♥ ")
        second.run("favorites", "tap 1")
        self.assertPrints(second, "1  ♥ ", "♡ ")
        first.run("favorites")
        self.assertPrints(first, "Nothing here.")

    def test_what_was_printed_is_safe_when_the_program_is_killed(self):
        for row, number in ((1, signal.SIGTERM), (2, signal.SIGKILL)):
            with self.subTest(number):
                program = self.open("breeds")
                program.run("pictures akita", f"tap {row}")
                self.assertPrints(program, "3  ♡ akita", "♥ akita")
                program.process.send_signal(number)
                self.assertEnds(program, -number)
        self.expect(0, self.phone("verify"))
        self.assertEqual(len(self.expect(0, self.phone("list", "breeds", "--json")).out.splitlines()), 2)

    def test_a_store_that_cannot_be_opened_and_wrong_arguments_are_errors(self):
        pathlib.Path(self.phone.path).write_text("no store")
        program = self.open()
        self.assertEnds(program, 1)
        self.assertEqual(heartlog.run("birds", program=EXAMPLE, cwd=heartlog.PACKAGE).code, 64)


if __name__ == "__main__":
    unittest.main()
