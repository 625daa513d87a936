"""A headless Chromium, driven by the DevTools protocol over a pipe: no package and no port is needed."""

import atexit
import base64
import json
import os
import shutil
import subprocess
import tempfile

PROGRAM = os.environ.get("CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)


class Browser:
    """A browser, for all pages of this process."""

    running = None

    @classmethod
    def shared(cls):
        if cls.running is None:
            cls.running = cls()
            atexit.register(cls.running.end)
        return cls.running

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="heartlog-chromium-")
        self.number, self.rest = 0, b""
        self.events = {}  # of each session that is attached
        read_commands, self.commands = os.pipe()
        self.answers, write_answers = os.pipe()

        def take_descriptors():
            # Chromium reads from 3 and writes to 4. Copies first: either number may be in use.
            first, second = os.dup(read_commands), os.dup(write_answers)
            os.dup2(first, 3), os.dup2(second, 4)

        self.process = subprocess.Popen(
            [PROGRAM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--disable-extensions", "--hide-scrollbars", "--remote-debugging-pipe",
             f"--user-data-dir={self.folder}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False,
            preexec_fn=take_descriptors, env=os.environ | {"HOME": self.folder})
        os.close(read_commands), os.close(write_answers)

    def end(self):
        self.process.kill()
        self.process.wait()
        os.close(self.commands), os.close(self.answers)
        shutil.rmtree(self.folder, ignore_errors=True)

    def message(self):
        """The next message. An event is also kept for its page."""
        while b"\0" not in self.rest:
            chunk = os.read(self.answers, 1 << 16)
            if not chunk:
                raise EOFError("Chromium ended")
            self.rest += chunk
        line, _, self.rest = self.rest.partition(b"\0")
        message = json.loads(line)
        if "method" in message and message.get("sessionId") in self.events:
            self.events[message["sessionId"]].append(message)
        return message

    def call(self, method, parameters, session=None):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters} | ({"sessionId": session} if session else {})
        line = json.dumps(message).encode() + b"\0"
        while line:
            line = line[os.write(self.commands, line):]
        while (answer := self.message()).get("id") != self.number:
            pass
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]


class Chromium:
    """One page, with cookies and a cache of its own. Use it as a context manager."""

    def __init__(self, width=1000, height=900):
        self.width, self.height = width, height

    def __enter__(self):
        self.browser = Browser.shared()
        self.context = self.browser.call("Target.createBrowserContext", {})["browserContextId"]
        target = self.browser.call("Target.createTarget", {"url": "about:blank", "browserContextId": self.context})["targetId"]
        self.session = self.browser.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        self.events = self.browser.events[self.session] = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.size(self.width, self.height)
        return self

    def __exit__(self, *_):
        self.browser.call("Target.disposeBrowserContext", {"browserContextId": self.context})
        del self.browser.events[self.session]

    def call(self, method, **parameters):
        return self.browser.call(method, parameters, self.session)

    def size(self, width, height=900):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def open(self, path):
        """Loads a file to its end."""
        self.call("Page.navigate", url=f"file://{os.path.abspath(path)}")
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.browser.message()

    def evaluate(self, script):
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"])
        return result["result"].get("value")

    def emulate(self, scheme="light", medium=""):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=medium, features=features)

    def requests(self):
        """The addresses of everything that was loaded or tried."""
        return [event["params"]["request"]["url"] for event in self.events if event["method"] == "Network.requestWillBeSent"]

    def messages(self):
        """What the console would show, and exceptions."""
        names = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [event for event in self.events if event["method"] in names]

    def picture(self, path, top=0):
        """Writes as much as the window shows, from a distance to the top of the page on, as a PNG."""
        data = self.call("Page.captureScreenshot", format="png", clip={
            "x": 0, "y": top, "width": self.width, "height": self.height, "scale": 1}, captureBeyondViewport=True)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def printed(self):
        """The page as PDF, on the paper that the page asks for."""
        return base64.b64decode(self.call("Page.printToPDF", preferCSSPageSize=True)["data"])
