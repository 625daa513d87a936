"""Where `export` writes: what a path may lead to, what stays of it, and what is left when it fails."""

import errno
import os
import pathlib
import shutil
import socket
import stat
import struct
import subprocess
import tempfile
import unittest

import strace
from heartlog import BINARY, SECONDS_MAX, Store, TestCase, environment

IS_ROOT = os.geteuid() == 0
NOBODY, STRANGER = 65534, 65533
NOT_ROOT = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if IS_ROOT else {}
OLD = b"what was there before, and is longer than what comes\n" * 1000


def can_make_unnamed_files(folder):
    try:
        os.close(os.open(folder, os.O_TMPFILE | os.O_WRONLY))
    except OSError:
        return False
    return True


def access_list(*entries):
    """A POSIX access list as the kernel has it: version 2, then (tag, permissions, id)."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


class ExportTests(TestCase):
    def setUp(self):
        super().setUp()
        try:
            subprocess.run([BINARY, "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, **NOT_ROOT)
        except PermissionError:
            self.skipTest("the program lies where only root may run it")
        # Everybody may pass, so that what is refused is refused by the file or the folder itself.
        os.chmod(self.folder, 0o755)
        self.stores = self.make_folder("stores")
        self.here = self.make_folder("here")
        self.filled = Store(self.stores / "store")
        self.expect(0, self.filled("init", **NOT_ROOT))
        self.expect(0, self.filled("add", "papers", "x", "title=Solaris", **NOT_ROOT))
        self.text = self.expect(0, self.export()).out_bytes

    def make_folder(self, name, mode=0o755):
        folder = self.folder / name
        folder.mkdir()
        os.chmod(folder, mode)
        if IS_ROOT:
            os.chown(folder, NOBODY, NOBODY)
        return folder

    def make_file(self, name="file", mode=0o644, owner=NOBODY, folder=None):
        file = (folder or self.here) / name
        file.write_bytes(OLD)
        if IS_ROOT:
            os.chown(file, owner, owner)
        os.chmod(file, mode)
        return file

    def export(self, *arguments, **options):
        """Without the powers of root, if the test itself has them."""
        return self.filled("export", "papers", *map(str, arguments), "--format", "jsonl", **(NOT_ROOT | options))

    def assert_holds(self, file, names=None):
        self.assertEqual(file.read_bytes(), self.text)
        self.assert_only(*(names or [file.name]))

    def assert_only(self, *names):
        self.assertEqual(sorted(os.listdir(self.here)), sorted(names))

    def assert_untouched(self, file):
        self.assertEqual(file.read_bytes(), OLD)

    # Regular files

    def test_a_new_file_has_the_mode_of_new_files(self):
        for mask, mode in ((0o022, 0o644), (0o077, 0o600)):
            with self.subTest(oct(mask)):
                file = self.here / f"new-{mask}"
                self.expect(0, self.export(file, umask=mask))
                self.assertEqual(file.read_bytes(), self.text)
                self.assertEqual(stat.S_IMODE(file.stat().st_mode), mode)

    def test_a_file_is_replaced_at_once_and_keeps_its_mode(self):
        for mode in (0o600, 0o640, 0o666, 0o755):
            with self.subTest(oct(mode)), open(self.make_file(mode=mode), "rb") as reader:
                file = self.here / "file"
                self.expect(0, self.export(file))
                self.assert_holds(file)
                self.assertEqual(stat.S_IMODE(file.stat().st_mode), mode)
                self.assertEqual(reader.read(), OLD)

    def test_attributes_and_access_list_stay(self):
        file = self.make_file(mode=0o660)
        acl = access_list((0x01, 6, 0xFFFFFFFF), (0x02, 4, STRANGER), (0x04, 6, 0xFFFFFFFF), (0x10, 6, 0xFFFFFFFF), (0x20, 0, 0xFFFFFFFF))
        try:
            os.setxattr(file, "user.comment", b"mine")
            os.setxattr(file, "system.posix_acl_access", acl)
        except OSError as error:
            self.assertEqual(error.errno, errno.ENOTSUP)
            self.skipTest("the file system has none")
        # What the folder gives new files is not what the old one had.
        plain = self.make_file("plain", mode=0o640)
        os.setxattr(self.here, "system.posix_acl_default", acl)
        for target in (file, plain):
            self.expect(0, self.export(target))
            self.assert_holds(target, ["file", "plain"])
        self.assertEqual(os.getxattr(file, "user.comment"), b"mine")
        self.assertEqual(os.getxattr(file, "system.posix_acl_access"), acl)
        self.assertEqual(os.listxattr(plain), [])
        self.assertEqual(stat.S_IMODE(plain.stat().st_mode), 0o640)

    @unittest.skipUnless(IS_ROOT, "only root may give files away")
    def test_root_leaves_a_file_to_its_owner(self):
        for mode in (0o600, 0o400, 0o2751):
            with self.subTest(oct(mode)):
                file = self.make_file(owner=STRANGER, mode=mode)
                inode = file.stat().st_ino
                self.expect(0, self.export(file, user=0, group=0))
                self.assert_holds(file)
                found = file.stat()
                self.assertEqual((found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)), (STRANGER, STRANGER, mode))
                self.assertNotEqual(found.st_ino, inode)

    @unittest.skipUnless(IS_ROOT, "only root may give files away")
    def test_a_strangers_file_is_written_where_it_is(self):
        file = self.make_file(owner=STRANGER, mode=0o666)
        inode = file.stat().st_ino
        self.expect(0, self.export(file))
        self.assert_holds(file)
        self.assertEqual((file.stat().st_ino, file.stat().st_uid), (inode, STRANGER))

    @unittest.skipUnless(IS_ROOT, "only root may give files away")
    def test_a_file_whose_folder_takes_no_other_is_written_where_it_is(self):
        file = self.make_file(mode=0o600)
        os.chown(self.here, 0, 0)
        self.expect(0, self.export(file))
        self.assert_holds(file)
        self.expect(73, self.export(self.here / "new"), "Permission denied")
        self.assert_only("file")

    def test_what_may_not_be_written_stays(self):
        if IS_ROOT:
            file = self.make_file(owner=STRANGER, mode=0o644)
        else:
            file = self.make_file(mode=0o444)
        self.expect(73, self.export(file), "Permission denied")
        self.assert_untouched(file)
        self.assert_only("file")

    # Links

    def test_links_are_followed(self):
        file, other = self.make_file(), self.make_folder("other")
        (other / "second").symlink_to("../here/file")
        (self.here / "first").symlink_to(other / "second")
        (self.folder / "door").symlink_to("here")
        for path in (self.here / "first", self.folder / "door" / "first", self.folder / "door" / "file"):
            with self.subTest(str(path)):
                file.write_bytes(OLD)
                self.expect(0, self.export(path))
                self.assert_holds(file, ["file", "first"])
                self.assertTrue((self.here / "first").is_symlink() and (other / "second").is_symlink())
                self.assertEqual(os.listdir(other), ["second"])

    def test_the_file_that_a_dangling_link_names_is_made(self):
        (self.here / "link").symlink_to("made")
        self.expect(0, self.export(self.here / "link"))
        self.assert_holds(self.here / "made", ["link", "made"])
        self.assertTrue((self.here / "link").is_symlink())

    def test_links_that_lead_nowhere(self):
        (self.here / "round").symlink_to("round")
        (self.here / "away").symlink_to("nowhere/file")
        self.expect(73, self.export(self.here / "round"), "symbolic links")
        self.expect(73, self.export(self.here / "away"), "No such file")
        self.assert_only("away", "round")

    # What is no regular file

    def test_a_folder_is_no_file(self):
        (self.here / "link").symlink_to(".")
        for path in (self.here, self.here / "link", f"{self.here}/", f"{self.here}/new/"):
            with self.subTest(str(path)):
                self.expect(73, self.export(path), "it is a folder", "Name a file in it.")
                self.assert_only("link")

    def test_a_pipe_with_a_name(self):
        pipe = self.here / "pipe"
        os.mkfifo(pipe)
        os.chmod(pipe, 0o666)
        (self.here / "link").symlink_to("pipe")
        for path in (pipe, self.here / "link"):
            # Open for both, so that neither end waits for the other.
            reader = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
            self.addCleanup(os.close, reader)
            self.expect(0, self.export(path))
            self.assertEqual(os.read(reader, 1 << 16), self.text)
            self.assertTrue(pipe.is_fifo())
            self.assert_only("link", "pipe")

    @unittest.skipUnless(IS_ROOT, "only root may make devices")
    def test_a_device(self):
        device = self.here / "null"
        try:
            os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
            os.chmod(device, 0o666)
            device.write_bytes(b"x")
        except PermissionError:
            self.skipTest("no devices in this folder")
        for powers in ({}, {"user": 0, "group": 0}):
            self.expect(0, self.export(device, **powers))
            self.assertTrue(device.is_char_device())
            self.assert_only("null")

    def test_standard_output_by_name(self):
        for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
            with self.subTest(name):
                self.assertEqual(self.expect(0, self.export(name)).out_bytes, self.text)

    def test_standard_output_that_is_a_file_goes_on_where_the_shell_is(self):
        (self.here / "link").symlink_to("/dev/stdout")
        for name in ("/dev/stdout", self.here / "link"):
            with self.subTest(str(name)):
                file = self.make_file()
                with open(file, "ab") as output:
                    done = subprocess.run([BINARY, "--store", self.filled.path, "export", "papers", name], stdout=output, env=environment(),
                                          timeout=SECONDS_MAX, **NOT_ROOT)
                    output.write(b"after")
                self.assertEqual(done.returncode, 0)
                self.assertEqual(file.read_bytes(), OLD + self.text + b"after")

    def test_descriptors_that_are_handed_over(self):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            self.expect(0, self.export(f"/dev/fd/{theirs.fileno()}", pass_fds=[theirs.fileno()]))
            theirs.close()
            self.assertEqual(ours.makefile("rb").read(), self.text)
        for name in ("/dev/fd/99", "/dev/fd/x"):
            self.expect(73, self.export(name), name)

    @unittest.skipUnless(shutil.which("bash"), "there is no bash")
    def test_process_substitution(self):
        script = '"$0" --store "$1" export papers >(cat; echo after) | cat'
        done = subprocess.run(["bash", "-c", script, BINARY, self.filled.path], stdout=subprocess.PIPE, env=environment(), timeout=SECONDS_MAX, **NOT_ROOT)
        self.assertEqual(done.stdout, self.text + b"after\n")

    def test_a_pipe_that_nobody_reads_any_more_ends_it_quietly(self):
        reader, writer = os.pipe()
        os.close(reader)
        answer = self.export(f"/dev/fd/{writer}", pass_fds=[writer])
        os.close(writer)
        self.assertEqual((answer.code, answer.err), (0, ""))

    # What is left

    @strace.needed
    def test_a_file_is_durable_before_it_takes_its_place_and_the_name_after(self):
        for file in (self.make_file(), self.here / "new"):
            with self.subTest(file.name):
                log = pathlib.Path(tempfile.mkdtemp(dir=self.folder)) / "calls"
                self.expect(0, self.export(file, prefix=[strace.STRACE, "-f", "-qq", "-y", "-o", str(log), "-e", "trace=fsync,linkat,rename,renameat,renameat2"], user=None, group=None))
                calls = [line.split(maxsplit=1)[1] for line in log.read_text().splitlines() if str(self.here) in line]
                self.assertTrue(calls[0].startswith("fsync"), calls)
                self.assertTrue(all(call.startswith(("linkat", "rename")) for call in calls[1:-1]), calls)
                self.assertTrue(calls[-1].startswith("fsync") and f"<{self.here}>" in calls[-1], calls)
                self.assertGreaterEqual(len(calls), 3)

    @strace.needed
    def test_what_fails_leaves_the_old_file_and_nothing_else(self):
        file = self.make_file(mode=0o600)
        for call, error, code in (("fsync", "ENOSPC", 74), ("fsync", "EIO", 74), ("fchmod", "EIO", 74), ("/^rename", "EIO", 74), ("/^rename", "ENOENT", 73)):
            for target in (file, self.here / "new"):
                if target != file and call != "fsync":
                    continue
                with self.subTest(f"{call} {error} {target.name}"):
                    self.expect(code, self.export(target, prefix=strace.inject(f"{call}:error={error}"), user=None, group=None))
                    self.assert_untouched(file)
                    self.assert_only("file")

    @strace.needed
    def test_a_kill_leaves_the_old_file_and_nothing_else(self):
        if not can_make_unnamed_files(self.here):
            self.skipTest("the file system has no files without names")
        file = self.make_file()
        for call in ("fchmod", "fsync", "linkat"):
            with self.subTest(call):
                answer = self.export(file, prefix=strace.inject(f"{call}:signal=SIGKILL"), user=None, group=None)
                self.assertNotEqual(answer.code, 0)
                self.assert_untouched(file)
                self.assert_only("file")


if __name__ == "__main__":
    unittest.main()
