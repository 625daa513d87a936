"""A client that was written from the pages alone joins a vault at a hub, reads and writes there. Forgeries are held by it and by the program."""

import os
import pathlib
import re
import subprocess
import sys
import unittest
from types import SimpleNamespace
from unittest import mock

from heartlog import SECONDS_MAX, environment
from hub import NEEDS_HUB, HubTestCase

try:
    import cryptography
except ImportError:
    cryptography = None
else:
    import hub_client
    from encryption_reader import Refused, open_object, sha, verify
    from encryption_writer import seal
    from format_columns import date_text
    from format_state import digest, state

NEEDS_CRYPTOGRAPHY = unittest.skipUnless(cryptography, "cryptography is not installed: Scripts/test installs it from PyPI")


class HubClientTestCase(HubTestCase):
    """A hub, and the vault that a phone created there."""

    def setUp(self):
        super().setUp()
        self.phone = self.store("phone")
        for number in range(5):
            self.expect(0, self.phone("add", "papers", f"p{number}", f"title=Títle {number}", "pages:=17", "score:=0.25"))
        self.expect(0, self.phone("toggle", "papers", "p3"))
        self.code = self.expect(0, self.phone("sync", self.hub.url, "--encrypted")).out.splitlines()[-1]
        vault = self.expect(0, self.phone("hub", self.hub.url, "--json")).object["vault"]
        self.address = f"{self.hub.url}/{vault}"

    def client(self, code=None, seed=None):
        return hub_client.Client(self.address, code or self.code, seed or os.urandom(32))

    def joined(self, *arguments):
        client = self.client(*arguments)
        client.sync()
        self.assertEqual(client.held, [])
        return client

    def sync(self, store):
        return self.expect(0, store("sync", self.address, "--json")).object

    def settle(self, *stores):
        """What each of them writes at a sync, such as the epochs that it took, reaches all."""
        for store in stores * 2:
            self.sync(store)

    def device(self, name):
        """A device that joins with the code alone."""
        store = self.store(name)
        self.expect(0, store("keys", "join", "-", input=self.code))
        self.sync(store)
        return store

    def listed(self, store):
        items = [item for item in self.expect(0, store("list", "papers", "--json")).lines if "id" in item]
        return {item["id"]: (item["favoritedDate"], item["fields"]) for item in items}

    def seen(self, client):
        return {id: (date_text(item.date), {name: value for name, (_, value) in item.values.items()})
                for id, item in client.favorites("papers").items()}

    def check_same(self, client, *stores):
        client.sync()
        self.assertEqual(client.held, [])
        for store in stores:
            self.assertEqual(self.seen(client), self.listed(store))
            self.assertEqual(digest(state(client.commits)), self.expect(0, store("status", "--json")).object["digest"])
            self.expect(0, store("verify"))
            replicas = self.expect(0, store("devices", "--json")).lines
            self.assertEqual(
                {replica["id"]: (replica["head"], replica["signature"]["root"]) for replica in replicas if replica["head"]},
                {replica.hex(): (len(stream.commits), stream.trees[len(stream.commits)].root.hex())
                 for replica, stream in client.streams.items() if stream.commits})


@NEEDS_HUB
@NEEDS_CRYPTOGRAPHY
class HubClientTests(HubClientTestCase):
    def test_a_client_with_the_code_alone_reads_what_devices_wrote_and_writes_what_they_read(self):
        client = self.joined()
        self.assertEqual(set(self.listed(self.phone)), {"p0", "p1", "p2", "p4"})
        self.assertEqual(self.seen(client), self.listed(self.phone))
        client.add("papers", "from-the-client", "Übersicht")
        self.assertEqual(self.sync(self.phone)["received"]["commits"], 1)
        self.assertEqual(self.listed(self.phone)["from-the-client"][1], {"title": "Übersicht"})
        tablet = self.device("tablet")
        self.settle(self.phone, tablet)
        self.check_same(client, self.phone, tablet)
        self.assertEqual([epoch["number"] for epoch in self.expect(0, self.phone("keys", "--json")).lines], [1])

    def test_each_continues_what_the_others_wrote(self):
        client, tablet = self.joined(), self.device("tablet")
        seed = os.urandom(32)
        other = self.joined(None, seed)
        for number in range(10):
            self.expect(0, tablet("toggle", "papers", "p1"))
            self.sync(tablet)
            client.sync()
            client.add("papers", f"c{number}", f"Round {number}")
            self.expect(0, self.phone("remove", "papers", f"c{number - 1}") if number else self.phone("toggle", "papers", "p3"))
            self.sync(self.phone)
        own = f"{client.device.replica.hex()}/{client.device.replica.hex()}/"
        self.assertEqual(len([name for name in client.hub.objects() if name.startswith(own)]), 10)
        other = self.joined(None, seed)
        other.add("papers", "c9", "Later")
        self.settle(self.phone, tablet)
        self.check_same(client, self.phone, tablet)
        self.check_same(other, self.phone, tablet)
        self.assertEqual(self.listed(self.phone)["c9"][1], {"title": "Later"})
        self.assertEqual(self.expect(0, self.phone("conflicts", "--json")).out, "")

    def test_a_clock_that_is_behind(self):
        client = self.joined()
        self.expect(0, self.phone("remove", "papers", "p2"))
        self.sync(self.phone)
        client.sync()
        with mock.patch("hub_client.time.time", return_value=1_772_438_400):
            client.add("papers", "p2", "Back")
        self.sync(self.phone)
        self.assertEqual(self.listed(self.phone)["p2"][0], "2026-03-02T08:00:00.000Z")
        self.check_same(client, self.phone)

    def test_two_that_join_at_once_are_both_in(self):
        one, two = self.client(), self.client()
        one.sync()
        two.sync()
        one.add("papers", "one", "Title")
        two.sync()
        two.add("papers", "two", "Title")
        self.sync(self.phone)
        self.check_same(one, self.phone)
        self.check_same(two, self.phone)
        self.assertLess({"one", "two"}, set(self.listed(self.phone)))
        self.assertEqual(len([name for name in one.hub.objects() if re.fullmatch(r"keys/[0-9a-f]{32}", name)]), 1)

    def test_the_program(self):
        seed = self.folder / "seed"
        seed.write_bytes(os.urandom(32))
        for words in ("added", "A title"), ():
            done = subprocess.run(
                [sys.executable, hub_client.__file__, self.address, str(seed), "papers", *words], input=self.code.encode(),
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=SECONDS_MAX, env=environment())
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertEqual(done.stdout.split(), [b"added", b"p0", b"p1", b"p2", b"p4"])
        self.sync(self.phone)
        self.assertEqual(self.listed(self.phone)["added"][1], {"title": "A title"})

    def test_a_removal_is_kept(self):
        client, tablet = self.joined(), self.device("tablet")
        self.expect(0, tablet("toggle", "papers", "p0"))
        self.sync(tablet)
        self.sync(self.phone)
        replica = self.expect(0, tablet("status", "--json")).object["replica"]
        self.expect(0, tablet("add", "papers", "too-late", "title=Not known to the phone when it removes the tablet"))
        self.sync(tablet)
        code = self.expect(0, self.phone("keys", "rotate", "--without", replica, input=self.code)).out.splitlines()[-1]
        self.sync(self.phone)
        with self.assertRaisesRegex(Refused, "the hub answers 403"):
            client.sync()
        again = self.joined(code, os.urandom(32))
        again.add("papers", "after", "After the rotation")
        self.assertEqual(list(again.state.removed), [bytes.fromhex(replica)])
        self.assertEqual(again.head.number, self.expect(0, self.phone("keys", "--json")).lines[0]["number"])
        self.sync(self.phone)
        self.check_same(again, self.phone)
        self.assertNotIn("too-late", self.seen(again))
        self.assertEqual(self.expect(0, self.phone("keys", "--json")).lines[0]["revoked"], [replica])


@NEEDS_HUB
@NEEDS_CRYPTOGRAPHY
class ForgeryTests(HubClientTestCase):
    """What whoever has the hub, or a member that cheats, may leave there."""

    def setUp(self):
        super().setUp()
        self.member = self.joined()  # it has the keys
        self.member.add("papers", "from-the-client", "Title")
        self.sync(self.phone)
        self.member.sync()
        self.member.hub.open(self.member.code)  # and can put and delete all, as whoever has the hub

    def first_run(self, stored):
        """The first run of the phone."""
        replica = self.expect(0, self.phone("status", "--json")).object["replica"]
        return min(name for name in stored if re.match(rf"{replica}/{replica}/.*\.run$", name))

    def proof_in(self, name, objects, keys):
        """The rest of a run file with a proof of its last commit, the owner's key, the number of commits, the root and the signature."""
        content = open_object(objects[name], name, self.member.head.vault, keys)[:-32]
        signed = hub_client.proof_of(bytes(16), bytes(32), 1, bytes(64))
        length = len(signed) + 16  # the phone had another vault before it encrypted it
        proof = content[-length:]
        file = hub_client.File(name, *map(bytes.fromhex, name.split("/")[:2]), *map(int, name.split("/")[2].split("-")[:2]),
                               bytes.fromhex(name.split("/")[2].split("-")[2]), content + sha(content))
        _, (size, root, _) = hub_client.read_runs(file, self.member.head.vault)
        self.assertEqual(size, file.last)
        return content[9:-length], proof[34:66], size, root, proof[-65:-1]

    def put_sealed(self, name, content):
        """Puts what a member made under an epoch of the vault, in place of an object."""
        self.member.hub.object("DELETE", name)
        id = self.member.head.id
        name, object = seal(content, name, self.member.head.vault, id, self.member.keys[id])
        self.member.hub.object("PUT", name, object)
        return name

    def test_what_its_owner_did_not_sign_is_held(self):
        owner = bytes.fromhex(self.expect(0, self.phone("status", "--json")).object["replica"])
        before, forger = self.seen(self.member), self.joined()
        forger.hub.open(forger.code)
        put, forger.device = forger.put, SimpleNamespace(replica=owner, public=forger.device.public, sign=forger.device.sign)
        forger.put = lambda number, root, run, proof: put(number, root, run, b"")
        forger.add("papers", "forged", "In the name of the phone")
        client = self.client()
        client.sync()
        self.assertEqual([name.startswith(f"{owner.hex()}/{owner.hex()}/") for name in client.held], [True])
        self.assertEqual(self.seen(client), before)
        with self.assertRaisesRegex(Refused, "objects that are missing"):
            client.add("papers", "after", "Not written")
        tablet = self.store("tablet")
        self.expect(0, tablet("keys", "join", "-", input=self.code))
        self.sync(tablet)
        self.assertEqual(self.listed(tablet), before)

    def test_a_proof_of_other_runs_proves_nothing(self):
        self.expect(0, self.phone("add", "papers", "p7", "title=Later"))
        self.sync(self.phone)
        stored = self.member.hub.objects()
        name, head = self.first_run(stored), self.member.head
        other = next(name for name in stored if re.match(rf"{name[:65]}/0+7-0+7-.*\.run$", name))
        run, *_ = self.proof_in(name, stored, self.member.keys)
        _, key, size, root, signature = self.proof_in(other, stored, self.member.keys)
        content = b"\x89HLRUN\r\n\2" + run + hub_client.proof_of(head.vault, key, size, signature, root)
        forged = self.put_sealed(name, content + sha(content))
        client = self.client()
        client.sync()
        runs = {one for one in stored if one.startswith(name[:65]) and one.endswith(".run") and one != name}
        self.assertEqual((runs | {forged}) - set(client.held), set())
        self.assertEqual(set(self.seen(client)), {"from-the-client"})
        tablet = self.store("tablet")
        self.expect(0, tablet("keys", "join", "-", input=self.code))
        self.expect(65, tablet("sync", self.address), "held: the stream of phone")
        self.assertEqual(self.listed(tablet), self.seen(client))

@NEEDS_CRYPTOGRAPHY
class NoteTests(unittest.TestCase):
    def test_the_note_of_the_page(self):
        page = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "format.md").read_text()
        (note,) = re.findall(r"^```\n(heartlog/\S+\n\d+\n\S+\n\n(?:— .*\n)+)```$", page, re.M)
        replica = re.match("heartlog/[0-9a-f]+/(.*)", note)[1]
        key = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")  # of the first test of RFC 8032
        root = hub_client.base64.b64decode(note.splitlines()[2])
        content = b"\x89HLCKP\r\n\1" + bytes.fromhex(replica) + b"\0" + key + hub_client.blob(note.encode()) + b"\0"
        file = hub_client.File("", b"", bytes.fromhex(replica), 4, 3, root[:8], content + sha(content))
        self.assertEqual(hub_client.read_checkpoint(file, b""), (3, root))
        said, _, signatures = note.partition("\n\n")
        _, name, line = signatures.split("\n")[1].split(" ")
        cosignature, witness = hub_client.base64.b64decode(line), bytes.fromhex(
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")  # of the second test
        self.assertEqual(name, f"heartlog/{sha(witness)[:16].hex()}")
        self.assertEqual(cosignature[:4], sha(f"{name}\n\4".encode() + witness)[:4])
        seconds = int.from_bytes(cosignature[4:12], "big")
        verify(witness, cosignature[12:], f"cosignature/v1\ntime {seconds}\n{said}\n".encode(), "a wrong cosignature")


if __name__ == "__main__":
    unittest.main()
