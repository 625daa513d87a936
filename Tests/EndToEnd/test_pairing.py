"""Two devices that are paired: one has the keys of an encrypted vault, and admits the other without the recovery code."""

import os
import pathlib
import random
import shlex
import shutil
import tempfile
import time
import unittest

from heartlog import BINARY, TestCase, environment, seed
from hub import NEEDS_HUB, HubTestCase


def served(store):
    return f"exec:{shlex.quote(BINARY)} --store {shlex.quote(store.path)} keys pair --stdio"


class PairingTests(TestCase):
    def setUp(self):
        super().setUp()
        self.cloud = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def device(self, name, *, encrypts=False):
        store = self.store(name)
        self.expect(0, store("add", "papers", f"item-of-{name}", "title=A confidential title"))
        if encrypts:
            self.code = self.sync(store, "--encrypted").out.splitlines()[-1]
        return store

    def sync(self, store, *options, code=0):
        return self.expect(code, store("sync", f"folder:{self.cloud}", *options))

    def pair(self, caller, server, *options, code=0):
        return self.expect(code, caller("keys", "pair", served(server), *options))

    def epochs(self, store):
        return self.expect(0, store("keys", "--json")).lines

    def fingerprint(self, store):
        devices = self.expect(0, store("devices", "--keys", "--json")).lines
        own = next(device for device in devices if device["isOwn"])
        return (own["signature"] or own)["fingerprint"]

    def expect_same(self, *stores):
        for _ in range(2):
            for store in stores:
                self.sync(store)
        self.assertEqual(len({self.expect(0, store("status", "--json")).object["digest"] for store in stores}), 1)

    def test_a_copied_store_is_a_device_of_its_own(self):
        desk, phone = self.device("desk", encrypts=True), self.device("phone")
        # A copy of a device that is not in the vault, and one of a device that is.
        for original, calls in ((phone, True), (desk, False)):
            copied = original.copy(self.cloud.parent / f"{self.cloud.name}-copy-{calls}")
            self.addCleanup(shutil.rmtree, copied.path)
            admitted = (self.pair(copied, desk, "--json") if calls else self.pair(desk, copied, "--json")).object["admitted"]
            self.assertEqual(admitted["replica"], self.replica(copied))
            self.assertNotEqual(admitted["replica"], self.replica(original))
            self.assertEqual(admitted["fingerprint"], self.fingerprint(copied))
            self.sync(desk)
            self.sync(copied)
        self.sync(phone, code=1)

    def test_either_end_may_call_and_both_sync_through_the_folder(self):
        desk = self.device("desk", encrypts=True)
        phone, tablet = self.device("phone"), self.device("tablet")
        self.sync(phone, code=1)
        # The member calls, and then the new device does.
        admitted = self.pair(desk, phone, "--json").object
        self.assertEqual(admitted["admitted"]["replica"], self.replica(phone))
        self.assertEqual((admitted["admitted"]["name"], admitted["admitted"]["isOwn"]), ("phone", False))
        self.assertEqual(admitted["admitted"]["fingerprint"], self.fingerprint(phone))
        self.assertEqual((admitted["peerName"], admitted["epochsSent"], admitted["epochsReceived"]), ("phone", 2, 0))
        text = self.pair(tablet, desk).out
        self.assertIn(f"admitted: {self.replica(tablet)[:8]} tablet\n", text)
        self.assertIn("hub", text)
        self.assertIn(self.fingerprint(tablet), text.replace(" ", ""))
        # The new devices come first: they bring the epochs themselves.
        self.expect_same(phone, tablet, desk)
        for store in phone, tablet, desk:
            items = {item["id"] for item in self.expect(0, store("list", "papers", "--json")).lines}
            self.assertEqual(items, {"item-of-desk", "item-of-phone", "item-of-tablet"})
            current = next(epoch for epoch in self.epochs(store) if epoch["isCurrent"])
            self.assertEqual(set(current["devices"]), {self.replica(device) for device in (desk, phone, tablet)})
        for path in self.cloud.rglob("*"):
            if path.is_file():
                self.assertNotIn(b"confidential", path.read_bytes())
        self.assertIn("nothing had to be done", self.pair(tablet, phone).out)
        again = self.pair(phone, tablet, "--json").object
        self.assertNotIn("admitted", again)

    def test_a_store_on_this_machine_and_one_behind_ssh(self):
        desk, phone, tablet = self.device("desk", encrypts=True), self.device("phone"), self.device("tablet")
        self.expect(0, phone("keys", "pair", desk.path))
        ssh = self.folder / "ssh"
        ssh.write_text(f"#!/bin/sh\nfor last; do :; done\nPATH={shlex.quote(os.path.dirname(BINARY))}:$PATH exec /bin/sh -c \"$last\"\n")
        ssh.chmod(0o755)
        env = environment(HEARTLOG_SSH=str(ssh))
        self.expect(0, tablet("keys", "pair", f"ssh://anna@desk.example{desk.path}", env=env))
        self.expect_same(tablet, phone, desk)
        self.expect(64, desk("keys", "pair", desk.path), "itself")
        self.expect(66, desk("keys", "pair", desk.path + "-that-is-not-there"), "peer")

    def test_a_revoked_device_is_not_admitted_again(self):
        desk, phone = self.device("desk", encrypts=True), self.device("phone")
        self.pair(desk, phone)
        self.expect_same(phone, desk)
        revoked = self.replica(phone)
        self.expect(0, desk("keys", "rotate", "--without", revoked[:12], input=self.code.encode()))
        before = self.epochs(desk)
        for _ in range(2):
            for caller, server in (desk, phone), (phone, desk):
                self.expect(1, caller("keys", "pair", served(server)), "removed", revoked)
            self.assertEqual(self.epochs(desk), before)
            # The second time, it knows.
            self.sync(desk)
            self.sync(phone, code=1)
        tablet = self.device("tablet")
        self.expect(1, tablet("keys", "pair", served(phone)))
        self.expect(1, phone("keys", "pair", served(tablet)), "removed")
        self.expect(1, tablet("keys"), "not encrypted")

    def test_whom_only_a_removed_device_admitted_comes_back_with_the_new_code_or_a_pairing(self):
        desk, phone, tablet, watch = self.device("desk", encrypts=True), *map(self.device, ("phone", "tablet", "watch"))
        self.pair(desk, phone)
        self.pair(phone, tablet)
        self.pair(phone, watch)
        self.expect_same(phone, tablet, watch, desk)
        out = self.expect(0, desk("keys", "rotate", "--without", self.replica(phone)[:12], input=self.code.encode())).out
        for store, name in (tablet, "tablet"), (watch, "watch"):
            self.assertIn(f"left out: {self.replica(store)[:8]} {name}\n", out)
        self.code = out.splitlines()[-1]
        self.sync(desk)
        self.expect(0, tablet("add", "papers", "written-meanwhile"))
        replica = self.replica(tablet)
        self.expect(1, tablet("sync", f"folder:{self.cloud}"), "only a device that was removed", "keys join -", "keys pair")
        self.assertIn("keys join -", self.expect(1, tablet("doctor")).out)
        self.expect(0, tablet("keys", "join", "-", input=self.code.encode()))
        # It does not know of the removal before it meets a member.
        self.expect(1, watch("keys", "pair", served(desk)), "only a device that was removed")
        self.pair(watch, desk)
        self.expect_same(tablet, watch, desk)
        self.assertEqual(self.replica(tablet), replica)
        self.expect(0, desk("show", "papers", "written-meanwhile"))
        out = self.expect(0, desk("keys", "rotate", "--without", replica, "--json", input=self.code.encode())).object
        self.assertNotIn("leftOut", out)

    def test_what_cannot_be_paired(self):
        desk, phone = self.device("desk"), self.device("phone")
        self.expect(1, desk("keys", "pair", served(phone)), "sync folder:DIR --encrypted")
        self.expect(64, desk("keys", "pair"), "PEER")
        self.expect(64, desk("keys", "pair", "--stdio", phone.path), "PEER")
        self.expect(64, desk("keys", "list", "--stdio"), "keys pair")
        self.expect(64, desk("keys", "pair", "--stdio", "--join"), "--join")
        self.expect(64, desk("keys", "pair", f"folder:{self.cloud}"), "keys join -")
        self.expect(64, desk("keys", "pair", "https://hub.example.org"), "keys join -")
        self.sync(desk, "--encrypted")
        # A Heartlog that does not know of it, one that syncs, and what is none.
        command = f"{shlex.quote(BINARY)} --store {shlex.quote(phone.path)}"
        self.expect(74, desk("keys", "pair", f"exec:{command} keys mate --stdio"), "exit code 64", "too old")
        self.expect(65, desk("keys", "pair", f"exec:{command} serve --stdio"))
        self.expect(65, desk("sync", served(phone)))
        self.expect(65, desk("keys", "pair", "exec:cat"))
        self.expect(65, desk("keys", "pair", "exec:echo Welcome to this machine"), "Welcome to this machine")
        self.expect(74, desk("keys", "pair", "exec:true"), "hung up")
        self.expect(65, phone("keys", "pair", "--stdio", input=os.urandom(4_096).replace(b"\t", b"")))
        self.assertEqual(len(self.epochs(desk)), 1)
        self.expect(1, phone("keys"), "not encrypted")

    def test_two_established_vaults_are_paired_with_join_only(self):
        desk, phone = self.device("desk", encrypts=True), self.device("phone")
        for store in desk, phone:
            self.expect(0, store("sync", self.device("friend").path))
        self.expect(64, phone("keys", "pair", served(desk)), "keys pair PEER --join")
        self.expect(1, phone("keys"), "not encrypted")
        self.pair(phone, desk, "--join")
        self.expect_same(phone, desk)

    def test_a_pairing_that_is_killed_is_completed_by_the_next_one(self):
        numbers = random.Random(seed())
        for _ in range(12):
            desk, phone = self.device("desk"), self.device("phone")
            self.expect(0, desk("keys", "init"))
            caller, server = numbers.choice([(desk, phone), (phone, desk)])
            with self.ended(caller.start("keys", "pair", served(server))) as process:
                time.sleep(numbers.uniform(0, 0.06))
                process.kill()
                process.wait()
            self.pair(caller, server)
            self.assertEqual([epoch["number"] for epoch in self.epochs(desk)], [1])
            self.assertEqual(set(self.epochs(desk)[0]["devices"]), {self.replica(desk), self.replica(phone)})
            self.assertEqual(self.epochs(desk), self.epochs(phone))


@NEEDS_HUB
class PairingAtAHubTests(HubTestCase):
    def test_a_hub_lets_a_device_in_after_the_member_that_admitted_it_has_synced(self):
        desk, phone = self.store("desk"), self.store("phone")
        for store in desk, phone:
            self.expect(0, store("toggle", "papers", f"item-of-{pathlib.Path(store.path).parent.name}"))
        self.expect(0, desk("sync", self.hub.url, "--encrypted"))
        vault = self.expect(0, desk("hub", self.hub.url, "--json")).object["vault"]
        self.expect(0, phone("keys", "pair", served(desk)))
        self.expect(1, phone("sync", f"{self.hub.url}/{vault}"), "does not admit this device")
        self.expect(0, desk("sync", self.hub.url))
        for store in phone, desk, phone:
            self.expect(0, store("sync", f"{self.hub.url}/{vault}"))
        digests = {self.expect(0, store("status", "--json")).object["digest"] for store in (desk, phone)}
        self.assertEqual(len(digests), 1)


if __name__ == "__main__":
    unittest.main()
