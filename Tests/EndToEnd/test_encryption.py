"""Encrypted objects: the vectors of docs/encryption.md, read by encryption_reader.py, which shares no code with what made them."""

import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

try:
    import cryptography
except ImportError:
    cryptography = None
else:
    import encryption_reader as reader
    from encryption_writer import seal
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

PACKAGE = pathlib.Path(__file__).resolve().parents[2]
NEEDS_CRYPTOGRAPHY = unittest.skipUnless(cryptography, "cryptography is not installed: Scripts/test installs it from PyPI")
H = bytes.fromhex


def vectors(name):
    return json.loads((PACKAGE / "fixtures" / "encryption" / f"{name}.json").read_text())


class TestCase(unittest.TestCase):
    def refused(self, body, why=None):
        with self.assertRaises(reader.Refused) as caught:
            body()
        if why:
            self.assertIn(why, str(caught.exception))


class Sample:
    """The vault of the vectors."""

    def __init__(self):
        file = vectors("epochs")
        self.vault, self.code, self.void_code = H(file["vault"]), file["recoveryCode"], file["voidRecoveryCode"]
        self.devices, self.epochs = file["devices"], file["epochs"]
        self.admissions = [H(data) for data in file["admissions"]]
        self.objects = vectors("objects")

    def content(self, vector):
        return H(vector["content"]) * vector["repeats"]

    def key(self, id):
        return next(H(epoch["key"]) for epoch in self.epochs if epoch["id"] == id)

    def bytes(self, vector):
        made = seal(self.content(vector), vector["name"], self.vault, H(vector["epoch"]), self.key(vector["epoch"]))
        assert made[0] == vector["name"]
        return made[1]


@NEEDS_CRYPTOGRAPHY
class Vectors(TestCase):
    def test_derivations(self):
        for vector in vectors("derivations"):
            material, salt, info, output = (H(vector[name]) for name in ("material", "salt", "info", "output"))
            self.assertEqual(HKDF(reader.SHA256(), len(output), salt, info).derive(material), output)
            self.assertTrue(info.startswith(vector["what"].encode() + b"\0"))

    def test_every_label_stands_on_the_page(self):
        page = (PACKAGE / "docs" / "encryption.md").read_text()
        labels = {vector["what"] for vector in vectors("derivations")}
        self.assertEqual(len(labels), 6)
        self.assertEqual(set(re.findall(r"`(heartlog [a-z]+ 1)`", page)),
                         labels | {f"heartlog {what} 1" for what in ("member", "epoch", "admission", "accepted", "withdrawn",
                                                                     "invitation", "vault", "recovery")})

    def test_recovery_codes(self):
        file = vectors("recovery-codes")
        for vector in file["codes"]:
            for text in vector["text"], vector["text"].lower(), vector["text"].replace("-", " ") + "\n":
                self.assertEqual(reader.secret_of(text).hex(), vector["secret"])
            identity = reader.Identity(H(vector["secret"]))
            self.assertEqual(identity.public.hex(), vector["publicKey"])
            self.assertEqual(identity.agreement_public.hex(), vector["agreementKey"])
        for vector in file["refused"]:
            self.refused(lambda: reader.secret_of(vector["text"]))

    def test_epochs(self):
        sample = Sample()
        made = [reader.Epoch(H(epoch["object"])) for epoch in sample.epochs]
        for epoch, vector in zip(made, sample.epochs):
            self.assertEqual((epoch.id.hex(), epoch.vault), (vector["id"], sample.vault))
            for device in sample.devices:
                identity = reader.Identity(H(device["seed"]))
                self.assertEqual(identity.public.hex(), device["publicKey"])
                if identity.public in epoch.members:
                    self.assertEqual(epoch.members[identity.public].replica.hex(), device["replica"])
                    self.assertEqual(epoch.key_for(identity).hex(), vector["key"])
                else:
                    self.refused(lambda: epoch.key_for(identity), "not a member")
        self.assertEqual([len(epoch.devices) for epoch in made], [2, 3, 2])
        self.assertEqual([replica.hex() for replica in made[2].removed], [sample.devices[1]["replica"]])
        replicas = [H(device["replica"]) for device in sample.devices]
        state = reader.State(sample.vault, made, [])
        self.assertEqual((state.current, set(state.removed)), (made[2], {replicas[1]}))
        # Nobody has introduced the third device.
        self.assertEqual({member.replica for member in state.members.values()}, {replicas[0]})
        self.assertEqual(reader.State(sample.vault, [made[0], made[2]], []).current, made[0])

    def test_admissions(self):
        sample = Sample()
        epochs = [reader.Epoch(H(epoch["object"])) for epoch in sample.epochs]
        admissions = [reader.Admission(data) for data in sample.admissions]
        late = reader.Identity(H(sample.devices[2]["seed"]))
        for admission, epoch, vector in zip(admissions, epochs, sample.epochs):
            self.assertEqual(epoch.key_for(late, admission).hex(), vector["key"])
        state = reader.State(sample.vault, epochs[:1], admissions)
        self.assertEqual({member.replica.hex() for member in state.members.values()}, {d["replica"] for d in sample.devices})
        # Whoever was removed admits nobody, and the void code does not either.
        self.assertEqual(len(reader.State(sample.vault, epochs, admissions).members), 2)

    def test_invitations(self):
        file, sample = vectors("invitations"), Sample()
        for line in file["lines"]:
            expected = (sample.vault, H(line["seed"]) if line.get("seed") else None, line["place"], line["endpoint"])
            self.assertEqual(reader.invitation_of(f" {line['text']}\n"), expected)
            for count in range(len(line["text"])):
                self.refused(lambda: reader.invitation_of(line["text"][:count]))
        objects = [reader.Admission(H(object["object"])) for object in file["objects"]]
        self.assertEqual([object.name for object in objects], [object["name"] for object in file["objects"]])
        invited, accepted, withdrawn = objects
        self.assertEqual((invited.kind, accepted.kind, withdrawn.kind), (reader.INVITES, reader.ACCEPTS, reader.WITHDRAWS))
        self.assertEqual(invited.end, 1_700_000_000_000)
        epoch = reader.Epoch(H(sample.epochs[0]["object"]))
        # The seed in the line leads to the key of the epoch, and the admission of the device to the same one.
        key = reader.Identity(H(file["lines"][0]["seed"]))
        self.assertEqual(epoch.key_for(key, invited).hex(), sample.epochs[0]["key"])
        device = reader.Identity(H(sample.devices[2]["seed"]))
        self.assertEqual(epoch.key_for(device, accepted).hex(), sample.epochs[0]["key"])
        for admissions, count in (objects[:1], 2), (objects[1:2], 2), (objects[:2], 3), (objects, 2):
            for order in admissions, admissions[::-1]:
                self.assertEqual(len(reader.State(sample.vault, [epoch], order).members), count)

    def test_objects_are_made_of_their_contents(self):
        sample = Sample()
        for vector in sample.objects:
            made = sample.bytes(vector)
            self.assertEqual(hashlib.sha256(made).hexdigest(), vector["objectSHA256"])
            self.assertIn(vector.get("object"), (None, made.hex()))


@NEEDS_CRYPTOGRAPHY
class Recovery(TestCase):
    def folder(self, sample):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name)
        for name, data in [(f"keys/{epoch['id']}", H(epoch["object"])) for epoch in sample.epochs] + [
                (vector["name"], sample.bytes(vector)) for vector in sample.objects]:
            (path / "carrier" / name).parent.mkdir(parents=True, exist_ok=True)
            (path / "carrier" / name).write_bytes(data)
        return path

    def run_reader(self, path, code):
        return subprocess.run([sys.executable, reader.__file__, path / "carrier", path / "out"], input=code,
                              capture_output=True, text=True)

    def test_the_recovery_code_alone_opens_everything(self):
        sample = Sample()
        path = self.folder(sample)
        answer = self.run_reader(path, sample.code + "\n")
        self.assertEqual((answer.returncode, answer.stderr, answer.stdout), (0, "", f"{len(sample.objects)} objects\n"))
        for vector in sample.objects:
            self.assertEqual((path / "out" / vector["name"]).read_bytes(), sample.content(vector))
        run = sample.content(sample.objects[0])
        self.assertTrue(run.startswith(b"\x89HLRUN\r\n") and b"Anna's phone" in run)
        for stored in (path / "carrier").rglob("*"):
            if stored.is_file():
                for word in b"Anna", b"papers", b"cli", b"title", b"HLRUN":
                    self.assertNotIn(word, stored.read_bytes())

    def test_a_void_code_opens_what_it_could_and_nothing_later(self):
        sample = Sample()
        objects = [H(epoch["object"]) for epoch in sample.epochs]
        keys, epochs = reader.keys_with(sample.void_code, objects)
        self.assertEqual([id.hex() in {id.hex() for id in keys} for id in map(H, (e["id"] for e in sample.epochs))],
                         [True, True, False])
        self.assertEqual(len(epochs), 3)
        answer = self.run_reader(self.folder(sample), sample.void_code)
        self.assertEqual((answer.returncode, answer.stderr), (1, "encryption_reader: an object of an unknown epoch\n"))

    def test_a_code_of_another_vault_opens_nothing(self):
        sample = Sample()
        other = vectors("recovery-codes")["codes"][0]["text"]
        self.refused(lambda: reader.keys_with(other, [H(epoch["object"]) for epoch in sample.epochs]), "opens no vault")
        answer = self.run_reader(self.folder(sample), "0000-0000")
        self.assertEqual(answer.stderr, "encryption_reader: not the 56 characters of a recovery code\n")

    def test_an_epoch_counts_only_with_all_before_it(self):
        sample = Sample()
        objects = [H(epoch["object"]) for epoch in sample.epochs]
        self.assertEqual(reader.keys_with(sample.code, [objects[0], objects[2]])[0], {})


if __name__ == "__main__":
    unittest.main()
