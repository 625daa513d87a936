"""A hub serves what docs/hub.md says, whoever sends it whatever, and has all that it acknowledged after a kill."""

import hashlib
import http.client
import json
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from heartlog import BINARY, SECONDS_MAX, seed

HUB = os.environ.get("HEARTLOG_HUB_BIN") or str(pathlib.Path(BINARY).parent / "heartlog-hub")
HOSTILE = int(os.environ.get("HOSTILE") or 3_000)
MEMORY_MAX = 400 << 20  # of a process that may hold 256 MiB of bodies


class Hub:
    """A hub that runs, and what it says."""

    def __init__(self, data, *options):
        self.process = subprocess.Popen(
            [HUB, "--listen", "127.0.0.1:0", "--data", str(data), "--rate", "1000000", *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        line = self.process.stdout.readline().decode()
        if not line.startswith("listening on http://127.0.0.1:"):
            raise AssertionError(f"no first line: {line!r} {self.process.stderr.read()!r}")
        self.port = int(line.rsplit(":", 1)[1])
        self.log = []
        self.reader = threading.Thread(target=lambda: self.log.extend(self.process.stderr), daemon=True)
        self.reader.start()

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        code = self.process.wait(SECONDS_MAX)
        self.reader.join(SECONDS_MAX)
        self.process.stdout.close()
        self.process.stderr.close()
        return code

    def memory(self):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) << 10
        raise AssertionError("no VmRSS")

    def raw(self, sent, seconds=1):
        """What is answered to these bytes: one answer, or what came up to the end of the connection or a pause."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=seconds) as connection:
            found = b""
            try:
                connection.sendall(sent)
                connection.shutdown(socket.SHUT_WR)
                while part := connection.recv(65_536):
                    found += part
                    head, end, body = found.partition(b"\r\n\r\n")
                    length = re.search(rb"Content-Length: (\d+)", head)
                    if end and length and len(body) >= int(length[1]):
                        break
            except (ConnectionError, TimeoutError):
                pass
            return found

    def status(self, sent):
        found = self.raw(sent)
        return int(found.split(b" ", 2)[1]) if found.startswith(b"HTTP/1.") else None


class Device:
    """A key, and a connection with a session."""

    def __init__(self, hub, vault, key=None):
        self.hub, self.vault = hub, vault
        self.key = key or Ed25519PrivateKey.generate()
        self.public = self.key.public_key().public_bytes_raw().hex()
        self.connection = http.client.HTTPConnection("127.0.0.1", hub.port, timeout=SECONDS_MAX)
        self.session = None

    def request(self, method, path, body=None, session=None, host=None):
        headers = {"Host": host or f"127.0.0.1:{self.hub.port}"}
        if session or self.session:
            headers["Authorization"] = f"Bearer {session or self.session}"
        if isinstance(body, dict):
            body = json.dumps(body).encode()
        self.connection.request(method, path, body, headers)
        answer = self.connection.getresponse()
        return answer.status, answer.read()

    def proof(self, host=None, vault=None):
        status, body = self.request("POST", "/v1/challenges", {})
        assert status == 200, (status, body)
        challenge = json.loads(body)["challenge"]
        message = b"heartlog hub 1\0" + bytes.fromhex(vault or self.vault) + bytes.fromhex(challenge) + (
            host or f"127.0.0.1:{self.hub.port}").encode()
        return {"key": self.public, "challenge": challenge, "signature": self.key.sign(message).hex()}

    def create(self, **more):
        status, body = self.request("PUT", f"/v1/vaults/{self.vault}", self.proof() | more)
        if status in (200, 201):
            self.session = json.loads(body)["session"]
        return status, body

    def open(self):
        status, body = self.request("POST", "/v1/sessions", self.proof() | {"vault": self.vault})
        if status == 200:
            self.session = json.loads(body)["session"]
        return status, body

    def path(self, name):
        return f"/v1/vaults/{self.vault}/objects/{name}"

    def put(self, name, body):
        return self.request("PUT", self.path(name), body)[0]


def run_name(number, writer="a" * 32, stream="b" * 32):
    return f"{writer}/{stream}/{number:016}-{number:016}-{'0' * 16}-{'f' * 16}.run"


class HubTests(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.data = pathlib.Path(self.folder.name) / "hub"

    def hub(self, *options):
        hub = Hub(self.data, *options)
        self.addCleanup(lambda: hub.process.poll() is None and hub.end(signal.SIGKILL))
        return hub

    def device(self, hub, vault="0" * 31 + "1"):
        device = Device(hub, vault)
        self.addCleanup(device.connection.close)
        return device

    def test_objects_are_stored_listed_told_and_deleted(self):
        hub = self.hub()
        device = self.device(hub)
        self.assertEqual(device.create()[0], 201)
        self.assertEqual(device.put(run_name(1), b"one"), 201)
        self.assertEqual(device.put(run_name(1), b"one"), 200)
        self.assertEqual(device.put(run_name(1), b"two"), 409)
        status, body = device.request("GET", f"/v1/vaults/{device.vault}/objects")
        listed = json.loads(body)
        self.assertEqual((status, listed["objects"], listed["hasMore"]), (200, [[run_name(1), 3]], False))
        with socket.create_connection(("127.0.0.1", hub.port), timeout=SECONDS_MAX) as stream:
            stream.sendall((f"GET /v1/vaults/{device.vault}/changes?after={listed['cursor']} HTTP/1.1\r\nHost: 127.0.0.1:{hub.port}\r\n"
                            f"Authorization: Bearer {device.session}\r\n\r\n").encode())
            found = b""
            while b":\n\n" not in found:
                found += stream.recv(4_096)
            self.assertEqual(device.put("keys/" + "c" * 32, b"key"), 201)
            while b"data: " not in found or not found.endswith(b"\n\n\r\n"):
                found += stream.recv(4_096)
        self.assertIn(b"keys/" + b"c" * 32, found)
        self.assertEqual(device.request("GET", device.path(run_name(1))), (200, b"one"))
        self.assertEqual(device.request("DELETE", device.path(run_name(1)))[0], 204)
        self.assertEqual(device.request("DELETE", device.path(run_name(1)))[0], 204)
        self.assertEqual(device.request("GET", device.path(run_name(1)))[0], 404)
        self.assertEqual(hub.end(), 0)

    def test_a_removed_key_is_out_at_once(self):
        hub = self.hub()
        first, second = self.device(hub), self.device(hub)
        first.create()
        self.assertEqual(second.open()[0], 403)
        keys = f"/v1/vaults/{first.vault}/keys"
        self.assertEqual(first.request("POST", keys, {"admit": [second.public]})[0], 200)
        self.assertEqual(second.open()[0], 200)
        self.assertEqual(second.put(run_name(1), b"1"), 201)
        self.assertEqual(first.request("POST", keys, {"remove": [second.public]})[0], 200)
        self.assertEqual(second.put(run_name(2), b"2"), 401)
        self.assertEqual(first.request("POST", keys, {"remove": [first.public]})[0], 400)
        self.assertEqual(hub.end(signal.SIGINT), 0)

    def test_challenges_and_signatures_are_good_once(self):
        hub = self.hub()
        device = self.device(hub)
        device.create()
        proof = device.proof() | {"vault": device.vault}
        self.assertEqual(device.request("POST", "/v1/sessions", proof)[0], 200)
        self.assertEqual(device.request("POST", "/v1/sessions", proof)[0], 401)
        wrong = device.proof(host="elsewhere") | {"vault": device.vault}
        self.assertEqual(device.request("POST", "/v1/sessions", wrong)[0], 403)
        self.assertEqual(device.request("POST", "/v1/sessions", wrong)[0], 401)
        other = device.proof(vault="0" * 31 + "2") | {"vault": "0" * 31 + "2"}
        self.assertEqual(device.request("POST", "/v1/sessions", other)[0], 403)
        self.assertEqual(hub.end(), 0)

    def test_hosts_and_invitations(self):
        words = pathlib.Path(self.folder.name) / "words"
        words.write_text("spring\nautumn\n")
        hub = self.hub("--name", "127.0.0.1", "--invitations", str(words))
        device, other = self.device(hub), self.device(hub, "0" * 31 + "2")
        self.assertEqual(device.request("POST", "/v1/challenges", {}, host="elsewhere")[0], 403)
        self.assertEqual(device.create()[0], 403)
        self.assertEqual(device.create(invitation="winter")[0], 403)
        self.assertEqual(device.create(invitation="spring")[0], 201)
        self.assertEqual(other.create(invitation="spring")[0], 403)
        self.assertEqual(other.create(invitation="autumn")[0], 201)
        self.assertEqual(device.create()[0], 200)
        self.assertEqual(hub.end(), 0)
        for line in hub.log:
            for secret in ("spring", "autumn", device.session, other.session):
                self.assertNotIn(secret.encode(), line)
            json.loads(line)

    def test_hostile_requests_are_refused_and_it_stays(self):
        chance = random.Random(seed())
        hub = self.hub()
        device, stranger = self.device(hub), self.device(hub, "0" * 31 + "2")
        device.create()
        stranger.create()
        head = f"Host: 127.0.0.1:{hub.port}\r\nAuthorization: Bearer {device.session}\r\n"
        vault = f"/v1/vaults/{device.vault}"
        put = "PUT {} HTTP/1.1\r\n" + head
        name = run_name(1)
        cases = [
            (put.format(f"{vault}/objects/{name}") + "Content-Length: 134283265\r\n\r\n", {413}),
            (put.format(f"{vault}/objects/{name}") + "Content-Length: 99999999999999999999999\r\n\r\n", {400, 413}),
            (put.format(f"{vault}/objects/{name}") + "Content-Length: -1\r\n\r\n", {400}),
            (put.format(f"{vault}/objects/{name}") + "\r\n", {411}),
            (put.format(f"{vault}/objects/{name}") + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", {411}),
            (put.format(f"{vault}/objects/../../{name}") + "Content-Length: 1\r\n\r\nx", {400}),
            (put.format(f"{vault}/objects//{name}") + "Content-Length: 1\r\n\r\nx", {400}),
            (put.format(f"{vault}/objects/{name.replace('/', '%2f')}") + "Content-Length: 1\r\n\r\nx", {400}),
            (put.format(f"{vault}/objects/{name}%00") + "Content-Length: 1\r\n\r\nx", {400}),
            (put.format(f"{vault}/objects/etc/passwd") + "Content-Length: 1\r\n\r\nx", {400}),
            (put.format(f"{vault}/objects/keys/{'C' * 32}") + "Content-Length: 1\r\n\r\nx", {400}),
            (put.format(f"{vault}/objects/{name}".replace(device.vault, stranger.vault)) + "Content-Length: 1\r\n\r\nx", {403}),
            (put.format(f"{vault}/objects/{name}").replace(device.session, "A" * 22) + "Content-Length: 1\r\n\r\nx", {401}),
            (put.format("/" + "a" * 1_100) + "Content-Length: 1\r\n\r\nx", {414}),
            (put.format("/v1/vaults/xyz") + "Content-Length: 1\r\n\r\nx", {400}),
            (f"GET {vault}/objects?limit=0 HTTP/1.1\r\n{head}\r\n", {400}),
            (f"GET {vault}/objects?limit=1001 HTTP/1.1\r\n{head}\r\n", {400}),
            (f"GET {vault}/objects?after=zzz HTTP/1.1\r\n{head}\r\n", {400}),
            (f"PATCH {vault}/keys HTTP/1.1\r\n{head}\r\n", {405}),
            (f"GET /v2 HTTP/1.1\r\n{head}\r\n", {404}),
            (f"GET {vault}/keys HTTP/1.1\r\nHost: a\r\n\r\n", {401}),
            (f"GET {vault}/keys HTTP/1.1\r\n{head}X: {'y' * 20_000}\r\n\r\n", {431}),
            (f"POST {vault}/keys HTTP/1.1\r\n{head}Content-Length: 65537\r\n\r\n", {413}),
            (f"POST {vault}/keys HTTP/1.1\r\n{head}Content-Length: 1\r\n\r\n[", {400}),
            (f"POST /v1/sessions HTTP/1.1\r\n{head}Content-Length: 2\r\n\r\n{{}}", {400}),
            ("\0\0\0\0\r\n\r\n", {400, None}),
            ("GET\r\n\r\n", {400, None}),
        ]
        for sent, expected in cases:
            self.assertIn(hub.status(sent.encode()), expected, sent[:300])

        def vary(sent):
            sent = bytearray(sent.encode())
            for _ in range(chance.randrange(1, 4)):
                place = chance.randrange(len(sent))
                match chance.randrange(3):
                    case 0: sent[place] = chance.randrange(256)
                    case 1: del sent[place:place + chance.randrange(1, 9)]
                    case 2: sent[place:place] = bytes(chance.randrange(256) for _ in range(chance.randrange(1, 9)))
                if not sent:
                    break
            return bytes(sent)

        slow = []
        for _ in range(100):
            connection = socket.create_connection(("127.0.0.1", hub.port))
            self.addCleanup(connection.close)
            connection.sendall(cases[3][0].encode()[:chance.randrange(1, 80)])
            slow.append(connection)
        sent = [vary(chance.choice(cases)[0].replace(device.session, chance.choice(("A" * 22, "B" * 21, ""))))
                for _ in range(HOSTILE)]
        with ThreadPoolExecutor(32) as pool:
            for bytes_sent, status in zip(sent, pool.map(hub.status, sent)):
                # Without a session, nothing of a vault is answered.
                self.assertTrue(status is None or status >= 400, (status, bytes_sent[:300]))
        # Bodies that are announced and never come.
        for number in range(50):
            connection = socket.create_connection(("127.0.0.1", hub.port))
            self.addCleanup(connection.close)
            connection.sendall((put.format(f"{vault}/objects/{run_name(number + 10)}") + "Content-Length: 67108864\r\n\r\n").encode() + bytes(1_000))
            slow.append(connection)
        self.assertIsNone(hub.process.poll())
        self.assertLess(hub.memory(), MEMORY_MAX)
        self.assertEqual(device.request("GET", "/healthz"), (200, b"ok"))
        status, body = device.request("GET", f"{vault}/objects")
        self.assertEqual((status, json.loads(body)["objects"]), (200, []))
        for connection in slow:
            connection.close()
        self.assertEqual(hub.end(), 0)
        for line in hub.log:
            self.assertNotIn(device.session.encode(), line)

    def test_what_was_acknowledged_is_there_after_a_kill(self):
        chance = random.Random(seed())
        acknowledged = {}
        vault = "0" * 31 + "1"
        keys = [Ed25519PrivateKey.generate() for _ in range(8)]
        for round_number in range(3):
            hub = self.hub()
            owner = Device(hub, vault, keys[0])
            self.assertIn(owner.create()[0], (200, 201))
            owner.request("POST", f"/v1/vaults/{vault}/keys", {"admit": [
                key.public_key().public_bytes_raw().hex() for key in keys]})

            def work(index):
                device = Device(hub, vault, keys[index])
                own = random.Random(index * 1_000 + round_number)
                try:
                    device.open()
                    for number in range(100_000):
                        name = run_name(number, writer=f"{round_number:016x}{index:016x}")
                        body = own.randbytes(own.randrange(1, 5_000))
                        if device.put(name, body) == 201:
                            acknowledged[name] = hashlib.sha256(body).digest()
                except (OSError, http.client.HTTPException, AssertionError):
                    pass  # it was killed
                finally:
                    device.connection.close()

            threads = [threading.Thread(target=work, args=(index,)) for index in range(8)]
            for thread in threads:
                thread.start()
            wanted = len(acknowledged) + 300 + chance.randrange(300)
            while len(acknowledged) < wanted and any(thread.is_alive() for thread in threads):
                time.sleep(0.005)
            hub.end(signal.SIGKILL)
            for thread in threads:
                thread.join(SECONDS_MAX)
            owner.connection.close()
            self.assertGreaterEqual(len(acknowledged), wanted)
        hub = self.hub()
        owner = Device(hub, vault, keys[0])
        self.addCleanup(owner.connection.close)
        self.assertEqual(owner.open()[0], 200)
        for name, digest in acknowledged.items():
            status, body = owner.request("GET", owner.path(name))
            self.assertEqual((status, hashlib.sha256(body).digest()), (200, digest), name)
        self.assertEqual(hub.end(), 0)

    def test_the_command_line_says_what_is_wrong(self):
        def hub(*words):
            return subprocess.run([HUB, *words], capture_output=True, text=True, timeout=SECONDS_MAX)
        self.assertEqual(hub("--help").returncode, 0)
        self.assertEqual(hub().returncode, 64)
        self.assertEqual(hub("--listen", "127.0.0.1:0").returncode, 64)
        self.assertEqual(hub("--listen", "127.0.0.1:0", "--data", str(self.data), "--rate", "x").returncode, 64)
        self.assertEqual(hub("--listen", "nonsense", "--data", str(self.data)).returncode, 64)
        self.hub()
        second = hub("--listen", "127.0.0.1:0", "--data", str(self.data))
        self.assertEqual(second.returncode, 75)
        self.assertIn("another process", second.stderr)


if __name__ == "__main__":
    unittest.main()
