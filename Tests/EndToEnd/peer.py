#!/usr/bin/env python3
"""A store that syncs, written from docs/shipping.md and docs/format.md alone.

    peer.py FILE add LIBRARY ITEM TITLE   adds an item
    peer.py FILE digest                   prints the digest of the state
    peer.py FILE serve                    answers a sync on standard input and output
    peer.py FILE call COMMAND             syncs with the store that a command serves
    peer.py FILE folder DIR               syncs through a folder

FILE keeps what the store knows. Its own stream is unsigned. It passes on what others signed, with their signatures, and believes nothing
that does not lead to a root. It does not know forks: of a stream with two histories it takes nothing.
"""
import base64, copy, json, os, pathlib, re, subprocess, sys, time

from encryption_reader import check, sha, verify
from format_blocks import Block, Secret, read_block
from format_decoder import ADDED, HAS_FIELDS, Bytes, Commit, Event
from format_encoder import blob, encoded_block, text, varint
from format_hashes import Tree, leaf_hash
from format_state import digest, state
from hub_client import NAME, extended, note_text

HEADS, ANSWER, WANTS, RUN, UNREADABLE, FACTS, LAST, DONE, FAILED = range(1, 10)
SERVING = 1


def signed(key, note, stream):
    """What the owner of a stream signed: how many commits, and the root."""
    said, _, signatures = note.partition("\n\n")
    origin, size, root = said.split("\n")
    vault = re.fullmatch(f"heartlog/([0-9a-f]{{32}})/{stream.hex()}", origin)
    check(vault and sha(key)[:16] == stream, "a checkpoint of another stream")
    signature = base64.b64decode(re.match(f"— {origin} (\\S+)\n", signatures)[1], validate=True)
    check(signature[:4] == sha(f"{origin}\n\1".encode() + key)[:4], "a signature by another key")
    root = base64.b64decode(root)
    check(said + "\n" == note_text(bytes.fromhex(vault[1]), stream, int(size), root), "not the text of a checkpoint")
    verify(key, signature[4:], f"{said}\n".encode(), "a wrong signature")
    return int(size), root


def note_of(vault, stream, size, root, key, signature):
    """The note for which the proof in a run file stands."""
    origin = f"heartlog/{vault.hex()}/{stream.hex()}"
    line = base64.b64encode(sha(f"{origin}\n\1".encode() + key)[:4] + signature).decode()
    return f"{note_text(vault, stream, size, root)}\n— {origin} {line}\n"


class Stream:
    """The commits of a replica, and the tree after each of them."""

    def __init__(self, replica, name=""):
        self.replica, self.name, self.blocks, self.trees, self.leaves = replica, name, [], [Tree()], []
        self.key, self.note, self.size = b"", "", 0

    @property
    def last(self):
        return len(self.leaves)

    @property
    def commits(self):
        return [commit for block in self.blocks for commit in block.commits]

    def root(self, commit):
        return self.trees[commit].root

    def append(self, block, root=None, extension=(), proof=None):
        """Takes a block that follows; if the stream is signed, only with the roots that lead from it to what its owner signed."""
        tree, leaves = copy.deepcopy(self.trees[-1]), [leaf_hash(commit, block.secrets) for commit in block.commits]
        check(block.commits[0].number == self.last + 1, "a gap")
        trees = []
        for leaf in leaves:
            tree.append(leaf)
            trees.append(copy.deepcopy(tree))
        check(root in (None, tree.root), "commits that do not lead to the root")
        if proof:
            check(extended(tree, extension, proof[0]) == proof[1], "commits that their owner did not sign")
        self.blocks.append(block)
        self.trees += trees
        self.leaves += leaves

    def sign(self, key, note):
        """Keeps a checkpoint that covers what is here."""
        size, root = signed(key, note, self.replica)
        if self.size <= size <= self.last and self.root(size) == root:
            self.key, self.note, self.size = key, note, size

    def part(self, first, last):
        """A block of some commits of those that are here."""
        heads, chosen, secrets = {}, [], {}
        for block in self.blocks:
            if not chosen:
                heads = dict(block.heads)
            for commit in block.commits:
                if first <= commit.number <= last:
                    chosen.append(commit)
                elif not chosen:
                    heads |= dict(commit.heads)
            if block.commits[0].number <= last and block.commits[-1].number >= first:
                for secret in block.secrets:
                    known = secrets.setdefault(secret.first, Secret(secret.first))
                    known.whole = known.whole or secret.whole
                    known.runs |= secret.runs
        starts = sorted(secrets)
        used = [start for start, after in zip(starts, starts[1:] + [last + 1]) if start <= last and after > first]
        return Block(chosen, sorted(heads.items()), [secrets[start] for start in used], {})

    def extension(self, position, size):
        """The roots of the full subtrees between a run and the end of a checkpoint."""
        roots = []
        while position < size:
            width = position & -position or 1 << size.bit_length()
            while position + width > size:
                width >>= 1
            tree = Tree()
            for leaf in self.leaves[position:position + width]:
                tree.append(leaf)
            roots.append(tree.root)
            position += width
        return roots

    @property
    def shipped(self):
        """A signed stream is shipped up to its checkpoint."""
        return self.size or self.last


class Peer:
    def __init__(self, path):
        self.path, self.streams = pathlib.Path(path), {}
        kept = json.loads(self.path.read_text()) if self.path.exists() else {"replica": os.urandom(16).hex(), "vault": "", "streams": []}
        self.replica, self.vault = bytes.fromhex(kept["replica"]), bytes.fromhex(kept["vault"])
        for replica, name, key, note, blocks in kept["streams"]:
            stream = self.streams[bytes.fromhex(replica)] = Stream(bytes.fromhex(replica), name)
            for count, data in blocks:
                stream.append(read_block(bytes.fromhex(data), stream.replica, stream.last + 1, count))
            if note:
                stream.sign(bytes.fromhex(key), note)

    def save(self):
        streams = [
            (stream.replica.hex(), stream.name, stream.key.hex(), stream.note,
             [(len(block.commits), encoded_block(block).hex()) for block in stream.blocks]) for stream in self.streams.values()]
        self.path.write_text(json.dumps({"replica": self.replica.hex(), "vault": self.vault.hex(), "streams": streams}))

    def add(self, library, item, title):
        own = self.streams.setdefault(self.replica, Stream(self.replica, "a peer"))
        wall, known = int(time.time() * 1000), dict(head for commit in own.commits for head in commit.heads)
        stamp = max([wall << 16, *(commit.stamp + 1 for stream in self.streams.values() for commit in stream.commits)])
        heads = [(replica, stream.last) for replica, stream in sorted(self.streams.items())
                 if stream is not own and stream.last > known.get(replica, 0)]
        events = [Event(ADDED | HAS_FIELDS, library, item, fields=[("title", 5, title)])]
        number, sequence = own.last + 1, 1 + sum(len(commit.events) for commit in own.commits)
        commit = Commit(self.replica, number, stamp, wall, sequence, "peer", heads, [], events)
        own.append(Block([commit], sorted(known.items()), [Secret(number, os.urandom(32))], {}))

    def meet(self, source):
        """Agrees with another store on a vault. Here it is established, or there is none."""
        if form := source.u8():
            theirs = source.take(16)
            if self.vault in (b"", theirs, *(source.take(16) for _ in range(source.varint(0, 16)))):
                self.vault = theirs
            else:
                check(form == 1, "another vault")  # a provisional one gives way

    def digest(self):
        return digest(state([commit for stream in self.streams.values() for commit in stream.commits]))

    def take(self, replica, name, block, root, extension, proof):
        """Takes a run, of a signed stream only with a proof. Returns its commits if they are new."""
        stream = self.streams.setdefault(replica, Stream(replica, name))
        first, last = block.commits[0].number, block.commits[-1].number
        check(first <= stream.last + 1, "a gap")
        if last <= stream.last:
            check(stream.root(last) == root, "another history")
            return []
        check(first == stream.last + 1, "a run that only partly follows")
        check(proof or not stream.note, "commits that are not signed")
        stream.append(block, root, extension, proof)
        if last == (proof or [0])[0]:
            stream.sign(*proof[2:])
        return block.commits


class Dialogue:
    """One sync over two files."""

    def __init__(self, peer, source, sink):
        self.peer, self.source, self.sink, self.sent, self.heard = peer, source, sink, bytes(32), bytes(32)
        self.facts = {}

    def send(self, kind, payload=b""):
        message = bytes([kind]) + varint(len(payload)) + payload
        self.sent = sha(self.sent + message)
        self.sink.write(message + self.sent[:4])
        self.sink.flush()

    def receive(self):
        """The next message; None where the other end has closed the channel."""
        head = self.source.read(1)
        if not head:
            return None
        while len(head) < 2 or head[-1] > 127:
            head += self.source.read(1)
        payload = self.source.read(Bytes(head[1:]).varint())
        self.heard = sha(self.heard + head + payload)
        check(self.source.read(4) == self.heard[:4], "a wrong checksum")
        body = Bytes(payload)
        check(head[0] != FAILED, f"the other end failed: {payload[2:].decode(errors='replace')}")
        return head[0], body

    def greeting(self, flags, order):
        own = order.index(self.peer.replica) + 1 if self.peer.replica in order else 0
        vault = b"\2" + self.peer.vault + varint(0) if self.peer.vault else b"\0"
        return b"HLS" + bytes([1, flags]) + varint(own) + varint(int(time.time() * 1000)) + vault

    def greeted(self, body, flags):
        check(body.take(3) == b"HLS" and body.u8() == 1, "another protocol")
        check(body.u8() & SERVING == flags, "both ends call, or none")
        body.varint(), body.varint()
        self.peer.meet(body)

    @staticmethod
    def position(stream):
        commit = stream.shipped
        note = sha(stream.note.encode())[:8] if stream.note else b""
        return varint(commit * 2) + (stream.root(commit)[:8] if commit else b"") + varint(stream.size) + note

    @staticmethod
    def read_position(body):
        both = body.varint()
        check(both & 1 == 0, "a stream that ended")
        commit = both >> 1
        root = body.take(8) if commit else b""
        size = body.varint()
        return commit, root, size, body.take(8) if size else b""

    def facts_of(self, order, chosen):
        """What the owners of streams signed."""
        chosen = [replica for replica in chosen if self.peer.streams[replica].note]
        data = varint(len(chosen))
        for replica in chosen:
            stream = self.peer.streams[replica]
            data += varint(order.index(replica)) + b"\1" + stream.key + blob(stream.note.encode())
        return data

    def read_facts(self, body, order):
        for _ in range(body.varint()):
            replica = order[body.varint()]
            check(body.u8() == 1, "a stream that forked or ended")
            key, note = body.take(32), body.blob().decode()
            self.facts[replica] = *signed(key, note, replica), key, note

    def give(self, order, replica, first, last):
        stream = self.peer.streams[replica]
        data = varint(order.index(replica)) + varint(first) + varint(last - first + 1) + (text(stream.name) if first == 1 else b"")
        extension = stream.extension(last, stream.size) if stream.note else []
        data += stream.root(last) + varint(len(extension)) + b"".join(extension)
        self.send(RUN, data + encoded_block(stream.part(first, last)))

    def take(self, body, order):
        """Takes a run. Returns the number of its last commit, and the commits that are new."""
        replica, first, count = order[body.varint()], body.varint(1), body.varint(1)
        name = body.text() if first == 1 else ""
        root = body.take(32)
        extension = [body.take(32) for _ in range(body.varint(0, 64))]
        block = read_block(body.take(body.left), replica, first, count)
        return first + count - 1, self.peer.take(replica, name, block, root, extension, self.facts.get(replica))

    def call(self):
        mine = sorted(self.peer.streams)
        self.send(HEADS, self.greeting(0, mine) + varint(len(mine)) + b"".join(
            replica + self.position(self.peer.streams[replica]) for replica in mine) + varint(0))
        kind, body = self.receive()
        check(kind == ANSWER, "no answer")
        self.greeted(body, SERVING)
        theirs, order = {}, list(mine)
        for replica in mine:
            form = body.u8()
            stream = self.peer.streams[replica]
            theirs[replica] = (
                (stream.shipped, stream.root(stream.shipped)[:8], stream.size, sha(stream.note.encode())[:8]) if form == 0
                else (0, b"", 0, b"") if form == 1 else self.read_position(body))
        for _ in range(body.varint()):
            order.append(replica := body.take(16))
            theirs[replica] = self.read_position(body)
        self.read_facts(body, order)
        body.text()
        self.fetch(order, theirs)
        self.bring(order, theirs)

    def fetch(self, order, theirs):
        """Takes what is missing here."""
        wanted = []
        for replica, (commit, *_) in theirs.items():
            here = self.peer.streams[replica].last if replica in self.peer.streams else 0
            if commit > here:
                wanted.append((replica, here + 1, commit))
        if wanted:
            self.send(WANTS, varint(len(wanted)) + b"".join(
                varint(order.index(replica)) + varint(first) + varint(last) for replica, first, last in wanted))
        for replica, first, last in wanted:
            while first <= last:
                kind, body = self.receive()
                check(kind == RUN, "no run")
                first = self.take(body, order)[0] + 1
        for replica, (*_, key, note) in self.facts.items():
            if replica in self.peer.streams:
                self.peer.streams[replica].sign(key, note)

    def bring(self, order, theirs):
        """Gives what is missing there."""
        given = False
        for replica in order:
            stream, (commit, _, size, _) = self.peer.streams[replica], theirs[replica]
            if stream.shipped <= commit:
                continue
            if stream.size > size:
                self.send(FACTS, self.facts_of(order, [replica]))
            self.give(order, replica, commit + 1, stream.shipped)
            given = True
        if given:
            self.send(LAST)
            kind, _ = self.receive()
            check(kind == DONE, "it did not take what it was given")

    def serve(self):
        order, commits, events = [], 0, 0
        while message := self.receive():
            kind, body = message
            if kind == HEADS:
                self.greeted(body, 0)
                order, theirs = [], {}
                for _ in range(body.varint()):
                    order.append(replica := body.take(16))
                    theirs[replica] = self.read_position(body)
                self.answer(order, theirs)
            elif kind == WANTS:
                for _ in range(body.varint()):
                    self.give(order, order[body.varint()], body.varint(), body.varint())
            elif kind == FACTS:
                self.read_facts(body, order)
            elif kind == RUN:
                _, new = self.take(body, order)
                commits, events = commits + len(new), events + sum(len(commit.events) for commit in new)
            elif kind == LAST:
                self.send(DONE, varint(commits) + varint(events) + varint(0))

    def answer(self, order, theirs):
        count, states, chosen = len(order), b"", []
        for replica in order:
            stream = self.peer.streams.get(replica)
            if stream is None:
                states += b"\1"
                continue
            position = self.position(stream)
            there = self.read_position(Bytes(position))
            states += b"\0" if there == theirs[replica] else b"\2" + position
            if stream.note and there[2:] != theirs[replica][2:] and stream.size >= theirs[replica][2]:
                chosen.append(replica)
        order += [replica for replica in sorted(self.peer.streams) if replica not in theirs]
        more = b"".join(replica + self.position(self.peer.streams[replica]) for replica in order[count:])
        facts = self.facts_of(order, chosen + order[count:])
        self.send(ANSWER, self.greeting(SERVING, order) + states + varint(len(order) - count) + more + facts + text(""))


class Folder:
    """A folder that some program carries."""

    def __init__(self, peer, path):
        self.peer, self.path = peer, pathlib.Path(path)

    def sync(self):
        found = sorted(
            (match[2], int(match[3]), int(match[4]), path) for path in self.path.glob("*/*/*.run")
            if (match := NAME.fullmatch(str(path.relative_to(self.path)))))
        for stream, _, _, path in found:
            self.read(bytes.fromhex(stream), path)
        own = self.peer.replica.hex()
        for replica, stream in self.peer.streams.items():
            names = [(first, last) for name, first, last, path in found
                     if name == replica.hex() and (replica != self.peer.replica or path.parts[-3] == own)]
            last = max((last for _, last in names), default=0)
            if stream.shipped > last:
                self.write(stream, last + 1, stream.shipped)

    def read(self, stream, path):
        content = path.read_bytes()
        check(sha(content[:-32]) == content[-32:], "the hash at the end is wrong")
        source = Bytes(content[:-32])
        check(source.take(8) == b"\x89HLRUN\r\n" and (version := source.u8()) in (1, 2) and source.take(16) == stream, "no file of this name")
        name, first, runs, proof, roots = source.text(most=127), source.varint(1), [], None, {}
        for _ in range(source.varint()):
            count, root = source.varint(1), source.take(32)
            runs.append((first + count - 1, root, read_block(source.blob(), stream, first, count)))
            first += count
        if version == 2:
            self.peer.meet(source)
            key, vault, size = source.take(32), source.take(16), source.varint(first - 1)
            root = source.take(32) if size > first - 1 else root
            note = note_of(vault, stream, size, root, key, source.take(64))
            proof = (*signed(key, note, stream), key, note)
            roots = {last: [source.take(32) for _ in range(source.varint(0, 64))] for last, _, _ in runs}
        for last, root, block in runs:
            known = self.peer.streams.get(stream)
            if known is None or known.last < last:
                self.peer.take(stream, name, block, root, roots.get(last, ()), proof)
        if proof and stream in self.peer.streams:
            self.peer.streams[stream].sign(*proof[2:])

    def write(self, stream, first, last):
        content = b"\x89HLRUN\r\n" + (b"\2" if stream.note else b"\1") + stream.replica + text(stream.name) + varint(first) + varint(1)
        content += varint(last - first + 1) + stream.root(last) + blob(encoded_block(stream.part(first, last)))
        if stream.note:
            vault, line = re.search("heartlog/([0-9a-f]{32})/.*?\n\n— \\S+ (\\S+)\n", stream.note, re.S).groups()
            content += b"\2" + self.peer.vault + varint(0) + stream.key + bytes.fromhex(vault) + varint(stream.size)
            content += (stream.root(stream.size) if stream.size > last else b"") + base64.b64decode(line)[4:]
            extension = stream.extension(last, stream.size)
            content += varint(len(extension)) + b"".join(extension)
        content += sha(content)
        folder = self.path / self.peer.replica.hex() / stream.replica.hex()
        folder.mkdir(parents=True, exist_ok=True)
        self.put(folder / f"{first:016}-{last:016}-{stream.root(last)[:8].hex()}-{content[-32:-24].hex()}.run", content)

    @staticmethod
    def put(path, content):
        unfinished = path.parent / f".tmp-{os.getpid()}-{path.suffix[1:]}"
        unfinished.write_bytes(content)
        os.rename(unfinished, path)


def main(path, verb, *words):
    peer = Peer(path)
    if verb == "add":
        peer.add(*words)
    elif verb == "digest":
        print(peer.digest())
    elif verb == "serve":
        Dialogue(peer, sys.stdin.buffer, sys.stdout.buffer).serve()
    elif verb == "call":
        with subprocess.Popen(["/bin/sh", "-c", words[0]], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            Dialogue(peer, process.stdout, process.stdin).call()
            process.stdin.close()
    elif verb == "folder":
        Folder(peer, words[0]).sync()
    peer.save()


if __name__ == "__main__":
    main(*sys.argv[1:])
