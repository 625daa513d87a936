"""An inspector with its address, somebody who talks to it without a browser, and a browser that looks at its page."""

import contextlib
import http.client
import importlib.util
import json
import pathlib
import re
import signal
import urllib.parse

import chromium
from heartlog import SECONDS_MAX

ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)/#([0-9A-Za-z_-]{22,})\n")
JSON = "application/json"


def axe():
    """The text of axe-core, of the PyPI package that has it; None if it is not installed."""
    for name in ("axe_core_python", "axe_playwright_python"):
        spec = importlib.util.find_spec(name)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            for path in sorted(pathlib.Path(folder).rglob("axe.min.js")):
                return path.read_text(encoding="utf-8")
    return None


class NotStarted(Exception):
    """An inspector that ended before it gave its address."""

    def __init__(self, code, out, err):
        super().__init__(f"ended with {code}: {out!r} {err!r}")
        self.code, self.err = code, err


class Inspector:
    """A running `heartlog inspect`."""

    def __init__(self, store, *options, **more):
        self.process = store.start("inspect", "--port", "0", "--no-open", *options, **more)
        self.first = self.process.stdout.readline().decode()
        found = ADDRESS.fullmatch(self.first)
        if not found:
            out, err = self.process.communicate(timeout=SECONDS_MAX)
            raise NotStarted(self.process.returncode, self.first + out.decode(), err.decode(errors="replace"))
        self.port, self.token = int(found[1]), found[2]
        self.url = f"http://127.0.0.1:{self.port}/"
        self.address = self.first.strip()
        self.cookie = None

    def request(self, method, path, body=None, cookie=None, connection=None, **headers):
        """The status, the headers and the body of an answer. A header that is None is not sent, one that is a list is sent for each."""
        own = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS_MAX)
        given = {"Host": f"127.0.0.1:{self.port}"}
        if cookie or self.cookie:
            given["Cookie"] = cookie or self.cookie
        if method == "POST":
            given["Content-Type"] = JSON
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        if isinstance(body, str):
            body = body.encode("utf-8", "surrogateescape")
        own.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in given.items():
            for one in value if isinstance(value, list) else [value] if value is not None else []:
                own.putheader(name, one)
        if body is not None or method == "POST":
            own.putheader("Content-Length", str(len(body or b"")))
        with contextlib.suppress(ConnectionError):  # a body that is too large is refused before all of it was sent
            own.endheaders(body)
        answer = own.getresponse()
        try:
            return answer.status, answer.headers, b"" if "event-stream" in answer.headers.get("Content-Type", "") else answer.read()
        finally:
            if not connection:
                own.close()

    def open(self):
        """Exchanges the token for the cookie, and keeps it."""
        status, headers, _ = self.request("POST", "/session", json.dumps(self.token))
        if status != 204:
            raise AssertionError(f"the token was answered with {status}")
        self.cookie = headers["Set-Cookie"].split(";")[0]
        return self

    def get(self, path, **question):
        """What a path with a query answers, as JSON."""
        query = urllib.parse.urlencode({name: value for name, value in question.items() if value is not None})
        status, _, body = self.request("GET", f"{path}?{query}")
        if status != 200:
            raise AssertionError(f"{path} with {question} was answered with {status}: {body!r}")
        return json.loads(body)

    def run(self, *words, **more):
        status, _, body = self.request("POST", "/run", {"words": words, **more})
        if status != 200:
            raise AssertionError(f"{words} was answered with {status}: {body!r}")
        return json.loads(body)

    def sockets(self):
        """The addresses at which the process listens, as /proc has them: hexadecimal."""
        own = {path.readlink().name for path in pathlib.Path(f"/proc/{self.process.pid}/fd").iterdir() if path.is_symlink()}
        found = []
        for table in ("tcp", "tcp6"):
            for line in pathlib.Path(f"/proc/{self.process.pid}/net/{table}").read_text().splitlines()[1:]:
                parts = line.split()
                if parts[3] == "0A" and f"socket:[{parts[9]}]" in own:
                    found.append((table, parts[1]))
        return found

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        code = self.process.wait(SECONDS_MAX)
        self.error = self.process.stderr.read().decode(errors="replace")
        return code


# Keys as the protocol names them: those that are not their own character.
NAMED_KEYS = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "PageUp": 33, "PageDown": 34, "End": 35, "Home": 36,
              "Escape": 27, "Enter": 13, "Tab": 9}
SHIFT = 8


class Window(chromium.Chromium):
    """A browser that waits for what the page's script does, and uses it as people do."""

    def go(self, url):
        """Loads an address to its end."""
        before = len(self.events)
        self.call("Page.navigate", url=url)
        self.loaded(before)

    def reload(self):
        before = len(self.events)
        self.call("Page.reload")
        self.loaded(before)

    def loaded(self, before):
        while not any(event["method"] == "Page.loadEventFired" for event in self.events[before:]):
            self.browser.message()

    def answer(self, script):
        """The value that a script's promise resolves to."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"])
        return result["result"].get("value")

    def settled(self, script, seconds=30):
        """Waits until a script has a value that is true; its last value."""
        return self.answer("""new Promise(done => {
            const end = Date.now() + %d, look = () => {
              let value = null;
              try { value = (%s); } catch (error) { value = null; }
              if (value || Date.now() > end) done(value instanceof Node ? true : value); else setTimeout(look, 20);
            };
            look();
          })""" % (seconds * 1000, script))

    def press(self, key, modifiers=0):
        code = NAMED_KEYS.get(key) or (ord(key.upper()) if key.isalnum() else 0)
        known = {"key": key, "modifiers": modifiers, "windowsVirtualKeyCode": code, "code": key if key in NAMED_KEYS else ""}
        text = {} if key in NAMED_KEYS and key != "Enter" else {"text": "\r" if key == "Enter" else key}
        self.call("Input.dispatchKeyEvent", type="keyDown", **known, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **known)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def click(self, selector):
        """Clicks an element, as a mouse does, once it stands still and nothing covers it."""
        place = self.answer("""(async () => {
            const end = Date.now() + 30000, frame = () => new Promise(done => setTimeout(done, 20));
            let last = null;
            while (Date.now() < end) {
              const element = document.querySelector(%s);
              let place = null;
              if (element && !element.hidden && !element.disabled) {
                element.scrollIntoView({ block: "center", behavior: "instant" });
                const box = element.getBoundingClientRect();
                place = { x: box.x + Math.min(box.width / 2, 40), y: box.y + box.height / 2 };
                if (!box.width || !element.contains(document.elementFromPoint(place.x, place.y))) place = null;
              }
              if (place && last && place.x === last.x && place.y === last.y) return place;
              last = place;
              await frame();
            }
            return null;
          })()""" % json.dumps(selector))
        if not place:
            raise AssertionError(f"nothing to click at {selector}")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **place)

    def texts(self, selector):
        return self.evaluate(f"[...document.querySelectorAll({json.dumps(selector)})].map(element => element.textContent)")

    def violations(self, script, *rules):
        """What axe-core finds by all rules, or by these, as sentences."""
        options = {"resultTypes": ["violations"]} | ({"runOnly": rules} if rules else {})
        self.evaluate(f"window.axe ? 0 : (() => {{ {script} \n return 0; }})()")
        return self.answer("""axe.run(%s).then(found => found.violations.flatMap(violation => violation.nodes.map(node =>
            `${violation.id}: ${node.target.join(" ")} ${node.failureSummary.replace(/\\s+/g, " ")}`)))""" % json.dumps(options))
