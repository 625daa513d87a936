"""What shells offer while a person types: asked of the shells themselves."""

import os
import pathlib
import pty
import select
import shutil
import subprocess
import time
import unittest

import heartlog
from heartlog import TestCase

AWKWARD = {
    "it": "it's $5; `id` & \"more\"!", "urn:is": "urn:isbn:0451450523", "a*b": "a*b?[c] {d} ~e #f", "日": "日本 語",
    "back": "back\\slash", "eq=": "eq=uals@x", "say": "say \"hi\"", "rock": "rock'n'",
}


class CompletionCase(TestCase):
    def setUp(self):
        super().setUp()
        self.device = self.store()
        for ident in [*AWKWARD.values(), "plain"]:
            self.expect(0, self.device("add", "recipes", "--", ident))
        self.expect(0, self.device("collection", "recipes", "to cook", "add", "plain"))
        (self.folder / "bin").mkdir()
        os.symlink(heartlog.BINARY, self.folder / "bin" / "heartlog")
        self.env = heartlog.environment(
            PATH=f"{self.folder / 'bin'}:{os.environ['PATH']}", HEARTLOG_STORE=self.device.path, TERM="xterm",
            LC_ALL="C.UTF-8", HOME=str(self.folder), HISTFILE=None, INPUTRC="/dev/null", COLUMNS="500")

    def words(self, shell, setup, line):
        """The words of a line after Tab was pressed at its end, as the shell passes them to a command."""
        script = self.folder / "show"
        script.write_text("#!/usr/bin/env python3\nimport sys\nopen(sys.argv[1], 'w').write('\\0'.join(sys.argv[3:]))\n")
        script.chmod(0o755)
        result = self.folder / "result"
        result.unlink(missing_ok=True)
        process, terminal = pty.fork()
        if process == 0:
            try:
                os.execvpe(shell[0], shell, self.env)
            finally:
                os._exit(127)
        output = b""
        try:
            # The marks are not in the echo of the lines.
            for keys, mark in [
                (f"{setup}; printf '%s\\n' rea''dy\n", b"ready\r"),
                (f"{line}\t\x01{script} {result} \n", None),
                ("printf '%s\\n' do''ne\n", b"done\r"),
            ]:
                os.write(terminal, keys.encode())
                end = time.monotonic() + heartlog.SECONDS_MAX
                while mark and mark not in output:
                    self.assertTrue(select.select([terminal], [], [], max(0, end - time.monotonic()))[0], output[-800:])
                    output += os.read(terminal, 65536)
        finally:
            os.kill(process, 9)
            os.waitpid(process, 0)
            os.close(terminal)
        self.assertTrue(result.exists(), output[-800:])
        return result.read_text().split("\0")


class BashTests(CompletionCase):
    def complete(self, line):
        return self.words(["bash", "--norc", "-i"], "source <(heartlog completions bash)", line)

    def test_ids_that_mean_something_to_the_shell_arrive_as_they_are(self):
        for start, ident in AWKWARD.items():
            typed = start.replace("*", "\\*")
            with self.subTest(ident):
                self.assertEqual(self.complete(f"heartlog show recipes {typed}"), ["show", "recipes", ident])
                self.assertEqual(self.complete(f"heartlog show recipes \"{start}"), ["show", "recipes", ident])
                self.assertEqual(self.complete(f"heartlog show recipes '{start}"), ["show", "recipes", ident])

    def test_libraries_collections_and_devices(self):
        self.assertEqual(self.complete("heartlog list rec"), ["list", "recipes"])
        self.assertEqual(self.complete("heartlog list recipes --collection t"), ["list", "recipes", "--collection", "to cook"])
        self.assertEqual(self.complete("heartlog list recipes --collection=t"), ["list", "recipes", "--collection=to cook"])
        replica = self.expect(0, self.device("status", "--json")).object["replica"][:8]
        self.assertEqual(self.complete(f"heartlog log --replica {replica[:4]}"), ["log", "--replica", replica])

    def test_commands_options_and_files(self):
        self.assertEqual(self.complete("heartlog blam"), ["blame"])
        self.assertEqual(self.complete("heartlog list --ord"), ["list", "--order"])
        self.assertEqual(self.complete("heartlog list --order=n"), ["list", "--order=newest"])
        (self.folder / "a page.html").touch()
        for option in ("-o ", "--output="):
            words = self.complete(f"heartlog inspect {option}{self.folder}/a")
            self.assertEqual(" ".join(words), f"inspect {option}{self.folder}/a page.html")

    def test_the_store_on_the_line_is_the_one_that_is_asked(self):
        other = self.store()
        self.expect(0, other("add", "recipes", "elsewhere"))
        for named in (f"--store {other.path}", f"--store={other.path}"):
            self.assertEqual(self.complete(f"heartlog {named} show recipes el")[-1], "elsewhere")
        self.assertEqual(self.complete("heartlog show recipes el")[-1], "el")


class FishTests(CompletionCase):
    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish_offers_the_same(self):
        def offered(line):
            script = 'heartlog completions fish | source; complete -C "$argv[1]"'
            done = subprocess.run(
                ["fish", "--no-config", "-c", script, line], stdout=subprocess.PIPE, env=self.env, check=True,
                timeout=heartlog.SECONDS_MAX)
            return [entry.split("\t")[0] for entry in done.stdout.decode().splitlines()]

        self.assertEqual(offered("heartlog list rec"), ["recipes"])
        self.assertIn("plain", offered("heartlog show recipes "))
        self.assertEqual(offered("heartlog show recipes urn:is"), [AWKWARD["urn:is"]])
        self.assertEqual(len(offered("heartlog show recipes it")), 1)
        self.assertEqual(offered("heartlog list recipes --collection t"), ["to cook"])
        self.assertEqual(offered("heartlog list --order=n"), ["--order=newest"])
        self.assertEqual(offered("heartlog blam"), ["blame"])
        (self.folder / "page.html").touch()
        self.assertEqual(offered(f"heartlog inspect -o {self.folder}/pa"), [f"{self.folder}/page.html"])
        self.assertEqual(offered(f"heartlog inspect --output={self.folder}/pa"), [f"--output={self.folder}/page.html"])


@unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
class ZshTests(CompletionCase):
    def test_zsh_offers_the_same(self):
        for start, ident in AWKWARD.items():
            typed = start.replace("*", "\\*")
            with self.subTest(ident):
                self.assertEqual(self.complete(f"heartlog show recipes {typed}"), ["show", "recipes", ident])
        self.assertEqual(self.complete("heartlog list rec"), ["list", "recipes"])
        self.assertEqual(self.complete("heartlog list recipes --collection t"), ["list", "recipes", "--collection", "to cook"])
        self.assertEqual(self.complete("heartlog list --order=n"), ["list", "--order=newest"])
        self.assertEqual(self.complete("heartlog blam"), ["blame"])
        (self.folder / "page.html").touch()
        for option in ("-o ", "--output="):
            words = self.complete(f"heartlog inspect {option}{self.folder}/pa")
            self.assertEqual(" ".join(words), f"inspect {option}{self.folder}/page.html")

    def complete(self, line):
        # Without its line editor's redrawing, and without asking whether the folders of its functions are safe.
        setup = "setopt no_beep; autoload -Uz compinit; compinit -u -D; source <(heartlog completions zsh)"
        return self.words(["zsh", "-f", "-i"], setup, line)


class SilenceTests(CompletionCase):
    def test_nothing_is_said_or_made_without_a_store(self):
        for words in ([], ["bash", "", "", "show", "papers"], ["bash", "'", "\\", "$("]):
            nowhere = self.folder / "nowhere"
            answer = heartlog.run("__complete", *words, env=heartlog.environment(HEARTLOG_STORE=str(nowhere)))
            self.assertEqual((answer.code, answer.err), (0, ""))
            self.assertIn(answer.out, ("", "words\n"))
            self.assertFalse(nowhere.exists())

    def test_a_damaged_store_is_not_read_out(self):
        path = pathlib.Path(self.device.path, "store")
        path.write_bytes(path.read_bytes()[:40])
        answer = heartlog.run("__complete", "bash", "", "", "show", "recipes", env=self.env)
        self.assertEqual((answer.code, answer.out, answer.err), (0, "words\n", ""))

    def test_a_held_lock_is_not_waited_for_and_nothing_changes(self):
        holder = "import fcntl, sys; lock = open(sys.argv[1]); fcntl.flock(lock, fcntl.LOCK_EX); print('held', flush=True); sys.stdin.read()"
        lock = pathlib.Path(self.device.path, "lock")
        with self.ended(subprocess.Popen(
                ["python3", "-c", holder, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)) as process:
            process.stdout.readline()
            before = {path: path.read_bytes() for path in pathlib.Path(self.device.path).rglob("*") if path.is_file()}
            answer = heartlog.run("__complete", "bash", "", "pl", "show", "recipes", env=self.env)
            self.assertEqual((answer.code, answer.out, answer.err), (0, "words\nplain\n", ""))
            after = {path: path.read_bytes() for path in pathlib.Path(self.device.path).rglob("*") if path.is_file()}
            self.assertEqual(after, before)
            process.stdin.close()


if __name__ == "__main__":
    unittest.main()
