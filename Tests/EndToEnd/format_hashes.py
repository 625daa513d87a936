"""What docs/format.md hashes: events with their salts, commits, and the tree of a stream's commits."""

import hashlib
import struct

from format_decoder import WITHHELD, require
from format_encoder import encoded_event


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def run_secret(segment_secret, run):
    return sha256(segment_secret, struct.pack("<I", run))


def run_salt(secret, number, place):
    both = sha256(secret, struct.pack("<QI", number, place // 2))
    return both[16:] if place % 2 else both[:16]


def salt(secrets, number, place):
    """Of event `place` of commit `number`, from the secrets of its stream by first commit."""
    secret = next((secret for secret in reversed(secrets) if secret.first <= number), None)
    require(secret is not None, "a commit's secret is missing")
    run = (number - secret.first) // 256
    content = run_secret(secret.whole, run) if secret.whole else secret.runs.get(run)
    if isinstance(content, dict):
        content = content.get((number, place))
        require(content is not None, "an event's salt is missing")
        return content
    require(content is not None, "a run's secret is missing")
    return run_salt(content, number, place)


def event_hash(event, salt_of):
    return event.hash if event.action == WITHHELD else sha256(salt_of(), encoded_event(event))


def leaf(commit, hashes):
    origin = commit.origin.encode()
    parts = [commit.replica, struct.pack(
        "<QQIQqI", commit.number, commit.sequence, len(commit.events), commit.stamp, commit.wall, len(origin)), origin]
    parts.append(struct.pack("<I", len(commit.heads)))
    parts += [replica + struct.pack("<Q", number) for replica, number in commit.heads]
    parts.append(struct.pack("<I", len(commit.members)))
    parts += [struct.pack("<QI", tag, len(data)) + data for tag, data in commit.members]
    return b"".join(parts + list(hashes))


def leaf_hash(commit, secrets):
    hashes = [
        event_hash(event, lambda place=place: salt(secrets, commit.number, place))
        for place, event in enumerate(commit.events)]
    return sha256(b"\0", leaf(commit, hashes))


class Tree:
    """RFC 6962, grown leaf by leaf: of the tree only the roots of its full subtrees are kept."""

    def __init__(self):
        self.size, self.frontier = 0, []

    def append(self, node):
        size = self.size
        while size & 1:
            node = sha256(b"\1", self.frontier.pop(), node)
            size >>= 1
        self.frontier.append(node)
        self.size += 1

    @property
    def root(self):
        if not self.frontier:
            return sha256()
        node = self.frontier[-1]
        for left in reversed(self.frontier[:-1]):
            node = sha256(b"\1", left, node)
        return node
