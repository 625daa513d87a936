"""A hub with what it says, and somebody who talks to it without the program: for the tests of heartlog-hub."""

import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import threading
import time
import unittest

try:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
except ImportError:
    Ed25519PrivateKey = None

from heartlog import SECONDS_MAX, environment
from hub import HUB, metrics_url

NEEDS_CRYPTOGRAPHY = unittest.skipUnless(Ed25519PrivateKey, "cryptography is not installed: Scripts/test installs it from PyPI")


class NotStarted(Exception):
    """A hub that ended before it said where it listens."""


class HubProcess:
    """A hub that runs, and what it says."""

    def __init__(self, *options, limit=None):
        """`limit` is how many files it may have open."""
        prefix = ["prlimit", f"--nofile={limit}"] if limit else []
        self.process = subprocess.Popen(
            [*prefix, HUB, "--listen", "127.0.0.1:0", *map(str, options)], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
        self.reader = None
        line = self.process.stdout.readline().decode()
        if not re.fullmatch(r"listening on http://[0-9.]+:\d+\n", line):
            said = self.process.stderr.read().decode(errors="replace")
            raise NotStarted(f"heartlog-hub ended with {self.end(signal.SIGKILL)}: {line!r} {said!r}")
        self.port = int(line.rsplit(":", 1)[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self.metrics_url = metrics_url(self.process, options)
        self.log = []
        self.reader = threading.Thread(target=lambda: self.log.extend(self.process.stderr), daemon=True)
        self.reader.start()

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        code = self.process.wait(SECONDS_MAX)
        if self.reader:
            self.reader.join(SECONDS_MAX)
        self.process.stdout.close()
        self.process.stderr.close()
        return code

    def memory(self):
        """The bytes that are resident."""
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) << 10
        raise AssertionError("no VmRSS")

    def raw(self, sent, seconds=1):
        """What is answered to these bytes: one answer, or what came up to the end of the connection or a pause."""
        found = b""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=seconds) as connection:
                connection.sendall(sent)
                while part := connection.recv(65_536):
                    found += part
                    head, end, body = found.partition(b"\r\n\r\n")
                    length = re.search(rb"\r\nContent-Length: (\d+)", head)
                    if end and (len(body) >= int(length[1]) if length else re.match(rb"HTTP/1\.1 20[04]", head)):
                        break
        except (ConnectionError, TimeoutError):
            pass
        return found

    def status(self, sent, seconds=SECONDS_MAX):
        """The status of the answer; None if there is none."""
        return status_of(self.raw(sent, seconds))


def status_of(answer):
    """The status of an answer as it came; None if it is none."""
    found = re.match(rb"HTTP/1\.[01] (\d{3}) ", answer)
    return int(found[1]) if found else None


class Device:
    """A key, and a connection with a session."""

    def __init__(self, hub, vault, key=None, source=None):
        self.hub, self.vault = hub, vault
        self.key = key or Ed25519PrivateKey.generate()
        self.public = self.key.public_key().public_bytes_raw().hex()
        self.connection = http.client.HTTPConnection(
            "127.0.0.1", hub.port, timeout=SECONDS_MAX, source_address=source and (source, 0))
        self.session = None

    def request(self, method, path, body=None, session=None, host=None):
        headers = {"Host": host or f"127.0.0.1:{self.hub.port}"}
        if session or self.session:
            headers["Authorization"] = f"Bearer {session or self.session}"
        if isinstance(body, dict):
            body = json.dumps(body).encode()
        self.connection.request(method, path, body, headers)
        answer = self.connection.getresponse()
        self.headers = answer.headers
        return answer.status, answer.read()

    def proof(self, host=None, vault=None):
        nonce = int(time.time()).to_bytes(8, "big") + os.urandom(24)
        message = b"heartlog hub 1\0" + bytes.fromhex(vault or self.vault) + nonce + (host or f"127.0.0.1:{self.hub.port}").encode()
        return {"key": self.public, "nonce": nonce.hex(), "signature": self.key.sign(message).hex()}

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

    def list(self):
        """The names and sizes of all objects."""
        found, after = [], ""
        while True:
            status, body = self.request("GET", f"/v1/vaults/{self.vault}/objects{after}")
            assert status == 200, (status, body)
            listed = json.loads(body)
            found += map(tuple, listed["objects"])
            if not listed["hasMore"]:
                return found
            after = f"?after={listed['cursor']}"


def run_name(number, writer="a" * 32, stream="b" * 32):
    return f"{writer}/{stream}/{number:016}-{number:016}-{'0' * 16}-{'f' * 16}.run"
