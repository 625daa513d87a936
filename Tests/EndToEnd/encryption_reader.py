"""Reads what a carrier has of an encrypted vault with the recovery code alone: docs/encryption.md, of which this is an independent reader.

python3 encryption_reader.py FOLDER OUT, with the code on standard input. FOLDER has keys/ID and WRITER/STREAM/NAME; OUT gets the contents.
"""
import base64, hashlib, pathlib, re, struct, sys

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
CHUNK, HEADER, CONTENT_MAX, EPOCH_MAX, NUMBER_MAX = 65536, 41, 1 << 27, 1 << 20, (1 << 53) - 1
NO_NONCE = bytes(12)


class Refused(Exception):
    """What breaks a rule of the page."""


def check(holds, why):
    if not holds:
        raise Refused(why)


def sha(data):
    return hashlib.sha256(data).digest()


def labelled(label, rest=b""):
    return label.encode() + b"\0" + rest


def derive(material, salt, label, rest=b"", count=32):
    return HKDF(SHA256(), count, salt, labelled(label, rest)).derive(material)


def decrypt(key, nonce, sealed, data, why):
    try:
        return ChaCha20Poly1305(key).decrypt(nonce, sealed, data)
    except InvalidTag:
        raise Refused(why) from None


def verify(key, signature, message, why):
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except (InvalidSignature, ValueError):
        raise Refused(why) from None


# The recovery code

def secret_of(text):
    typed = "".join(character for character in text if character not in " \t\r\n-").upper()
    typed = typed.translate(str.maketrans("OIL", "011"))
    check(len(typed) == 56 and set(typed) <= set(ALPHABET), "not the 56 characters of a recovery code")
    number = 0
    for character in typed:
        number = number << 5 | ALPHABET.index(character)
    data = number.to_bytes(35, "big")
    check(data[32:] == sha(labelled("heartlog recovery 1", data[:32]))[:3], "a recovery code with a wrong checksum")
    return data[:32]


class Identity:
    """The keys of a member that one has the seed of."""

    def __init__(self, seed):
        self.public = Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()
        self.agreement = X25519PrivateKey.from_private_bytes(derive(seed, b"", "heartlog agreement 1"))
        self.agreement_public = self.agreement.public_key().public_bytes_raw()


# Key epochs

class Bytes:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        check(count <= len(self.data) - self.at, "the bytes end early")
        self.at += count
        return self.data[self.at - count:self.at]

    def varint(self, most):
        value, shift, byte = 0, 0, 128
        while byte & 128:
            byte = self.take(1)[0]
            value, shift = value | (byte & 127) << shift, shift + 7
            check(shift <= 70, "a number that is too long")
        check((byte or shift == 7) and value <= most, "a number beyond its limit, or not in its shortest form")
        return value

    def many(self, most, one):
        return [one() for _ in range(self.varint(most))]


class Member:
    def __init__(self, data, vault):
        self.public, self.agreement, self.announcement, self.wrapped = (data.take(n) for n in (32, 32, 64, 48))
        self.replica = sha(self.public)[:16]
        verify(self.public, self.announcement, labelled("heartlog member 1", vault + self.agreement), "an invalid announcement")


def rises(keys):
    return all(a < b for a, b in zip(keys, keys[1:]))


class Epoch:
    def __init__(self, object):
        check(len(object) <= EPOCH_MAX, "an epoch that is too large")
        data = Bytes(object)
        check(data.take(8) == b"\x89HLKEY\r\n", "not an epoch")
        check(data.take(1) == b"\1", "an epoch of another version")
        self.id, self.vault = sha(object)[:16], data.take(16)
        self.generation, self.number = data.varint(NUMBER_MAX), data.varint(NUMBER_MAX)
        self.commitment, self.ephemeral = data.take(32), data.take(32)
        self.previous = dict(before := data.many(16, lambda: (data.take(16), data.take(48))))
        self.root = Member(data, self.vault)
        self.devices = data.many(1024, lambda: Member(data, self.vault))
        removals = data.many(4096, lambda: (data.take(16), size := data.varint(NUMBER_MAX), data.take(32) if size else b""))
        self.removed = {replica: size for replica, size, _ in removals}
        self.origin, self.time, self.maker = data.take(16), data.varint(NUMBER_MAX), data.take(32)
        message = labelled("heartlog epoch 1", object[:data.at])
        verify(self.maker, data.take(64), message, "an epoch that its maker did not sign")
        check(data.at == len(object), "bytes after an epoch")

        self.members = {member.public: member for member in [self.root, *self.devices]}
        self.of_root = self.maker not in {device.public for device in self.devices}
        check(rises([key for key, _ in before]) and rises([device.public for device in self.devices]) and
              rises([replica for replica, _, _ in removals]), "a list that is not in its order")
        check(self.devices and len(self.members) == len(self.devices) + 1, "no device, or a member twice")
        check(len({member.agreement for member in self.members.values()}) == len(self.members), "an agreement key twice")
        check(self.number > 0 and (self.number == 1) == (not before), "a number that does not fit the epochs before")
        if self.number == 1:
            check(self.generation == 0 and self.maker == self.root.public and self.vault == vault_of(self.maker), "no first epoch")
        elif self.of_root:
            check(self.generation > 0 and self.maker != self.root.public, "a maker that is neither a member nor a root before")
        else:
            check(not removals, "a member that removes others")
        check(not any(member.replica in self.removed for member in self.members.values()), "a member that is removed")

    def key_for(self, identity, admission=None):
        """The key, as one of the members reads it."""
        member = admission.member if admission else self.members.get(identity.public)
        check(member and member.agreement == identity.agreement_public, "not a member")
        ephemeral = admission.ephemeral if admission else self.ephemeral
        try:
            shared = identity.agreement.exchange(X25519PublicKey.from_public_bytes(ephemeral))
        except ValueError:
            raise Refused("an ephemeral key that shares no secret") from None
        wrapping = derive(shared, ephemeral + member.agreement, "heartlog wrap 1", self.vault + self.commitment + member.public)
        return self.checked(decrypt(wrapping, NO_NONCE, member.wrapped, None, "a key that does not decrypt"))

    def checked(self, key):
        check(derive(key, b"", "heartlog commitment 1", self.vault) == self.commitment, "another key than all members have")
        return key

    def key_of(self, previous, key):
        """The key of an epoch before, with this one's."""
        check(previous.vault == self.vault, "an epoch of another vault")
        wrapping = derive(key, previous.id, "heartlog previous 1", self.vault)
        return previous.checked(decrypt(wrapping, NO_NONCE, self.previous[previous.id], None, "a key that does not decrypt"))


GIVES, INTRODUCES, INVITES, ACCEPTS, WITHDRAWS = range(5)


class Admission:
    def __init__(self, object):
        data = Bytes(object)
        check(data.take(9) == b"\x89HLADM\r\n\1", "not an admission")
        self.vault, self.epoch, self.ephemeral, self.commitment = (data.take(n) for n in (16, 16, 32, 32))
        self.member, self.kind = Member(data, self.vault), data.take(1)[0]
        check(self.kind <= WITHDRAWS, "an admission of another kind")
        check((self.kind == WITHDRAWS) == (not any(self.ephemeral + self.member.wrapped)), "a withdrawal with a key")
        self.end, self.admitter = data.varint(NUMBER_MAX) if self.kind == INVITES else None, data.take(32)
        message = labelled("heartlog admission 1", object[:data.at])
        verify(self.admitter, data.take(64), message, "an admission that nobody signed")
        check(data.at == len(object), "bytes after an admission")

    @property
    def name(self):
        id = self.member.replica
        if self.kind == ACCEPTS:
            id = sha(labelled("heartlog accepted 1", self.admitter + self.member.public))[:16]
        elif self.kind == WITHDRAWS:
            id = sha(labelled("heartlog withdrawn 1", self.member.public + self.admitter))[:16]
        return f"keys/{self.epoch.hex()}-{id.hex()}"


def invitation_of(line):
    """The vault, the seed or nothing, the place and the endpoint in the line of an invitation."""
    line = "".join(line.split())
    check(line.startswith("heartlog://"), "no invitation")
    digits = line.removeprefix("heartlog://")
    check(re.fullmatch("[A-Za-z0-9_-]*", digits), "no base64url")
    try:
        content = base64.urlsafe_b64decode(digits + "=" * (-len(digits) % 4))
    except ValueError:
        raise Refused("no base64url") from None
    content, checksum = content[:-4], content[-4:]
    check(sha(labelled("heartlog invitation 1", content))[:4] == checksum, "an invitation that is not whole")
    data = Bytes(content)
    check(data.take(1) == b"\1", "an invitation of another version")
    vault, has_seed = data.take(16), data.take(1)[0]
    check(has_seed <= 1, "an invitation of another kind")
    seed = data.take(32) if has_seed else None
    place, endpoint = (data.take(data.varint(1024)).decode() for _ in range(2))
    check(data.at == len(content), "bytes after an invitation")
    return vault, seed, place, endpoint


def vault_of(root):
    return b"enc1" + sha(labelled("heartlog vault 1", root))[:12]


class State:
    """"The state of the keys": a function of the set of objects."""

    def __init__(self, vault, epochs, admissions):
        found = {}
        for epoch in sorted(epochs, key=lambda epoch: (epoch.number, epoch.id)):
            if epoch.vault == vault and all(id in found for id in epoch.previous) and \
                    epoch.number == 1 + max((found[id].number for id in epoch.previous), default=0):
                found[epoch.id] = epoch
        self.anchors, self.lost, self.trusted, self.removed, self.members, self.holders = [], [], {}, {}, {}, {}
        while candidates := sorted((epoch for epoch in found.values() if epoch.generation == len(self.anchors) and (
                epoch.of_root and epoch.maker == self.anchors[-1].root.public if self.anchors else epoch.number == 1)),
                key=lambda epoch: epoch.id):
            self.anchors.append(candidates[0])
            self.lost += candidates[1:]
        for epoch in self.anchors + self.lost:
            for replica, size in epoch.removed.items():
                self.removed[replica] = min(size, self.removed.get(replica, size))
            waiting = [epoch]
            while waiting:
                epoch = waiting.pop()
                self.trusted[epoch.id] = epoch
                waiting += [found[id] for id in epoch.previous if id not in self.trusted]
        check(self.anchors, "no first epoch of the vault")
        self.introduced = {device.public for device in self.anchors[0].devices}
        self.invitations, self.withdrawn, self.accepted = {}, set(), {}
        admissions = [one for one in admissions if one.vault == vault]
        for one in admissions:
            if one.kind == ACCEPTS:
                self.accepted.setdefault(one.admitter, set()).add(one.member.public)
        # Who depends on an invitation withdraws none.
        for left_out in ACCEPTS, WITHDRAWS:
            count = -1
            while count != (count := len(self.trusted) + len(self.introduced)):
                for anchor in self.anchors[:-1] + self.lost + self.anchors[-1:]:
                    self.follow(anchor, found, [one for one in admissions if one.kind != left_out])

    def admits(self, admission):
        if admission.kind == ACCEPTS:
            invitation = self.invitations.get(admission.admitter)
            return (invitation and invitation.epoch == admission.epoch and admission.admitter not in self.withdrawn
                    and len(self.accepted[admission.admitter]) == 1)
        return admission.admitter in self.members or admission.admitter == self.root.public

    def follow(self, anchor, found, admissions):
        """The members and epochs under a root."""
        self.root, named, generation, count = anchor.root, {device.public: device for device in anchor.devices}, [anchor], -1
        self.holders.setdefault(anchor.id, set()).update(device.replica for device in anchor.devices)
        while count != (count := len(named) + len(self.introduced) + len(generation) + len(self.invitations)
                        + sum(map(len, self.holders.values()))):
            self.members = {public: member for public, member in named.items()
                            if public in self.introduced and member.replica not in self.removed}
            for epoch in found.values():
                if (epoch not in generation and epoch.generation == anchor.generation and epoch.root.public == self.root.public
                        and not epoch.of_root and epoch.maker in self.members and all(id in self.trusted for id in epoch.previous)):
                    generation.append(epoch)
                    self.trusted[epoch.id] = epoch
                    self.holders.setdefault(epoch.id, set()).update(device.replica for device in epoch.devices)
                    named.update({device.public: device for device in epoch.devices})
            for admission in admissions:
                epoch = self.trusted.get(admission.epoch)
                if not epoch or admission.commitment != epoch.commitment or not self.admits(admission):
                    continue
                if admission.kind == INVITES:
                    self.invitations[admission.member.public] = admission
                elif admission.kind == WITHDRAWS:
                    self.withdrawn.add(admission.member.public)
                else:
                    self.holders.setdefault(epoch.id, set()).add(admission.member.replica)
                    if admission.kind != GIVES:
                        self.introduced.add(admission.member.public)
                    if epoch in generation:
                        named[admission.member.public] = admission.member
        self.current = min(generation, key=lambda epoch: (-epoch.number, epoch.id))


def objects_of(found):
    """The sound epochs and admissions among objects."""
    epochs = [Epoch(object) for object in found if not object.startswith(b"\x89HLADM")]
    return epochs, [Admission(object) for object in found if object.startswith(b"\x89HLADM")]


def keys_with(code, objects):
    """The keys of all epochs that a recovery code leads to, by id, and the epochs."""
    identity = Identity(secret_of(code))
    epochs, admissions = objects_of(objects)
    vault = next((epoch.vault for epoch in epochs if epoch.root.public == identity.public), None)
    check(vault, "the code opens no vault here")
    epochs = State(vault, epochs, admissions).trusted
    keys = {epoch.id: epoch.key_for(identity) for epoch in epochs.values() if epoch.root.public == identity.public}
    for epoch in sorted(epochs.values(), key=lambda epoch: -epoch.number):
        if epoch.id in keys:
            for id in epoch.previous:
                if id in epochs and id not in keys:
                    keys[id] = epoch.key_of(epochs[id], keys[epoch.id])
    return keys, epochs


# Objects

def padded(length):
    length += 4
    return max(512, 1 << (length - 1).bit_length()) if length <= CHUNK else -(-length // CHUNK) * CHUNK


def salt_of(key, vault, name, content):
    start, _, ending = name.rpartition(".")
    unnamed = f"{start[:-16]}{'0' * 16}.{ending}"
    return derive(key, sha(content), "heartlog salt 1", vault + unnamed.encode(), 16)


def nonce(number, last):
    return struct.pack("<Q3xB", number, last)


def open_object(object, name, vault, keys):
    start, _, ending = name.rpartition(".")
    check(len(name) <= 255 and name.isascii() and all("!" <= character <= "~" for character in name), "a name that is none")
    check(ending and len(start) >= 16 and set(start[-16:]) <= set("0123456789abcdef"), "a name without a content")
    header, magic = object[:HEADER], b"\x89HLOBJ\r\n"
    check(header[:8] == magic and len(header) == HEADER, "not an object")
    check(header[8] == 1, "an object of another version")
    id, salt = header[9:25], header[25:]
    check(id in keys, "an object of an unknown epoch")
    check(salt[:8].hex() == start[-16:], "an object of another name")
    key = derive(keys[id], salt, "heartlog object 1", vault + name.encode())
    sealed = [object[at:at + CHUNK + 16] for at in range(HEADER, len(object), CHUNK + 16)] or [b""]
    check(len(sealed) <= padded(CONTENT_MAX) // CHUNK, "too many chunks")
    text = b"".join(decrypt(key, nonce(number, number == len(sealed) - 1), chunk, header, f"chunk {number} does not decrypt")
                    for number, chunk in enumerate(sealed))
    check(len(text) >= 512, "not padded")
    length = int.from_bytes(text[:4], "little")
    check(length <= CONTENT_MAX and len(text) == padded(length), "not padded to the size class of the content")
    content = text[4:4 + length]
    check(not any(text[4 + length:]), "padding that is not zeros")
    check(salt_of(keys[id], vault, name, content) == salt, "a salt that is not that of the content")
    return content


def read(folder, out, code):
    """Writes the content of every object of a folder. Returns how many there are."""
    keys, epochs = keys_with(code, [path.read_bytes() for path in sorted((folder / "keys").iterdir())])
    vaults = {epoch.vault for epoch in epochs.values()}
    check(len(vaults) == 1, "the code opens no vault here")
    count = 0
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.parent.name != "keys"):
        name = path.relative_to(folder).as_posix()
        content = open_object(path.read_bytes(), name, *vaults, keys)
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_bytes(content)
        count += 1
    return count


if __name__ == "__main__":
    try:
        print(read(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.stdin.read()), "objects")
    except Refused as error:
        sys.exit(f"encryption_reader: {error}")
