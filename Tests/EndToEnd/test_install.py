"""Scripts/install: the program, its completions and its man page below a prefix, and a program that needs no Swift."""

import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

from heartlog import FORTNIGHT, PACKAGE, TestCase

FILES = {
    "bin/heartlog": 0o755,
    "share/bash-completion/completions/heartlog": 0o644,
    "share/fish/vendor_completions.d/heartlog.fish": 0o644,
    "share/man/man1/heartlog.1": 0o644,
    "share/zsh/site-functions/_heartlog": 0o644,
}


def install(*arguments, **options):
    command = [str(PACKAGE / "Scripts/install"), *map(str, arguments)]
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def files(prefix):
    """What lies below a prefix, and with which permissions."""
    return {
        str(path.relative_to(prefix)): stat.S_IMODE(path.stat().st_mode) for path in prefix.rglob("*") if path.is_file()}


class InstallTests(TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.mkdtemp(prefix="heartlog-install-")
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        # A space in the prefix, as in "~/My programs".
        cls.prefix = pathlib.Path(folder) / "my programs"
        cls.installed = install(cls.prefix)
        assert cls.installed.returncode == 0, cls.installed.stderr

    def program(self, *arguments, **environment):
        """Runs what was installed, in an environment that is empty but for these variables."""
        command = [str(self.prefix / "bin/heartlog"), "--store", str(self.folder / "store"), *map(str, arguments)]
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={"TZ": "UTC"} | environment)
        self.assertEqual(done.returncode, 0, done.stderr[-800:])
        return done

    def test_the_files_are_at_their_usual_places(self):
        self.assertEqual(files(self.prefix), FILES)
        for name in FILES:
            self.assertIn(str(self.prefix / name), self.installed.stdout)
        first = {name: (self.prefix / name).read_text(encoding="utf-8").split("\n")[0] for name in FILES if "bin" not in name}
        self.assertEqual(first["share/zsh/site-functions/_heartlog"], "#compdef heartlog")
        self.assertIn("heartlog", first["share/bash-completion/completions/heartlog"])
        self.assertIn("heartlog", first["share/fish/vendor_completions.d/heartlog.fish"])
        self.assertTrue(first["share/man/man1/heartlog.1"].startswith(".TH"), first["share/man/man1/heartlog.1"])

    def test_it_says_what_to_add_to_the_path(self):
        self.assertIn(f'export PATH="{self.prefix}/bin:$PATH"', self.installed.stdout)
        self.assertIn(f'fpath=("{self.prefix}/share/zsh/site-functions" $fpath)', self.installed.stdout)

    def test_installing_again_replaces_the_files_and_leaves_nothing_else(self):
        man_page = self.prefix / "share/man/man1/heartlog.1"
        before = man_page.read_bytes()
        man_page.write_text("old")
        path = f"{self.prefix}/bin:{os.environ['PATH']}"
        again = install(self.prefix, env={**os.environ, "PATH": path})
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertNotIn("export PATH", again.stdout, "the folder is in the PATH already")
        self.assertEqual(man_page.read_bytes(), before)
        self.assertEqual(files(self.prefix), FILES)

    def test_the_program_works_in_an_empty_environment(self):
        self.program("init", "--name", "Anna's phone")
        self.assertIn("339 events in 326 commits", self.program("apply", FORTNIGHT / "phone.jsonl").stdout)
        self.assertIn("Berlin", self.program("toggle", "cities", "2950159", "name=Berlin", "--json").stdout)
        self.assertIn("Coimbra", self.program("list", "cities").stdout)
        self.program("compact")
        self.assertIn("sound", self.program("verify").stdout)
        self.program("replay")

    @unittest.skipUnless(sys.platform == "linux", "tells the libraries of a program by the loader of Linux")
    def test_the_program_loads_no_library_that_is_there_as_an_archive(self):
        loaded = self.program("init", LD_DEBUG="files").stderr
        self.assertNotIn("libswift", loaded)
        self.assertNotIn("libFoundation", loaded)
        self.assertIn("libc.so", loaded)
        for library in ("lz4", "xxhash", "crypto", "stdc++"):
            archive = subprocess.run(["cc", f"-print-file-name=lib{library}.a"], capture_output=True, text=True).stdout
            if archive.startswith("/"):
                self.assertNotIn(f"lib{library}.", loaded)

    def test_a_prefix_that_cannot_be_written_is_refused_before_the_build(self):
        file = self.folder / "file"
        file.write_text("no folder")
        prefixes = [file, file / "below"]
        if os.geteuid() != 0:
            closed = self.folder / "closed"
            closed.mkdir(mode=0o555)
            prefixes.append(closed)
        for prefix in prefixes:
            with self.subTest(prefix):
                refused = install(prefix)
                self.assertEqual(refused.returncode, 73)
                self.assertIn("cannot be written", refused.stderr)
                self.assertIn(str(prefix), refused.stderr)
                self.assertNotIn("building", refused.stdout)

    def test_arguments_that_are_not_understood_are_refused(self):
        for arguments in (["--prefix"], ["one", "two"]):
            with self.subTest(arguments):
                self.assertEqual(install(*arguments).returncode, 64)
        self.assertIn("PREFIX", install("--help").stdout)


if __name__ == "__main__":
    unittest.main()
