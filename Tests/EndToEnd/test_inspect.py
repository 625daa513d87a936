"""The inspector shows what the commands say, at every moment, writes only what was shown first, and lets nobody else in."""

import base64
import collections
import fcntl
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import stat
import sys
import tempfile
import time
import unittest

import chromium
from format_decoder import decompressed
from heartlog import FORTNIGHT, SECONDS_MAX, run, seed
from hostile import Hostile
from inspector import SHIFT, Inspector, Window, axe
from test_sync import SyncTestCase

STOPS = int(os.environ.get("STOPS") or 80)
REPEATS = 10
# What a page that shows an item's title as HTML would run.
ATTACK = """<script>window.attacked=1</script><img src=x onerror="window.attacked=2">"'><svg onload=window.attacked=3>&lt;\u202etxt.exe\u2066</td></table>"""
DIRECTIONS = "[\u202a-\u202e\u2066-\u2069\u2028\u2029\u200e\u200f]"
PAGES = ("history", "conflicts", "devices", "verification", "doctor", "statistics")
AXE = axe()
NEEDS_CHROMIUM = unittest.skipUnless(chromium.PROGRAM, "Chromium is not installed")
NEEDS_AXE = unittest.skipUnless(AXE, "axe-core is not installed: Scripts/test installs it from PyPI")
# Of a page for the device that wrote it, however it was filtered.
FILTERS = [{}, {"library": "papers"}, {"library": "books"}, {"kind": "favorite"}, {"kind": "remove"}, {"kind": "change"}, {"library": "cities", "kind": "favorite"}]


def kind(event):
    return {True: "favorite", False: "remove", None: "change"}[event.get("isFavorite")]


def takes(event, filters, replica=None):
    return ((replica is None or event["replica"] == replica) and filters.get("library") in (None, event.get("library"))
            and filters.get("kind") in (None, kind(event)))


def commit_name(event):
    return f"{event['replica']}:c{event['commit']}"


class InspectTestCase(SyncTestCase):
    stores = {}

    def shared(self, name):
        """What the method of that name makes, once for all tests: they only read it."""
        if name not in self.stores:
            own, self.folder = self.folder, pathlib.Path(tempfile.mkdtemp(prefix="heartlog-"))
            unittest.addModuleCleanup(shutil.rmtree, self.folder)
            self.stores[name] = store = getattr(self, name)()
            self.folder, before = own, store.log()
            unittest.addModuleCleanup(lambda: self.assertEqual(store.log(), before, "a test wrote to the store of all"))
        return self.stores[name]

    def damaged(self):
        store = self.fortnight()
        segment = store.segments()[0]
        content = bytearray(segment.read_bytes())
        content[3000] ^= 1
        segment.write_bytes(content)
        return store

    def fortnight(self):
        """A phone that has synced with a tablet."""
        phone, tablet = self.store("Anna's phone"), self.store("Anna's tablet")
        for store, name in ((phone, "phone"), (tablet, "tablet")):
            self.expect(0, store.apply((FORTNIGHT / f"{name}.jsonl").read_bytes()))
        self.sync(phone, self.serving(tablet))
        self.tablet = tablet
        return phone

    def hostile(self):
        """Titles, ids, notes, fields and names of devices that would do harm if they were more than text."""
        store, other = self.store(ATTACK[:120]), self.store("\u202edevice<b>")
        hostile = Hostile(random.Random(seed()))
        ids = [text for text in [ATTACK, "__proto__", "constructor", *hostile.ids] if not re.search(r"[\x00-\x1f\x7f-\x9f]", text)]
        self.expect(0, store.apply([{"op": "add", "library": "papers", "id": text, "fields": {"title": text}} for text in ids]))
        self.expect(0, store.apply([{"op": "add", "library": library, "id": ATTACK, "fields": {
            name: ATTACK for name in ("title", "name", "breed", "author", "creators", "@note", "__proto__", "country", ATTACK[:200])}}
            for library in ("cities", "books", "breeds", "archives", "tracks", "settings", "own")]))
        self.expect(0, store.apply([
            {"op": "set", "library": "cities", "id": ATTACK, "fields": {"lat": 1e300, "lon": "<b>"}},
            {"op": "set", "library": "books", "id": ATTACK, "fields": {"duration": -1, "currentPosition": "x", "chapters": [ATTACK], "chapterDuration": 1e-9}},
            {"op": "set", "library": "papers", "id": "a", "fields": {"title": [[ATTACK], {ATTACK: None}], "@in/" + "<i>": "V"}}]))
        self.expect(0, other.apply([{"op": "set", "library": "papers", "id": ATTACK, "fields": {"title": "other", "@note": "\u202e" + ATTACK}},
                                    {"op": "set", "library": "cities", "id": ATTACK, "fields": {"@note": "javascript:alert(1)"}}]))
        self.sync(store, self.serving(other))
        return store

    def inspect(self, store, *options, **more):
        inspector = Inspector(store, *options, **more)
        self.enterContext(self.ended(inspector.process))
        return inspector

    def opened(self, store, *options):
        return self.inspect(store, *options).open()

    def lines(self, store, *words):
        return self.expect(0, store("--json", *words)).lines

    def history(self, store):
        """The commits of the log, each with its events."""
        commits = []
        for event in store.log():
            if not commits or commit_name(commits[-1][0]) != commit_name(event):
                commits.append([])
            commits[-1].append(event)
        return commits


class SessionTests(InspectTestCase):
    def test_the_token_opens_one_session(self):
        inspector = self.inspect(self.store())
        for wrong in ("", "x", inspector.token[:-1], inspector.token + "0", inspector.token.swapcase() + "x", None, [inspector.token], {"token": inspector.token}, 1):
            self.assertEqual(inspector.request("POST", "/session", json.dumps(wrong))[0], 403, wrong)
        self.assertIn(inspector.request("POST", "/session", inspector.token)[0], (400, 403))
        for path in ("/info", "/band", "/stop?index=0", "/events", "/changes"):
            self.assertEqual(inspector.request("GET", path)[0], 401, path)
        self.assertEqual(inspector.request("POST", "/run", {"words": ["status"]})[0], 401)
        status, headers, body = inspector.request("POST", "/session", json.dumps(inspector.token))
        self.assertEqual((status, body), (204, b""))
        (cookie,) = headers.get_all("Set-Cookie")
        pair, *attributes = [part.strip() for part in cookie.split(";")]
        attributes = {attribute.lower() for attribute in attributes}
        self.assertLessEqual({"httponly", "samesite=strict"}, attributes)
        self.assertFalse([attribute for attribute in attributes if attribute.startswith(("domain", "expires", "max-age"))])
        self.assertNotIn(inspector.token, cookie)
        self.assertGreaterEqual(len(pair.split("=", 1)[1]), 22)
        self.assertEqual(inspector.request("POST", "/session", json.dumps(inspector.token))[0], 403)
        self.assertEqual(inspector.request("POST", "/session", json.dumps(inspector.token), cookie=pair)[0], 403)
        name, value = pair.split("=", 1)
        for wrong in (f"{name}=", f"{name}={value[:-1]}", f"{name}={value}0", f"{name}={inspector.token}", f"x={value}", value, f"{name}={value.swapcase()}x"):
            self.assertEqual(inspector.request("GET", "/info", cookie=wrong)[0], 401, wrong)
        self.assertEqual(inspector.request("GET", "/info", cookie=f"other=1; {pair}; x=2")[0], 200)
        self.assertEqual(inspector.end(), 0)

    def test_each_run_has_secrets_of_its_own(self):
        store = self.store()
        inspectors = [self.inspect(store) for _ in range(2)]
        self.assertEqual(len({inspector.token for inspector in inspectors}), 2)
        first, second = (inspector.open() for inspector in inspectors)
        self.assertEqual(first.request("GET", "/info", cookie=second.cookie)[0], 401)
        # A browser sends the cookies of all ports: none may take the place of another.
        self.assertNotEqual(first.cookie.split("=")[0], second.cookie.split("=")[0])
        self.assertEqual(first.request("GET", "/info", cookie=f"{second.cookie}; {first.cookie}")[0], 200)

    def test_another_host_is_refused(self):
        inspector = self.opened(self.store())
        port = inspector.port
        hosts = ["evil.example", f"evil.example:{port}", f"127.0.0.1.evil.example:{port}", f"127.0.0.1:{port}.evil.example", "127.0.0.1", "127.0.0.1:80",
                 f"127.0.0.1:{port}@evil.example", f"0.0.0.0:{port}", f"127.1:{port}", f"127.0.0.2:{port}", f"LOCALHOST.evil:{port}", f" evil:{port}"]
        for host in hosts:
            for method, path, body in (("GET", "/", None), ("GET", "/page.js", None), ("GET", "/info", None), ("GET", "/changes", None),
                                       ("POST", "/session", json.dumps(inspector.token)), ("POST", "/run", {"words": ["status"]})):
                self.assertEqual(inspector.request(method, path, body, Host=host)[0], 403, f"{host} {path}")
        for none in (None, [], ["evil.example", f"127.0.0.1:{port}"], [f"127.0.0.1:{port}", "evil.example"]):
            self.assertIn(inspector.request("GET", "/info", Host=none)[0], (400, 403))
        self.assertEqual(inspector.request("GET", "/info")[0], 200)

    def test_another_origin_is_refused(self):
        store = self.shared("fortnight")
        inspector = self.inspect(store)
        port = inspector.port
        before = self.digest(store)
        origins = ["http://evil.example", "null", "", f"https://127.0.0.1:{port}", "http://127.0.0.1", f"http://127.0.0.1:{port + 1}", "file://",
                   f"http://127.0.0.1:{port}.evil.example", f"http://evil.example:{port}", f"http://localhost:{port}"]
        for origin in origins:
            self.assertEqual(inspector.request("POST", "/session", json.dumps(inspector.token), Origin=origin)[0], 403, origin)
        inspector.open()
        for origin in origins:
            for method, path, body in (("GET", "/changes", None), ("GET", "/info", None), ("GET", "/band", None), ("POST", "/run", {"words": ["toggle", "papers", "x"]})):
                status, headers, _ = inspector.request(method, path, body, Origin=origin)
                self.assertEqual(status, 403, f"{origin} {path}")
                self.assertFalse([name for name in headers if name.lower().startswith("access-control")])
        self.assertEqual(inspector.request("GET", "/info", Origin=f"http://127.0.0.1:{port}")[0], 200)
        self.assertEqual(self.digest(store), before)

    def test_a_form_cannot_post(self):
        store = self.shared("fortnight")
        inspector = self.inspect(store)
        types = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain; application/json", "application/jsonx", "", None]
        for type in types:
            self.assertIn(inspector.request("POST", "/session", json.dumps(inspector.token), Content_Type=type)[0], (403, 415), type)
        inspector.open()
        before = self.digest(store)
        for type in types:
            self.assertIn(inspector.request("POST", "/run", {"words": ["toggle", "papers", "x"]}, Content_Type=type)[0], (403, 415), type)
        self.assertEqual(self.digest(store), before)

    def test_the_page_has_a_policy_and_no_data(self):
        store = self.shared("fortnight")
        inspector = self.inspect(store)
        for path, type in (("/", "text/html"), ("/page.css", "text/css"), ("/page.js", "text/javascript")):
            status, headers, body = inspector.request("GET", path)
            self.assertEqual((status, headers["Content-Type"]), (200, f"{type}; charset=utf-8"))
            policy = dict(part.strip().partition(" ")[::2] for part in headers["Content-Security-Policy"].split(";"))
            self.assertEqual(policy["default-src"], "'none'")
            self.assertEqual((policy["script-src"], policy["style-src"], policy["connect-src"]), ("'self'",) * 3)
            for name in ("base-uri", "form-action", "frame-ancestors"):
                self.assertEqual(policy[name], "'none'")
            self.assertNotIn("unsafe", headers["Content-Security-Policy"])
            self.assertNotIn("*", headers["Content-Security-Policy"])
            self.assertNotIn("Set-Cookie", headers)
            for text in (store.path, "Anna's phone", inspector.token):
                self.assertNotIn(text.encode(), body)
        html = inspector.request("GET", "/")[2].decode()
        self.assertNotRegex(html, r"(?i)\son\w+=|\sstyle=|<script(?![^>]*\ssrc=)|<style|https?://")
        whole = sum(len(inspector.request("GET", path)[2]) for path in ("/", "/page.css", "/page.js"))
        print(f"the page: {whole} bytes", file=sys.stderr)
        self.assertLessEqual(whole, 200 << 10)
        self.assertEqual(inspector.open().request("GET", "/info")[1]["Cache-Control"], "no-store")

    def test_it_listens_to_this_machine_only(self):
        inspector = self.inspect(self.store())
        self.assertEqual(inspector.sockets(), [("tcp", f"0100007F:{inspector.port:04X}")])

    def test_a_port_that_is_taken_is_reported(self):
        store = self.store()
        inspector = self.inspect(store)
        answer = self.expect(74, store("inspect", "--port", str(inspector.port), "--no-open"))
        self.assertIn(f"127.0.0.1:{inspector.port}", answer.err)
        self.expect(64, store("inspect", "--port", "65536", "--no-open"))

    def test_options_that_do_not_go_together_are_refused(self):
        store = self.store()
        for words in (["--at", "now"], ["--library", "papers"], ["-o", "x", "--port", "1"], ["-o", "x", "--no-open"], ["-o", "x", "--read-only"], ["papers"]):
            self.expect(64, store("inspect", *words))

    def test_it_ends_when_it_is_asked_to(self):
        store = self.shared("fortnight")
        for number in (signal.SIGINT, signal.SIGTERM):
            inspector = self.opened(store)
            with socket.create_connection(("127.0.0.1", inspector.port), timeout=SECONDS_MAX) as waiting:
                waiting.sendall(f"GET /changes HTTP/1.1\r\nHost: 127.0.0.1:{inspector.port}\r\nCookie: {inspector.cookie}\r\n\r\n".encode())
                self.assertIn(b"200", waiting.recv(4_096))
                self.assertEqual(inspector.end(number), 0, number)
                self.assertEqual(inspector.error, "")
        inspector = self.opened(store)
        self.assertIn(inspector.end(signal.SIGHUP), (0, -signal.SIGHUP))  # its terminal is gone

    def test_what_no_page_asks_is_refused(self):
        inspector = self.opened(self.shared("fortnight"))
        self.assertEqual(inspector.request("GET", "/nothing")[0], 404)
        for path in ("/../../etc/passwd", "/%2e%2e/etc/passwd", "//etc/passwd", "/page.js/..", "/page/file.js", "/.git/config"):
            self.assertIn(inspector.request("GET", path)[0], (400, 404), path)
        for method in ("PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "BREW"):
            self.assertEqual(inspector.request(method, "/info")[0], 405, method)
        for body in ("", "{", "[]", "null", '{"words":"x"}', '{"words":[1]}', '{"words":[["list"]]}', '{"words":null}', "[" * 5_000, '{"words":["\\ud800"]}', "\udcff"):
            self.assertEqual(inspector.request("POST", "/run", body)[0], 400, body[:20])
        self.assertEqual(inspector.request("POST", "/run", "x" * (4 << 20))[0], 413)
        self.assertIn(inspector.request("GET", "/info", X="y" * 100_000)[0], (400, 413, 431))
        self.assertIn(inspector.request("GET", "/" + "y" * 20_000)[0], (400, 404, 414, 431))
        for query in ("stop", "stop?index=x", "stop?axis=", "stop?commit=x", "stop?commit=%00", "stop?index=1&replica=x", "stop?index=1&kind=x", "band?from=2&to=1", "events?upTo=1"):
            self.assertEqual(inspector.request("GET", f"/{query}")[0], 400, query)
        for query in ("stop?index=99999999999999999999", "stop?axis=9223372036854775807", "stop?index=-5", "band?bins=-1", "band?bins=99999999", "events?count=-1",
                      "events?count=99999999", "band?bins=1&from=-9223372036854775808&to=9223372036854775807", "stop?index=1&library=%27%22%00", "stop?commit=" + "0" * 32 + ":c1"):
            self.assertIn(inspector.request("GET", f"/{query}")[0], (200, 400, 404), query)
        self.assertEqual(inspector.run("status")["exit"], 0)
        self.assertEqual(inspector.end(), 0)


class CommandTests(InspectTestCase):
    # Of everything that writes or reads beyond the store, and of each option that names a file, waits or gives another store.
    FORBIDDEN = [
        [], [""], ["nothing"], ["erase", "papers", "x"], ["erase", "--events", "x:1"], ["keys"], ["keys", "list"], ["keys", "rotate"], ["sync", "/tmp"], ["init"],
        ["export", "papers"], ["export", "papers", "/tmp/x"], ["import", "papers", "/etc/passwd"], ["apply", "-"], ["apply", "/etc/passwd"], ["repair"],
        ["repair", "--salvage", "/tmp/x"], ["compact"], ["replay"], ["backup", "/tmp/x"], ["restore-backup", "/tmp/x", "/tmp/y"], ["serve", "--stdio"], ["hub", "http://x"],
        ["prove", "--checkpoint"], ["invite"], ["join", "x"], ["report"], ["inspect"], ["inspect", "-o", "/tmp/x"], ["help"], ["man"], ["completions", "bash"],
        ["set", "papers", "x", "title=y"], ["set", "papers", "x", "title=y", "@note=z"], ["set", "papers", "x", "@note=z", "title=y"], ["set", "papers", "x", "--fields", "{}"],
        ["set", "papers", "x", "@notes=y"], ["set", "papers", "x", "@in/list=V"], ["set", "papers", "x"], ["set", "papers", "x", "@note=y", "--fields={\"title\":1}"],
        ["add", "papers", "x", "--fields", "{}"], ["collection", "papers", "list", "add", "x"], ["collection", "papers", "list", "remove", "x"],
        ["verify", "/etc/passwd"], ["verify", "-"], ["verify", "x.proof", "--key", "0"], ["log", "-f"], ["log", "--follow"], ["devices", "drop", "x"], ["devices", "keep", "x"],
        ["devices", "retire", "x"], ["places", "add", "/tmp"], ["status", "--store", "/tmp/x"], ["--store", "/tmp/x", "status"], ["--store=/tmp/x", "status"],
        ["status", "--store=/tmp/x"], ["list", "papers", "-o", "/tmp/x"], ["list", "papers", "--output", "/tmp/x"], ["status", "--help"], ["--help"], ["--version"],
        ["conflicts", "--choose"], ["undo", "--last", "--store", "/tmp/x"],
    ]

    def test_commands_answer_as_in_a_terminal(self):
        store = self.shared("fortnight")
        inspector = self.opened(store)
        event = store.log("-n", "1")[0]
        at = commit_name(self.history(store)[200][0])
        for words in (["status"], ["status", "--at", at], ["list", "papers"], ["list", "papers", "--all", "--order", "id"], ["list", "papers", "--match", "quantum"],
                      ["list", "cities", "--match=Ł", "--exact"], ["list", "nothing"], ["show", "cities", "2267057"], ["show", "cities", "none"], ["show", "cities", "--", "-x"],
                      ["log", "-n", "7"], ["log", "books", "--until", at], ["log", event["library"], event["item"]], ["blame", event["library"], event["item"]],
                      ["stats", "--by", "day"], ["stats", "papers", "--by=month", "--at", at], ["diff", at], ["diff", at, "--library", "papers"], ["conflicts"],
                      ["conflicts", "papers", "--at", at], ["devices"], ["devices", "--keys"], ["devices", "forks"], ["devices", "schemas"], ["verify"], ["doctor"], ["places"],
                      ["collection", "papers"], ["undo", "--last", "--dry-run"], ["list", "papers", "--at", "x"], ["list", "Ü"]):
            with self.subTest(words):
                expected = store("--json", *words)
                answer = inspector.run(*words)
                self.assertEqual(answer["exit"], expected.code)
                self.assertEqual(answer["lines"], expected.lines)
                self.assertEqual(answer["total"], len(expected.lines))
                self.assertEqual(answer["error"], expected.err.strip().replace("heartlog: ", ""))
        whole = inspector.run("list", "papers")["lines"]
        for begin, count in ((0, 5), (3, 4), (len(whole) - 1, 10), (len(whole), 1), (10_000, 1), (2, 0)):
            part = inspector.run("list", "papers", **{"from": begin, "count": count})
            self.assertEqual((part["lines"], part["total"]), (whole[begin:begin + count], len(whole)))

    def check_refused(self, store, inspector, *more):
        before = store.log()
        for words in (*more, *self.FORBIDDEN):
            with self.subTest(words):
                answer = inspector.run(*words)
                self.assertIn(answer["exit"], (64, 77))
                self.assertEqual(answer["lines"], [])
                self.assertGreater(len(answer["error"]), 10)
        self.assertEqual(store.log(), before)

    def test_commands_that_are_not_for_a_page_are_refused(self):
        store = self.shared("fortnight")
        self.check_refused(store, self.opened(store))

    def test_a_page_that_reads_only_writes_nothing(self):
        store = self.shared("fortnight")
        inspector = self.opened(store, "--read-only")
        self.assertIs(inspector.get("/info")["readOnly"], True)
        conflict = inspector.run("conflicts")["lines"][0]
        side = next(write for write in conflict["writes"] if not write["isShown"])
        other = next(line["id"] for line in inspector.run("devices")["lines"] if not line["isOwn"])
        self.check_refused(
            store, inspector, ["add", "papers", "x"], ["toggle", "papers", "x"], ["remove", "cities", "2267057"], ["set", "papers", "x", "@note=y"],
            ["undo", "--last"], ["undo", "--after", "2026-03-05"], ["conflicts", "--choose", f"{side['replica']}:{side['sequence']}"],
            ["devices", "trust", other])
        self.assertEqual(inspector.run("undo", "--last", "--dry-run")["exit"], 0)
        self.assertEqual([line["isTrusted"] for line in self.lines(store, "verify") if line.get("replica") == other], [False])

    def test_acts_are_ordinary_events(self):
        store = self.fortnight()
        inspector = self.opened(store)
        before = self.digest(store)
        for words in (["toggle", "papers", "new"], ["add", "cities", "new"], ["set", "cities", "new", "@note=a\nb \u202e <b>"], ["remove", "cities", "new"]):
            answer = inspector.run(*words)
            self.assertEqual(answer["exit"], 0, answer)
            self.assertEqual(answer["lines"], store.log()[-1:])
        self.assertEqual(self.lines(store, "show", "cities", "new")[0]["fields"], {"@note": "a\nb \u202e <b>"})
        self.assertEqual(inspector.run("remove", "cities", "new")["exit"], 1)
        self.assertEqual(inspector.run("undo", "--last", "4")["exit"], 0)
        self.assertEqual(self.digest(store), before)

    def test_the_state_at_every_stop_is_that_of_the_command(self):
        store = self.fortnight()
        self.expect(0, store("undo", "--last", "3"))
        inspector = self.opened(store)
        chance = random.Random(seed())
        commits = self.history(store)
        libraries = [library["name"] for library in self.lines(store, "status")[0]["libraries"]]
        for _ in range(STOPS):
            index = chance.randint(1, len(commits))
            stop = inspector.get("/stop", index=index)
            event = commits[index - 1][0]
            self.assertEqual(stop, {"index": index, "count": len(commits), "commit": commit_name(event), "replica": event["replica"], "number": event["commit"],
                                    "time": event["time"], "stamp": event["stamp"], "axis": int(event["stamp"][:12], 16)})
            library = chance.choice(libraries)
            for words in (["list", library], ["status"], chance.choice((["list", library, "--all"], ["conflicts"], ["stats", "--by", "day"], ["show", library, event["item"]]))):
                expected = store("--json", *words, "--at", stop["commit"])
                answer = inspector.run(*words, "--at", stop["commit"])
                self.assertEqual((answer["exit"], answer["lines"]), (expected.code, expected.lines), words)

    def test_the_slider_stops_where_the_filters_say(self):
        store = self.shared("fortnight")
        inspector = self.opened(store)
        chance = random.Random(seed())
        commits = self.history(store)
        replicas = [None, *(line["id"] for line in self.lines(store, "devices"))]
        for filters in FILTERS:
            for replica in replicas:
                taken = [place for place, commit in enumerate(commits) if any(takes(event, filters, replica) for event in commit)]
                for _ in range(6):
                    place = chance.randrange(len(commits))
                    event = commits[place][0]
                    axis = int(event["stamp"][:12], 16)
                    for question, index in (
                            ({"index": (wanted := chance.randint(-3, len(commits) + 3))}, max(0, min(wanted, len(taken)))),
                            ({"commit": commit_name(event)}, sum(other <= place for other in taken)),
                            ({"axis": axis}, sum(int(commits[other][0]["stamp"][:12], 16) <= axis for other in taken))):
                        stop = inspector.get("/stop", **question, **filters, replica=replica)
                        self.assertEqual((stop["index"], stop["count"]), (index, len(taken)), question)
                        self.assertEqual(stop["commit"], commit_name(commits[taken[index - 1]][0]) if index else None)
                # Bands and events are of the same stops.
                band = inspector.get("/band", bins=50, **filters, replica=replica)
                events = [event for commit in commits for event in commit if takes(event, filters, replica)]
                self.assertEqual(band["count"], len(taken))
                self.assertEqual([sum(bin) for bin in zip(*band["bins"])],
                                 [sum(event["replica"] == device["replica"] for event in events) for device in band["devices"]])
                upTo = commits[chance.randrange(len(commits))][0]
                before = [event for event in events if (event["stamp"], event["replica"]) <= (upTo["stamp"], upTo["replica"])]
                self.assertEqual(inspector.get("/events", upTo=commit_name(upTo), count=30, **filters, replica=replica), before[-30:])

    def test_the_band_has_the_figures_of_the_commands(self):
        store = self.fortnight()
        self.expect(0, store("undo", "--last"))
        self.expect(0, store("erase", "cities", "2267057"))
        inspector = self.opened(store)
        band = inspector.get("/band", bins=300)
        status = self.lines(store, "status")[0]
        self.assertEqual({device["replica"]: (device["name"], sum(bin)) for device, bin in zip(band["devices"], zip(*band["bins"]))},
                         {replica["id"]: (replica["name"], replica["events"]) for replica in status["replicas"]})
        for library in status["libraries"]:
            bins = inspector.get("/band", bins=7, library=library["name"])["bins"]
            self.assertEqual(sum(map(sum, bins)), library["events"], library)
        periods = [line for line in self.lines(store, "stats") if line["kind"] == "period"]
        for name, key in (("favorite", "favorited"), ("remove", "unfavorited")):
            self.assertEqual(sum(map(sum, inspector.get("/band", bins=9, kind=name)["bins"])), sum(period[key] for period in periods))
        marks = inspector.get("/band", bins=300)["marks"]
        self.assertLessEqual(len(marks), 400)
        counts = collections.Counter()
        for mark in marks:
            counts[mark["kind"]] += mark["count"]
            self.assertEqual(inspector.get("/stop", commit=mark["commit"])["index"], mark["index"])
        # Marks of a kind that stand close are one, and count all.
        self.assertGreaterEqual(counts["conflict"], status["conflicts"])
        self.assertGreaterEqual(counts["undo"], 1)
        self.assertGreaterEqual(counts["erasure"], 1)

    def test_playback_positions_are_folded(self):
        store = self.shared("fortnight")
        inspector = self.opened(store)
        whole = inspector.get("/events", count=2000)
        folded = inspector.get("/events", count=2000, playback="false")
        self.assertEqual(whole, store.log())
        shown = [event for event in folded if "folded" not in event]
        self.assertEqual(sum(event.get("folded", 1) for event in folded), len(whole))
        self.assertEqual([event for event in whole if event in shown], shown)
        self.assertFalse(any("folded" in one and "folded" in other for one, other in zip(folded, folded[1:])))
        for event in shown:
            self.assertNotEqual((event["action"], set(event.get("fields", {}))), ("changed", {"currentPosition"}))


class ChangeTests(InspectTestCase):
    def changes(self, inspector):
        connection = http.client.HTTPConnection("127.0.0.1", inspector.port, timeout=SECONDS_MAX)
        self.addCleanup(connection.close)
        connection.request("GET", "/changes", headers={"Host": f"127.0.0.1:{inspector.port}", "Cookie": inspector.cookie})
        answer = connection.getresponse()
        self.assertEqual((answer.status, answer.headers["Content-Type"].split(";")[0]), (200, "text/event-stream"))
        return answer

    def next_change(self, stream):
        while not (line := stream.readline()).startswith(b"data:"):
            self.assertNotEqual(line, b"")
        return json.loads(line[5:])["count"]

    def test_what_other_processes_write_is_told(self):
        store = self.fortnight()
        inspector = self.opened(store)
        stream = self.changes(inspector)
        for number in range(5):
            self.expect(0, store("toggle", "cities", f"new {number}"))
            # What was read when the page opened may be told, too.
            while inspector.get("/events", count=1)[0]["item"] != f"new {number}":
                self.next_change(stream)
            stop = inspector.get("/stop", index=1 << 30)
            self.assertEqual(stop["index"], stop["count"])
        # A sync brings commits that belong between those that are there.
        self.expect(0, self.tablet.apply([{"op": "add", "library": "tracks", "id": "late", "time": "2026-03-20T00:00:00Z"}]))
        self.sync(store, self.serving(self.tablet))
        while "late" not in [event["item"] for event in inspector.get("/events", count=1000)]:
            self.next_change(stream)
        self.assertEqual(inspector.get("/events", count=2000), store.log())

    def test_writers_do_not_wait_for_a_page(self):
        store = self.fortnight()
        inspector = self.opened(store)
        self.changes(inspector)
        self.expect(0, store.apply([{"op": "toggle", "library": "cities", "id": str(number % 50)} for number in range(2_000)]))
        self.assertEqual(inspector.run("list", "cities")["lines"], self.lines(store, "list", "cities"))
        self.expect(0, store("compact"))
        self.expect(0, store("erase", "cities", "7"))
        self.assertEqual(inspector.run("list", "cities")["lines"], self.lines(store, "list", "cities"))
        self.assertEqual(inspector.run("status")["lines"], self.lines(store, "status"))


class DamageTests(InspectTestCase):
    def test_of_a_damaged_store_what_is_sound_is_shown(self):
        store = self.damaged()
        inspector = self.opened(store)
        for words in (["status"], ["list", "papers"], ["log"], ["verify"]):
            expected = store(*words, "--json")
            answer = inspector.run(*words)
            # What is damaged is no result: the sentence says it.
            lines = [line for line in expected.lines if next(iter(line)) != "partial"]
            self.assertEqual((answer["exit"], answer["lines"]), (expected.code, lines), words)
            self.assertEqual(answer["exit"], 65)
            self.assertIn("damaged", answer["error"])
        log = [event for event in store("log", "--json").lines if "replica" in event]
        self.assertEqual(inspector.get("/stop", index=1 << 30)["count"], len({commit_name(event) for event in log}))
        self.assertEqual(inspector.run("toggle", "papers", "x")["exit"], 65)
        self.assertEqual(inspector.end(), 0)

    def test_an_empty_store_has_a_page(self):
        inspector = self.opened(self.store())
        self.assertEqual(inspector.get("/stop", index=5)["count"], 0)
        self.assertIsNone(inspector.get("/stop", index=5)["commit"])
        self.assertEqual(inspector.get("/band", bins=10)["marks"], [])
        self.assertEqual(inspector.get("/events"), [])

    def test_no_store_has_no_page(self):
        for store, code in ((type(self.store())(self.folder / "none"), 66), (self.unreadable(), 65)):
            self.expect(code, store("inspect", "--port", "0", "--no-open"))
            self.expect(code, store("inspect", "-o", str(self.folder / "page.html")))
            self.assertFalse((self.folder / "page.html").exists())

    def unreadable(self):
        store = self.fortnight()
        (pathlib.Path(store.path) / "store").write_bytes(b"nothing")
        return store

    def test_a_store_that_is_gone_is_reported(self):
        store = self.fortnight()
        inspector = self.opened(store)
        # At once: the inspector may still write a file there.
        pathlib.Path(store.path).rename(self.folder / "gone")
        answer = inspector.run("list", "papers")
        self.assertNotEqual(answer["exit"], 0)
        self.assertGreater(len(answer["error"]), 10)
        self.assertEqual(inspector.end(), 0)


class BrowserTestCase(InspectTestCase):
    IDS = "JSON.stringify([...document.querySelectorAll('#items button')].map(row => row.dataset.key))"
    COUNTS = """JSON.stringify(Object.fromEntries([...document.querySelectorAll('#library-names button')].map(row =>
        [row.dataset.key, Number(row.querySelector('.count').textContent.replace(/,/g, ''))])))"""

    def window(self, width=1400, height=1000):
        return self.enterContext(Window(width, height))

    def shown(self, window, store, *options):
        """The page of a store in a browser, once all of it shows something."""
        inspector = self.inspect(store, *options)
        window.go(inspector.address)
        self.assertTrue(window.settled("document.querySelector('#footer code') && document.querySelector('#band svg') || document.querySelector('#messages .message')"), "the page shows nothing")
        return inspector

    def check_quiet(self, window, *urls):
        """No message on the console, and no request to any other address than these."""
        self.assertEqual([json.dumps(message)[:500] for message in window.messages()], [])
        for url in window.requests():
            self.assertTrue(url == "data:," or url.startswith(urls), url)

    def check_shown(self, window, store, library, *at, all=()):
        """The list and the counts on the page, against those of the commands."""
        expected = [line["id"] for line in store("list", library, *all, *at, "--json").lines if "id" in line][:50]
        found = window.settled(f"({self.IDS}) === {json.dumps(json.dumps(expected, separators=(',', ':'), ensure_ascii=False))}")
        self.assertTrue(found, f"{library} {at}: {window.evaluate(self.IDS)} and not {expected}")
        counts = {entry["name"]: entry["favorites"] for entry in store("status", *at, "--json").lines[0]["libraries"]}
        # A library that is not there yet is shown with none.
        equal = f"(shown => {json.dumps(list(counts.items()))}.every(([name, count]) => shown[name] === count) && !Object.keys(shown).some(name => shown[name] && !(name in {json.dumps(counts)})))"
        self.assertTrue(window.settled(f"{equal}(JSON.parse({self.COUNTS}))"), f"{window.evaluate(self.COUNTS)} and not {counts}")

    def index(self, window):
        return int(window.evaluate("document.getElementById('here').getAttribute('aria-valuenow')"))

    def check_index(self, window, index, handle="here"):
        self.assertTrue(window.settled(f"document.getElementById('{handle}').getAttribute('aria-valuenow') === '{index}'"),
                        f"{handle} is at {window.evaluate(f'document.getElementById({json.dumps(handle)}).outerHTML')} and not at {index}")

    def click_until(self, window, selector, script):
        """Clicks again where the page has moved on under the mouse, as people do."""
        for _ in range(3):
            window.click(selector)
            if window.settled(script, seconds=10):
                return
        self.fail(f"{selector} was clicked, and not {script}")

    def choose_library(self, window, name):
        self.click_until(window, f"#library-names [data-key={json.dumps(name)}]",
                         f"document.querySelector('#library-names [aria-current]')?.dataset.key === {json.dumps(name)}")

    def open_item(self, window, id):
        self.click_until(window, f"#items [data-key={json.dumps(id)}]",
                         f"document.querySelector('#life .state .id')?.textContent.endsWith({json.dumps(id)})")

    def go_to_page(self, window, name):
        window.evaluate(f"void (location.hash = '#{name}')")
        if name != "history":
            self.assertTrue(window.settled("""document.querySelector('#page-content *') && !document.querySelector('#page-content progress')
                && !/^Reading…/.test(document.querySelector('#page-content').textContent)"""), name)
        if name == "verification" and window.evaluate("!document.querySelector('.verdict')"):
            window.evaluate("[...document.querySelectorAll('#page-content button')].find(button => button.textContent === 'Verify')?.click()")
            self.assertTrue(window.settled("document.querySelector('.verdict, .problem') || document.getElementById('page-content').textContent.includes('The store is empty')"))

    def walk(self, window, libraries):
        """Opens every page, every library, and items of each."""
        for name in libraries:
            self.choose_library(window, name)
            window.settled("document.querySelector('#items button')")
            for place in range(min(5, window.evaluate("document.querySelectorAll('#items button').length"))):
                window.evaluate(f"document.querySelectorAll('#items button')[{place}]?.click()")
                self.assertTrue(window.settled("document.querySelector('#life .life')"))
                window.evaluate("document.querySelector('#life [data-key=blame][aria-expanded=false]')?.click()")
            self.assertTrue(window.settled("document.querySelector('#life .blame')"))
        for page in PAGES[1:]:
            self.go_to_page(window, page)
            self.check_text(window)
        self.go_to_page(window, "history")
        self.check_text(window)

    def check_text(self, window):
        """Nothing that was favorited is more than text."""
        self.assertIsNone(window.evaluate("window.attacked"))
        self.assertEqual(window.evaluate("document.querySelectorAll('img, iframe, object, embed, base, [onerror], [onload], [onclick], [style*=expression]').length"), 0)
        self.assertEqual(window.evaluate("document.scripts.length"), window.evaluate("document.querySelectorAll('head script, body > script').length"))
        texts = window.evaluate("document.documentElement.textContent.replace(/^[^]*?<\\/head>/, '') && document.body.innerText + [...document.querySelectorAll('[title], [aria-label]')]"
                                ".map(one => one.title + one.ariaLabel).join() + document.title")
        self.assertNotRegex(texts, DIRECTIONS)
        self.assertNotRegex(texts, "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")

    def check_axe(self, window, pages=PAGES):
        """What axe-core finds on pages, in both schemes and two widths."""
        found = []
        self.choose_library(window, "papers")
        window.evaluate("document.querySelector('#items button').click()")
        self.assertTrue(window.settled("document.querySelector('#life .life')"))
        # A scheme changes colors alone.
        for scheme, rules in (("light", ()), ("dark", ("color-contrast", "link-in-text-block"))):
            window.emulate(scheme)
            for width in (360, 1400):
                window.size(width)
                for name in pages:
                    self.go_to_page(window, name)
                    found += [f"{name} {scheme} {width}: {sentence}" for sentence in window.violations(AXE, *rules)]
        self.assertEqual(found, [])


@NEEDS_CHROMIUM
class PageTests(BrowserTestCase):
    def test_the_page_opens_once_and_is_quiet(self):
        store, window = self.shared("fortnight"), self.window()
        inspector = self.shown(window, store)
        self.check_shown(window, store, window.evaluate("state.library"))
        # The token does not stay in the address, and the cookie is not for scripts.
        self.assertEqual(window.evaluate("location.href"), inspector.url)
        self.assertEqual(window.evaluate("document.cookie"), "")
        window.reload()
        self.assertTrue(window.settled("document.querySelector('#footer code')"))
        self.check_quiet(window, inspector.url)
        other = self.window()
        other.go(inspector.address)
        self.assertIn("heartlog inspect", other.settled("document.querySelector('#messages')?.textContent") or "")

    def test_two_pages_of_one_browser_do_not_disturb_each_other(self):
        window, first, second = self.window(), self.shared("fortnight"), self.store("other")
        one = self.shown(window, first)
        other = self.inspect(second)
        window.go(other.address)
        self.assertTrue(window.settled("document.querySelector('#footer')?.textContent.includes('0 events')"))
        window.go(one.url)
        self.assertTrue(window.settled("document.querySelector('#items button')"))
        self.check_quiet(window, one.url, other.url)

    def test_slider_and_lists_agree_at_every_stop(self):
        store, window = self.shared("fortnight"), self.window()
        inspector = self.shown(window, store)
        chance = random.Random(seed())
        commits = self.history(store)
        for name in ("papers", "cities", "books", "breeds", "archives", "tracks"):
            self.choose_library(window, name)
            for _ in range(4):
                index = chance.randint(1, len(commits))
                window.evaluate(f"void moveTo({{ index: {index} }})")
                self.check_index(window, index)
                self.check_shown(window, store, name, "--at", commit_name(commits[index - 1][0]))
        window.evaluate("void moveTo({ index: 0 })")
        self.assertTrue(window.settled(f"({self.IDS}) === '[]'"))
        self.check_quiet(window, inspector.url)

    def test_filters_thin_the_stops(self):
        store, window = self.shared("fortnight"), self.window()
        inspector = self.shown(window, store)
        commits = self.history(store)
        replica = commits[0][0]["replica"]
        for filters in ({"kind": "remove"}, {"library": "cities"}, {"replica": replica}, {"replica": replica, "kind": "favorite"}):
            for name in ("library", "replica", "kind"):
                self.assertTrue(window.settled(f"[...document.getElementById('filter-{name}').options].some(option => option.value === '{filters.get(name, '')}')"))
                window.evaluate(f"(() => {{ const select = document.getElementById('filter-{name}'); select.value = '{filters.get(name, '')}'; "
                                "select.dispatchEvent(new Event('change')); })()")
            taken = [commit for commit in commits if any(takes(event, filters, filters.get("replica")) for event in commit)]
            self.assertTrue(window.settled(f"document.getElementById('here').getAttribute('aria-valuemax') === '{len(taken)}'"), filters)
            window.evaluate("void moveTo({ index: 3 })")
            self.check_index(window, 3)
            self.check_shown(window, store, window.evaluate("state.library"), "--at", commit_name(taken[2][0]))
        self.check_quiet(window, inspector.url)

    def test_a_typed_date_means_its_end(self):
        store, window = self.shared("fortnight"), self.window()
        inspector = self.shown(window, store)
        window.call("Emulation.setTimezoneOverride", timezoneId="UTC")
        for text, end in (("2026-03-05", "2026-03-05T23:59:59.999Z"), ("2026-03-09 10:31", "2026-03-09T10:31:59.999Z")):
            window.evaluate(f"(() => {{ const field = document.getElementById('date'); field.value = '{text}'; field.dispatchEvent(new Event('change')); }})()")
            axis = round(time.mktime(time.strptime(end[:19], "%Y-%m-%dT%H:%M:%S")) - time.timezone) * 1000 + 999
            self.check_index(window, inspector_index := sum(int(commit[0]["stamp"][:12], 16) <= axis for commit in self.history(store)))
            self.assertGreater(inspector_index, 0)
        window.evaluate("(() => { const field = document.getElementById('date'); field.value = 'nonsense'; field.dispatchEvent(new Event('change')); })()")
        self.assertTrue(window.settled("document.getElementById('messages').textContent.includes('nonsense')"))
        self.check_quiet(window, inspector.url)

    def test_two_moments_are_compared(self):
        store, window = self.shared("fortnight"), self.window()
        inspector = self.shown(window, store)
        commits = self.history(store)
        self.choose_library(window, "papers")
        window.evaluate("void moveTo({ index: 200 })")
        self.check_index(window, 200)
        window.click("#compare")
        window.evaluate("void moveTo({ index: 400 })")
        self.check_index(window, 400)
        self.check_index(window, 200, "there")
        first, second = (commit_name(commits[index - 1][0]) for index in (200, 400))
        changes = self.lines(store, "diff", first, second, "--library", "papers")
        added = {line["id"] for line in changes if line["after"]["isFavorite"] and not line["before"]["isFavorite"]}
        gone = {line["id"] for line in changes if line["before"]["isFavorite"] and not line["after"]["isFavorite"]}
        self.assertTrue(added and gone)
        signs = "JSON.stringify([...document.querySelectorAll('#items li.%s button')].map(row => row.dataset.key).sort())"
        for name, ids in (("added", added), ("gone", gone)):
            expected = json.dumps(sorted(ids, key=lambda id: id.encode("utf-16-be")), separators=(",", ":"))
            self.assertTrue(window.settled(f"({signs % name}) === {json.dumps(expected)}"), f"{name}: {window.evaluate(signs % name)}")
        self.assertEqual(window.evaluate("document.querySelector('#total').textContent").split(", ")[1], f"+{len(added)} −{len(gone)}")
        counts = [{entry["name"]: entry["favorites"] for entry in self.lines(store, "status", "--at", moment)[0]["libraries"]} for moment in (first, second)]
        for name, count in counts[1].items():
            change = count - counts[0].get(name, 0)
            text = window.evaluate(f"document.querySelector('#library-names [data-key={name}] .change')?.textContent || ''")
            self.assertEqual(text, f"{'+' if change > 0 else '−'}{abs(change)}" if change else "", name)
        self.check_quiet(window, inspector.url)

    def test_an_item_has_its_whole_life(self):
        store, window = self.shared("fortnight"), self.window()
        inspector = self.shown(window, store)
        self.choose_library(window, "cities")
        window.evaluate("openItem('cities', '2267057')")
        events = store.log("cities", "2267057")
        self.assertTrue(window.settled(f"document.querySelectorAll('#life .life > li').length === {len(events)}"))
        codes = window.evaluate("[...document.querySelectorAll('#life .life > li > .bar code')].map(code => code.title)")
        self.assertEqual(codes, [f"{event['replica']}:{event['sequence']}" for event in reversed(events)])
        text = window.evaluate("document.getElementById('life').textContent")
        for value in ("Pensão Amor, Rua do Alecrim 19", "38.71667"):
            self.assertIn(value, text)
        window.click("#life [data-key=blame]")
        blame = self.lines(store, "blame", "cities", "2267057")
        self.assertTrue(window.settled(f"document.querySelectorAll('#life .blame dt').length === {len(blame)}"))
        self.assertEqual(window.texts("#life .blame dt"), ["favorite" if line["register"] == "membership" else line["field"] for line in blame])
        self.check_quiet(window, inspector.url)

    def test_figures_of_the_pages_are_those_of_the_commands(self):
        store, window = self.fortnight(), self.window()
        self.expect(0, store("add", "papers", "not signed"))
        inspector = self.shown(window, store)
        conflicts = self.lines(store, "conflicts")
        self.go_to_page(window, "conflicts")
        self.assertTrue(window.settled(f"document.querySelectorAll('article.conflict-card').length === {min(50, len(conflicts))}"))
        self.assertIn(f"{len(conflicts)} open conflicts", window.evaluate("document.getElementById('page-content').textContent"))
        self.assertEqual(window.texts("article.conflict-card .sides code")[1::2][:4],
                         [write["stamp"] for conflict in conflicts for write in conflict["writes"]][:4])
        self.go_to_page(window, "devices")
        text = window.evaluate("document.getElementById('page-content').textContent").replace(" ", "")
        for line in self.lines(store, "devices", "--keys"):
            self.assertIn(line["signature"]["fingerprint"], text)
            self.assertIn(line["name"].replace(" ", ""), text)
        self.go_to_page(window, "verification")
        text = window.evaluate("document.getElementById('page-content').textContent")
        for line in self.lines(store, "verify"):
            self.assertIn(line.get("root") or line["snapshot"], text)
        for words in ("Nobody has confirmed the key", "The 1 commit after that is not signed yet", "Freshness", "honest clock", "Copies elsewhere"):
            self.assertIn(words, text)
        self.go_to_page(window, "doctor")
        text = window.evaluate("document.getElementById('page-content').textContent")
        for line in self.lines(store, "doctor"):
            self.assertIn(line["what"], text)
            self.assertIn(line["next"], text)
        self.go_to_page(window, "statistics")
        for by in ("day", "week", "month"):
            window.evaluate(f"""(() => {{ const select = [...document.querySelectorAll('#page-content select')].at(-1); select.value = '{by}'; select.dispatchEvent(new Event('change')); }})()""")
            periods = [line for line in self.lines(store, "stats", "--by", by) if line["kind"] == "period"]
            rows = """JSON.stringify([...[...document.querySelectorAll('table')].find(table => table.caption.textContent.startsWith('Events and favorites by %s')).tBodies[0].rows]
                .map(row => [...row.cells].slice(1).map(cell => cell.textContent)).filter(cells => cells[0] !== '').map(cells => cells.map(Number)))""" % by
            expected = json.dumps([[period[key] for key in ("favorited", "unfavorited", "changed", "favoritesAtEnd")] for period in periods], separators=(",", ":"))
            self.assertTrue(window.settled(f"({rows}) === '{expected}'"), window.evaluate(rows))
            self.assertEqual(len(window.texts("#page-content .chart svg[role=img] > title")), 2)
        self.check_quiet(window, inspector.url)

    def test_changes_of_other_processes_are_on_the_page(self):
        store, window = self.fortnight(), self.window()
        inspector = self.shown(window, store)
        self.choose_library(window, "cities")
        took = []
        for number in range(REPEATS):
            id = f"new {number}"
            window.evaluate(f"""void (window.seen = new Promise(done => {{
                const look = () => document.querySelector('#items [data-key="{id}"]') && (observer.disconnect(), done(Date.now()));
                const observer = new MutationObserver(look);
                observer.observe(document.getElementById('items'), {{ childList: true, subtree: true }});
              }}))""")
            self.expect(0, store("toggle", "cities", id, "name=New"))
            written = time.time() * 1000
            took.append(window.answer("window.seen") - written)
            self.assertTrue(window.settled(f"document.querySelector('#sittings')?.textContent.includes('{id}') || document.querySelector('#sittings')?.textContent.includes('New')"))
        self.check_shown(window, store, "cities")
        print("a change is on the page after the writer ended, ms:", [round(ms) for ms in sorted(took)], file=sys.stderr)
        # The slider stays where it is.
        window.evaluate("void moveTo({ index: 100 })")
        self.check_index(window, 100)
        self.expect(0, store("toggle", "cities", "new 0"))
        count = inspector_count(store)
        self.assertTrue(window.settled(f"document.getElementById('here').getAttribute('aria-valuemax') === '{count}'"))
        self.assertEqual(self.index(window), 100)
        self.check_quiet(window, inspector.url)

    def test_an_inspector_that_ended_is_reported(self):
        store, window = self.shared("fortnight"), self.window()
        inspector = self.shown(window, store)
        inspector.end()
        window.evaluate("void moveTo({ index: 5 })")
        self.assertIn("heartlog inspect", window.settled("document.getElementById('messages').textContent") or "")
        for url in window.requests():
            self.assertTrue(url == "data:," or url.startswith(inspector.url), url)


def by_device(band):
    """A band whose devices are in the order of their ids."""
    places = sorted(range(len(band["devices"])), key=lambda place: band["devices"][place]["replica"])
    return {**band, "devices": [band["devices"][place] for place in places], "bins": [[bin[place] for place in places] for bin in band["bins"]]}


def inspector_count(store):
    return len({commit_name(event) for event in store.log()})


@NEEDS_CHROMIUM
class ActTests(BrowserTestCase):
    """Each act shows first what it writes, and nothing is written before; afterwards the command line sees it, and its undo."""

    def setUp(self):
        super().setUp()
        self.phone = self.fortnight()
        self.browser = self.window()
        self.inspector = self.shown(self.browser, self.phone)
        self.choose_library(self.browser, "papers")
        self.before = self.digest(self.phone)
        self.count = len(self.phone.log())

    def tearDown(self):
        self.check_quiet(self.browser, self.inspector.url)
        super().tearDown()

    def preview(self):
        """What the dialog shows. Nothing is written yet."""
        self.assertTrue(self.browser.settled("document.getElementById('preview').open && !document.getElementById('preview-do').hidden"),
                        self.browser.evaluate("document.getElementById('preview').textContent + document.getElementById('messages').textContent"))
        self.assertEqual(len(self.phone.log()), self.count)
        text = self.browser.evaluate("document.getElementById('preview').innerText")
        self.assertGreater(len(text), 20)
        return text

    def confirm(self):
        self.browser.click("#preview-do")
        closed = self.browser.settled("!document.getElementById('preview').open || document.getElementById('preview-error').textContent")
        self.assertEqual(self.browser.evaluate("document.getElementById('preview-error').textContent"), "")
        self.assertTrue(closed)
        events = self.phone.log()
        self.assertGreater(len(events), self.count)
        new, self.count = events[self.count:] if events[:self.count] == self.log_before else None, len(events)
        self.log_before = events
        return new

    def act(self, press, *shown):
        """Presses, cancels, presses again, confirms; the events that were written."""
        self.log_before = self.phone.log()
        press()
        self.preview()
        self.browser.click("#preview-cancel")
        self.assertTrue(self.browser.settled("!document.getElementById('preview').open"))
        self.assertEqual(len(self.phone.log()), self.count)
        press()
        text = self.preview()
        for word in shown:
            self.assertIn(word, text)
        return self.confirm()

    def undo(self, digest=None):
        """Takes the act back from its message, and checks that everything is as before."""
        self.browser.click("#said button:not([aria-label])")
        self.preview()
        self.confirm()
        self.assertEqual(self.digest(self.phone), digest or self.before)

    def test_toggle(self):
        (id, *_) = [line["id"] for line in self.lines(self.phone, "list", "papers")]
        self.open_item(self.browser, id)
        (event,) = self.act(lambda: self.browser.click("#life [data-key=toggle]"), "not a favorite")
        self.assertEqual((event["item"], event["action"], event["isFavorite"]), (id, "toggled", False))
        self.assertTrue(self.browser.settled(f"!document.querySelector('#items [data-key={json.dumps(id)}]')"))
        self.check_shown(self.browser, self.phone, "papers")
        self.undo()
        self.check_shown(self.browser, self.phone, "papers")

    def test_note(self):
        (id, *_) = [line["id"] for line in self.lines(self.phone, "list", "papers")]
        self.open_item(self.browser, id)
        self.log_before = self.phone.log()
        note = "two\nlines, ö “quoted” <b>=:=\u202e"
        self.browser.click("#life [data-key=note]")
        self.preview()
        self.browser.click("#preview textarea")
        self.browser.evaluate("document.querySelector('#preview textarea').value = ''")
        self.browser.type(note)
        (event,) = self.confirm()
        self.assertEqual((event["item"], event["action"], event["fields"]), (id, "changed", {"@note": note}))
        self.assertTrue(self.browser.settled("document.getElementById('life').textContent.includes('“quoted” <b>')"))
        self.undo()
        # An empty note is cleared.
        self.expect(0, self.phone("set", "papers", id, "@note=x"))
        self.log_before, self.count = self.phone.log(), self.count + 1
        self.browser.click("#life [data-key=note]")
        self.preview()
        self.browser.evaluate("document.querySelector('#preview textarea').value = ''")
        (event,) = self.confirm()
        self.assertEqual(event["fields"], {"@note": None})

    def test_undo_of_one_event(self):
        self.open_item(self.browser, [line["id"] for line in self.lines(self.phone, "list", "papers")][0])
        event = self.browser.settled("document.querySelector('#life .life [data-key^=\"undo \"]')?.dataset.key.slice(5)")
        new = self.act(lambda: self.browser.click(f"#life [data-key='undo {event}']"), "restored")
        self.assertTrue(new)
        self.assertEqual({each["commit"] for each in new}, {new[0]["commit"]})
        self.undo()

    def test_undo_of_what_is_between_two_moments(self):
        commits = self.history(self.phone)
        window = self.browser
        window.evaluate(f"void moveTo({{ index: {len(commits) - 12} }})")
        self.check_index(window, len(commits) - 12)
        window.click("#compare")
        window.evaluate(f"void moveTo({{ index: {len(commits)} }})")
        self.check_index(window, len(commits))
        self.act(lambda: window.click("#restore"), "restored")
        after = self.lines(self.phone, "status")[0]["libraries"]
        then = self.lines(self.phone, "status", "--at", commit_name(commits[len(commits) - 13][0]))[0]["libraries"]
        self.assertEqual([library["favorites"] for library in after], [library["favorites"] for library in then])
        self.undo()

    def test_restore_an_item(self):
        id = "2267057"
        commits = self.history(self.phone)
        writes = [index for index, commit in enumerate(commits, 1) if any(event.get("item") == id for event in commit)]
        window = self.browser
        self.choose_library(window, "cities")
        window.evaluate(f"openItem('cities', '{id}')")
        at = writes[len(writes) // 2]
        window.evaluate(f"void moveTo({{ index: {at} }})")
        self.check_index(window, at)
        then = self.lines(self.phone, "show", "cities", id, "--at", commit_name(commits[at - 1][0]))[0]
        self.act(lambda: window.click("#life [data-key=put-back]"), "restored")
        self.assertEqual(self.lines(self.phone, "show", "cities", id)[0], {name: value for name, value in then.items() if name != "asOf"})
        self.undo()

    def test_restore_a_library_and_everything(self):
        commits = self.history(self.phone)
        window = self.browser
        at = 300
        moment = commit_name(commits[at - 1][0])
        for button, libraries in (("#restore-library", ["papers"]), ("#restore", ["papers", "cities", "books", "breeds"])):
            window.evaluate(f"void moveTo({{ index: {at} }})")
            self.check_index(window, at)
            then = {library: self.lines(self.phone, "list", library, "--at", moment) for library in libraries}
            self.act(lambda: window.click(button), "restored")
            for library, items in then.items():
                # Of two with the same date, the one that the undo wrote last comes first.
                by_id = lambda items: sorted(items, key=lambda item: item["id"])
                self.assertEqual(by_id({**item, "asOf": moment} for item in self.lines(self.phone, "list", library)), by_id(items))
            if button == "#restore-library":
                self.assertNotEqual(self.lines(self.phone, "list", "cities"), [{k: v for k, v in item.items() if k != "asOf"} for item in self.lines(self.phone, "list", "cities", "--at", moment)])
            self.undo()

    def choose(self, press, conflict, side):
        self.act(press)
        shown = "isFavorite" if conflict["register"] == "membership" else "value"
        item = self.lines(self.phone, "show", conflict["library"], conflict["id"])[0]
        now = item["isFavorite"] if shown == "isFavorite" else item["fields"].get(conflict["field"])
        self.assertEqual(now, side[shown])
        self.assertNotIn((conflict["library"], conflict["id"], conflict.get("field")),
                         [(line["library"], line["id"], line.get("field")) for line in self.lines(self.phone, "conflicts")])
        self.undo()

    def test_choose_the_other_side_of_an_item(self):
        conflict = next(line for line in self.lines(self.phone, "conflicts") if line["register"] == "membership")
        side = next(write for write in conflict["writes"] if not write["isShown"])
        self.choose_library(self.browser, conflict["library"])
        self.browser.evaluate(f"openItem({json.dumps(conflict['library'])}, {json.dumps(conflict['id'])})")
        self.choose(lambda: self.browser.click(f"#life [data-key^='choose {side['replica']}:{side['sequence']}']"), conflict, side)

    def test_choose_the_other_side_on_the_page_of_conflicts(self):
        conflict = self.lines(self.phone, "conflicts")[0]
        side = next(write for write in conflict["writes"] if not write["isShown"])
        self.go_to_page(self.browser, "conflicts")

        def press():
            self.browser.click(f".conflict-card .sides [data-key^='choose {side['replica']}:{side['sequence']} ']")
        self.choose(press, conflict, side)

    def test_confirm_a_key(self):
        other = next(line for line in self.lines(self.phone, "devices", "--keys") if not line["isOwn"])
        self.assertFalse(other["signature"]["isTrusted"])
        self.go_to_page(self.browser, "devices")
        self.browser.evaluate("[...document.querySelectorAll('#page-content button')].find(button => button.textContent.startsWith('Confirm')).click()")
        text = self.preview()
        self.assertIn(other["signature"]["fingerprint"], text.replace(" ", ""))
        self.browser.click("#preview-do")
        self.assertTrue(self.browser.settled("!document.getElementById('preview').open"))
        self.assertTrue(next(line for line in self.lines(self.phone, "devices", "--keys") if not line["isOwn"])["signature"]["isTrusted"])
        self.assertTrue(self.browser.settled("document.getElementById('page-content').textContent.includes('confirmed') && !document.getElementById('page-content').textContent.includes('not confirmed')"))

    def test_what_cannot_be_written_is_said(self):
        self.open_item(self.browser, [line["id"] for line in self.lines(self.phone, "list", "papers")][0])
        self.browser.click("#life [data-key=toggle]")
        self.preview()
        with open(self.phone.path + "/lock", "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.browser.click("#preview-do")
            self.assertIn("process", self.browser.settled("document.getElementById('preview-error').textContent") or "")
        self.assertEqual(len(self.phone.log()), self.count)
        self.browser.click("#preview-cancel")

    def test_a_page_that_reads_only_offers_no_acts(self):
        window = self.window()
        inspector = self.shown(window, self.phone, "--read-only")
        self.choose_library(window, "papers")
        self.open_item(window, [line["id"] for line in self.lines(self.phone, "list", "papers")][0])
        window.evaluate("void moveTo({ index: 100 })")
        self.check_index(window, 100)
        for name in PAGES:
            self.go_to_page(window, name)
            offered = window.evaluate("[...document.querySelectorAll('button')].filter(button => button.offsetParent && /toggle|note…|undo|restore|put back|choose|confirm/i"
                                      ".test(button.textContent) && !button.closest('#sittings, .life')).map(button => button.textContent)")
            self.assertEqual(offered, [], name)
        self.go_to_page(window, "history")
        for key in "tnbru":
            window.press(key)
        self.assertFalse(window.evaluate("document.getElementById('preview').open"))
        self.assertEqual(len(self.phone.log()), self.count)
        self.check_quiet(window, inspector.url)


@NEEDS_CHROMIUM
class KeyTests(BrowserTestCase):
    def test_every_key_does_what_the_list_of_keys_says(self):
        store, window = self.shared("fortnight"), self.window()
        inspector = self.shown(window, store)
        commits = self.history(store)
        last = len(commits)

        def focused():
            return window.evaluate("document.activeElement.id || document.activeElement.dataset.key || document.activeElement.tagName")

        def day_before(index, days):
            axis = int(commits[index - 1][0]["stamp"][:12], 16) + days * 86_400_000
            return sum(int(commit[0]["stamp"][:12], 16) <= axis for commit in commits)

        self.choose_library(window, "papers")
        window.evaluate("document.activeElement.blur()")
        for key, index in (("ArrowLeft", last - 1), ("ArrowLeft", last - 2), ("ArrowRight", last - 1), (",", last - 2), (",", last - 3), (".", last - 2)):
            window.press(key)
            self.check_index(window, index)
        window.press("ArrowLeft", SHIFT)
        self.check_index(window, day_before(last - 2, -1))
        earlier = day_before(last - 2, -1)
        window.press("ArrowRight", SHIFT)
        self.check_index(window, day_before(earlier, 1))
        # Of the slider alone, because they scroll elsewhere.
        window.evaluate("document.getElementById('here').focus()")
        for key, index in (("Home", 0), ("End", last), ("PageUp", last - 20), ("PageUp", last - 40), ("PageDown", last - 20), ("ArrowUp", last - 19), ("ArrowDown", last - 20)):
            window.press(key)
            self.check_index(window, index)
        window.press("l")
        self.assertTrue(window.settled("document.getElementById('live').getAttribute('aria-pressed') === 'true'"))
        window.press("d")
        self.assertEqual(focused(), "date")
        window.press("Escape")
        self.assertNotEqual(focused(), "date")
        # Two moments.
        window.press("c")
        self.assertTrue(window.settled("!document.getElementById('there').hidden"))
        window.press("x")
        self.assertEqual(focused(), "there")
        window.press("ArrowLeft")
        self.check_index(window, last - 1, "there")
        window.press("x")
        self.assertEqual(focused(), "here")
        window.press("c")
        self.assertTrue(window.settled("document.getElementById('there').hidden"))
        # The band.
        for key, holds in (("+", "state.view !== null"), ("0", "state.view === null"), ("+", "state.view !== null"), ("-", "state.view === null")):
            window.press(key)
            self.assertTrue(window.settled(holds), key)
        # The list.
        window.press("/")
        self.assertEqual(focused(), "search")
        window.type("quantum")
        found = [line["id"] for line in self.lines(store, "list", "papers", "--match", "quantum")]
        self.assertTrue(window.settled(f"({self.IDS}) === {json.dumps(json.dumps(found, separators=(',', ':')))}"))
        window.press("Escape")
        self.assertNotEqual(focused(), "search")
        window.evaluate("(() => { const search = document.getElementById('search'); search.value = ''; search.dispatchEvent(new Event('input')); })()")
        self.check_shown(window, store, "papers")
        ids = [line["id"] for line in self.lines(store, "list", "papers")]
        for key, place in (("j", 0), ("j", 1), ("j", 2), ("k", 1), ("ArrowDown", 2), ("ArrowUp", 1)):
            window.press(key)
            self.assertTrue(window.settled(f"document.activeElement.dataset.key === {json.dumps(ids[place])}"), f"{key}: {focused()} and not {ids[place]}")
            self.assertTrue(window.settled(f"state.item?.id === {json.dumps(ids[place])}"))
        names = sorted(library["name"] for library in self.lines(store, "status")[0]["libraries"])
        for key, by in (("]", 1), ("[", 0), ("[", -1)):
            window.press(key)
            self.assertTrue(window.settled(f"state.library === '{names[names.index('papers') + by]}'"), key)
        window.press("]")
        window.press("a")
        self.assertTrue(window.evaluate("document.getElementById('all').checked"))
        self.check_shown(window, store, "papers", all=["--all"])
        window.press("a")
        self.check_shown(window, store, "papers")
        folded = "document.getElementById('sittings').textContent.includes('playback position')"
        self.assertTrue(window.settled(folded))
        window.press("f")
        self.assertFalse(window.evaluate("document.getElementById('fold').checked"))
        self.assertTrue(window.settled(f"!{folded}"))
        # An item.
        self.open_item(window, ids[0])
        order = "[...document.querySelectorAll('#life .life > li > .bar code')].map(code => code.title).join()"
        before = window.settled(order)
        window.press("o")
        self.assertTrue(window.settled(f"({order}) === {json.dumps(','.join(reversed(before.split(','))))}"))
        window.press("w")
        self.assertTrue(window.settled("document.querySelector('#life .blame')"))
        for key in "tnu":
            window.press(key)
            self.assertTrue(window.settled("document.getElementById('preview').open"), key)
            window.press("Escape")
            self.assertTrue(window.settled("!document.getElementById('preview').open"), key)
        window.evaluate("void moveTo({ index: 60 })")
        self.check_index(window, 60)
        self.assertTrue(window.settled("document.querySelector('#life [data-key=put-back]')"))
        window.evaluate("document.activeElement.blur()")
        for key, modifiers in (("b", 0), ("r", 0), ("R", SHIFT)):
            window.press(key, modifiers)
            self.assertTrue(window.settled("document.getElementById('preview').open"), key)
            window.press("Escape")
            self.assertTrue(window.settled("!document.getElementById('preview').open"), key)
        # The pages, and the list of keys.
        for number, name in enumerate(PAGES, 1):
            window.press(str(number))
            self.assertTrue(window.settled(f"location.hash === '#{name}'"), name)
        window.press("1")
        window.press("?")
        self.assertTrue(window.settled("document.getElementById('keys').open"))
        listed = window.texts("#key-list kbd")
        self.assertGreater(len(listed), 30)
        window.press("Escape")
        self.assertTrue(window.settled("!document.getElementById('keys').open"))
        self.assertEqual(store.log(), [event for commit in commits for event in commit])
        self.check_quiet(window, inspector.url)

    def test_more_of_a_long_list(self):
        store, window = self.store(), self.window()
        self.expect(0, store.apply([{"op": "add", "library": "papers", "id": str(number)} for number in range(120)]))
        inspector = self.shown(window, store)
        for count in (50, 100, 120):
            self.assertTrue(window.settled(f"document.querySelectorAll('#items button').length === {count}"), count)
            window.press("m")
        self.assertEqual(json.loads(window.evaluate(self.IDS)), [line["id"] for line in self.lines(store, "list", "papers")])
        self.check_quiet(window, inspector.url)

    def test_the_page_is_used_with_the_keyboard_alone(self):
        store, window = self.shared("fortnight"), self.window()
        inspector = self.shown(window, store)
        window.evaluate("document.activeElement.blur()")
        met = []
        for _ in range(80):
            window.press("Tab")
            met.append(window.evaluate("document.activeElement === document.body ? '' : document.activeElement.id || document.activeElement.closest('[id]').id"))
            self.assertTrue(window.evaluate("document.activeElement === document.body || getComputedStyle(document.activeElement).outlineStyle !== 'none' "
                                            "|| getComputedStyle(document.activeElement).boxShadow !== 'none'"), f"the focus is not seen at {met[-1]}")
        for id in ("tabs", "back", "forth", "date", "live", "compare", "filter-library", "here", "zoom-in", "library-names", "search", "all", "items", "fold", "help"):
            self.assertIn(id, met)
        self.check_quiet(window, inspector.url)


@NEEDS_CHROMIUM
class ReadableTests(BrowserTestCase):
    """For people who cannot see the page, or not its colors, or only a part of it."""

    WIDE = """[...document.querySelectorAll('body *')].filter(one => one.getBoundingClientRect().right > innerWidth + 1)
        .map(one => one.tagName + '#' + one.id + '.' + one.getAttribute('class')).slice(0, 8).join(' ')"""

    def check_widths(self, window):
        for width in (360, 640, 1400, 2560):
            window.size(width)
            self.assertTrue(window.settled(f"innerWidth === {width}"))
            window.answer("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
            self.assertTrue(window.settled(f"document.documentElement.scrollWidth <= {width}", seconds=5),
                            f"at {width} the page is {window.evaluate('document.documentElement.scrollWidth')} wide: {window.evaluate(self.WIDE)}")

    @NEEDS_AXE
    def test_axe_finds_nothing(self):
        store, window = self.fortnight(), self.window()
        self.expect(0, store("undo", "--last"))
        inspector = self.shown(window, store)
        self.check_axe(window)
        window.size(1400)
        self.go_to_page(window, "history")
        window.click("#compare")
        window.evaluate("void moveTo({ index: 200 })")
        self.check_index(window, 200)
        found = [f"compare: {sentence}" for sentence in window.violations(AXE)]
        window.press("?")
        self.assertTrue(window.settled("document.getElementById('keys').open"))
        found += [f"keys: {sentence}" for sentence in window.violations(AXE)]
        window.press("Escape")
        window.press("u")
        self.assertTrue(window.settled("document.getElementById('preview').open"))
        found += [f"preview: {sentence}" for sentence in window.violations(AXE)]
        self.assertEqual(found, [])
        self.check_quiet(window, inspector.url)

    def test_nothing_is_wider_than_the_window(self):
        store, window = self.shared("hostile"), self.window()
        inspector = self.shown(window, store)
        self.choose_library(window, "papers")
        window.evaluate("document.querySelector('#items button').click()")
        for name in PAGES:
            self.go_to_page(window, name)
            with self.subTest(name):
                self.check_widths(window)
        self.check_quiet(window, inspector.url)

    def test_a_screen_reader_meets_landmarks_headings_and_charts(self):
        store, window = self.shared("fortnight"), self.window()
        self.shown(window, store)
        self.assertEqual(window.evaluate("document.documentElement.lang"), "en")

        def roles():
            nodes = window.call("Accessibility.getFullAXTree")["nodes"]
            return [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node["ignored"]]
        for name in PAGES:
            self.go_to_page(window, name)
            found = roles()
            for role in ("banner", "navigation", "main", "contentinfo"):
                self.assertEqual([one for one, _ in found].count(role), 1, f"{name} {role}")
            self.assertTrue(all(label for role, label in found if role in ("region", "button", "slider", "image", "img", "textbox", "searchbox", "combobox", "checkbox", "link", "table")),
                            [role for role, label in found if not label])
            levels = [int(heading[1]) for heading in window.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].filter(one => one.offsetParent).map(one => one.tagName)")]
            self.assertEqual(levels.count(1), 1)
            self.assertTrue(all(later <= before + 1 for before, later in zip(levels, levels[1:])), levels)
        self.go_to_page(window, "history")
        self.assertIn(("image", "Events over time, by device"), [("image" if role == "img" else role, label) for role, label in roles()])
        self.assertEqual(window.evaluate("document.querySelectorAll('[role=status], [role=alert], [aria-live]').length > 0"), True)
        self.assertEqual(window.evaluate("[...document.querySelectorAll('time')].filter(one => !one.dateTime || !one.title).length"), 0)

    def test_less_motion_is_respected(self):
        store, window = self.shared("fortnight"), self.window()
        self.shown(window, store)
        window.call("Emulation.setEmulatedMedia", media="", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
        moving = window.evaluate("[...document.querySelectorAll('*')].filter(one => parseFloat(getComputedStyle(one).animationDuration) > 0.01 && getComputedStyle(one).animationName !== 'none' "
                                 "|| parseFloat(getComputedStyle(one).transitionDuration) > 0.01).map(one => one.id || one.className || one.tagName)")
        self.assertEqual(moving, [])


@NEEDS_CHROMIUM
class HostileTests(BrowserTestCase):
    LIFE = "[...document.querySelectorAll('#life .state .id bdi')].at(-1)?.textContent"

    def check_rows(self, window, ids):
        self.assertTrue(window.settled(f"document.querySelectorAll('#items button').length === {len(ids)}"))

    def test_what_was_favorited_is_text(self):
        store, window = self.shared("hostile"), self.window()
        inspector = self.shown(window, store)
        self.walk(window, [library["name"] for library in self.lines(store, "status")[0]["libraries"]])
        self.choose_library(window, "cities")
        self.assertTrue(window.settled(f"[...document.querySelectorAll('#items bdi')].some(one => one.textContent.startsWith({json.dumps(ATTACK[:40])}))"))
        self.choose_library(window, "papers")
        self.check_rows(window, [line["id"] for line in self.lines(store, "list", "papers")][:50])
        # Each item of the list can be opened, whatever its id is, and is then the one that is marked.
        for place, line in enumerate(self.lines(store, "list", "papers")[:50]):
            window.evaluate(f"document.querySelectorAll('#items button')[{place}].click()")
            self.assertTrue(window.settled(f"state.item.id === {json.dumps(line['id'])} && document.querySelectorAll('#life .life > li').length >= 1 && {self.LIFE} === visible({json.dumps(line['id'])})"),
                            line["id"][:40])
            self.assertTrue(window.settled(f"[...document.querySelectorAll('#items button')].findIndex(row => row.hasAttribute('aria-current')) === {place}", seconds=5), line["id"][:40])
        self.assertEqual(window.texts("#messages .message"), [])
        self.check_text(window)
        self.check_quiet(window, inspector.url)

    def test_acts_on_hostile_items(self):
        store, window = self.hostile(), self.window()
        inspector = self.shown(window, store)
        self.choose_library(window, "papers")
        for id in (ATTACK, "-x", "--all", "..", "a:=1", "__proto__"):
            window.evaluate(f"void openItem('papers', {json.dumps(id)})")
            self.assertTrue(window.settled(f"{self.LIFE} === visible({json.dumps(id)}) && document.querySelector('#life [data-key=toggle]')"), id)
            before = self.lines(store, "show", "papers", "--", id)[0]["isFavorite"]
            window.click("#life [data-key=toggle]")
            self.assertTrue(window.settled("document.getElementById('preview').open"), id)
            self.check_text(window)
            window.click("#preview-do")
            self.assertTrue(window.settled("!document.getElementById('preview').open"), window.evaluate("document.getElementById('preview-error').textContent"))
            self.assertEqual(self.lines(store, "show", "papers", "--", id)[0]["isFavorite"], not before)
        self.check_quiet(window, inspector.url)

    def test_a_page_elsewhere_gets_nothing(self):
        """A page of another origin, with the cookie of this one in the same browser."""
        store, window = self.shared("fortnight"), self.window()
        inspector = self.shown(window, store)
        before = self.digest(store)
        other = self.folder / "evil.html"
        other.write_text(f"""<!DOCTYPE html><title>evil</title><form action="{inspector.url}run" method="post" enctype="text/plain" target="frame">
            <input name='{{"words":["toggle","papers","x"],"y":"' value='"}}'></form><iframe name="frame"></iframe><iframe src="{inspector.url}"></iframe>""")
        window.go(f"file://{other}")
        for request in (f"fetch('{inspector.url}info', {{ credentials: 'include' }})", f"fetch('{inspector.url}info', {{ credentials: 'include', mode: 'no-cors' }})",
                        f"fetch('{inspector.url}run', {{ method: 'POST', credentials: 'include', mode: 'no-cors', body: '{{\"words\":[\"toggle\",\"papers\",\"x\"]}}' }})",
                        f"fetch('{inspector.url}run', {{ method: 'POST', credentials: 'include', headers: {{ 'Content-Type': 'application/json' }}, body: '{{\"words\":[\"toggle\",\"papers\",\"x\"]}}' }})"):
            self.assertEqual(window.answer(f"{request}.then(answer => answer.text()).catch(() => '')"), "")
        self.assertEqual(window.answer(f"""new Promise(done => {{ const events = new EventSource('{inspector.url}changes', {{ withCredentials: true }});
            events.onerror = () => done('refused'); events.onopen = () => done('open'); }})"""), "refused")
        window.evaluate("document.forms[0].submit()")
        window.answer(f"new Promise(done => setTimeout(done, 300))")
        self.assertEqual(self.digest(store), before)
        self.assertEqual(inspector.process.poll(), None)


@NEEDS_CHROMIUM
class DamagedPageTests(BrowserTestCase):
    def test_of_a_damaged_store_the_sound_part_is_shown_and_the_rest_is_named(self):
        store, window = self.damaged(), self.window()
        inspector = self.shown(window, store)
        self.assertTrue(window.settled("document.querySelector('#messages .message')"))
        self.assertIn("damaged", "".join(window.texts("#messages .message")))
        library = window.settled("state.library")
        self.check_shown(window, store, library)
        self.go_to_page(window, "verification")
        self.assertIn("✗ damaged", window.evaluate("document.getElementById('page-content').textContent"))
        self.go_to_page(window, "doctor")
        self.assertTrue(window.settled("document.querySelector('.finding.is-problem')"))
        self.check_quiet(window, inspector.url)

    def test_an_empty_store(self):
        store, window = self.store(), self.window()
        inspector = self.shown(window, store)
        for name in PAGES:
            self.go_to_page(window, name)
        self.go_to_page(window, "history")
        for key in ("ArrowLeft", "ArrowRight", "+", "-", "0", "c", "j", "]", "u"):
            window.press(key)
        window.press("Escape")
        # The first favorite of all appears by itself.
        self.expect(0, store("add", "papers", "first"))
        self.assertTrue(window.settled("document.querySelector('#library-names [data-key=papers]')"))
        self.assertTrue(window.settled("document.querySelector('#items [data-key=first]')"))
        self.check_quiet(window, inspector.url)

    def test_a_store_with_a_fork(self):
        phone, tablet, desk = (self.store(name) for name in ("phone", "tablet", "desk"))
        add = lambda store, text: self.expect(0, store.apply([{"op": "add", "library": "papers", "id": f"{text} {number}"} for number in range(5)]))
        add(phone, "common")
        yesterday = self.folder / "yesterday"
        shutil.copytree(phone.path, yesterday)
        add(phone, "first life")
        self.sync(tablet, phone.path)
        for path in pathlib.Path(phone.path).iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        shutil.copytree(yesterday, phone.path, dirs_exist_ok=True)
        add(phone, "second life")
        self.sync(desk, phone.path)
        self.sync(desk, tablet.path)
        window = self.window()
        inspector = self.shown(window, desk)
        self.assertLessEqual({line["id"] for line in self.lines(desk, "devices") if line["head"]}, set(window.evaluate("state.devices.map(device => device.replica)")))
        self.go_to_page(window, "devices")
        text = window.evaluate("document.getElementById('page-content').textContent")
        for line in self.lines(desk, "devices"):
            self.assertIn(line["id"][:8], text)
        self.check_quiet(window, inspector.url)


class FileTestCase(BrowserTestCase):
    def written(self, store, *options, code=0, name="page.html"):
        path = self.folder / name
        self.assertEqual(self.expect(code, store("inspect", "-o", str(path), *options)).out, "")
        return path

    def loaded(self, window, path):
        window.go(f"file://{path}")
        self.assertTrue(window.settled("document.querySelector('#footer a')"), window.evaluate("document.body.innerText")[:500])
        self.assertEqual(window.texts("#messages .message"), [])
        return path

    def asked(self, window, words, **options):
        return window.answer(f"state.source.run({json.dumps(words)}, {json.dumps(options)})")

    MADE = re.compile(r'id="heartlog-data">[^<]*<')


class FileTests(FileTestCase):
    def test_the_same_store_gives_the_same_page(self):
        store = self.shared("fortnight")
        pages = [self.written(store), self.written(store, name="again.html")]
        elsewhere = self.folder / "tokyo.html"
        run("--store", store.path, "inspect", "-o", str(elsewhere), env=os.environ | {"TZ": "Asia/Tokyo"})
        data = [self.data(path) for path in (*pages, elsewhere)]
        for one in data:
            self.assertRegex(one["header"].pop("madeAt"), r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
        self.assertEqual(data[0], data[1])
        self.assertEqual(data[0], data[2])
        self.assertEqual(len({self.MADE.sub("", path.read_text()) for path in (*pages, elsewhere)}), 1)

    @staticmethod
    def data(path):
        (encoded,) = re.findall(r'<script type="application/json" id="heartlog-data">([^<]*)</script>', path.read_text())
        packed = base64.b64decode(encoded)
        length = int.from_bytes(packed[:4], "little")
        return json.loads(decompressed(packed[4:], length))

    def test_the_file_is_replaced_and_keeps_its_mode(self):
        store = self.shared("fortnight")
        path = self.written(store)
        path.chmod(0o640)
        self.written(store, "--at", "2026-03-05")
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o640)
        self.assertIn("2026-03-05", self.data(path)["header"]["at"])
        self.expect(73, store("inspect", "-o", str(self.folder / "none" / "page.html")))
        self.expect(73, store("inspect", "-o", store.path + "/page.html"))

    def test_a_fortnight_fits(self):
        path = self.written(self.shared("fortnight"))
        print(f"the file of the fortnight: {path.stat().st_size} bytes", file=sys.stderr)
        self.assertLessEqual(path.stat().st_size, 400 << 10)

    def test_what_was_favorited_is_not_in_the_text_of_the_file(self):
        text = self.written(self.shared("hostile")).read_text()
        self.assertNotIn("window.attacked", text)
        self.assertNotRegex(text, DIRECTIONS)
        self.assertNotRegex(text, r"(?i)\ssrc=|<link(?![^>]*data:,)|@import|url\((?!#)")
        (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
        self.assertNotIn("unsafe", policy)
        self.assertNotIn("connect-src", policy)
        self.assertIn("default-src 'none'", policy)

    def test_damage_is_in_the_file(self):
        store = self.damaged()
        data = self.data(self.written(store, code=65))
        self.assertEqual(data["answers"]["verify"]["exit"], 65)
        self.assertIn("damaged", json.dumps(data["answers"]["verify"]) + data["answers"]["verify"]["error"])
        self.assertEqual(sum(data["commits"]["events"]), len([event for event in store("log", "--json").lines if "replica" in event]))


def rounded(value):
    """A value as JavaScript has it: all its numbers are doubles."""
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def without(value, names):
    """A value without the members of these names, wherever they are."""
    if isinstance(value, dict):
        return {name: without(one, names) for name, one in value.items() if name not in names}
    return [without(one, names) for one in value] if isinstance(value, list) else value


@NEEDS_CHROMIUM
class FilePageTests(FileTestCase):
    WORDS = (["list"], ["list", "--all"], ["list", "--match", "a"], ["list", "--match", "ö", "--all"], ["stats", "--by", "day"], ["stats", "--by", "week"])

    def check_equal(self, window, store, words, *, ignoring=()):
        expected = store("--json", *words)
        answer = self.asked(window, words)
        # How far a clock is ahead depends on when it is asked.
        strip = lambda lines: [without(rounded(line), {*ignoring, "wallClockAheadSeconds"}) for line in lines]
        self.assertEqual((answer["exit"], strip(answer["lines"])), (expected.code, strip(expected.lines)), words)

    def check_stops(self, window, store, count, *, last=None):
        """The page of the file against the commands, at random stops."""
        chance = random.Random(seed())
        commits = self.history(store)[:last]
        libraries = sorted({event["library"] for commit in commits for event in commit if "library" in event})
        ignoring = ("digest", "bytes", "withoutContent")
        for _ in range(count):
            index = chance.randint(1, len(commits))
            commit = commits[index - 1]
            stop = window.answer(f"state.source.stop({{ index: {index} }})")
            self.assertEqual((stop["commit"], stop["index"], stop["count"]), (commit_name(commit[0]), index, len(commits)))
            at, library = ["--at", stop["commit"]], chance.choice(libraries)
            self.check_equal(window, store, ["list", library, *at])
            self.check_equal(window, store, ["status", *at], ignoring=ignoring)
            self.check_equal(window, store, [*(words := chance.choice(self.WORDS))[:1], library, *words[1:], *at])
            if "item" in commit[0]:
                item = [commit[0]["library"], "--", commit[0]["item"]]
                self.check_equal(window, store, ["show", *at, *item])
                # Both say how it went on, which a file of a moment does not know.
                if last is None:
                    self.check_equal(window, store, chance.choice((["blame", *item], ["log", *item])))
            other = commit_name(chance.choice(commits)[0])
            self.check_equal(window, store, ["diff", stop["commit"], other])
            self.check_equal(window, store, ["conflicts", *at])

    def test_a_file_opens_without_a_network_and_shows_what_the_commands_say(self):
        store, window = self.fortnight(), self.window()
        self.expect(0, store("undo", "--last"))
        path = self.written(store)
        window.call("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)
        window.call("Emulation.setTimezoneOverride", timezoneId="UTC")
        self.loaded(window, path)
        self.check_shown(window, store, window.evaluate("state.library"))
        self.check_stops(window, store, STOPS // 4)
        for words in (["status"], ["devices", "--keys"], ["verify"], ["conflicts"], ["stats"], ["stats", "papers", "--by", "month"]):
            self.check_equal(window, store, words, ignoring=("bytes",))
        for name in ("papers", "cities"):
            self.choose_library(window, name)
            window.evaluate("void moveTo({ index: 250 })")
            self.check_index(window, 250)
            self.check_shown(window, store, name, "--at", commit_name(self.history(store)[249][0]))
        self.check_quiet(window, f"file://{path}")

    def test_band_and_events_are_those_of_the_live_page(self):
        store, window = self.fortnight(), self.window()
        self.expect(0, store("undo", "--last"))
        self.expect(0, store("erase", "cities", "2267057"))
        inspector = self.opened(store)
        self.loaded(window, self.written(store))
        chance = random.Random(seed())
        commits = self.history(store)
        for filters in FILTERS:
            question = {"bins": 60, **filters}
            self.assertEqual(by_device(window.answer(f"state.source.band({json.dumps(question)})")), by_device(inspector.get("/band", **question)))
            for playback in (True, False):
                question = {"upTo": commit_name(chance.choice(commits)[0]), "count": chance.randint(1, 80), "playback": playback, **filters}
                expected = inspector.get("/events", **question | {"playback": str(playback).lower()})
                self.assertEqual(window.answer(f"state.source.events({json.dumps(question)})"), expected, question)

    def test_a_file_writes_nothing_and_says_what_it_is(self):
        store, window = self.shared("fortnight"), self.window()
        path = self.loaded(window, self.written(store))
        self.assertTrue(window.evaluate("state.source.readOnly"))
        notice = window.evaluate("document.getElementById('notice').innerText")
        self.assertIn(self.digest(store), notice)
        self.assertIn(store.path, notice)
        before = store.log()
        for words in (["toggle", "papers", "x"], ["add", "papers", "x"], ["undo", "--last"], ["set", "papers", "x", "@note=y"], ["conflicts", "--choose", "x:1"], ["erase", "papers", "x"], ["export", "papers"], [], ["constructor"], ["__proto__"]):
            answer = self.asked(window, words)
            self.assertEqual((answer["exit"], answer["lines"]), (64, []), words)
            self.assertGreater(len(answer["error"]), 10)
        for key in "tnbru":
            window.press(key)
        self.assertFalse(window.evaluate("document.getElementById('preview').open"))
        self.assertEqual(store.log(), before)
        for name in PAGES:
            self.go_to_page(window, name)
        self.go_to_page(window, "verification")
        text = window.evaluate("document.getElementById('page-content').textContent")
        for line in self.lines(store, "verify"):
            self.assertIn(line["root"], text)
        self.assertEqual(window.texts("#page-content .problem"), [])
        self.check_quiet(window, f"file://{path}")

    def test_a_file_of_a_moment_or_a_library(self):
        store, window = self.fortnight(), self.window()
        self.expect(0, store("compact"))
        window.call("Emulation.setTimezoneOverride", timezoneId="UTC")
        commit = self.history(store)[299][0]
        self.loaded(window, self.written(store, "--at", commit_name(commit)))
        self.check_stops(window, store, 5, last=300)
        for library in self.lines(store, "status", "--at", commit_name(commit))[0]["libraries"]:
            expected = self.lines(store, "list", library["name"], "--at", commit_name(commit))
            self.assertEqual([{**item, "asOf": commit_name(commit)} for item in self.asked(window, ["list", library["name"]])["lines"]], expected)
        # The page is as of a day, whose commits need not be a beginning of the log.
        self.loaded(window, self.written(store, "--at", "2026-03-09"))
        status = self.lines(store, "status", "--at", "2026-03-09")[0]
        self.assertEqual({name: value for name, value in self.asked(window, ["status"])["lines"][0].items() if name != "asOf"},
                         {name: value for name, value in status.items() if name != "asOf"})
        self.assertIn(status["digest"], window.evaluate("document.getElementById('notice').innerText"))
        self.assertEqual(self.asked(window, ["conflicts"])["total"], status["conflicts"])
        self.loaded(window, self.written(store, "--at", "1999-01-01"))
        self.assertEqual(window.answer("state.source.stop({ index: 9 })")["count"], 0)
        # Of one library.
        self.loaded(window, self.written(store, "--library", "papers"))
        self.assertEqual(window.texts("#library-names bdi"), ["papers"])
        self.check_equal(window, store, ["list", "papers", "--all"])
        self.check_equal(window, store, ["conflicts", "papers"])
        text = self.written(store, "--library", "papers")
        self.assertNotIn("cities", json.dumps(FileTests.data(text)["items"]) + json.dumps(FileTests.data(text)["libraryNames"]))
        self.assertNotIn("Lisboa", json.dumps(FileTests.data(text), ensure_ascii=False))
        self.check_quiet(window, f"file://{self.folder}")

    def test_what_was_favorited_is_text_in_a_file(self):
        store, window = self.shared("hostile"), self.window()
        path = self.loaded(window, self.written(store))
        self.walk(window, [library["name"] for library in self.lines(store, "status")[0]["libraries"]])
        self.check_stops(window, store, 10)
        self.check_quiet(window, f"file://{path}")

    def test_hostile_histories(self):
        """Whatever three devices write to the same few items, in whatever order."""
        chance, window = random.Random(seed()), self.window()
        window.call("Emulation.setTimezoneOverride", timezoneId="UTC")
        stores, hostile = [self.store(name) for name in ("one", "two", "three")], Hostile(chance)
        for _ in range(4):
            for store in stores:
                self.expect(0, store("apply", "-", input=hostile.lines(60)))
            one, other = chance.sample(stores, 2)
            self.sync(one, other.path)
        for store in stores[1:]:
            self.sync(stores[0], store.path)
        self.expect(0, stores[0]("undo", "--last"))
        self.assertIn(stores[0]("erase", "papers", "a").code, (0, 1))
        self.loaded(window, self.written(stores[0]))
        self.check_stops(window, stores[0], STOPS // 10)

    def test_an_empty_store_has_a_file(self):
        window = self.window()
        path = self.loaded(window, self.written(self.store()))
        for name in PAGES:
            self.go_to_page(window, name)
        self.check_quiet(window, f"file://{path}")

    def test_damaged_data_is_said(self):
        window, path = self.window(), self.written(self.shared("fortnight"))
        text = path.read_text()
        data = FileTests.MADE.search(text)[0]
        for changed in (data[:2_000] + data[2_100:], 'id="heartlog-data"><', 'id="heartlog-data">AAAA<', 'id="heartlog-data">/////w==<', data[:-9] + "<"):
            path.write_text(text.replace(data, changed))
            window.go(f"file://{path}")
            self.assertIn("damaged", window.settled("document.querySelector('#messages .message')?.textContent") or "")
        self.check_quiet(window, f"file://{path}")

    def test_damage_of_the_store_is_said(self):
        store, window = self.damaged(), self.window()
        path = self.written(store, code=65)
        window.go(f"file://{path}")
        self.assertTrue(window.settled("document.querySelector('#footer a')"))
        self.assertIn("damaged", window.settled("document.getElementById('messages').textContent + document.getElementById('notice').textContent"))
        self.go_to_page(window, "verification")
        self.assertIn("✗ damaged", window.evaluate("document.getElementById('page-content').textContent"))
        self.check_quiet(window, f"file://{path}")

    @NEEDS_AXE
    def test_axe_finds_nothing_in_a_file(self):
        window = self.window()
        path = self.loaded(window, self.written(self.shared("fortnight")))
        # The other pages are those of the inspector.
        self.check_axe(window, ("history", "verification"))
        self.check_quiet(window, f"file://{path}")


if __name__ == "__main__":
    unittest.main()
