"""Devices sync through WebDAV shares and buckets, whatever the servers do."""

import ipaddress
import pathlib
import random
import signal
import tempfile
import unittest

from cryptography import x509

from certificates import self_signed
from heartlog import TestCase, environment, seed
from storage import APACHE, BUCKET, HAS_MOTO, HAS_WSGIDAV, PASSWORD, USER, FailingProxy, apache, moto, wsgidav


class Served:
    """A server for all tests of a class, with a place of its own for each."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="heartlog-"))) / cls.kind
        folder.mkdir()
        cls.served = folder
        if cls.kind == "moto":
            cls.server, user, secret = moto(folder)
            cls.there, cls.options = f"s3://{BUCKET}/of anna, ", ("--endpoint", "http://127.0.0.1:{port}")
            cls.credentials = {"AWS_ACCESS_KEY_ID": user, "AWS_SECRET_ACCESS_KEY": secret}
        else:
            cls.server = {"apache": apache, "wsgidav": wsgidav}[cls.kind](folder)
            cls.there, cls.options = "dav://127.0.0.1:{port}/of%20anna,%20", ()
            cls.credentials = {"HEARTLOG_WEBDAV_USER": USER, "HEARTLOG_WEBDAV_PASSWORD": PASSWORD}
        cls.addClassCleanup(cls.server.end)

    def setUp(self):
        super().setUp()
        self.url, self.env = self.there + self._testMethodName, dict(self.credentials)

    def words(self, port=None):
        """How the program gets to the place."""
        return [word.format(port=port or self.server.port) for word in (self.url, *self.options)]

    def sync(self, store, *options, port=None):
        return store("sync", *self.words(port), *options, env=environment(**self.env))

    def same(self, *stores):
        digests = {store("status", "--json").object["digest"] for store in stores}
        self.assertEqual(len(digests), 1)

    def proxy(self, choose):
        proxy = FailingProxy(self.server.port, choose)
        self.addCleanup(proxy.end)
        return proxy


class Checks(Served):
    """What holds for each kind of server."""

    def test_devices_meet_there_with_few_requests(self):
        proxy = self.proxy(lambda method, path: None)
        stores = [self.store(name) for name in ("phone", "tablet", "desk")]
        for number, store in enumerate(stores):
            self.expect(0, store("add", "papers", f"paper {number}"))
        for _ in range(3):
            for store in stores:
                self.expect(0, self.sync(store, port=proxy.port))
        self.same(*stores)
        proxy.requests.clear()
        answer = self.expect(0, self.sync(stores[0], "--json", port=proxy.port))
        self.assertEqual(len(proxy.requests), 1, proxy.requests)
        self.assertEqual(answer.object["received"]["commits"], 0)
        # One tap: an object and what proves it, and the list.
        self.expect(0, stores[0]("toggle", "papers", "paper 1"))
        proxy.requests.clear()
        self.expect(0, self.sync(stores[0], port=proxy.port))
        self.assertLessEqual(len(proxy.requests), 5, proxy.requests)

    def test_an_encrypted_vault(self):
        phone, tablet = self.store("phone"), self.store("tablet")
        self.expect(0, phone("add", "papers", "a secret paper"))
        code = self.expect(0, self.sync(phone, "--encrypted")).out.splitlines()[-1]
        self.expect(1, self.sync(tablet))
        self.expect(0, tablet("keys", "join", "-", input=code + "\n"))
        for store in (tablet, phone, tablet):
            self.expect(0, self.sync(store))
        self.same(phone, tablet)
        for path in self.served.rglob("*"):
            if path.is_file():
                self.assertNotIn(b"secret paper", path.read_bytes(), path)

    def test_calls_that_fail_answers_that_are_lost_and_halves(self):
        chance = random.Random(seed())
        fails = True

        def choose(method, path):
            return chance.choice([None] * 8 + ["lost", "half", 500, 503]) if fails else None

        proxy = self.proxy(choose)
        stores = [self.store(name) for name in ("phone", "tablet")]
        for number in range(12):
            store = stores[number % 2]
            self.expect(0, store("toggle", "papers", f"paper {number % 5}"))
            answer = self.sync(store, port=proxy.port)
            # Half of an object that a server kept is named: it is damaged until its writer comes again.
            self.assertIn(answer.code, (0, 65, 74, 75), answer.err)
            self.assertNotIn(PASSWORD, answer.err + answer.out)
        fails = False
        for store in stores * 2:
            self.sync(store, port=proxy.port)
        for store in stores:
            self.expect(0, self.sync(store, port=proxy.port))
        self.same(*stores)


class CredentialChecks(Checks):
    """What holds for each kind of credentials."""

    def test_who_may_not_is_told_what_to_do(self):
        store = self.store()
        for name in list(self.env):
            if "USER" not in name:
                self.env[name] = "wrong"
        answer = self.expect(1, self.sync(store))
        self.assertIn("~/.aws/credentials" if self.kind == "moto" else "~/.netrc", answer.err)
        self.assertNotIn("wrong", answer.err)

    def test_credentials_from_files(self):
        home = self.folder / "home"
        (home / ".aws").mkdir(parents=True)
        if self.kind == "moto":
            (home / ".aws/credentials").write_text(
                "# mine\n[other]\naws_access_key_id = no\n\n[ anna ]\n"
                f"aws_access_key_id={self.env['AWS_ACCESS_KEY_ID']}\naws_secret_access_key = {self.env['AWS_SECRET_ACCESS_KEY']}\n")
            (home / ".aws/config").write_text("[profile anna]\nregion = eu-central-1\n")
            self.env = {"HOME": str(home), "AWS_PROFILE": "anna", "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.server.port}"}
            self.options = ()
        else:
            quoted = PASSWORD.replace('"', '\\"')
            (home / ".netrc").write_text(
                f'machine other.example login {USER} password no\nmacdef init\nmachine 127.0.0.1 login x password y\n\n'
                f'machine 127.0.0.1\n  login {USER} # me\n  password "{quoted}"\ndefault login z password z\n')
            self.env = {"HOME": str(home)}
        store = self.store()
        self.expect(0, store("toggle", "papers", "first"))
        self.expect(0, self.sync(store))


@unittest.skipUnless(APACHE, "Apache is not installed")
class ApacheTests(CredentialChecks, TestCase):
    kind = "apache"

    def test_a_server_that_hangs_is_left_at_the_deadline(self):
        store = self.store()
        self.expect(0, store("toggle", "papers", "first"))
        for hanging in ("PROPFIND", "PUT"):
            proxy = self.proxy(lambda method, path: "hang" if method == hanging else None)
            answer = self.sync(store, "--deadline", "1", port=proxy.port)
            self.assertEqual(answer.code, 75, answer.err)
        self.expect(0, self.sync(store))


@unittest.skipUnless(HAS_WSGIDAV, "WsgiDAV is not installed: Scripts/test installs it from PyPI")
class WsgiDAVTests(Checks, TestCase):
    kind = "wsgidav"


@unittest.skipUnless(HAS_MOTO, "moto is not installed: Scripts/test installs it from PyPI")
class S3Tests(CredentialChecks, TestCase):
    kind = "moto"


@unittest.skipUnless(APACHE, "Apache is not installed")
class WatchingTests(Served, TestCase):
    kind = "apache"

    def test_watching_sends_half_a_minute_after_the_last_round(self):
        proxy = self.proxy(lambda method, path: None)
        store = self.store()
        self.expect(0, store("toggle", "papers", "first"))
        process = store.start("sync", *self.words(proxy.port), "--watch", env=environment(**self.env))
        self.assertIn(b"synced with", process.stdout.readline())
        process.stdout.readline(), process.stdout.readline()
        before = len(proxy.requests)
        self.expect(0, store("toggle", "papers", "second"))
        self.assertIn(b"1 event in 1 commit sent", process.stdout.readline())
        lists = [method for method, _ in proxy.requests[before:] if method == "PROPFIND"]
        self.assertLessEqual(len(lists), 1)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(60), 0)
        process.stdout.close(), process.stderr.close()


class AddressTests(TestCase):
    def test_what_an_address_may_be(self):
        store = self.store("phone")
        for words, code, text in (
            (("dav://example.org/x",), 64, "not encrypted"),
            (("s3://b", "--endpoint", "http://example.org"), 64, "not encrypted"),
            (("davs://anna:word@example.org/x",), 64, "password"),
            (("davs://example.org/x", "--endpoint", "https://example.org"), 64, "endpoint"),
            (("davs://",), 64, "form davs://host/path"),
            (("dav://127.0.0.1:1/x",), 74, "cannot connect"),
            (("folder:x", "--endpoint", "https://example.org"), 64, "--endpoint"),
        ):
            answer = self.expect(code, store("sync", *words))
            self.assertIn(text, answer.err)
            self.assertNotIn("word@", answer.err)


@unittest.skipUnless(APACHE, "apache is not installed")
class TLSTests(TestCase):
    def test_a_share_over_tls_must_prove_its_name(self):
        for name, code in ((x509.IPAddress(ipaddress.ip_address("127.0.0.1")), 0), (x509.DNSName("localhost"), 74)):
            folder = self.folder / str(name.value)
            folder.mkdir()
            paths = self_signed(folder, name)
            server = apache(folder, *paths)
            self.addCleanup(server.end)
            store = self.store(f"store-{name.value}")
            self.expect(0, store("toggle", "papers", "first"))
            env = environment(HEARTLOG_WEBDAV_USER=USER, HEARTLOG_WEBDAV_PASSWORD=PASSWORD, SSL_CERT_FILE=str(paths[0]))
            answer = self.expect(code, store("sync", f"davs://127.0.0.1:{server.port}/x", env=env))
            if code:
                self.assertIn("Nothing was sent", answer.err)


if __name__ == "__main__":
    unittest.main()
