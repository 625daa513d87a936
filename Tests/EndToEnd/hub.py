"""A hub that runs, for tests of what syncs through it. $HEARTLOG_HUB_BIN is the program, else it is beside the one under test."""

import os
import pathlib
import re
import signal
import subprocess
import unittest

from heartlog import BINARY, SECONDS_MAX, TestCase, environment

HUB = os.environ.get("HEARTLOG_HUB_BIN") or str(pathlib.Path(BINARY).with_name("heartlog-hub"))
NEEDS_HUB = unittest.skipUnless(os.access(HUB, os.X_OK), f"there is no program at {HUB}")


def metrics_url(process, options):
    """Where a hub that has said where it listens has its metrics; None without the option."""
    return re.fullmatch(rb"metrics on (http://\S+)\n", process.stdout.readline())[1].decode() if "--metrics" in options else None


class Hub:
    """A hub with a file; it keeps its port when it is started again."""

    def __init__(self, folder, *options):
        self.folder, self.options, self.port, self.process = folder, options, 0, None

    def start(self):
        self.process = subprocess.Popen(
            [HUB, "--listen", f"127.0.0.1:{self.port}", "--database", f"{self.folder}/hub.db", *self.options], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment())
        self.url = re.fullmatch(rb"listening on (https?://\S+)\n", self.process.stdout.readline())[1].decode()
        self.port = int(self.url.rsplit(":", 1)[1])
        self.metrics_url = metrics_url(self.process, self.options)

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        code = self.process.wait(SECONDS_MAX)
        self.process.stdout.close()
        self.process = None
        return code


class HubTestCase(TestCase):
    """A hub that runs."""

    def setUp(self):
        super().setUp()
        folder = self.folder / "hub"
        folder.mkdir()
        self.hub = Hub(folder)
        self.hub.start()
        self.addCleanup(lambda: self.hub.process and self.hub.end(signal.SIGKILL))
