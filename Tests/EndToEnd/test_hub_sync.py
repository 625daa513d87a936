"""Devices that sync through a hub: both programs, over a real connection."""

import contextlib
import json
import pathlib
import re
import signal
import unittest

from heartlog import SECONDS_MAX
from hub import NEEDS_HUB, HubTestCase


@NEEDS_HUB
class HubTests(HubTestCase):
    def check_same(self, *stores):
        self.assertEqual(len({self.digest(store) for store in stores}), 1)
        for store in stores:
            self.expect(0, store("verify"))

    def pair(self):
        """Two devices of a vault that the first one made, and the address for the second one."""
        phone, tablet = self.store("phone"), self.store("tablet")
        self.expect(0, phone("toggle", "papers", "first"))
        self.assertIn("at the hub: ", self.expect(0, phone("sync", self.hub.url)).out)
        vault = self.expect(0, phone("hub", self.hub.url, "--json")).object["vault"]
        address = f"{self.hub.url}/{vault}"
        refused = self.expect(1, tablet("sync", address), "does not admit this device")
        key = re.search(rf"heartlog hub {re.escape(self.hub.url)} admit ([0-9a-f]{{64}})", refused.err)[1]
        self.assertIn(key, self.expect(0, phone("hub", self.hub.url, "admit", key)).out)
        self.expect(0, tablet("sync", address))
        self.check_same(phone, tablet)
        return phone, tablet, address, key

    def test_a_process_reads_nothing_again_that_an_earlier_one_put(self):
        """Also not if the vault is encrypted, and all of it once more if it does not remember."""
        phone = self.store("phone")
        for options in ((), ("--encrypted",)):
            self.expect(0, phone.apply([{"op": "set", "library": "papers", "id": f"{number}{options}", "fields": {"n": str(number) * 99}}
                                        for number in range(2_000)]))
            put = self.expect(0, phone("sync", self.hub.url, "--json", *options)).object["sent"]["bytes"]
            self.expect(0, phone("toggle", "papers", f"one more {options}"))
            report = self.expect(0, phone("sync", self.hub.url, "--json")).object
            self.assertEqual(report["sent"]["commits"], 1)
            self.assertLess(report["received"]["bytes"], 4_096)
        for file in (pathlib.Path(phone.path) / "keys" / "places").iterdir():
            file.write_bytes(b"since never\n")
        self.assertGreater(self.expect(0, phone("sync", self.hub.url, "--json")).object["received"]["bytes"], put / 2)

    @contextlib.contextmanager
    def watching(self, store, address):
        process = store.start("sync", address, "--watch", "--json")
        try:
            yield process
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(SECONDS_MAX), 0)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
            process.stderr.close()

    def news(self, process, way):
        """Waits for a round that received or sent something."""
        while line := process.stdout.readline():
            if json.loads(line)[way]["commits"]:
                return
        self.fail(process.stderr.read())

    def test_two_devices(self):
        phone, tablet, address, key = self.pair()
        self.expect(0, tablet("toggle", "papers", "second"))
        self.expect(0, tablet("sync", address))
        self.assertEqual(self.expect(0, phone("sync", self.hub.url, "--json")).object["received"]["commits"], 1)
        self.check_same(phone, tablet)
        keys = self.expect(0, tablet("hub", address, "--json")).object["keys"]
        self.assertEqual({entry["name"] for entry in keys}, {"phone", "tablet"})
        self.expect(0, phone("hub", self.hub.url, "remove", key))
        self.expect(1, tablet("sync", address), "does not admit this device")

    def test_a_change_arrives_while_both_watch(self):
        phone, tablet, address, _ = self.pair()
        with self.watching(phone, self.hub.url) as one, self.watching(tablet, address) as other:
            for number in range(3):
                self.expect(0, phone("toggle", "papers", f"p{number}"))
                self.news(other, "received")
                self.expect(0, tablet("toggle", "papers", f"t{number}"))
                self.news(one, "received")
        self.check_same(phone, tablet)

    def test_a_hub_that_is_killed_is_waited_for(self):
        phone, tablet, address, _ = self.pair()
        with self.watching(phone, self.hub.url) as process:
            self.expect(0, phone("toggle", "papers", "before"))
            self.news(process, "sent")
            self.hub.end(signal.SIGKILL)
            self.expect(0, phone("toggle", "papers", "without"))
            self.assertIn(b"Retrying until it works", process.stderr.readline())
            self.expect(74, tablet("sync", address), "cannot connect to the hub")
            self.hub.start()
            self.news(process, "sent")
        self.expect(0, tablet("sync", address))
        self.check_same(phone, tablet)
        self.assertEqual(self.hub.end(), 0)

    def test_a_hub_that_lost_everything_gets_it_again(self):
        phone, tablet, address, key = self.pair()
        self.hub.end()
        for path in self.hub.folder.iterdir():
            path.unlink()
        self.hub.start()
        self.expect(0, phone("sync", self.hub.url))
        self.expect(1, tablet("sync", address))
        self.expect(0, phone("hub", self.hub.url, "admit", key))
        self.expect(0, tablet("toggle", "papers", "second"))
        self.expect(0, tablet("sync", address))
        self.expect(0, phone("sync", self.hub.url))
        self.check_same(phone, tablet)

    def test_a_password_in_an_address_is_refused_and_not_shown(self):
        phone = self.store("phone")
        answer = self.expect(64, phone("sync", self.hub.url.replace("//", "//anna:secret@")), "password")
        self.assertNotIn("secret", answer.err)


if __name__ == "__main__":
    unittest.main()
