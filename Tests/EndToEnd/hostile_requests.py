"""Requests to a hub that no client would make, each with what docs/hub.md says of it."""

import json
import re

from hub_process import run_name

NAME = re.compile(r"(?:[0-9a-f]{32}/[0-9a-f]{32}/\d{16}-\d{16}-[0-9a-f]{16}-[0-9a-f]{16}\.(?:run|checkpoint|proof)|keys/[0-9a-f]{32}(?:-[0-9a-f]{32})?)")
OBJECT_BYTES_MAX = 134_283_264
WORDS = [
    "..", ".", "", "...", "%2e%2e", "%2E.", "%2f", "..%2f..", "..%5c..", "\\..\\..", "etc", "passwd", "keys", "objects", "objects-0.log",
    "hub.lock", "a" * 32, "A" * 32, "b" * 31, "c" * 33, "~", "~root", "*", "?", "%00", "%0d%0aX:y", ";", "'or'1'='1", "$(id)", "|id", "{}",
    "<x>", "\u00e4", "\uff0e\uff0e", "\x7f", "\x01", "CON", ".tmp-1", "-", "--data", "0" * 16, "x.run", run_name(1), run_name(1).split("/")[2],
    run_name(1).split("/")[2] + ".tmp", run_name(1).split("/")[2].replace(".run", " 2.run"),
    run_name(1).split("/")[2].upper(), run_name(1).split("/")[2].replace(".run", ".RUN"),
]
TEXTS = ["", "x", "[]", "[", "{", "}", "nul", "null", "1", '"a"', "{]", '{"a"}', '{"a":}', '{"a":1,}', "{'a':1}", '{"a":1}{}', "\ufeff{}",
         "[" * 3_000, '{"a":' * 3_000, '{"a":"\\ud800"}', '{"a":"\\x"}', '{"a":01}', '{"a":1e}', '{"a":\x01}', '{"a":"\n"}', "\udcff{}"]
HEXADECIMAL = "0123456789abcdef"


class HostileRequests:
    """Draws requests of somebody who has a session for a vault of their own, and none for the one of somebody else."""

    def __init__(self, chance, host, own, session, other, proof):
        """`own` and `other` are vaults; `proof` makes the members that prove a key for a vault, with a fresh nonce."""
        self.chance, self.host, self.session, self.proof = chance, host, session, proof
        self.own, self.other = f"/v1/vaults/{own}", f"/v1/vaults/{other}"
        self.own_id = own
        self.kinds = [
            self.malformed_name, self.other_vault, self.no_session, self.wrong_method, self.no_path, self.long_path, self.large_headers,
            self.large_body, self.malformed_length, self.transfer_encoding, self.malformed_json, self.malformed_member,
            self.malformed_query, self.hosts, self.other_time, self.percent_encoded,
        ]

    def draw(self):
        """A request, and the statuses that docs/hub.md has for it."""
        return self.chance.choice(self.kinds)()

    # Parts of requests

    def request(self, method, target, body=None, session=None, headers=(), host=None):
        lines = [f"{method} {target} HTTP/1.1", f"Host: {self.host if host is None else host}"]
        if session != "":
            lines.append(f"Authorization: Bearer {session or self.session}")
        if isinstance(body, str):
            body = body.encode("utf-8", "surrogateescape")
        if body is not None:
            lines.append(f"Content-Length: {len(body)}")
        return "\r\n".join([*lines, *headers, "", ""]).encode("utf-8", "surrogateescape") + (body or b"")

    def digits(self, count):
        return "".join(self.chance.choices(HEXADECIMAL, k=count))

    def name(self):
        chance = self.chance
        if chance.random() < 0.2:
            return f"keys/{self.digits(32)}"
        return run_name(chance.randrange(1, 1_000_000), self.digits(32), self.digits(32)).replace("0" * 16 + "-f", self.digits(16) + "-f")

    def object_request(self, target):
        method = self.chance.choice(("PUT", "GET", "DELETE"))
        return method, target, b"x" * self.chance.randrange(1, 99) if method == "PUT" else None

    def json_target(self):
        return self.chance.choice((("POST", "/v1/sessions"), ("PUT", self.own), ("POST", f"{self.own}/keys")))

    def members(self, **changes):
        """The members of a request for a session, well-formed but of another time."""
        members = {"vault": self.own_id, "key": self.digits(64), "nonce": self.digits(64), "signature": self.digits(128)}
        return json.dumps(members | changes)

    # Kinds of requests

    def malformed_name(self):
        while True:
            name = "/".join(self.chance.choices(WORDS, k=self.chance.randint(1, 5)))
            # A question mark begins a query, which such a path does not take.
            if not NAME.fullmatch(name.split("?")[0]) and name and " " not in name:
                break
        return self.request(*self.object_request(f"{self.own}/objects/{name}")), {400}

    def percent_encoded(self):
        name = self.name()
        place = self.chance.randrange(len(name))
        encoded = f"%{ord(name[place]):02x}"
        return self.request(*self.object_request(f"{self.own}/objects/{name[:place]}{encoded}{name[place + 1:]}")), {400}

    def other_vault(self):
        """A session that is valid, for another vault."""
        vault = self.chance.choice((self.other, f"/v1/vaults/{self.digits(32)}"))
        match self.chance.randrange(4):
            case 0: return self.request("GET", f"{vault}/{self.chance.choice(('keys', 'objects', 'changes', 'objects?limit=1'))}"), {403}
            case 1: return self.request("POST", f"{vault}/keys", json.dumps({"admit": [self.digits(64)]})), {403}
        return self.request(*self.object_request(f"{vault}/objects/{self.name()}")), {403}

    def no_session(self):
        session = list(self.session)
        session[self.chance.randrange(21)] = self.chance.choice("-_.~ =/+")
        wrong = self.chance.choice((
            "".join(session), self.session[:-1], self.session + "A", self.session.swapcase(), self.session[::-1], "A" * 22, "A" * 7_000, "*", "\u00e4",
            f" {self.session}", f"{self.session},{self.session}"))
        header = self.chance.choice((
            f"Authorization: Bearer {wrong}", f"Authorization: bearer {self.session}", f"Authorization: Basic {self.session}",
            f"Authorization: {self.session}", "Authorization:", f"Cookie: session={self.session}", f"X-Authorization: Bearer {self.session}"))
        vault = self.chance.choice((self.own, self.other))
        method, target, body = self.chance.choice((
            ("GET", f"{vault}/keys", None), ("GET", f"{vault}/objects", None), ("GET", f"{vault}/changes", None),
            ("POST", f"{vault}/keys", '{"admit":[]}'), self.object_request(f"{vault}/objects/{self.name()}")))
        return self.request(method, target, body, session="", headers=[header]), {401}

    def wrong_method(self):
        methods = {
            "/healthz": {"GET"}, "/v1/sessions": {"POST"}, self.own: {"PUT"},
            f"{self.own}/keys": {"GET", "POST"}, f"{self.own}/objects": {"GET"}, f"{self.own}/changes": {"GET"},
            f"{self.own}/objects/{self.name()}": {"GET", "PUT", "DELETE"},
        }
        target = self.chance.choice(list(methods))
        named = ["GET", "PUT", "POST", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW", "get", "PROPFIND", "M" * 300, "P\u00dcT"]
        method = self.chance.choice([name for name in named if name not in methods[target]])
        return self.request(method, target, self.chance.choice((None, "{}"))), {405}

    def no_path(self):
        target = self.chance.choice((
            "/", "/v1", "/v2", "/v1/vaults", "/v1/vault", "/healthz/x", "/metrics", "/v1/challenges", f"{self.own}/object", f"{self.own}/key",
            f"{self.own}/keys/x", f"{self.own}/changes/x", "/index.html", "/admin", "/V1/sessions", "/v1/Sessions"))
        return self.request(self.chance.choice(("GET", "PUT", "POST", "DELETE")), target, "{}"), {404}

    def long_path(self):
        length = self.chance.randrange(1_025, 6_000)
        start = self.chance.choice(("/", f"{self.own}/objects/", f"{self.own}/objects?after=", "/v1/vaults/"))
        return self.request("GET", (start + self.chance.choice("a/.%") * length)[:length]), {414}

    def large_headers(self):
        size = self.chance.randrange(8_200, 10_000)
        if self.chance.random() < 0.5:
            return self.request("GET", f"{self.own}/keys", headers=[f"X: {'y' * size}"]), {431}
        return self.request("GET", f"{self.own}/keys", headers=[f"X-{number}: {'y' * (size // 8)}" for number in range(8)]), {431}

    def large_body(self):
        """Announced, and not sent: it is refused before."""
        if self.chance.random() < 0.5:
            length = OBJECT_BYTES_MAX + self.chance.choice((1, 2, 1_000, 1 << 31, 1 << 40, (1 << 62)))
            return self.request("PUT", f"{self.own}/objects/{self.name()}", headers=[f"Content-Length: {length}"]), {413}
        method, target = self.json_target()
        return self.request(method, target, headers=[f"Content-Length: {65_536 + self.chance.randrange(1, 1 << 40)}"]), {413}

    def malformed_length(self):
        chance = self.chance
        wrong = chance.choice(("-1", "+1", "1.0", "0x1", "1 1", "1,1", "x", "", "1e1", "-99999999999999999999", "\u0661"))
        headers = chance.choice((
            [f"Content-Length: {wrong}"],
            [f"Content-Length: {(1 << 64) + chance.randrange(1 << 70)}"], ["Content-Length: 1", "Content-Length: 1"],
            ["Content-Length: 1", "Content-Length: 2"], ["Content-Length: 0", "content-length: 1"]))
        # What is too large for any number is a body that is too large.
        return self.request("PUT", f"{self.own}/objects/{self.name()}", headers=headers) + b"x", {400, 413}

    def transfer_encoding(self):
        headers = [f"Transfer-Encoding: {self.chance.choice(('chunked', 'gzip', 'identity', 'chunked, chunked', 'x', 'Chunked'))}"]
        if self.chance.random() < 0.5:
            headers.append("Content-Length: 3")
            self.chance.shuffle(headers)
        method, target = self.chance.choice((("PUT", f"{self.own}/objects/{self.name()}"), self.json_target()))
        return self.request(method, target, headers=headers) + b"3\r\nabc\r\n0\r\n\r\n", {411}

    def malformed_json(self):
        method, target = self.json_target()
        return self.request(method, target, self.chance.choice(TEXTS)), {400}

    def malformed_member(self):
        chance = self.chance
        if chance.random() < 0.3:
            wrong = chance.choice(([self.digits(63)], [self.digits(64).upper() + "F"], [None], [1], ["x" * 64], "x", {"a": 1}, 1, [[]], [self.digits(66)]))
            return self.request("POST", f"{self.own}/keys", json.dumps({chance.choice(("admit", "remove")): wrong})), {400}
        name, count = chance.choice((("vault", 32), ("key", 64), ("nonce", 64), ("signature", 128)))
        wrong = chance.choice((
            self.digits(count - 1), self.digits(count + 2), "g" * count, "F" * count, "", None, 1, [], {}, True, self.digits(count - 1) + "\u0660",
            "\u0000" * count, self.digits(count) + "\n", "0x" + self.digits(count - 2), " " + self.digits(count - 1)))
        return self.request("POST", "/v1/sessions", self.members(**{name: wrong}), session=""), {400}

    def malformed_query(self):
        chance = self.chance
        number = chance.choice(("0", "1001", "-1", "01", "1.0", "1e2", "", "x", "99999999999999999999", "+1", "1%20", "\u0661"))
        cursor = chance.choice((
            "", "x", "0", "-", "0-0", f"{self.digits(15)}-1", f"{self.digits(16)}", f"{self.digits(16)}-", f"{self.digits(16)}--1",
            f"{self.digits(16)}-01", f"{self.digits(16)}-{1 << 64}", f"{self.digits(16).upper()}G-1", f"{self.digits(16)}-1-1", f"{self.digits(16)}+1",
            "..", "%00", "'", "A" * 300))
        query = chance.choice((
            f"objects?limit={number}", f"objects?after={cursor}", f"changes?after={cursor}", "objects?limit=1&limit=1", "objects?x=1", "objects?limit",
            "objects?&", "objects??", "changes?limit=1", "keys?x=1", "keys?after=0", f"objects/{self.name()}?x", "objects?limit=1&", "objects?=1"))
        return self.request("GET", f"{self.own}/{query}"), {400}

    def hosts(self):
        plain = self.request("GET", f"{self.own}/keys")
        host = f"Host: {self.host}\r\n".encode()
        return plain.replace(host, self.chance.choice((b"", host + host, host + b"Host: elsewhere\r\n", b"Host:\r\n"))), {400}

    def other_time(self):
        """Well-formed, of another time; the vault may exist or not."""
        if self.chance.random() < 0.5:
            return self.request("POST", "/v1/sessions", self.members(), session=""), {401}
        return self.request("PUT", self.chance.choice((self.own, self.other, f"/v1/vaults/{self.digits(32)}")), self.members(), session=""), {401}

    # Requests that are right, and changes of them

    def valid(self):
        """A request that a client might make."""
        chance = self.chance
        vault = chance.choice((self.own, self.other))
        method, target, body = chance.choice((
            ("PUT", f"{vault}/objects/{self.name()}", chance.randbytes(chance.randrange(200))), ("GET", f"{vault}/objects", None),
            ("GET", f"{vault}/objects?limit=5&after={self.digits(16)}-1", None), ("GET", f"{vault}/changes", None), ("GET", f"{vault}/keys", None),
            ("GET", f"{vault}/objects/{self.name()}", None), ("DELETE", f"{vault}/objects/{self.name()}", None),
            ("POST", f"{vault}/keys", json.dumps({"admit": [self.digits(64)]})), ("POST", "/v1/sessions", self.members()), ("PUT", vault, self.members())))
        if target == "/v1/sessions" and chance.random() < 0.3:
            body = json.dumps(self.proof() | {"vault": self.own_id})
        return self.request(method, target, body, session="" if target.startswith("/v1/s") else None)

    def mutated(self):
        """A request with a few other bytes. What becomes of it nobody knows, but not everything is allowed."""
        chance, sent = self.chance, bytearray(self.valid())
        for _ in range(chance.randint(1, 4)):
            if not sent:
                break
            place = chance.randrange(len(sent))
            match chance.randrange(6):
                case 0: sent[place] = chance.randrange(1, 256)
                case 1: sent[place] ^= 1 << chance.randrange(7)
                case 2: del sent[place:place + chance.randint(1, 9)]
                case 3: sent[place:place] = bytes(chance.randrange(1, 256) for _ in range(chance.randint(1, 9)))
                case 4: sent[place:place] = chance.choice((b"\r\n", b"\r\n\r\n", b" ", b"\t", b":", b"/", b"..", b"%", b"?", b"#", b"9", b"HTTP/1.1"))
                case 5: sent[place:place] = sent[chance.randrange(len(sent)):][:chance.randint(1, 60)]
        # Without this, most would fail at the first line.
        return bytes(sent).replace(b"\0", b"\1") if chance.random() < 0.9 else chance.randbytes(chance.randint(1, 300)).replace(b"\0", b"\1")
