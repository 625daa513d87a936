"""Reads what a carrier has of an encrypted vault with the recovery code alone: docs/encryption.md, of which this is an independent reader.

python3 encryption_reader.py FOLDER OUT, with the code on standard input. FOLDER has keys/ID and WRITER/STREAM/NAME; OUT gets the contents.
"""
import hashlib, pathlib, struct, sys

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
        self.number, self.commitment, self.ephemeral = data.varint(NUMBER_MAX), data.take(32), data.take(32)
        self.previous = dict(before := data.many(16, lambda: (data.take(16), data.take(48))))
        self.recovery = Member(data, self.vault)
        self.devices = data.many(1024, lambda: Member(data, self.vault))
        revocations = data.many(4096, lambda: (data.take(16), size := data.varint(NUMBER_MAX), data.take(32) if size else b""))
        self.revoked = {replica: size for replica, size, _ in revocations}
        self.revoked_roots = {replica: root for replica, _, root in revocations}
        self.maker, twice = data.take(32), data.take(1)[0]
        message = labelled("heartlog epoch 1", object[:data.at])
        verify(self.maker, data.take(64), message, "an epoch that its maker did not sign")
        if twice:
            verify(self.recovery.public, data.take(64), message, "an epoch that the recovery code did not sign")
        check(data.at == len(object), "bytes behind an epoch")
        check(self.number > 0 and twice < 2, "a number that is none")

        self.members = {member.public: member for member in [self.recovery, *self.devices]}
        self.by_recovery = bool(twice) or self.maker == self.recovery.public
        check(rises([key for key, _ in before]) and rises([device.public for device in self.devices]) and
              rises([replica for replica, _, _ in revocations]), "a list that is not in its order")
        check(self.devices and len(self.members) == len(self.devices) + 1, "no device, or a member twice")
        check(len({member.agreement for member in self.members.values()}) == len(self.members), "an agreement key twice")
        check(self.maker in self.members, "a maker that is no member")
        check(not (twice and self.maker == self.recovery.public), "an epoch that its maker signed twice")
        check((self.number == 1) == (not before), "a number that does not fit the epochs before")
        check(self.number > 1 or self.by_recovery, "a first epoch that the recovery code did not sign")
        check(not any(member.replica in self.revoked for member in self.members.values()), "a member that is revoked")

    def checked(self, key):
        check(derive(key, b"", "heartlog commitment 1", self.vault) == self.commitment, "another key than all members have")
        return key

    def key_for(self, identity):
        """The key, as one of the members reads it."""
        member = self.members.get(identity.public)
        check(member and member.agreement == identity.agreement_public, "not a member")
        try:
            shared = identity.agreement.exchange(X25519PublicKey.from_public_bytes(self.ephemeral))
        except ValueError:
            raise Refused("an ephemeral key that shares no secret") from None
        wrapping = derive(shared, self.ephemeral + member.agreement, "heartlog wrap 1",
                          self.vault + self.commitment + member.public)
        return self.checked(decrypt(wrapping, NO_NONCE, member.wrapped, None, "a key that does not decrypt"))

    def key_of(self, previous, key):
        """The key of an epoch before, with this one's."""
        check(previous.vault == self.vault, "an epoch of another vault")
        wrapping = derive(key, previous.id, "heartlog previous 1", self.vault)
        return previous.checked(decrypt(wrapping, NO_NONCE, self.previous[previous.id], None, "a key that does not decrypt"))

    def follows(self, previous):
        """The rules of "Epochs in a row"."""
        devices, codes = {device.public for device in self.devices}, {epoch.recovery.public for epoch in previous}
        revoked_before = {replica for epoch in previous for replica in epoch.revoked}
        return bool(previous) and (
            {epoch.id for epoch in previous} == set(self.previous)
            and all(epoch.vault == self.vault and self.maker in epoch.members for epoch in previous)
            and self.number == max(epoch.number for epoch in previous) + 1
            and all(key in devices or sha(key)[:16] in self.revoked
                    for key in set.intersection(*({device.public for device in epoch.devices} for epoch in previous)))
            and all(self.revoked.get(replica, NUMBER_MAX + 1) <= size
                    for epoch in previous for replica, size in epoch.revoked.items())
            and (codes == {self.recovery.public} or self.by_recovery)
            and not ((len(codes) > 1 or set(self.revoked) - revoked_before) and self.recovery.public in codes))


def trusted(found, code):
    """The epochs that the code made or signed, what they name, and what follows."""
    result, waiting = {}, [epoch for epoch in found.values() if epoch.by_recovery and epoch.recovery.public == code]
    while waiting:
        epoch = waiting.pop()
        if epoch.id not in result:
            result[epoch.id] = epoch
            waiting += [found[id] for id in epoch.previous if id in found]
    for epoch in sorted(found.values(), key=lambda epoch: epoch.number):
        if epoch.id not in result and set(epoch.previous) <= set(result):
            if epoch.follows([result[id] for id in epoch.previous]):
                result[epoch.id] = epoch
    return result


def keys_with(code, objects):
    """The keys of all epochs that a recovery code leads to, by id, and the epochs."""
    identity, found = Identity(secret_of(code)), {}
    for object in objects:
        epoch = Epoch(object)
        found[epoch.id] = epoch
    epochs = trusted(found, identity.public)
    keys = {epoch.id: epoch.key_for(identity) for epoch in epochs.values() if epoch.recovery.public == identity.public}
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
