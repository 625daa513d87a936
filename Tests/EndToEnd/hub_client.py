"""A device of an encrypted vault at a hub, written from docs/hub.md, docs/encryption.md, docs/shipping.md and docs/format.md alone.

python3 hub_client.py http://HOST:PORT/VAULT SEED LIBRARY [ITEM TITLE], with the recovery code on standard input, joins the vault, checks
everything there, adds the item, and prints the ids of the library's favorites. SEED is a file with the 32 secret bytes of the device's key.
It has no log: it continues its stream as the hub has it. It does not write where a rule is broken, or a stream ended.
"""
import base64, collections, contextlib, copy, http.client, json, os, pathlib, re, sys, time, urllib.parse

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

import encryption_reader as encryption
import format_reader
from encryption_reader import NO_NONCE, Refused, check, derive, labelled, sha, verify
from encryption_writer import seal
from format_blocks import Block, Secret, read_block
from format_decoder import ADDED, HAS_FIELDS, Bytes, Commit, Event, Malformed
from format_encoder import blob, encoded_block, text, varint
from format_hashes import Tree, leaf_hash
from format_segments import Segment
from format_state import state

NOTE_MAX, WALL_MAX = 1 << 22, 7_258_118_399_999
NAME = re.compile(r"([0-9a-f]{32})/([0-9a-f]{32})/(\d{16})-(\d{16})-([0-9a-f]{16})-[0-9a-f]{16}\.(run|checkpoint|proof)")
File = collections.namedtuple("File", "name writer stream first last root content")


@contextlib.contextmanager
def reading(name):
    try:
        yield
    except (Refused, Malformed, ValueError) as error:
        raise Refused(f"{name}: {error}") from error


class Member(encryption.Identity):
    def __init__(self, seed):
        super().__init__(seed)
        self.sign, self.replica = Ed25519PrivateKey.from_private_bytes(seed).sign, sha(self.public)[:16]


class Hub:
    def __init__(self, address):
        parts = urllib.parse.urlsplit(address)
        self.host, self.vault, self.session = parts.netloc, parts.path.strip("/"), ""
        self.connection = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection

    def request(self, method, path, body=None):
        """The body of the answer; None if there is no such object."""
        with contextlib.closing(self.connection(self.host, timeout=60)) as connection:
            data = json.dumps(body).encode() if isinstance(body, dict) else body
            connection.request(method, path, data, {"Host": self.host, "Authorization": f"Bearer {self.session}"})
            found = (answer := connection.getresponse()).read()
        check(answer.status < 400 or answer.status == 404, f"the hub answers {answer.status}: {found.decode(errors='replace')}")
        return None if answer.status == 404 else found

    def open(self, member):
        nonce = int(time.time()).to_bytes(8, "big") + os.urandom(24)
        signature = member.sign(labelled("heartlog hub 1", bytes.fromhex(self.vault) + nonce + self.host.encode())).hex()
        proof = {"vault": self.vault, "key": member.public.hex(), "nonce": nonce.hex(), "signature": signature}
        self.session = json.loads(self.request("POST", "/v1/sessions", proof))["session"]

    def admit(self, keys):
        self.request("POST", f"/v1/vaults/{self.vault}/keys", {"admit": [key.hex() for key in keys], "remove": []})

    def object(self, method, name, body=None):
        return self.request(method, f"/v1/vaults/{self.vault}/objects/{name}", body)

    def objects(self):
        names, page = {}, {"hasMore": True}
        while page["hasMore"]:
            query = f"?after={page['cursor']}" if names else ""
            page = json.loads(self.request("GET", f"/v1/vaults/{self.vault}/objects{query}"))
            names |= dict(page["objects"])
        return {name: content for name in names if (content := self.object("GET", name)) is not None}


def admission_of(device, epoch, key, code):
    """The admission of a device to an epoch, signed by the recovery code."""
    ephemeral, vault = X25519PrivateKey.generate(), epoch.vault
    ephemeral_key = ephemeral.public_key().public_bytes_raw()
    shared = ephemeral.exchange(X25519PublicKey.from_public_bytes(device.agreement_public))
    wrapping = derive(shared, ephemeral_key + device.agreement_public, "heartlog wrap 1", vault + epoch.commitment + device.public)
    data = b"\x89HLADM\r\n\1" + vault + epoch.id + ephemeral_key + epoch.commitment + device.public + device.agreement_public
    data += device.sign(labelled("heartlog member 1", vault + device.agreement_public))
    data += ChaCha20Poly1305(wrapping).encrypt(NO_NONCE, key, None) + b"\1" + code.public
    object = data + code.sign(labelled("heartlog admission 1", data))
    assert epoch.key_for(device, encryption.Admission(object)) == key, "an admission that breaks the rules"
    return object


def framed(file, magic, most=1):
    """A file from its replica on, to the hash at its end; and its version."""
    check(sha(file.content[:-32]) == file.content[-32:], "the hash at the end is wrong")
    source = Bytes(file.content[:-32])
    check(source.take(8) == magic and 1 <= (version := source.u8()) <= most and source.take(16) == file.stream, "no file of this name")
    return source, version


def read_runs(file, vault):
    """For each run its block, its last commit, and the root after it; and what the file says the owner signed, or None."""
    source, version = framed(file, b"\x89HLRUN\r\n", 2)
    _, first, runs, proof = source.text(most=127), source.varint(1), [], None
    last = first - 1
    for _ in range(source.varint()):
        count, root = source.varint(1), source.take(32)
        runs.append((read_block(source.blob(), file.stream, last + 1, count), last := last + count, root))
    check(runs and (first, last, root[:8]) == (file.first, file.last, file.root), "a stream that ended, or other commits than the name says")
    if version == 2:
        key, place, size = owner_key(source, vault, file.stream), source.take(16), source.varint(last)
        root = source.take(32) if size > last else root
        verify(key, source.take(64), note_text(place, file.stream, size, root).encode(), "a wrong signature")
        proof = size, root, {last: [source.take(32) for _ in range(source.varint(0, 64))] for _, last, _ in runs}
    source.end()
    return runs, proof


def note_text(vault, replica, size, root):
    return f"heartlog/{vault.hex()}/{replica.hex()}\n{size}\n{base64.b64encode(root).decode()}\n"


def proof_of(vault, key, size, signature, root=b""):
    """What a file of one run says of a checkpoint; with its root if it has more commits."""
    return b"\2" + vault + varint(0) + key + vault + varint(size) + root + signature + varint(0)


def owner_key(source, vault, stream):
    """The owner's key, behind the vault of the writer."""
    vaults = [source.take(16), *(source.take(16) for _ in range(source.varint(0, 16)))] if source.u8() else []
    check(not vaults or vault in vaults, "a device of another vault")
    check(sha(key := source.take(32))[:16] == stream, "a checkpoint by another key than the stream's")
    return key


def read_checkpoint(file, vault):
    """What the owner of a stream signed: how many commits, and the root."""
    source, _ = framed(file, b"\x89HLCKP\r\n")
    key, (said, _, signatures) = owner_key(source, vault, file.stream), source.blob(NOTE_MAX).decode().partition("\n\n")
    origin, size, root = said.split("\n")
    signature = re.match(f"— {origin} (\\S+)\n", signatures)
    check(re.fullmatch(f"heartlog/[0-9a-f]{{32}}/{file.stream.hex()}", origin) and size.isdecimal() and signature, "not a signed note")
    signature, size, root = base64.b64decode(signature[1], validate=True), int(size), base64.b64decode(root, validate=True)
    check(signature[:4] == sha(f"{origin}\n\1".encode() + key)[:4], "a signature by another key")
    verify(key, signature[4:], f"{said}\n".encode(), "a wrong signature")
    check((file.first, file.last, file.root) == (size + 1, size, root[:8]), "another checkpoint than the name says")
    check(source.u8() == 0, "more than a note")
    source.end()
    return size, root


def extended(tree, roots, size):
    """The root of a tree that the roots of full subtrees extend to a size; None if they do not."""
    tree = copy.deepcopy(tree)
    for node in roots:
        if tree.size >= size:
            return None
        width = tree.size & -tree.size
        while tree.size + width > size:
            width >>= 1
        tree.size //= width  # each subtree of the frontier has a multiple of `width` leaves, so this one is like a leaf
        tree.append(node)
        tree.size *= width
    return tree.root if tree.size == size else None


class Stream:
    """The commits of a replica that were taken, and the tree after each of them."""

    def __init__(self):
        self.segments, self.leaves, self.trees, self.commits = [], [], [Tree()], []

    def take(self, name, proof, is_signed, block, last, root):
        """Takes the commits of a run that are new. Those of a signed stream only with a proof that their owner signed them."""
        size, first = len(self.leaves), block.commits[0].number
        if first > size + 1:
            return False
        for commit in block.commits:
            leaf = leaf_hash(commit, block.secrets)
            if commit.number <= size:
                check(self.leaves[commit.number - 1] == leaf, f"another commit {commit.number} than in another file")
            else:
                self.leaves.append(leaf)
                self.trees.append(copy.deepcopy(self.trees[-1]))
                self.trees[-1].append(leaf)
        check(self.trees[last].root == root, "commits that do not lead to the root")
        check(all(commit.wall <= WALL_MAX >= commit.stamp >> 16 for commit in block.commits), "a time beyond the year 2199")
        if new := [commit for commit in block.commits if commit.number > size]:
            if is_signed and not (proof and extended(self.trees[last], proof[2][last], proof[0]) == proof[1]):
                del self.leaves[size:], self.trees[size + 1:]
                return False
            self.segments.append(Segment(pathlib.Path(name), first=size + 1, sequence=new[0].sequence, blocks=[block], commits=new))
        return True

    def finish(self, replica, keys):
        """Checks what must hold from commit to commit. Returns the commits, without those of a removed device that count no more."""
        checked = format_reader.Stream(replica.hex(), self.segments, [])
        format_reader.check_stream(checked)
        check(not checked.problems, f"{replica.hex()}: {checked.problems}")
        self.commits = checked.commits[:keys.removed.get(replica, len(self.trees))]
        return self.commits


class Client:
    def __init__(self, address, code, seed):
        self.hub, self.code_text, self.code, self.device = Hub(address), code, Member(encryption.secret_of(code)), Member(seed)

    def sync(self):
        """Reads and checks all that the hub has, then is admitted if it was not."""
        self.hub.open(self.code)
        self.hub.admit([self.device.public])
        self.hub.open(self.device)
        objects = self.hub.objects()
        self.read_epochs({name: objects.pop(name) for name in list(objects) if name.startswith("keys/")})
        self.read_streams(objects)
        if self.device.replica not in self.state.holders[self.head.id]:
            object = admission_of(self.device, self.head, self.keys[self.head.id], self.code)
            self.hub.object("PUT", f"keys/{self.head.id.hex()}-{self.device.replica.hex()}", object)

    def read_epochs(self, objects):
        """Finds the epoch to write under, and the keys of all that are trusted."""
        epochs, admissions = encryption.objects_of(objects.values())
        names = {f"keys/{epoch.id.hex()}" for epoch in epochs}
        names |= {one.name for one in admissions}
        check(names == set(objects), "another object than its name says")
        self.keys, self.epochs = encryption.keys_with(self.code_text, objects.values())
        self.state = encryption.State(next(iter(self.epochs.values())).vault, epochs, admissions)
        self.head = self.state.current
        check(self.state.root.public == self.code.public, "a void code")

    def read_streams(self, objects):
        """Takes all runs. Of the files in `held` something is not proven, or does not follow what is here."""
        self.streams, self.held, read = collections.defaultdict(Stream, {self.device.replica: Stream()}), [], {"run": [], "checkpoint": []}
        for name, object in objects.items():
            with reading(name):
                found = NAME.fullmatch(name)
                check(found and found[6] in read, "a stream that ended, or no object")
                content, replicas = encryption.open_object(object, name, self.head.vault, self.keys), map(bytes.fromhex, found.group(1, 2))
                file = File(name, *replicas, int(found[3]), int(found[4]), bytes.fromhex(found[5]), content)
                read[found[6]].append((file, (read_runs if found[6] == "run" else read_checkpoint)(file, self.head.vault)))
        said = read["checkpoint"] + [(file, proof[:2]) for file, (_, proof) in read["run"] if proof]
        signed = {file.stream for file, _ in said}
        for file, (runs, proof) in sorted(read["run"], key=lambda run: (run[0].stream, run[0].first, run[0].last)):
            with reading(file.name):
                if not all(self.streams[file.stream].take(file.name, proof, file.stream in signed, *run) for run in runs):
                    self.held.append(file.name)
        for file, (size, root) in said:
            trees = self.streams[file.stream].trees if file.stream in self.streams else []
            check(size >= len(trees) or trees[size].root == root, f"{file.name}: its owner signed another history")
            self.held += [file.name] if size >= len(trees) else []
        self.commits = [commit for replica, stream in self.streams.items() for commit in stream.finish(replica, self.state)]

    def favorites(self, library):
        return {id: item for (name, id), item in state(self.commits).items() if name == library and item.is_favorite}

    def add(self, library, item, title):
        """Puts a commit that adds an item. The next sync reads it like all others."""
        check(not self.held, "objects that are missing, perhaps of the own stream")
        own, wall = self.streams[self.device.replica], int(time.time() * 1000)
        in_force = dict(head for commit in own.commits for head in commit.heads)
        events = [Event(ADDED | HAS_FIELDS, library, item, fields=[("title", 5, title)])]
        stamp = max([wall << 16, *(commit.stamp + 1 for commit in self.commits)])
        heads = [(replica, len(stream.commits)) for replica, stream in sorted(self.streams.items(), key=lambda one: one[0])
                 if stream is not own and len(stream.commits) > in_force.get(replica, 0)]
        sequence = 1 + sum(len(commit.events) for commit in own.commits)
        commit = Commit(self.device.replica, number := len(own.commits) + 1, stamp, wall, sequence, "hub_client", heads, [], events)
        block = Block([commit], sorted(in_force.items()), [Secret(number, os.urandom(32))], {})
        tree = copy.deepcopy(own.trees[-1])
        tree.append(leaf_hash(commit, block.secrets))
        run = self.device.replica + text("hub client") + varint(number) + varint(1) + varint(1) + tree.root + blob(encoded_block(block))
        signed = self.device.sign(note_text(self.head.vault, self.device.replica, number, tree.root).encode())
        self.put(number, tree.root, run, proof_of(self.head.vault, self.device.public, number, signed))

    def put(self, number, root, run, proof):
        """Puts a file of one commit."""
        name = "{0}/{0}/{1:016}-{1:016}-{2}-{3}.run".format(self.device.replica.hex(), number, root[:8].hex(), "0" * 16)
        content = b"\x89HLRUN\r\n" + bytes([2 if proof else 1]) + run + proof
        self.hub.object("PUT", *seal(content + sha(content), name, self.head.vault, self.head.id, self.keys[self.head.id]))


if __name__ == "__main__":
    address, seed, library, *added = sys.argv[1:]
    client = Client(address, sys.stdin.read(), pathlib.Path(seed).read_bytes())
    client.sync()
    if added:
        client.add(library, *added)
        client.sync()
    print("\n".join(sorted(client.favorites(library))))
