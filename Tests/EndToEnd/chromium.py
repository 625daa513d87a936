"""A headless Chromium, driven by the DevTools protocol over a pipe: no package and no port is needed."""

import base64
import json
import os
import shutil
import subprocess
import tempfile

PROGRAM = os.environ.get("CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)


class Chromium:
    """One page in a browser of its own. Use it as a context manager."""

    def __init__(self, width=1000, height=900):
        self.width, self.height = width, height
        self.events = []
        self.number = 0

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="heartlog-chromium-")
        read_commands, self.commands = os.pipe()
        self.answers, write_answers = os.pipe()

        def take_descriptors():
            # Chromium reads from 3 and writes to 4. Copies first: either number may be in use.
            first, second = os.dup(read_commands), os.dup(write_answers)
            os.dup2(first, 3), os.dup2(second, 4)

        self.process = subprocess.Popen(
            [PROGRAM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--disable-extensions", "--hide-scrollbars", "--remote-debugging-pipe",
             f"--user-data-dir={self.folder}", f"--window-size={self.width},{self.height}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False,
            preexec_fn=take_descriptors, env=os.environ | {"HOME": self.folder})
        os.close(read_commands), os.close(write_answers)
        self.rest = b""
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.commands), os.close(self.answers)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _message(self):
        while b"\0" not in self.rest:
            chunk = os.read(self.answers, 1 << 16)
            if not chunk:
                raise EOFError("Chromium ended")
            self.rest += chunk
        line, _, self.rest = self.rest.partition(b"\0")
        return json.loads(line)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        line = json.dumps(message).encode() + b"\0"
        while line:
            line = line[os.write(self.commands, line):]
        while True:
            answer = self._message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def open(self, path):
        """Loads a file to its end."""
        self.call("Page.navigate", url=f"file://{os.path.abspath(path)}")
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self._message())

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
