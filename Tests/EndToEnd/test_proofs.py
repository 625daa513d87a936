"""Proofs: the examples of docs/audit.md and what the command makes, checked by proof_checker.py, which shares no code with it."""

import base64
import os
import pathlib
import random
import re
import struct
import unittest

import heartlog
import proof_checker

EXAMPLE = re.compile(r"^```hex (\S+)\n(.*?)^```$", re.M | re.S)


def examples():
    page = (heartlog.PACKAGE / "docs" / "audit.md").read_text()
    return {name: bytes.fromhex("".join(line.split(";")[0] for line in text.splitlines()))
            for name, text in EXAMPLE.findall(page)}


def is_refused(data):
    try:
        proof_checker.check(data)
    except (AssertionError, IndexError, ValueError, OverflowError, struct.error):
        return True
    return False


class Examples(unittest.TestCase):
    def test_the_checker_has_at_most_120_lines(self):
        path = heartlog.PACKAGE / "Tests" / "EndToEnd" / "proof_checker.py"
        self.assertLessEqual(len(path.read_text().splitlines()), 120)

    def test_the_examples_of_the_page_prove_what_it_says(self):
        found = examples()
        self.assertEqual(set(found), {"event-proof", "history-proof"})
        owner = "21fe31dfa154a261626bf854046fd2271b7bed4b6abe45aa58877ef47f9721b9"
        event = proof_checker.check(found["event-proof"])
        self.assertEqual(event, event | {
            "proof": "event", "event": f"{owner[:32]}:3", "commit": 2, "size": 3, "action": "toggledOff",
            "library": "cities", "id": "urn:ngsi-ld:Zürich", "fingerprint": owner,
            "witnesses": ["39f713d0a644253f04529421b9f51b9b"]})
        history = proof_checker.check(found["history-proof"])
        self.assertEqual(history, history | {
            "proof": "history", "commits": 2, "isSigned": True, "size": 3, "fingerprint": owner, "witnesses": []})

    def test_no_part_of_an_example_can_be_another(self):
        for data in examples().values():
            for place in range(len(data)):
                changed = bytearray(data)
                changed[place] ^= 1 << place % 8
                self.assertTrue(is_refused(bytes(changed)), place)
            for count in range(0, len(data), 7):
                self.assertTrue(is_refused(data[:count]), count)
            self.assertTrue(is_refused(data + b"\0"))


class Commands(heartlog.TestCase):
    """What the command makes, the checker accepts, and it says the same."""

    def written(self, name="phone", count=400):
        """A store with commits of one event and of several."""
        chance = random.Random(name)
        operations = []
        for number in range(count):
            operation = {"op": "add", "library": "papers", "id": f"{name}-{number}", "fields": {"title": "é" * chance.randrange(200)}}
            operations.append(operation | ({"commit": number // 5} if number // 5 % 3 == 0 else {}))
        store = self.store(name)
        self.expect(0, store.apply(operations))
        return store

    def prove(self, store, *arguments):
        path = os.path.join(self.folder, f"{len(os.listdir(self.folder))}.proof")
        said = self.expect(0, store("prove", *arguments, "-o", path, "--json")).object
        data = pathlib.Path(path).read_bytes()
        self.assertEqual((said.pop("file"), said.pop("bytes")), (path, len(data)))
        self.assertEqual(said, self.expect(0, heartlog.run("verify", path, "--json")).object)
        checked = proof_checker.check(data)
        self.assertEqual((said["proof"], said["key"], said["fingerprint"], said["checkpoint"]["size"]),
                         (checked["proof"], checked["key"], checked["fingerprint"], checked["size"]))
        self.assertEqual([witness["replica"] for witness in said["witnesses"]], checked["witnesses"])
        return path, data, said, checked

    def check_event(self, event, said, checked):
        """The proof is of this event of the log."""
        self.assertEqual(said["event"], event)
        self.assertEqual((checked["event"], checked["commit"]), (f"{event['replica']}:{event['sequence']}", event["commit"]))
        self.assertEqual((checked["library"], checked["id"]), (event["library"], event["item"]))

    def test_any_event_is_proven_and_sealing_changes_no_byte_of_a_proof(self):
        store = self.written()
        events = store.log()
        chosen = random.Random(heartlog.seed()).sample(events, 12) + [events[0], events[-1]]
        made = {}
        for event in chosen:
            name = f"{event['replica'][:8]}:{event['sequence']}"
            path, data, said, checked = self.prove(store, name)
            self.check_event(event, said, checked)
            made[name] = data
        self.expect(0, store("compact"))
        for name, data in made.items():
            self.assertEqual(self.prove(store, name)[1], data)

    def test_a_proof_is_checked_without_a_store_and_against_a_key(self):
        store = self.written(count=3)
        path, data, said, _ = self.prove(store, f"{store.log()[1]['replica'][:8]}:2")
        elsewhere = heartlog.environment(HEARTLOG_STORE=os.path.join(self.folder, "nothing"))
        vkey = "heartlog/x+00000000+" + base64.b64encode(b"\1" + bytes.fromhex(said["key"])).decode()
        for key in said["key"], said["fingerprint"], said["fingerprint"][:32]:
            answer = self.expect(0, heartlog.run("verify", path, "--key", key, env=elsewhere))
            self.assertIn("signed with the key that you gave", answer.out)
        self.expect(1, heartlog.run("verify", path, "--key", "0" * 64, env=elsewhere), "another key")
        for key in vkey, "phone", "00":
            self.expect(64, heartlog.run("verify", path, "--key", key, env=elsewhere), "not a key")
        answer = self.expect(0, heartlog.run("verify", "-", input=data, env=elsewhere))
        self.assertIn("compare it", answer.out)

    def test_a_changed_file_proves_nothing(self):
        store = self.written(count=20)
        chance = random.Random(heartlog.seed())
        for arguments in ["{0}:7"], ["--between", "{0}:3", "{0}:15"]:
            replica = store.log()[0]["replica"]
            path, data, _, _ = self.prove(store, *(word.format(replica) for word in arguments))
            for _ in range(40):
                changed = bytearray(data)
                changed[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
                pathlib.Path(path).write_bytes(changed)
                self.expect(65, heartlog.run("verify", path), "proves nothing")
                self.assertTrue(is_refused(bytes(changed)))

    def test_a_history_goes_on_from_an_earlier_proof(self):
        store = self.written(count=50)
        replica = store.log()[0]["replica"]
        early, _, first, _ = self.prove(store, f"{replica}:9")
        self.expect(0, store("add", "papers", "later"))
        _, _, said, checked = self.prove(store, "--between", early, f"{replica}:51")
        self.assertEqual((said["commits"], said["root"], said["isSigned"]),
                         (first["checkpoint"]["size"], first["checkpoint"]["root"], True))
        self.assertEqual(said["checkpoint"]["size"], first["checkpoint"]["size"] + 1)
        _, _, said, checked = self.prove(store, "--between", f"{replica}:9", f"{replica}:20")
        self.assertFalse(said["isSigned"] or checked["isSigned"])
        self.expect(64, store("prove", "--between", f"{replica}:20", f"{replica}:9"), "later")
        self.assertEqual(self.prove(store, "--between", f"{replica}:c4", f"{replica}:c20")[2]["commits"], 4)
        note = self.folder / "today.note"
        note.write_text(self.expect(0, store("prove", "--checkpoint")).out)
        self.expect(0, store("add", "papers", "latest"))
        self.assertTrue(self.prove(store, "--between", str(note), f"{replica}:52")[3]["isSigned"])
        note.write_text(note.read_text().replace("heartlog/", "heartlog/0", 1))
        self.expect(65, store("prove", "--between", str(note), f"{replica}:52"), "neither a proof nor a checkpoint")

    def test_what_cannot_be_proven_says_why(self):
        store = self.written(count=3)
        replica = store.log()[0]["replica"]
        self.expect(1, store("prove", f"{replica}:4"), "no event")
        self.expect(64, store("prove", "now"), "needs an event")
        self.expect(66, store("prove", "--between", "nothing.proof", f"{replica}:1"), "cannot read")
        self.expect(65, heartlog.run("verify", store.path + "/store"), "not a proof")
        self.expect(66, heartlog.run("verify", store.path + "/nothing"), "cannot read")

    def test_events_of_another_device_are_proven_with_its_witness(self):
        phone, desk = self.written(count=40), self.written("desk", 10)
        self.expect(0, desk("sync", phone.path))
        event = next(event for event in desk.log() if event["item"].startswith("phone"))
        _, _, said, checked = self.prove(desk, f"{event['replica']}:{event['sequence']}")
        self.check_event(event, said, checked)
        own = next(event for event in desk.log() if event["item"].startswith("desk"))["replica"]
        self.assertEqual(checked["witnesses"], [own])


if __name__ == "__main__":
    unittest.main()
