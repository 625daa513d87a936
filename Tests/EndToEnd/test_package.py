"""Scripts/package: what is installed by its packages, upgraded and removed, in a root of their own."""

import os
import pathlib
import shutil
import stat
import subprocess
import tempfile
import unittest

from heartlog import PACKAGE, SECONDS_MAX, TestCase, environment

OPTIONS = "etc/default/heartlog-hub"
FILES = {
    "usr/bin/heartlog": 0o755,
    "usr/share/bash-completion/completions/heartlog": 0o644,
    "usr/share/fish/vendor_completions.d/heartlog.fish": 0o644,
    "usr/share/man/man1/heartlog.1.gz": 0o644,
    "usr/share/zsh/vendor-completions/_heartlog": 0o644,
    "usr/share/doc/heartlog/copyright": 0o644,
    "usr/bin/heartlog-hub": 0o755,
    "usr/lib/systemd/system/heartlog-hub.service": 0o644,
    "usr/share/doc/heartlog-hub/copyright": 0o644,
    OPTIONS: 0o644,
}


@unittest.skipUnless(shutil.which("dpkg-deb"), "dpkg is not installed")
class PackageTests(TestCase):
    @classmethod
    def setUpClass(cls):
        later = cls.build("2")
        folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="heartlog-")))
        cls.packages = [[cls.earlier(package, folder) for package in later], later]

    @staticmethod
    def build(revision):
        done = subprocess.run(
            [str(PACKAGE / "Scripts/package"), revision], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=3 * SECONDS_MAX)
        assert done.returncode == 0, done.stderr
        return [str(PACKAGE / line) for line in done.stdout.split()]

    @staticmethod
    def earlier(package, folder):
        """The same package with the revision before."""
        tree, copy = folder / "tree", str(folder / pathlib.Path(package).name)
        subprocess.run(["dpkg-deb", "--raw-extract", package, tree], check=True)
        control = tree / "DEBIAN" / "control"
        control.write_text(control.read_text().replace("Version: 0.1.0-2\n", "Version: 0.1.0-1\n"))
        # Not compressed: that takes longer than all else.
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "--build", tree, copy], check=True, stdout=subprocess.DEVNULL)
        shutil.rmtree(tree)
        return copy

    def setUp(self):
        super().setUp()
        if os.getuid() != 0:
            self.skipTest("only root may install packages, also in another root")
        self.root = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        for name in ("updates", "info", "triggers"):
            (self.root / "var/lib/dpkg" / name).mkdir(parents=True)
        (self.root / "var/lib/dpkg/status").touch()

    def dpkg(self, *words):
        # What the packages need is on this machine, not in that root. The scripts are told which root they are for.
        done = subprocess.run(
            ["dpkg", f"--root={self.root}", "--force-depends", "--force-confold", "--force-script-chrootless", *words],
            capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=SECONDS_MAX)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def files(self):
        return {
            str(path.relative_to(self.root)): stat.S_IMODE(path.stat().st_mode)
            for path in self.root.rglob("*") if path.is_file() and "dpkg" not in path.parts}

    def program(self, name, *words):
        return subprocess.run(
            [str(self.root / "usr/bin" / name), *words], capture_output=True, text=True, timeout=SECONDS_MAX, env=environment())

    def test_they_are_installed_upgraded_and_removed(self):
        self.dpkg("-i", *self.packages[0])
        self.assertEqual(self.files(), FILES)
        for name in ("heartlog", "heartlog-hub"):
            self.assertEqual(self.program(name, "--help").returncode, 0)
        self.assertEqual(self.program("heartlog", "--store", str(self.folder / "store"), "init").returncode, 0)
        self.assertEqual(self.version(), "ii 0.1.0-1")
        # What a person changed, and what devices put there, stay in an upgrade.
        (self.root / OPTIONS).write_text("HEARTLOG_HUB_OPTIONS=--mine\n")
        data = self.root / "var/lib/heartlog-hub/hub.db"
        data.parent.mkdir(parents=True)
        data.write_text("objects")
        self.dpkg("-i", *self.packages[1])
        self.assertEqual(self.version(), "ii 0.1.0-2")
        self.assertEqual((self.root / OPTIONS).read_text(), "HEARTLOG_HUB_OPTIONS=--mine\n")
        self.dpkg("-r", "heartlog", "heartlog-hub")
        self.assertEqual(set(self.files()), {OPTIONS, "var/lib/heartlog-hub/hub.db"})
        said = self.dpkg("-P", "heartlog-hub")
        self.assertIn("/var/lib/heartlog-hub", said)
        self.assertEqual(set(self.files()), {"var/lib/heartlog-hub/hub.db"})

    def version(self):
        return subprocess.run(
            ["dpkg-query", f"--admindir={self.root}/var/lib/dpkg", "-W", "-f", "${db:Status-Abbrev}${Version}", "heartlog-hub"],
            capture_output=True, text=True, check=True).stdout

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd is not installed")
    def test_the_service_is_sound_and_has_few_rights(self):
        self.dpkg("-i", self.packages[1][1])
        unit = self.root / "usr/lib/systemd/system/heartlog-hub.service"
        done = subprocess.run(
            ["systemd-analyze", "security", "--offline=true", f"--root={self.root}", "--threshold=20", unit.name],
            capture_output=True, text=True, timeout=SECONDS_MAX)
        self.assertEqual(done.returncode, 0, done.stdout[-400:] + done.stderr)
        options = subprocess.run(
            ["sh", "-c", f". {self.root / OPTIONS}; echo $HEARTLOG_HUB_OPTIONS"], capture_output=True, text=True, check=True).stdout.split()
        self.assertEqual(options, ["--listen", "127.0.0.1:8080", "--database", "/var/lib/heartlog-hub/hub.db"])


if __name__ == "__main__":
    unittest.main()
