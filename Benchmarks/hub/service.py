"""A hub that runs, and devices that have sessions there: docs/hub.md."""

import http.client
import json
import os
import pathlib
import secrets
import signal
import subprocess
import time

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

PROGRAM = os.environ.get("HEARTLOG_HUB_BIN") or str(pathlib.Path(__file__).parents[2] / ".build/release/heartlog-hub")


class Hub:
    """Ends with the `with` that it stands in."""

    def __init__(self, *options):
        self.process = subprocess.Popen(
            [PROGRAM, "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0", "--name", "127.0.0.1", "--rate", "100000000", *options],
            stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.url, self.metrics = (self.process.stdout.readline().decode().split()[-1] for _ in range(2))
        self.host = self.url.removeprefix("http://")
        self.connection = http.client.HTTPConnection(self.host)

    def request(self, method, path, body=None, session=None):
        headers = {"Authorization": f"Bearer {session}"} if session else {}
        text = None if body is None else json.dumps(body)
        try:
            self.connection.request(method, path, text, headers)
            answer = self.connection.getresponse()
        except http.client.RemoteDisconnected:
            # The hub ends a connection that was silent for half a minute.
            self.connection.request(method, path, text, headers)
            answer = self.connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {text}")
        return text

    def vault(self):
        """A new vault, and a session for it."""
        vault, key = secrets.token_hex(16), Ed25519PrivateKey.generate()
        return vault, self.prove("PUT", f"/v1/vaults/{vault}", {}, vault, key)

    def session(self, vault, key):
        """A session for a vault that has the key."""
        return self.prove("POST", "/v1/sessions", {"vault": vault}, vault, key)

    def prove(self, method, path, body, vault, key):
        nonce = int(time.time()).to_bytes(8, "big") + os.urandom(24)
        message = b"heartlog hub 1\0" + bytes.fromhex(vault) + nonce + self.host.encode()
        proof = {"key": key.public_key().public_bytes_raw().hex(), "nonce": nonce.hex(), "signature": key.sign(message).hex()}
        return json.loads(self.request(method, path, body | proof))["session"]

    def seconds(self):
        """Processor time of the process so far."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def bytes(self):
        """Memory of the process now."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return 1024 * int(status.split("VmRSS:")[1].split()[0])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        self.process.stdout.close()
