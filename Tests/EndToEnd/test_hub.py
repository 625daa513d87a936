"""A hub serves what docs/hub.md says, whoever sends it whatever, and has all that it acknowledged after a kill."""

import collections
import contextlib
import hashlib
import http.client
import json
import os
import pathlib
import random
import re
import signal
import socket
import sqlite3
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor

from heartlog import SECONDS_MAX, Store, seed
from hostile_requests import NAME, HostileRequests
from hub import HUB, NEEDS_HUB
from hub_process import NEEDS_CRYPTOGRAPHY, Device, Ed25519PrivateKey, HubProcess, run_name, status_of
from strace import is_usable

HOSTILE = int(os.environ.get("HOSTILE") or 10_000)
# All that docs/hub.md has under "Errors", and what libmicrohttpd answers to another version of HTTP.
REFUSALS = {400, 401, 403, 404, 405, 409, 411, 413, 414, 429, 431, 503, 505, 507}
# Answered by libmicrohttpd itself, which says it in HTML.
REFUSALS_OF_LIBRARY = {400, 413, 414, 431, 505}
# What hostile requests may add to the memory of a hub: 64 KiB for each of the 300 connections that are open at a time, as much again for the
# bodies and answers of those, a few megabytes for what is kept of nonces and sessions, and what the allocator does not give back.
MEMORY_GROWTH_MAX = 64 << 20


@NEEDS_HUB
@NEEDS_CRYPTOGRAPHY
class HubTests(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.data = pathlib.Path(self.folder.name) / "hub"
        self.database = str(self.data / "hub.db")

    def hub(self, *options, limit=None):
        hub = HubProcess("--database", self.database, *(() if "--rate" in options else ("--rate", "1000000")), *options, limit=limit)
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

    def test_a_nonce_opens_one_session(self):
        hub = self.hub()
        device = self.device(hub)
        device.create()
        proof = device.proof() | {"vault": device.vault}
        self.assertEqual(device.request("POST", "/v1/sessions", proof)[0], 200)
        self.assertEqual(device.request("POST", "/v1/sessions", proof)[0], 401)
        wrong = device.proof(host="elsewhere") | {"vault": device.vault}
        self.assertEqual(device.request("POST", "/v1/sessions", wrong)[0], 403)
        # A signature is for the host that is asked.
        self.assertEqual(device.request("POST", "/v1/sessions", device.proof() | {"vault": device.vault}, host="localhost:%d" % hub.port)[0], 403)
        old = device.proof() | {"vault": device.vault, "nonce": "0" * 64}
        status, body = device.request("POST", "/v1/sessions", old)
        self.assertEqual(status, 401)
        self.assertLess(abs(json.loads(body)["time"] - time.time()), 60)
        other = device.proof(vault="0" * 31 + "2") | {"vault": "0" * 31 + "2"}
        self.assertEqual(device.request("POST", "/v1/sessions", other)[0], 403)
        self.assertEqual(hub.end(), 0)

    def test_a_refusal_does_not_reveal_whether_a_vault_exists(self):
        words = pathlib.Path(self.folder.name) / "words"
        words.write_text("spring\nautumn\n")
        hub = self.hub("--invitations", str(words))
        self.assertEqual(self.device(hub).create(invitation="spring")[0], 201)
        for more in {}, {"invitation": "winter"}, {"invitation": "spring"}:
            refused = {self.device(hub, "0" * 31 + number).create(**more) for number in "12"}
            self.assertEqual([status for status, _ in refused], [403], more)
        self.assertEqual(len({self.device(hub, "0" * 31 + number).open() for number in "12"}), 1)

    def test_a_hub_has_a_name_unless_only_this_machine_reaches_it(self):
        started = subprocess.run([HUB, "--listen", "0.0.0.0:0", "--database", self.database], capture_output=True, text=True, timeout=SECONDS_MAX)
        self.assertEqual(started.returncode, 64)
        self.assertIn("--name", started.stderr)
        hub = self.hub()
        device = self.device(hub)
        for host, status in (f"localhost:{hub.port}", 400), (f"127.0.0.1:{hub.port}", 400), ("127.0.0.1", 403), ("hub.example", 403):
            self.assertEqual(device.request("POST", "/v1/sessions", {}, host=host)[0], status, host)
        self.assertEqual(device.request("GET", "/healthz", host="hub.example")[0], 200)

    def test_a_hub_that_others_reach_wants_invitations_or_is_open_in_so_many_words(self):
        words = pathlib.Path(self.folder.name) / "words"
        words.write_text("spring\n")
        public = ["--listen", "0.0.0.0:0", "--name", "127.0.0.1"]
        for options, said in (
                (public, "--invitations FILE"), (public, "--open"), ([*public, "--open", "--invitations", str(words)], "--open"),
                ([*public, "--open=no"], "--open=no")):
            started = subprocess.run([HUB, "--database", self.database, *options], capture_output=True, text=True, timeout=SECONDS_MAX)
            self.assertEqual(started.returncode, 64, options)
            self.assertIn(said, started.stderr)
        self.assertFalse(self.data.exists())
        hub = self.hub(*public, "--invitations", str(words))
        self.assertEqual([self.device(hub).create()[0], self.device(hub).create(invitation="spring")[0]], [403, 201])
        self.assertEqual(hub.end(), 0)
        self.assertEqual(self.device(self.hub(*public, "--open"), "0" * 31 + "2").create()[0], 201)

    def test_two_bodies_do_not_keep_others_out(self):
        hub = self.hub()
        large, other = self.device(hub, "0" * 31 + "2"), self.device(hub)
        large.create()
        other.create()
        most = 134_283_264
        for number in range(2):
            connection = socket.create_connection(("127.0.0.1", hub.port), timeout=SECONDS_MAX)
            self.addCleanup(connection.close)
            connection.sendall(f"PUT {large.path(run_name(number + 1))} HTTP/1.1\r\nHost: 127.0.0.1:{hub.port}\r\n"
                               f"Authorization: Bearer {large.session}\r\nContent-Length: {most}\r\n\r\n".encode())
            # All but the last byte of what the hub keeps in memory at a time.
            for start in range(0, (128 << 20) - (1 << 16), 1 << 20):
                connection.sendall(bytes(min(1 << 20, (128 << 20) - (1 << 16) - start)))
        for number in range(1, 4):
            self.assertEqual(other.put(run_name(number), bytes(number << 20)), 201)
        self.assertEqual(other.request("GET", other.path(run_name(3))), (200, bytes(3 << 20)))

    def test_idle_connections_of_one_address_do_not_fill_it(self):
        hub = self.hub(limit=128)
        device = self.device(hub)
        device.create()
        for _ in range(400):
            connection = socket.create_connection(("127.0.0.1", hub.port), timeout=SECONDS_MAX)
            self.addCleanup(connection.close)
        for source in "127.0.0.1", "127.0.0.2":
            asking = Device(hub, device.vault, source=source)
            self.addCleanup(asking.connection.close)
            self.assertEqual(asking.request("GET", "/healthz"), (200, b"ok"))
            self.assertEqual(asking.request("POST", "/v1/sessions", {})[0], 400)

    def test_busy_connections_of_one_address_leave_room_for_health(self):
        hub = self.hub(limit=128)
        device = self.device(hub)
        device.create()
        sessions = [device.session] + [json.loads(device.open()[1])["session"] for _ in range(7)]
        for session in sessions * 4:
            stream = socket.create_connection(("127.0.0.1", hub.port), timeout=SECONDS_MAX)
            self.addCleanup(stream.close)
            stream.sendall(f"GET /v1/vaults/{device.vault}/changes HTTP/1.1\r\nHost: 127.0.0.1:{hub.port}\r\n"
                           f"Authorization: Bearer {session}\r\n\r\n".encode())
        for _ in range(3):
            asking = Device(hub, device.vault)
            self.addCleanup(asking.connection.close)
            self.assertEqual(asking.request("GET", "/healthz"), (200, b"ok"))
            asking.connection.close()
        asking = Device(hub, device.vault, source="127.0.0.2")
        self.addCleanup(asking.connection.close)
        self.assertEqual(asking.request("POST", "/v1/sessions", {})[0], 400)

    def test_a_session_has_four_streams(self):
        hub = self.hub()
        device = self.device(hub)
        device.create()
        streams = []
        for _ in range(5):
            stream = socket.create_connection(("127.0.0.1", hub.port), timeout=SECONDS_MAX)
            self.addCleanup(stream.close)
            stream.sendall(f"GET /v1/vaults/{device.vault}/changes HTTP/1.1\r\nHost: 127.0.0.1:{hub.port}\r\n"
                           f"Authorization: Bearer {device.session}\r\n\r\n".encode())
            found = b""
            while b":\n\n" not in found:
                found += stream.recv(4_096)
            streams.append(stream)
        found = b""
        while not found.endswith(b"0\r\n\r\n"):
            found += streams[0].recv(4_096)
        device.put(run_name(1), b"1")
        for stream in streams[1:]:
            found = b""
            while run_name(1).encode() not in found:
                found += stream.recv(4_096)

    def test_a_header_that_comes_a_byte_at_a_time_is_not_waited_for(self):
        hub = self.hub()
        sent = f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{hub.port}\r\nX: {'y' * 1_000}".encode()
        with socket.create_connection(("127.0.0.1", hub.port)) as connection:
            connection.settimeout(0.5)
            for place in range(len(sent)):
                try:
                    connection.sendall(sent[place:place + 1])
                    if not connection.recv(1):
                        break
                except TimeoutError:
                    continue
                except ConnectionError:
                    break
            else:
                self.fail("the connection is still open")

    def epoch(self, vault, generation, root, devices, maker, removed=()):
        """The object of an epoch with what a hub verifies of it, and its name: docs/encryption.md."""
        def recipient(device):
            # Two members have different agreement keys. A hub verifies neither their announcements nor the wrapped keys.
            return bytes.fromhex(device.public) * 2 + bytes(64 + 48)
        body = b"\x89HLKEY\r\n\x01" + bytes.fromhex(vault) + bytes((generation, generation + 1)) + bytes(64)
        body += (b"\x01" + bytes(16 + 48) if generation else b"\0") + recipient(root) + bytes((len(devices),))
        body += b"".join(sorted(map(recipient, devices))) + bytes((len(removed),))
        body += b"".join(hashlib.sha256(bytes.fromhex(device.public)).digest()[:16] + b"\0" for device in removed)
        body += bytes(16) + b"\x01" + bytes.fromhex(maker.public)
        body += maker.key.sign(b"heartlog epoch 1\0" + body)
        return body, f"keys/{hashlib.sha256(body).hexdigest()[:32]}"

    def test_the_root_of_an_encrypted_vault_outranks_its_members(self):
        hub = self.hub()
        root = self.device(hub)
        vault = "656e6331" + hashlib.sha256(b"heartlog vault 1\0" + bytes.fromhex(root.public)).hexdigest()[:24]
        root.vault = vault
        phone, stolen, stranger, next_root = (self.device(hub, vault) for _ in range(4))
        first, first_name = self.epoch(vault, 0, root, [phone, stolen], root)
        forged, _ = self.epoch(vault, 0, stranger, [stranger], stranger)
        # The id belongs to its root: nobody else begins the vault, and nobody without what leads to the key that asks.
        for device, objects in (phone, []), (stranger, [first]), (stranger, [forged]), (phone, [forged]), (phone, [first[:-1] + b"x"]):
            self.assertEqual(device.create(objects=[content.hex() for content in objects])[0], 403)
        self.assertEqual(phone.create(objects=[first.hex()])[0], 201)
        self.assertEqual([name for name, _ in phone.list()], [first_name])
        self.assertEqual([stolen.open()[0], root.open()[0], stranger.open()[0]], [200, 200, 403])
        keys = f"/v1/vaults/{vault}/keys"
        listed = json.loads(phone.request("GET", keys)[1])
        self.assertEqual((set(listed["keys"]), listed["root"]), ({phone.public, stolen.public}, root.public))

        def run(device, number):
            writer = hashlib.sha256(bytes.fromhex(device.public)).hexdigest()[:32]
            return run_name(number, writer=writer, stream=writer)
        self.assertEqual([phone.put(run(phone, 1), b"1"), stolen.put(run(stolen, 1), b"2")], [201, 201])
        # A member's key alone removes nobody, deletes nothing of others, and writes in nobody's name.
        self.assertEqual(stolen.request("POST", keys, {"remove": [phone.public]})[0], 403)
        self.assertEqual(stolen.request("DELETE", stolen.path(run(phone, 1)))[0], 403)
        self.assertEqual(stolen.request("DELETE", stolen.path(first_name))[0], 403)
        self.assertEqual(stolen.put(run(phone, 2), b"2"), 403)
        self.assertEqual(stolen.put("keys/" + "0" * 32, b"2"), 403)
        rotation, name = self.epoch(vault, 1, next_root, [phone], root, removed=[stolen])
        self.assertEqual(phone.put(name, rotation), 201)
        self.assertEqual([stolen.put(run(stolen, 2), b"2"), stolen.open()[0], root.open()[0]], [401, 403, 403])
        self.assertEqual(phone.list(), [(first_name, len(first)), (run(phone, 1), 1), (name, len(rotation))])
        self.assertEqual(next_root.open()[0], 200)
        self.assertEqual(phone.request("POST", keys, {"admit": [stolen.public]})[0], 200)
        self.assertEqual(stolen.open()[0], 403)
        self.assertEqual(next_root.request("DELETE", phone.path(first_name))[0], 204)
        self.assertEqual(hub.end(), 0)

    def test_the_operator_removes_a_vault(self):
        hub = self.hub()
        device = self.device(hub)
        device.create()
        self.assertEqual(device.put(run_name(1), b"1"), 201)
        reset = [HUB, "--reset", device.vault, "--database", self.database]
        self.assertEqual(subprocess.run(reset, capture_output=True, timeout=SECONDS_MAX).returncode, 75)
        self.assertEqual(hub.end(), 0)
        self.assertEqual(subprocess.run([HUB, "--reset", "x", "--database", self.database], capture_output=True, timeout=SECONDS_MAX).returncode, 64)
        self.assertEqual([subprocess.run(reset, capture_output=True, timeout=SECONDS_MAX).returncode for _ in range(2)], [0, 66])
        other = self.device(self.hub())
        self.assertEqual(other.create()[0], 201)
        self.assertEqual(other.list(), [])

    def test_hosts_and_invitations(self):
        words = pathlib.Path(self.folder.name) / "words"
        words.write_text("spring\nautumn\n")
        hub = self.hub("--name", "127.0.0.1", "--invitations", str(words))
        device, other = self.device(hub), self.device(hub, "0" * 31 + "2")
        self.assertEqual(device.request("POST", "/v1/sessions", {}, host="elsewhere")[0], 403)
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
        victim, stranger, removed = self.device(hub), self.device(hub, "0" * 31 + "2"), self.device(hub)
        for device in victim, stranger:
            self.assertEqual(device.create()[0], 201)
        secret = chance.randbytes(32).hex()
        hidden = run_name(1, writer=chance.randbytes(16).hex())
        self.assertEqual(victim.put(hidden, secret.encode() * 20), 201)
        keys = f"/v1/vaults/{victim.vault}/keys"
        victim.request("POST", keys, {"admit": [removed.public]})
        self.assertEqual(removed.open()[0], 200)
        victim.request("POST", keys, {"remove": [removed.public]})
        before = victim.list(), victim.request("GET", keys)
        proofs = threading.Lock()  # one connection makes them

        def proof():
            with proofs:
                return stranger.proof()

        requests = HostileRequests(chance, f"127.0.0.1:{hub.port}", stranger.vault, stranger.session, victim.vault, proof)
        drawn = [requests.draw() for _ in range(HOSTILE // 2)]
        mutated = [requests.mutated() for _ in range(HOSTILE - len(drawn))]
        over = threading.Event()
        slow = self.slow_connections(hub, requests, over)
        answers = []

        def check(sent, expected):
            answer = hub.raw(sent, SECONDS_MAX)
            self.assertIn(status_of(answer), expected, (sent[:400], answer[:400]))
            # A length that is no number is what the library refuses itself.
            self.check_refusal(sent, answer, is_of_hub=b"content-length" not in sent.lower())
            return answer

        memory = None
        with ThreadPoolExecutor(32) as pool:
            for start in range(0, len(drawn), 500):
                answers += pool.map(lambda drawn: check(*drawn), drawn[start:start + 500])
                memory = memory or hub.memory()
                self.assertEqual(victim.request("GET", "/healthz"), (200, b"ok"))
            statuses = collections.Counter(map(status_of, answers))
            # Without a proof of each status, the kinds of requests would be fewer than they seem.
            self.assertLessEqual({400, 401, 403, 404, 405, 411, 413, 414, 431}, set(statuses))
            found = list(pool.map(hub.raw, mutated, [0.3] * len(mutated)))
        for sent, answer in zip(mutated, found):
            status = status_of(answer)
            self.assertTrue(status is None or status in REFUSALS or status in (200, 201, 204), (sent, answer[:400]))
            # What is stored has the name that was sent, not a part of it. An empty query is none.
            if status == 201 and sent.startswith(b"PUT") and b"/objects/" in sent:
                self.assertRegex(sent, rb"/objects/%b\??[ \t]" % NAME.pattern.encode())
            if status and status >= 400:
                self.check_refusal(sent, answer)
        self.check_replays(hub, victim, stranger, removed)
        # What belongs to somebody else is in no answer, and as it was.
        for sent, answer in zip([sent for sent, _ in drawn] + mutated, answers + found):
            for text in secret, hidden, victim.session, victim.public:
                self.assertNotIn(text.encode(), answer, sent[:400])
        self.assertEqual((victim.list(), victim.request("GET", keys)), before)
        self.assertEqual(victim.request("GET", victim.path(hidden)), (200, secret.encode() * 20))
        stored = stranger.list()
        sent = b"\n".join(mutated)
        for name, size in stored:
            self.assertRegex(name, rf"\A{NAME.pattern}\Z")
            self.assertIn(f"{stranger.vault}/objects/{name}".encode(), sent)
            status, body = stranger.request("GET", stranger.path(name))
            self.assertEqual((status, len(body)), (200, size))
        over.set()
        for connection in slow:
            with connection:
                connection.settimeout(SECONDS_MAX)
                # Who is silent in the middle of a request is not waited for.
                while connection.recv(65_536):
                    pass
        growth = hub.memory() - memory
        self.assertLess(growth, MEMORY_GROWTH_MAX)
        print(f"{len(drawn)} hostile requests, {len(mutated)} changed ones: "
              f"{dict(sorted(collections.Counter(str(status_of(answer)) for answer in answers + found).items()))}, "
              f"{len(stored)} objects of a valid session, {growth >> 10} KiB more", flush=True)
        self.assertEqual(victim.request("GET", "/healthz"), (200, b"ok"))
        # The stranger's first session may stand in the body of a changed request, which was stored.
        self.assertEqual(stranger.open()[0], 200)
        sessions = [victim.session, stranger.session, removed.session]
        sessions += re.findall(r'"session":"([^"]{22})"', b"\n".join(found).decode("latin-1"))
        self.assertEqual(hub.end(), 0)
        self.check_secrets(hub, [*sessions, *(device.key.private_bytes_raw().hex() for device in (victim, stranger, removed))])

    def check_refusal(self, sent, answer, is_of_hub=False):
        """A sentence in JSON, unless the library refused what came, before the hub saw it."""
        body = answer.partition(b"\r\n\r\n")[2]
        if not is_of_hub and (not body or status_of(answer) in REFUSALS_OF_LIBRARY and b"<html>" in body):
            return
        self.assertEqual(set(json.loads(body)) - {"time"}, {"error"}, (sent[:400], answer[:400]))

    def slow_connections(self, hub, requests, over):
        """Connections on which a byte comes now and then, connections that stay silent after a part, and bodies that never come."""
        silent = []
        for number in range(150):
            connection = socket.create_connection(("127.0.0.1", hub.port))
            self.addCleanup(connection.close)
            if number % 3:
                sent = requests.valid()
                connection.sendall(sent[:requests.chance.randrange(1, sent.index(b"\r\n\r\n"))])
            else:
                target = f"{requests.own}/objects/{requests.name()}"
                connection.sendall(requests.request("PUT", target, headers=["Content-Length: 1048576"]) + bytes(1_000))
            silent.append(connection)
        sent = requests.request("GET", f"{requests.other}/keys", headers=[f"X: {'y' * 10_000}"])

        def drip():
            with socket.create_connection(("127.0.0.1", hub.port)) as connection:
                for place in range(len(sent)):
                    connection.sendall(sent[place:place + 1])
                    if over.wait(0.05):
                        break

        for _ in range(5):
            thread = threading.Thread(target=drip)
            thread.start()
            self.addCleanup(thread.join)
        self.addCleanup(over.set)
        return silent

    def check_replays(self, hub, victim, stranger, removed):
        """What was good once, or is good elsewhere, is good for nothing."""
        for path in (removed.path(run_name(1)), f"/v1/vaults/{victim.vault}/keys", f"/v1/vaults/{victim.vault}/objects"):
            self.assertEqual(removed.request("GET", path)[0], 401)
        self.assertEqual(removed.put(run_name(5), b"x"), 401)
        self.assertEqual(removed.request("POST", f"/v1/vaults/{victim.vault}/keys", {"admit": [removed.public]})[0], 401)
        self.assertEqual(removed.open()[0], 403)
        for _ in range(30):
            used = stranger.proof() | {"vault": stranger.vault}
            self.assertEqual(stranger.request("POST", "/v1/sessions", used)[0], 200)
            fresh = stranger.proof()
            for wrong in (
                    (401, used), (403, used | {"vault": victim.vault}), (403, used | {"key": victim.public}),
                    (403, fresh | {"vault": stranger.vault, "signature": used["signature"]}),
                    (403, stranger.proof() | {"vault": victim.vault}), (403, stranger.proof() | {"vault": stranger.vault, "key": victim.public}),
                    (403, stranger.proof(vault=victim.vault) | {"vault": victim.vault}),
                    (403, stranger.proof(host="elsewhere") | {"vault": stranger.vault})):
                status, expected = stranger.request("POST", "/v1/sessions", wrong[1])[0], wrong[0]
                self.assertEqual(status, expected, wrong)
            self.assertEqual(stranger.request("PUT", f"/v1/vaults/{stranger.vault}", used)[0], 401)
            self.assertEqual(stranger.request("PUT", f"/v1/vaults/{victim.vault}", stranger.proof(vault=victim.vault))[0], 403)

    def check_secrets(self, hub, secrets):
        """None of these texts is in a file of the hub or in what it said, as text or as the bytes that hexadecimal digits stand for."""
        found = [path for path in self.data.rglob("*") if path.is_file()]
        self.assertTrue(any(path.stat().st_size for path in found))
        for content in [path.read_bytes() for path in found] + [b"".join(hub.log)]:
            for secret in secrets:
                self.assertNotIn(secret.encode(), content)
                if re.fullmatch("[0-9a-f]{64}", secret):
                    self.assertNotIn(bytes.fromhex(secret), content)

    def test_bodies_that_are_announced_and_never_come_take_no_room(self):
        hub = self.hub()
        device = self.device(hub)
        device.create()
        memory = hub.memory()
        target = device.path(run_name(1))
        sent = (f"PUT {target} HTTP/1.1\r\nHost: 127.0.0.1:{hub.port}\r\nAuthorization: Bearer {device.session}\r\n"
                "Content-Length: 67108864\r\n\r\n").encode() + bytes(1_000)
        for _ in range(100):
            connection = socket.create_connection(("127.0.0.1", hub.port))
            self.addCleanup(connection.close)
            connection.sendall(sent)
        self.assertEqual(device.request("POST", "/v1/sessions", {})[0], 400)
        self.assertEqual(device.put(run_name(2), bytes(1 << 20)), 201)
        self.assertEqual([name for name, _ in device.list()], [run_name(2)])
        self.assertLess(hub.memory() - memory, MEMORY_GROWTH_MAX)
        self.assertEqual(device.put(run_name(1), b"x"), 201)

    def test_a_hub_keeps_no_secret_of_an_encrypted_vault(self):
        hub = self.hub()
        store = Store(pathlib.Path(self.folder.name) / "store")
        self.assertEqual(store("init", "--name", "phone of Wilhelmina").code, 0)
        self.assertEqual(store("toggle", "papers", "confidential-item").code, 0)
        synced = store("sync", hub.url, "--encrypted")
        self.assertEqual(synced.code, 0, synced.err)
        code = synced.out.splitlines()[-1]
        seeds = re.findall("seed ([0-9a-f]{64})", (pathlib.Path(store.path) / "keys/device").read_text())
        self.assertEqual((len(code.split("-")), len(seeds)), (14, 1))
        self.assertEqual(hub.end(), 0)
        self.check_secrets(hub, [code, code.replace("-", ""), code.lower(), *seeds, "Wilhelmina", "confidential-item"])

    def test_too_many_requests_of_one_address_are_refused_for_a_while(self):
        hub = self.hub("--rate", "1")
        device, other = self.device(hub), Device(hub, "0" * 31 + "1", source="127.0.0.2")
        self.addCleanup(other.connection.close)
        # However slow this machine is, it makes more than one request in a second.
        statuses = []
        while 429 not in statuses and len(statuses) < 1_000:
            statuses.append(device.request("GET", "/healthz")[0])
        self.assertEqual((statuses[0], statuses[-1]), (200, 429))
        self.assertGreaterEqual(int(device.headers["Retry-After"]), 1)
        self.assertEqual(set(json.loads(device.request("GET", "/healthz")[1])), {"error"})
        self.assertEqual(other.request("GET", "/healthz")[0], 200)
        while (status := device.request("GET", "/healthz")[0]) == 429:
            time.sleep(0.1)
        self.assertEqual(status, 200)
        self.assertEqual(hub.end(), 0)

    def test_a_vault_has_as_many_bytes_as_its_quota(self):
        hub = self.hub("--quota", "1000")
        device, other = self.device(hub), self.device(hub, "0" * 31 + "2")
        device.create()
        other.create()
        self.assertEqual(device.put(run_name(1), b"x" * 1_001), 507)
        self.assertEqual(device.put(run_name(1), b"x" * 600), 201)
        status, body = device.request("PUT", device.path(run_name(2)), b"y" * 401)
        self.assertEqual((status, set(json.loads(body))), (507, {"error"}))
        self.assertEqual(device.put(run_name(2), b"y" * 400), 201)
        self.assertEqual(device.put(run_name(3), b"z"), 507)
        self.assertEqual(device.put(run_name(1), b"x" * 600), 200)
        self.assertEqual(device.put(run_name(1), b"z"), 409)
        self.assertEqual(other.put(run_name(1), b"x" * 1_000), 201)
        self.assertEqual(device.list(), [(run_name(1), 600), (run_name(2), 400)])
        self.assertEqual(device.request("DELETE", device.path(run_name(1)))[0], 204)
        self.assertEqual(device.put(run_name(3), b"z" * 600), 201)
        self.assertEqual(hub.end(), 0)
        # Neither is forgotten by a hub that starts again.
        hub = self.hub("--quota", "1000")
        again = self.device(hub)
        again.key, again.public = device.key, device.public
        self.assertEqual(again.open()[0], 200)
        self.assertEqual(again.list(), [(run_name(2), 400), (run_name(3), 600)])
        self.assertEqual(again.put(run_name(4), b"z"), 507)
        self.assertEqual(hub.end(), 0)

    def metrics(self, hub):
        """The samples of the metrics by their names and labels, after a look at the format."""
        with urllib.request.urlopen(hub.metrics_url, timeout=SECONDS_MAX) as answer:
            body = answer.read()
            self.assertTrue(answer.headers["Content-Type"].startswith("text/plain"))
        self.assertTrue(body.endswith(b"\n"))
        types, samples = {}, {}
        for line in body.decode().splitlines():
            if found := re.fullmatch(r"# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram|summary|untyped)", line):
                self.assertNotIn(found[1], types)
                types[found[1]] = found[2]
            elif not line.startswith("# HELP "):
                found = re.fullmatch(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-z]+="[^"\\]*",?)*\})? (\S+)', line)
                self.assertTrue(found, line)
                family = found[1] if found[1] in types else re.sub("_(bucket|sum|count)$", "", found[1])
                self.assertEqual(types.get(family, "none") == "histogram", family != found[1], line)
                self.assertIn(family, types, line)
                sample = found[1] + (found[2] or "")
                self.assertNotIn(sample, samples)
                samples[sample] = float(found[3])
        for family in (name for name, type in types.items() if type == "histogram"):
            buckets = [(float(re.search('le="([^"]+)"', name)[1]), value) for name, value in samples.items() if name.startswith(f"{family}_bucket")]
            self.assertEqual(buckets, sorted(buckets))
            self.assertEqual([value for _, value in buckets], sorted(value for _, value in buckets))
            self.assertEqual(buckets[-1], (float("inf"), samples[f"{family}_count"]))
        self.counters = {name for name in samples if types.get(name.partition("{")[0], "histogram") in ("counter", "histogram")}
        return samples

    def test_metrics_count_what_is_asked_for(self):
        hub = self.hub("--metrics", "127.0.0.1:0")
        device = self.device(hub)
        empty = self.metrics(hub)
        device.create()
        before = self.metrics(hub)
        for number in range(5):
            self.assertEqual(device.put(run_name(number + 1), b"x" * 10), 201)
        self.assertEqual(device.put(run_name(1), b"x" * 10), 200)
        self.assertEqual(device.put(run_name(1), b"y"), 409)
        for _ in range(3):
            self.assertEqual(device.request("GET", device.path(run_name(1)))[0], 200)
        self.assertEqual(device.request("GET", "/nothing")[0], 404)
        after = self.metrics(hub)
        self.assertLessEqual(set(before), set(after))
        for name in self.counters:
            self.assertGreaterEqual(after[name], before.get(name, 0), name)

        def rise(name):
            return after[name] - before.get(name, 0)

        def requests(method, status):
            return f'heartlog_hub_requests_total{{method="{method}",status="{status}"}}'
        self.assertEqual(rise(requests("PUT", 201)), 5)
        self.assertEqual(rise(requests("PUT", 200)), 1)
        self.assertEqual(rise(requests("PUT", 409)), 1)
        self.assertEqual(rise(requests("GET", 404)), 1)
        self.assertEqual(rise(requests("GET", 200)), 3)
        self.assertEqual(rise("heartlog_hub_request_seconds_count"), 11)
        self.assertEqual(rise("heartlog_hub_objects_stored_total"), 5)
        self.assertEqual(rise("heartlog_hub_object_bytes_stored_total"), 50)
        self.assertEqual(rise("heartlog_hub_object_bytes_read_total"), 30)
        self.assertEqual((empty["heartlog_hub_vaults"], after["heartlog_hub_vaults"], after["heartlog_hub_open_streams"]), (0, 1, 0))
        with socket.create_connection(("127.0.0.1", hub.port), timeout=SECONDS_MAX) as stream:
            stream.sendall((f"GET /v1/vaults/{device.vault}/changes HTTP/1.1\r\nHost: 127.0.0.1:{hub.port}\r\n"
                            f"Authorization: Bearer {device.session}\r\n\r\n").encode())
            self.assertTrue(stream.recv(4_096).startswith(b"HTTP/1.1 200 "))
            self.assertEqual(self.metrics(hub)["heartlog_hub_open_streams"], 1)
        self.assertEqual(hub.end(), 0)

    def test_metrics_have_an_address_of_their_own(self):
        self.assertEqual(self.device(self.hub()).request("GET", "/metrics")[0], 404)
        self.database += "-2"
        hub = self.hub("--metrics", "localhost:0")
        self.assertEqual(self.device(hub).request("GET", "/metrics")[0], 404)
        self.metrics(hub)
        for path, body in ("/healthz", None), ("/v1/sessions", b"{}"), ("/metrics", b"{}"), ("/metrics/x", None):
            with self.assertRaises(urllib.error.HTTPError) as caught:
                urllib.request.urlopen(urllib.parse.urljoin(hub.metrics_url, path), body, timeout=SECONDS_MAX)
            self.assertEqual((caught.exception.code, set(json.load(caught.exception))), (404, {"error"}))
        # One address serves one of both.
        for address in hub.url.removeprefix("http://"), "nonsense":
            refused = subprocess.run(
                [HUB, "--listen", "127.0.0.1:0", "--metrics", address, "--database", self.database + "-3"], capture_output=True, text=True,
                timeout=SECONDS_MAX)
            self.assertIn(refused.returncode, (64, 74))
            self.assertIn(address, refused.stderr)
        self.assertEqual(hub.end(), 0)

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

    @unittest.skipUnless(is_usable(), "strace may not trace here")
    def test_a_busy_hub_stops_however_slow_the_thread_is_that_stops_it(self):
        hub = self.hub()
        tracer = subprocess.Popen(
            ["strace", "-qq", "-p", str(hub.process.pid), "-e", "trace=epoll_ctl", "-e", "inject=epoll_ctl:delay_enter=300000"],
            stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        status = pathlib.Path(f"/proc/{hub.process.pid}/status")
        while f"TracerPid:\t{tracer.pid}\n" not in status.read_text():
            self.assertIsNone(tracer.poll())
            time.sleep(0.005)

        def ask():
            answered = 0
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", hub.port), timeout=SECONDS_MAX) as connection:
                while connection.send(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n") and connection.recv(4_096):
                    asked.set()
                    answered += 1
            return answered
        asked = threading.Event()
        with ThreadPoolExecutor(4) as pool:
            asking = [pool.submit(ask) for _ in range(4)]
            self.assertTrue(asked.wait(SECONDS_MAX))
            self.assertEqual(hub.end(), 0, hub.log[-40:])
        self.assertGreater(sum(future.result() for future in asking), 0)
        tracer.wait(SECONDS_MAX)

    def backup(self, *words, prefix=()):
        return subprocess.run([*prefix, HUB, "backup", *map(str, words)], capture_output=True, text=True, timeout=SECONDS_MAX)

    def test_a_backup_beside_puts_has_all_that_was_acknowledged_before(self):
        hub = self.hub()
        device, over = self.device(hub), threading.Event()
        device.create()
        sent, acknowledged = {}, []

        def put(count):
            for number in range(len(sent) + 1, len(sent) + 1 + count):
                sent[run_name(number)] = random.Random(number).randbytes(20_000)
                self.assertEqual(device.put(run_name(number), sent[run_name(number)]), 201)
                acknowledged.append(run_name(number))

        put(100)
        with ThreadPoolExecutor(1) as pool:
            self.addCleanup(over.set)

            def put_until_over():
                while not over.is_set():
                    put(1)
            putting = pool.submit(put_until_over)
            copies = []
            for number in range(3):
                copy = self.data / f"copies-{number}" / "copy.db"
                copy.parent.mkdir()
                before = list(acknowledged)
                made = self.backup(copy, "--database", self.database)
                self.assertEqual((made.returncode, made.stderr), (0, ""))
                copies.append((copy, before))
            over.set()
            putting.result(SECONDS_MAX)
        self.assertEqual(hub.end(), 0)
        for copy, before in copies:
            self.assertEqual([path.name for path in copy.parent.iterdir()], ["copy.db"])
            self.assertEqual(copy.stat().st_mode & 0o777, 0o600)
            self.database = str(copy)
            hub = self.hub()
            again = self.device(hub)
            again.key, again.public = device.key, device.public
            self.assertEqual(again.open()[0], 200)
            names = [name for name, _ in again.list()]
            self.assertEqual(names, list(sent)[:len(names)])
            self.assertLessEqual(set(before), set(names))
            for name in names:
                self.assertEqual(again.request("GET", again.path(name)), (200, sent[name]))
            self.assertEqual(again.put(run_name(len(sent) + 1), b"x"), 201)
            self.assertEqual(hub.end(), 0)

    def test_a_backup_is_of_a_hub_and_replaces_nothing(self):
        self.assertEqual(self.hub().end(), 0)
        folder = pathlib.Path(self.folder.name)
        (folder / "text.db").write_text("no database" * 100)
        (folder / "empty.db").touch()
        with contextlib.closing(sqlite3.connect(folder / "other.db")) as other:
            other.execute("create table hub (version integer)")
        (folder / "mine").write_text("mine")
        listing = sorted(folder.rglob("*"))
        copy = folder / "copy.db"
        for code, said, *words in (
                (64, "FILE"), (64, "--listen", copy, "--listen", "127.0.0.1:0"), (64, "second", copy, "second"),
                (64, "pg_basebackup", copy, "--database", "postgresql://user:secret@127.0.0.1:1/heartlog"),
                (64, "pg_dump", copy, "--database", "postgres:///heartlog"),
                (66, "missing.db", copy, "--database", folder / "missing.db"), (74, "nowhere", folder / "nowhere/copy.db", "--database", self.database),
                (65, "text.db", copy, "--database", folder / "text.db"), (65, "empty.db", copy, "--database", folder / "empty.db"),
                (65, "other.db", "--database", folder / "other.db", copy), (73, "mine", folder / "mine", "--database", self.database),
                (73, "hub.db", self.database, "--database", self.database)):
            made = self.backup(*words)
            self.assertEqual((made.returncode, made.stdout), (code, ""), made.stderr)
            self.assertIn(said, made.stderr)
            self.assertNotIn("secret", made.stderr)
        self.assertEqual(sorted(folder.rglob("*")), listing)
        self.assertEqual((folder / "mine").read_text(), "mine")

    @unittest.skipUnless(is_usable(), "strace may not trace here")
    def test_a_backup_has_its_name_once_it_is_durable_and_leaves_nothing_if_it_fails(self):
        self.assertEqual(self.hub().end(), 0)
        log, copies = self.data / "log", self.data / "copies"
        copies.mkdir()

        def backup(*options):
            strace = "strace", "-f", "-qq", "-y", "-o", log, "-e", "trace=fsync,fdatasync,rename", *options
            return self.backup(copies / "copy.db", "--database", self.database, prefix=strace).returncode
        for options in (["-e", "inject=fsync,fdatasync:error=EIO"], ["-e", "inject=rename:error=EIO"],
                        ["-e", "trace=pwrite64", "-e", "inject=pwrite64:error=ENOSPC"]):
            self.assertEqual(backup(*options), 74)
            self.assertEqual(list(copies.iterdir()), [])
        self.assertEqual(backup(), 0)
        lines = [line for line in log.read_text().splitlines() if str(copies) in line]
        renamed = next(number for number, line in enumerate(lines) if "rename(" in line)
        self.assertRegex(lines[renamed], r'copy\.db\.tmp-[0-9a-f]+", "[^"]*/copy\.db"')
        self.assertRegex(lines[renamed - 1], r"sync\(\d+<[^>]*copy\.db\.tmp-[0-9a-f]+>\) *= 0")
        self.assertRegex(lines[renamed + 1], rf"fsync\(\d+<{copies}>\) *= 0")

    def test_the_command_line_says_what_is_wrong(self):
        def hub(*words):
            return subprocess.run([HUB, *words], capture_output=True, text=True, timeout=SECONDS_MAX)
        self.assertEqual(hub("--help").returncode, 0)
        self.assertEqual(hub().returncode, 64)
        self.assertEqual(hub("--listen", "127.0.0.1:0", "--database", self.database, "--rate", "x").returncode, 64)
        self.assertEqual(hub("--listen", "nonsense", "--database", self.database).returncode, 64)
        self.hub()
        second = hub("--listen", "127.0.0.1:0", "--database", self.database)
        self.assertEqual(second.returncode, 75)
        self.assertIn(f"another process has this file, in {self.database}", second.stderr)

    def test_a_database_that_is_not_named_is_a_file_in_this_folder(self):
        done = subprocess.run([HUB, "--reset", "0" * 32], capture_output=True, cwd=self.folder.name, timeout=SECONDS_MAX)
        self.assertEqual(done.returncode, 66)
        self.assertTrue((pathlib.Path(self.folder.name) / "heartlog-hub.db").exists())

    def test_a_damaged_file_is_named(self):
        self.assertEqual(self.hub().end(), 0)
        with open(self.database, "r+b") as file:
            file.write(b"damage" * 100)
        done = subprocess.run([HUB, "--listen", "127.0.0.1:0", "--database", self.database], capture_output=True, text=True, timeout=SECONDS_MAX)
        self.assertEqual(done.returncode, 65)
        self.assertIn(self.database, done.stderr)

    def test_a_full_disk_is_answered_and_the_hub_goes_on(self):
        self.data.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "none", self.data]
        if subprocess.run(mount, stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("nothing may be mounted here")
        self.addCleanup(subprocess.run, ["umount", self.data], check=True)
        hub = self.hub()
        device = self.device(hub)
        self.assertEqual(device.create()[0], 201)
        stored = []
        while (status := device.put(run_name(len(stored) + 1), bytes([len(stored)]) * 50_000)) == 201:
            stored.append(run_name(len(stored) + 1))
        self.assertEqual(status, 507)
        self.assertGreater(len(stored), 5)
        self.assertEqual(device.request("GET", "/healthz")[0], 200)
        self.assertEqual([name for name, _ in device.list()], stored)
        subprocess.run(["mount", "-o", "remount,size=64m", self.data], check=True)
        for _ in range(20):
            self.assertEqual(device.put(run_name(len(stored) + 1), bytes([len(stored)]) * 50_000), 201)
            stored.append(run_name(len(stored) + 1))
        self.assertEqual(hub.end(signal.SIGKILL), -signal.SIGKILL)
        hub = self.hub()
        again = self.device(hub)
        again.key, again.public = device.key, device.public
        self.assertEqual(again.open()[0], 200)
        for number, name in enumerate(stored):
            self.assertEqual(again.request("GET", again.path(name)), (200, bytes([number]) * 50_000))
        self.assertEqual(hub.end(), 0)


if __name__ == "__main__":
    unittest.main()
