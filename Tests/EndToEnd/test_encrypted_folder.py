"""A vault that is encrypted: what the program puts in a folder, and who reads it."""

import pathlib
import tempfile
import unittest

from heartlog import TestCase

try:
    import cryptography
except ImportError:
    cryptography = None
else:
    import encryption_reader as reader

NEEDS_CRYPTOGRAPHY = unittest.skipUnless(cryptography, "cryptography is not installed: Scripts/test installs it from PyPI")


class EncryptedFolderTests(TestCase):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.cloud = pathlib.Path(folder.name)

    def device(self, name):
        store = self.store(f"{name}-of-Wilhelmina")
        self.write(store, f"item-of-{name}")
        return store

    def write(self, store, id):
        self.expect(0, store("add", "papers", id, "title=A confidential title"))

    def sync(self, store, *options, code=0, cloud=None):
        return self.expect(code, store("sync", f"folder:{cloud or self.cloud}", "--json", *options))

    def join(self, store, code):
        self.expect(0, store("keys", "join", "-", input=code.encode() + b"\n"))

    def has(self, store, id):
        return id in [item["id"] for item in self.expect(0, store("list", "papers", "--json")).lines if "id" in item]

    def vault(self, *names):
        stores = [self.device(name) for name in names]
        self.code = self.sync(stores[0], "--encrypted").object["recoveryCode"]
        for store in stores[1:]:
            self.sync(store, code=1)
            self.join(store, self.code.lower().replace("-", " "))
            self.sync(store)
        for store in stores:
            self.sync(store)
        return stores

    def files(self):
        return sorted(path for path in self.cloud.rglob("*") if path.is_file())

    def test_devices_with_the_code_know_the_same_and_the_folder_tells_nothing(self):
        desk, phone = self.vault("desk", "phone")
        digests = {self.expect(0, store("status", "--json")).object["digest"] for store in (desk, phone)}
        self.assertEqual(len(digests), 1)
        self.assertGreater(len(self.files()), 4)
        for path in self.files():
            name, content = str(path.relative_to(self.cloud)), path.read_bytes()
            for word in ("Wilhelmina", "confidential", "item-of", "papers", "title", "settings", "heartlog/"):
                self.assertNotIn(word.encode(), content, name)
                self.assertNotIn(word, name)
        for store in desk, phone:
            keys = pathlib.Path(store.path) / "keys"
            self.assertEqual({path.stat().st_mode & 0o777 for path in keys.rglob("*") if path.is_file()}, {0o600})

    @NEEDS_CRYPTOGRAPHY
    def test_another_program_opens_everything_with_the_code_alone(self):
        desk, phone = self.vault("desk", "phone")
        self.expect(0, desk("keys", "rotate"))
        self.write(desk, "after-the-rotation")
        self.sync(desk)
        self.sync(phone)
        with tempfile.TemporaryDirectory() as out:
            out = pathlib.Path(out)
            count = reader.read(self.cloud, out, self.code)
            self.assertEqual(count, len([path for path in self.files() if path.parent.name != "keys"]))
            files = [path for path in out.rglob("*") if path.is_file()]
            self.assertEqual({path.read_bytes()[:8] for path in files if path.suffix == ".run"}, {b"\x89HLRUN\r\n"})
            self.assertTrue(any(b"Wilhelmina" in path.read_bytes() for path in files))

    def test_a_revoked_device_gets_nothing_more_and_brings_nothing(self):
        desk, phone, stolen = self.vault("desk", "phone", "stolen")
        replica = self.expect(0, stolen("status", "--json")).object["replica"]
        self.expect(64, desk("keys", "rotate", "--without", replica[:12]), "no recovery code")
        rotated = self.expect(0, desk("keys", "rotate", "--without", replica[:12], input=self.code.encode())).out.splitlines()[-1]
        self.assertNotEqual(rotated, self.code)
        self.write(desk, "secret-after")
        self.sync(desk)
        self.sync(phone)
        self.assertTrue(self.has(phone, "secret-after"))
        self.expect(1, stolen("sync", f"folder:{self.cloud}"), "removed on replica")
        self.join(stolen, self.code)
        self.sync(stolen, code=1)
        self.assertFalse(self.has(stolen, "secret-after"))
        listed = self.expect(0, phone("keys", "--json")).lines
        self.assertEqual([epoch["number"] for epoch in listed], sorted((epoch["number"] for epoch in listed), reverse=True))
        self.assertEqual(listed[0]["revoked"], [replica])
        self.assertNotIn(replica, listed[0]["devices"])
        self.write(stolen, "from-the-thief")
        self.expect(1, stolen("sync", phone.path), "removed")
        self.assertFalse(self.has(phone, "from-the-thief"))

    def test_an_encrypted_vault_puts_nothing_plain_anywhere(self):
        desk = self.device("desk")
        self.sync(desk, "--encrypted")
        tablet = self.device("tablet")
        self.expect(0, tablet("sync", desk.path))
        with tempfile.TemporaryDirectory() as other:
            self.expect(1, tablet("sync", f"folder:{other}"), "keys join -")
            self.assertEqual(list(pathlib.Path(other).iterdir()), [])
            self.sync(desk, cloud=other)
            self.assertTrue(all(path.read_bytes()[:8] in (b"\x89HLOBJ\r\n", b"\x89HLKEY\r\n")
                                for path in pathlib.Path(other).rglob("*") if path.is_file()))

    def test_wrong_codes_and_calls(self):
        desk = self.device("desk")
        self.expect(1, desk("keys"), "not encrypted")
        self.expect(64, desk("keys", "show"))
        self.expect(64, desk("keys", "join"), "no recovery code")
        self.expect(64, desk("keys", "list", "--without", "12"))
        self.expect(64, desk("sync", desk.path + "-other", "--encrypted"), "folder:DIR")
        code = self.expect(0, desk("keys", "init")).out.splitlines()[-1]
        self.expect(1, desk("keys", "init"), "already")
        wrong = code[:-1] + ("0" if code[-1] != "0" else "1")
        self.expect(64, desk("keys", "join", wrong), "group 14")
        self.sync(desk)
        self.assertTrue((self.cloud / "keys").is_dir())

    def test_a_backup_has_no_key_of_the_vault(self):
        desk = self.device("desk")
        code = self.expect(0, desk("keys", "init")).out.splitlines()[-1]
        backup = self.cloud / "backup"
        self.expect(0, desk("backup", str(backup)))
        for path in [backup] if backup.is_file() else [path for path in backup.rglob("*") if path.is_file()]:
            self.assertNotIn(code.encode(), path.read_bytes())
            self.assertNotIn(b"HLKEY", path.read_bytes())


if __name__ == "__main__":
    unittest.main()
