"""Commits that do not lead to the root that comes with them are a failure at both ends, and stand in no other stream's way."""

import contextlib
import hashlib
import os
import shlex
import subprocess
import sys
import unittest

from heartlog import BINARY, TestCase


def varint(data, place):
    """A number, and where what follows it begins."""
    number = shift = 0
    while True:
        byte = data[place]
        place += 1
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return number, place


def root_of_run(payload):
    """Where the root begins in a message of kind 4."""
    place = 0
    for _ in range(3):
        _, place = varint(payload, place)
    length, place = varint(payload, place)
    return place + max(0, length - 1)


def spoil(command, stream):
    """Serves as `command` does, but for one byte of the root of each run of one stream, with all checksums put right."""
    server = subprocess.Popen(command, stdin=0, stdout=subprocess.PIPE)
    running = bytes(32)
    while kind := server.stdout.read(1):
        head = kind
        while True:
            head += server.stdout.read(1)
            if head[-1] < 128:
                break
        length, _ = varint(head, 1)
        payload = bytearray(server.stdout.read(length))
        server.stdout.read(4)
        if kind[0] == 4 and payload[0] == stream:
            # The first eight bytes were announced, and are what they were.
            payload[root_of_run(payload) + 20] ^= 1
        running = hashlib.sha256(running + head + payload).digest()
        # What the server says after it was told is heard by nobody.
        with contextlib.suppress(BrokenPipeError):
            sys.stdout.buffer.write(head + payload + running[:4])
            sys.stdout.buffer.flush()
    return server.wait()


class RefusedRunTests(TestCase):
    def setUp(self):
        super().setUp()
        self.stores = {}
        for name in ("phone", "tablet"):
            store = self.store(name)
            self.expect(0, store.apply([{"op": "add", "library": "papers", "id": f"{name}-{number}"} for number in range(9)]))
            self.stores[self.replica(store)] = store
        self.replicas = sorted(self.stores)
        self.peer = self.stores[self.replicas[1]]
        self.expect(0, self.peer("sync", self.stores[self.replicas[0]].path))

    def check(self, store, answer, refused):
        report = answer.object
        self.assertEqual([(stream["replica"], stream["cause"], stream["firstCommit"]) for stream in report["skipped"]],
                         [(refused, "refused", 1)])
        self.assertIn("do not lead to the root", answer.err)
        self.check_others(store, report, refused)

    def check_others(self, store, report, refused):
        self.assertEqual(report["received"]["commits"], 9)
        heads = {replica["id"]: replica["head"] for replica in store("status", "--json").object["replicas"]}
        self.assertEqual([heads.get(replica, 0) for replica in self.replicas], [0 if replica == refused else 9 for replica in self.replicas])
        self.expect(0, store("verify"))

    def test_a_dialogue(self):
        for stream, refused in enumerate(self.replicas):
            store = self.store("desk")
            code = self.folder / "code"
            words = [sys.executable, __file__, str(stream), BINARY, "--store", self.peer.path, "serve", "--stdio"]
            command = " ".join(map(shlex.quote, words)) + f"; code=$?; echo $code > {shlex.quote(str(code))}; exit $code"
            answer = self.expect(65, store("sync", f"exec:{command}", "--json"), "do not lead to the root")
            self.assertEqual(code.read_text(), "65\n")
            self.check(store, answer, refused)

    def test_a_folder(self):
        for refused in self.replicas:
            cloud = self.folder / f"cloud-{refused}"
            cloud.mkdir()
            self.expect(0, self.peer("sync", f"folder:{cloud}"))
            (path,) = cloud.glob(f"*/{refused}/*.run")
            content = bytearray(path.read_bytes())[:-32]
            # Magic, version, replica; then the name, the first commit, the number of runs, and of the first run's commits.
            length, place = varint(content, 25)
            place += length
            for _ in range(3):
                _, place = varint(content, place)
            content[place + 20] ^= 1
            content += hashlib.sha256(content).digest()
            path.unlink()
            forged = path.with_name(f"{path.name[:51]}{content[-32:-24].hex()}.run")
            forged.write_bytes(content)
            store = self.store("desk")
            report = self.expect(0, store("sync", f"folder:{cloud}", "--json")).object
            # Its owner signed another root: the file is as damaged as one with another hash.
            self.assertEqual(report["folder"]["damagedNames"], [str(forged.relative_to(cloud))])
            self.assertEqual(report["skipped"], [])
            self.check_others(store, report, refused)


if __name__ == "__main__":
    if len(sys.argv) > 2 and os.path.basename(sys.argv[2]) == os.path.basename(BINARY):
        code = spoil(sys.argv[2:], int(sys.argv[1]))
        os._exit(code)
    unittest.main()
