"""Three devices of one encrypted vault, of which no two have the same way to each other: a dialogue, a folder and a hub."""

import random
import signal
import unittest

from heartlog import seed
from hub import NEEDS_HUB
from hub_process import HubProcess
from test_sync import SyncTestCase, operations


@NEEDS_HUB
class ThreeWaysTests(SyncTestCase):
    def setUp(self):
        super().setUp()
        self.hub = HubProcess("--database", self.folder / "hub.db")
        self.addCleanup(lambda: self.hub.process.poll() is None and self.hub.end(signal.SIGKILL))
        self.cloud = self.folder / "cloud"
        self.cloud.mkdir()
        self.phone, self.desk, self.tablet = self.stores = [self.device(name, 0) for name in ("phone", "desk", "tablet")]
        self.written = dict.fromkeys(range(3), 0)

    def write(self, chance, index, count=None):
        count = count or chance.randint(1, 30)
        self.expect(0, self.stores[index].apply(operations(chance, count, f"device {index}", self.written[index])))
        self.written[index] += count

    def found_vault(self):
        """The phone makes the vault at the hub, where the desk gets it; the tablet gets it in the folder of the desk."""
        self.write(random.Random(1), 0)
        code = self.sync(self.phone, self.hub.url, "--encrypted").object["recoveryCode"]
        vault = self.expect(0, self.phone("hub", self.hub.url, "--json")).object["vault"]
        self.address = f"{self.hub.url}/{vault}"
        for store in (self.desk, self.tablet):
            self.expect(0, store("keys", "join", "-", input=code.encode()))
        self.by_hub()
        self.by_folder()

    # Each way has two ends, and both have what the other had afterwards.

    def by_hub(self):
        for store in (self.phone, self.desk, self.phone):
            self.sync(store, self.address)

    def by_folder(self):
        for store in (self.desk, self.tablet, self.desk):
            self.sync(store, f"folder:{self.cloud}")

    def by_dialogue(self):
        return self.sync(self.tablet, self.serving(self.phone)).object

    def check_agreed(self):
        self.check_same(*self.stores)
        for store in self.stores:
            self.check_once(store)
            self.assertEqual(len(self.expect(0, store("status", "--json")).object["replicas"]), 3)
        # What is outside of the devices is encrypted, wherever it is.
        found = [path for path in [*self.cloud.rglob("*"), *(self.folder / "hub").rglob("*")] if path.is_file()]
        self.assertGreater(len(found), 5)
        for path in found:
            content = path.read_bytes()
            for word in (b"papers", b"device 0", b"device 1", b"device 2", b"phone", b"tablet"):
                self.assertNotIn(word, content, path)

    def test_every_two_of_the_ways_bring_everything_to_all(self):
        chance = random.Random(seed())
        self.found_vault()
        ways = [self.by_hub, self.by_folder, self.by_dialogue]
        for left_out in (*ways, None):
            rest = [way for way in ways if way != left_out]
            for index in range(3):
                self.write(chance, index)
            chance.shuffle(rest)
            # The last device of the first way gets what the others had before it, at its second turn.
            for way in (*rest, *rest):
                way()
            self.check_agreed()
        # A new key, too, goes over all of them.
        self.expect(0, self.desk("keys", "rotate"))
        for way in (*ways, *ways):
            self.write(chance, chance.randrange(3))
            way()
        for way in (*ways, *ways):
            way()
        self.check_agreed()
        epochs = [[line["id"] for line in self.expect(0, store("keys", "--json")).lines if "id" in line] for store in self.stores]
        self.assertGreater(len(epochs[0]), 1)
        self.assertEqual(epochs, epochs[:1] * 3)

    def test_changes_that_meet_anywhere_end_in_one_state(self):
        chance = random.Random(seed())
        self.found_vault()
        one_end = [
            lambda: self.sync(self.phone, self.address), lambda: self.sync(self.desk, self.address),
            lambda: self.sync(self.desk, f"folder:{self.cloud}"), lambda: self.sync(self.tablet, f"folder:{self.cloud}"),
            self.by_dialogue, lambda: self.sync(self.phone, self.serving(self.tablet))]
        for _ in range(60):
            if chance.random() < 0.5:
                self.write(chance, chance.randrange(3), chance.randint(1, 5))
            else:
                chance.choice(one_end)()
        for way in (self.by_hub, self.by_folder, self.by_dialogue, self.by_hub):
            way()
        self.check_agreed()


if __name__ == "__main__":
    unittest.main()
