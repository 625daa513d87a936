"""Checks a proof of docs/audit.md with nothing but the file: python3 proof_checker.py FILE [KEY OR FINGERPRINT]."""
import base64, hashlib, json, struct, sys

P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493  # Ed25519: RFC 8032, section 5.1
D = -121665 * pow(121666, P - 2, P) % P
BASE = (4 * pow(5, P - 2, P) % P).to_bytes(32, "little")
ACTIONS = ["added", "removed", "toggledOn", "toggledOff", "changed", "withheld", "unknown"]

def add(a, b):
    s, t = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    u, v = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    return (t - s) * (v - u) % P, (v + u) * (t + s) % P, (v - u) * (v + u) % P, (t - s) * (t + s) % P

def times(number, point, result=(0, 1, 1, 0)):
    for bit in f"{number:b}":
        result = add(result, result) if bit == "0" else add(add(result, result), point)
    return result

def point(data):
    y, sign = int.from_bytes(data, "little") & (1 << 255) - 1, data[31] >> 7
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x if x * x % P == square else x * pow(2, (P - 1) // 4, P) % P
    assert y < P and x * x % P == square and (x or not sign), "not a point of the curve"
    return (x, y, 1, x * y % P) if x & 1 == sign else (P - x, y, 1, (P - x) * y % P)

def verify(key, message, signature):
    s, h = (int.from_bytes(n, "little") for n in (signature[32:], hashlib.sha512(signature[:32] + key + message).digest()))
    a, b = times(s, point(BASE)), add(point(signature[:32]), times(h % L, point(key)))
    assert s < L and (a[0] * b[2] - b[0] * a[2]) % P == 0 == (a[1] * b[2] - b[1] * a[2]) % P, "a wrong signature"

def sha(*parts):
    return hashlib.sha256(b"".join(parts)).digest()

def walk(number, size, isDone):  # for each half of a tree beside the way, the lowest first: whether it is the right one
    low, high, sides = 0, size, []
    while not isDone(low, high):
        split = low + (1 << (high - low - 1).bit_length() - 1)
        low, high = (low, split) if number <= split else (split, high)
        sides.insert(0, high == split)
    return sides, low

class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        assert 0 <= count <= len(self.data) - self.at, "the file ends early"
        self.at += count
        return self.data[self.at - count:self.at]

    def varint(self):
        value, shift, byte = 0, 0, 128
        while byte & 128:
            byte = self.take(1)[0]
            value, shift = value | (byte & 127) << shift, shift + 7
        assert (byte or shift == 7) and value < 1 << 64, "a number that is too long"
        return value

    def checkpoint(self):
        key, vault, size, root, signature = self.take(32), self.take(16), self.varint(), self.take(32), self.take(64)
        text = f"heartlog/{vault.hex()}/{sha(key)[:16].hex()}\n{size}\n{base64.b64encode(root).decode()}\n"
        verify(key, text.encode(), signature)
        seen = [struct.unpack("<32sQ64s", self.take(104)) for _ in range(self.varint())]
        for witness, seconds, signature in seen:
            verify(witness, f"cosignature/v1\ntime {seconds}\n{text}".encode(), signature)
        names = [sha(witness)[:16].hex() for witness, _, _ in seen]
        assert names == sorted(set(names) - {sha(key)[:16].hex()}), "a witness twice, or out of order"
        return {"key": key, "size": size, "root": root, "witnesses": names}

    def event(self, signed):
        number, row, index, salt = self.varint(), Reader(self.take(self.varint())), self.varint(), self.take(16)
        presence, stamp = struct.unpack("<BQ", row.take(9))
        offset, first, count = row.varint(), row.varint(), row.varint()
        origin = row.take(row.varint()) if presence & 1 else b""
        heads = [struct.pack("<16sQ", row.take(16), row.varint()) for _ in range(row.varint())] if presence & 2 else []
        members = [(row.varint(), row.take(row.varint())) for _ in range(row.varint())] if presence & 4 else []
        assert presence < 8 and index < count and 0 < number <= signed["size"], "numbers that do not fit"
        others = [row.take(33) for _ in range(index)]  # of the other events only the hashes are there
        event, replica = row.take(len(row.data) - row.at - 33 * (count - 1 - index)), sha(signed["key"])[:16]
        others += [b"\5" + sha(salt, event)] + [row.take(33) for _ in range(count - 1 - index)]
        assert event[0] & 7 != 5 and all(other[0] == 5 for other in others), "not exactly one event"
        wall = (stamp >> 16) + (offset >> 1 ^ -(offset & 1))
        leaf = struct.pack("<x16sQQIQqI", replica, number, first, count, stamp, wall, len(origin)) + origin + b"".join(
            [struct.pack("<I", len(heads)), *heads, struct.pack("<I", len(members)),
             *(struct.pack("<QI", tag, len(data)) + data for tag, data in members), *(other[1:] for other in others)])
        node, (sides, _) = sha(leaf), walk(number, signed["size"], lambda low, high: high - low == 1)  # RFC 6962, 2.1.1
        assert self.varint() == len(sides), "a path of another length"
        for isRight, other in zip(sides, [self.take(32) for _ in sides]):
            node = sha(b"\1", node, other) if isRight else sha(b"\1", other, node)
        assert node == signed["root"], "an event that does not lead to the signed root"
        names, action = Reader(event[1:]), event[0] & 7
        said = {"proof": "event", "event": f"{replica.hex()}:{first + index}", "commit": number, "action": ACTIONS[action]}
        return said | {name: names.take(names.varint()).decode() for name in ("library", "id") if action < 5}

    def history(self, later):
        kind = self.take(1)[0]
        earlier = self.checkpoint() if kind else {"key": later["key"], "size": self.varint(), "root": self.take(32)}
        size, self.earlier = earlier["size"], earlier["root"]
        assert kind < 2 and earlier["key"] == later["key"] and 0 < size <= later["size"], "trees of different streams"
        sides, low = walk(size, later["size"], lambda low, high: high == size)  # RFC 6962, 2.1.2
        assert self.varint() == len(sides) + (low > 0), "a path of another length"
        old = new = self.take(32) if low else self.earlier
        for isRight, other in zip(sides, [self.take(32) for _ in sides]):
            old, new = (old, sha(b"\1", new, other)) if isRight else (sha(b"\1", other, old), sha(b"\1", other, new))
        assert (old, new) == (earlier["root"], later["root"]), "a path that does not lead from root to root"
        return {"proof": "history", "commits": size, "isSigned": kind == 1}

def check(data):
    assert (reader := Reader(data)).take(8) == b"\x89HPROOF\n" and (kind := reader.take(1)[0]) in (1, 2, 3), "not a proof"
    other = reader.checkpoint() if kind == 3 else None
    said = (reader.event if kind == 1 else reader.history)(signed := reader.checkpoint())
    assert not other or (other["key"], other["size"]) == (signed["key"], said["commits"]) and other["root"] != reader.earlier, "no fork"
    assert reader.at == len(data), "bytes behind the end"
    return said | ({"proof": "fork"} if other else {}) | {"key": signed["key"].hex(), "fingerprint": sha(signed["key"]).hex(), "size": signed["size"],
                   "witnesses": signed["witnesses"]}

if __name__ == "__main__":
    print(json.dumps(answer := check(open(sys.argv[1], "rb").read()), ensure_ascii=False))
    sys.exit("another key" if sys.argv[2:] and sys.argv[2].lower() not in (answer["key"], answer["fingerprint"]) else 0)
