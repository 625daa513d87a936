"""The example for terminals, played in a pseudo-terminal.

What it sends is shown by an emulator that knows the sequences the program uses, and refuses all others. The screens are in
fixtures/golden/example/terminal.txt; HEARTLOG_UPDATE_GOLDENS=1 writes them anew.
"""

import fcntl
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unicodedata
import unittest

import heartlog
from heartlog import Store, TestCase

EXAMPLE = str(pathlib.Path(heartlog.BINARY).with_name("heartlog-example"))
GOLDEN = heartlog.PACKAGE / "fixtures" / "golden" / "example" / "terminal.txt"
UPDATES = os.environ.get("HEARTLOG_UPDATE_GOLDENS") is not None
KEYS = {
    "up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D", "tab": "\t", "backtab": "\x1b[Z", "enter": "\r",
    "esc": "\x1b", "space": " ",
}
# Everything that is done in the screens, in 40 keys: a text above each screen, and the keys before it.
PLAY = [
    ("the catalog of archives", ""),
    ("hearts", "space down space"),
    ("the favorites, newest first", "right"),
    ("a note, and the history", "enter n o k ! enter"),
    ("the note is undone, then a heart", "esc u u"),
    ("a paper is a favorite, and another one is read later", "tab space down r"),
    ("a search", "/ w e b enter"),
    ("a heart in another app", "tab / t ō enter space"),
    ("sync with the second device", "tab tab tab s"),
    ("conflicts", "right"),
    ("the tablet's side is chosen", "down enter"),
    ("back among the cities", "backtab backtab backtab esc right"),
]
LIVE = "another program makes Lisboa a favorite"


class Screen:
    """The emulator."""

    SEQUENCE = re.compile(r"\x1b\[(\??)([0-9;]*)([A-Za-z])")

    def __init__(self, columns, rows):
        self.resize(columns, rows)
        self.rest = b""
        self.is_alternate, self.has_cursor, self.is_reversed = False, True, False

    def resize(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.row = self.column = 0
        self.clear()

    def clear(self):
        self.cells = [[" "] * self.columns for _ in range(self.rows)]
        self.reversed_rows = set()

    def feed(self, data):
        data = self.rest + data
        # The end may be cut inside of a sequence or of a character.
        whole = re.match(rb"(?:\x1b\[[?0-9;]*[A-Za-z]|[\x00-\x1a\x1c-\x7f]|[\xc2-\xdf].|[\xe0-\xef]..|[\xf0-\xf4]...)*", data, re.DOTALL).end()
        self.rest = data[whole:]
        text = data[:whole].decode()
        while text:
            if match := self.SEQUENCE.match(text):
                self.control(*match.groups())
                text = text[match.end():]
            else:
                self.put(text[0])
                text = text[1:]

    def control(self, private, numbers, final):
        match private + final, numbers:
            case "?h" | "?l", "1049":
                self.is_alternate = final == "h"
            case "?h" | "?l", "25":
                self.has_cursor = final == "h"
            case "H", _:
                self.row, self.column = (int(number) - 1 for number in numbers.split(";"))
                assert 0 <= self.row < self.rows and 0 <= self.column < self.columns, numbers
                self.reversed_rows.discard(self.row)
            case "J", "2":
                self.clear()
            case "K", "":
                self.cells[self.row][self.column:] = [" "] * (self.columns - self.column)
            case "m", "0" | "1" | "2" | "7":
                self.is_reversed = numbers == "7"
            case _:
                raise AssertionError(f"a sequence that is not known: {private}{numbers}{final}")

    def put(self, character):
        if not self.is_alternate:
            return
        assert character >= " ", repr(character)
        if unicodedata.combining(character) and self.column:
            self.cells[self.row][self.column - 1] += character
            return
        width = 2 if unicodedata.east_asian_width(character) in "WF" else 1
        assert self.column + width <= self.columns, f"a line that is too long: {''.join(self.cells[self.row])}"
        self.cells[self.row][self.column] = character
        if width == 2:
            self.cells[self.row][self.column + 1] = ""
        self.column += width
        if self.is_reversed:
            self.reversed_rows.add(self.row)

    @property
    def text(self):
        return "".join("".join(cells).rstrip() + "\n" for cells in self.cells)


class Terminal:
    """The program in a pseudo-terminal."""

    def __init__(self, *arguments, columns=80, rows=16):
        self.main, self.other = pty.openpty()
        self.screen = Screen(columns, rows)
        self.resize(columns, rows)
        self.mode = termios.tcgetattr(self.other)
        self.process = subprocess.Popen(
            [EXAMPLE, *map(str, arguments)], stdin=self.other, stdout=self.other, stderr=self.other, cwd=heartlog.PACKAGE,
            env=heartlog.environment(TERM="xterm"), start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def resize(self, columns, rows):
        fcntl.ioctl(self.main, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.screen.resize(columns, rows)

    def press(self, keys):
        os.write(self.main, "".join(KEYS.get(key, key) for key in keys.split()).encode())

    def read(self, seconds):
        """Shows what the program sends next. False if it sends nothing for so long, or has closed the terminal."""
        if not select.select([self.main], [], [], seconds)[0]:
            return False
        self.screen.feed(os.read(self.main, 65536))
        return True

    def wait(self, is_right):
        """Waits for a screen. Returns whether it came."""
        end = time.monotonic() + heartlog.SECONDS_MAX
        while not is_right(self.screen.text):
            if self.process.poll() is not None or not self.read(min(1, max(0, end - time.monotonic()))):
                if self.process.poll() is not None or time.monotonic() > end:
                    return is_right(self.screen.text)
        return True

    def wait_for_the_end(self):
        code = self.process.wait(heartlog.SECONDS_MAX)
        while self.read(0):
            pass
        return code

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.main)
        os.close(self.other)


class ExampleCase(TestCase):
    def setUp(self):
        super().setUp()
        self.phone, self.tablet = Store(self.folder / "phone"), Store(self.folder / "tablet")

    def open(self, *arguments, **options):
        return self.enterContext(
            Terminal(*arguments, "--store", self.phone.path, "--now", "2026-03-02T08:00:00Z", **options))

    def assertShows(self, terminal, *texts):
        self.assertTrue(terminal.wait(lambda shown: all(text in shown for text in texts)), f"no {texts} in\n{terminal.screen.text}")

    def assertEnded(self, terminal, code):
        """The program has ended, and given the terminal back as it was."""
        self.assertEqual(terminal.wait_for_the_end(), code)
        self.assertEqual(termios.tcgetattr(terminal.other), terminal.mode)
        self.assertFalse(terminal.screen.is_alternate)
        self.assertTrue(terminal.screen.has_cursor)


@unittest.skipUnless(os.access(EXAMPLE, os.X_OK), f"there is no program at {EXAMPLE}: run Scripts/release")
class PlayTests(ExampleCase):
    def settled(self, terminal):
        """The screen when nothing more comes, to be written down. No test depends on it."""
        terminal.wait(lambda shown: shown.strip())
        while terminal.read(1):
            pass
        return terminal.screen.text

    def step(self, terminal, heading, goldens):
        if UPDATES:
            goldens[heading] = self.settled(terminal)
        if not terminal.wait(lambda shown: shown == goldens[heading]):
            self.assertEqual(terminal.screen.text, goldens[heading], heading)

    def test_forty_keys_and_a_change_of_another_program(self):
        self.assertEqual(sum(len(keys.split()) for _, keys in PLAY), 40)
        # The tablet has another opinion on the first paper, and a favorite of its own.
        heartlog.run(
            "papers", "--store", self.tablet.path, "--name", "tablet", "--now", "2026-03-01T20:00:00Z", "--keys",
            "space space down down space", program=EXAMPLE, cwd=heartlog.PACKAGE)
        goldens = {}
        if not UPDATES:
            parts = re.split(r"^# (.*)\n", GOLDEN.read_text(), flags=re.MULTILINE)
            goldens = {heading: text[:-1] for heading, text in zip(parts[1::2], parts[2::2])}
        terminal = self.open("--peer", self.tablet.path)
        for heading, keys in PLAY:
            terminal.press(keys)
            self.step(terminal, heading, goldens)
        self.expect(0, self.phone(
            "toggle", "cities", "2267057", "name=Lisboa", "country=PT", "lat:=38.72635", "lon:=-9.14843", "--date", "2026-03-02"))
        self.step(terminal, LIVE, goldens)
        terminal.press("q")
        self.assertEnded(terminal, 0)
        self.expect(0, self.phone("verify"))
        if UPDATES:
            GOLDEN.write_text("".join(f"# {heading}\n{text}\n" for heading, text in goldens.items()))

    def test_two_terminals_on_one_store(self):
        first = self.open("archives")
        self.assertShows(first, "[Archive 16]  Favorites ")
        second = self.open("archives")
        self.assertShows(second, "[Archive 16]  Favorites ")
        first.press("down space")
        self.assertShows(second, "  ♥ Count of Monte Cristo", "Favorites 1")
        second.press("down space")
        self.assertShows(first, "▸ ♡ Count of Monte Cristo")

    def test_the_screen_follows_the_size_of_the_terminal(self):
        terminal = self.open("cities")
        self.assertShows(terminal, "[Catalog 46]", "q quit")
        terminal.resize(60, 30)
        self.assertShows(terminal, "─" * 60 + "\n", "? key…")
        self.assertEqual(terminal.screen.reversed_rows, {3}, "the selected row")
        self.assertIn("/ search", terminal.screen.text.splitlines()[29])


@unittest.skipUnless(os.access(EXAMPLE, os.X_OK), f"there is no program at {EXAMPLE}: run Scripts/release")
class EndTests(ExampleCase):
    def test_the_terminal_is_given_back_after_q_and_ctrl_c(self):
        for keys in ("q", "\x03", "/ p \x03"):
            with self.subTest(keys):
                terminal = self.open()
                self.assertShows(terminal, "[archives]")
                self.assertNotEqual(termios.tcgetattr(terminal.other), terminal.mode)
                terminal.press(keys)
                self.assertEnded(terminal, 0)

    def test_the_terminal_is_given_back_after_a_signal_which_the_exit_status_tells(self):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
            with self.subTest(number):
                terminal = self.open()
                self.assertShows(terminal, "[archives]")
                terminal.process.send_signal(number)
                self.assertEnded(terminal, -number)

    def test_a_store_that_cannot_be_opened_leaves_the_terminal_alone(self):
        pathlib.Path(self.phone.path).write_text("no store")
        terminal = self.open()
        self.assertEnded(terminal, 1)

    def test_without_a_terminal_it_plays_what_it_is_given_or_says_so(self):
        def run(*arguments):
            return heartlog.run(*arguments, "--store", self.phone.path, program=EXAMPLE, cwd=heartlog.PACKAGE)

        answer = run("breeds")
        self.assertEqual((answer.code, answer.out), (64, ""))
        self.assertIn("--keys", answer.err)
        answer = run("breeds", "--keys", "enter space right")
        self.assertEqual((answer.code, answer.err), (0, ""))
        self.assertIn("[Liked 1]", answer.out)
        self.assertNotIn("\x1b", answer.out)
        self.assertIn("breeds", self.expect(0, self.phone("status")).out)


if __name__ == "__main__":
    unittest.main()
