"""A device that takes only some libraries: what it has, what it says, and how the rest arrives later."""

import pathlib
import random
import signal
import time
import unittest

from format_reader import read_stream
from heartlog import seed
from test_erasing import traces
from test_sync import SyncTestCase

LIBRARIES = ("papers", "cities", "breeds")


class SubscribingTests(SyncTestCase):
    def write(self, chance, store, count, start=0):
        lines = [{"op": chance.choice(("add", "toggle", "remove", "set")), "library": chance.choice(LIBRARIES),
                  "id": f"item-{chance.randrange(20)}", "time": f"2026-03-{number // 2 % 27 + 1:02}T07:00:00Z",
                  "commit": number // 2} for number in range(start, start + count)]
        for number, line in enumerate(lines):
            if line["library"] != "papers":
                line["id"] = f"elsewhere-{line['id']}"
            if line["op"] == "set":
                line["fields"] = {"title": f"words {number}"}
        self.expect(0, store.apply(lines))

    def check_streams(self, store, other):
        """The same history, by a reader that was written from the documentation."""
        streams = []
        for each in (store, other):
            found = {folder.name: read_stream(folder) for folder in pathlib.Path(each.path, "replicas").iterdir()}
            for stream in found.values():
                self.assertEqual(stream.problems, [])
            streams.append({name: stream.root for name, stream in found.items()})
        self.assertEqual(*streams)

    def test_the_rest_is_withheld_counts_and_arrives_on_request(self):
        chance = random.Random(seed())
        phone = self.store("phone")
        self.write(chance, phone, 300)
        for way in ("directory", "command", "folder"):
            with self.subTest(way):
                watch = self.store(f"watch-{way}")
                cloud = self.folder / f"cloud-{way}"
                cloud.mkdir()
                peer = {"directory": phone.path, "command": self.serving(phone), "folder": f"folder:{cloud}"}[way]
                if way == "folder":
                    self.sync(phone, peer)
                first = self.sync(watch, peer, "--libraries", "papers").object
                if way == "folder":
                    self.sync(phone, peer)
                    self.sync(watch, peer)
                status = self.expect(0, watch("status", "--json")).object
                self.assertEqual(status["subscribed"], ["papers"])
                events = sum(library["events"] for library in status["libraries"])
                self.assertEqual(status["withoutContent"], status["events"] - events)
                self.assertGreater(status["withoutContent"], 100)
                self.assertEqual(first["withoutContent"], status["withoutContent"])
                mine = self.expect(0, watch("list", "papers", "--all", "--json")).lines
                self.assertEqual(mine, self.expect(0, phone("list", "papers", "--all", "--json")).lines)
                self.assertEqual(traces(watch.path, [b"elsewhere"]), [])
                self.check_streams(watch, phone)
                self.expect(0, watch("replay"))
                self.expect(0, watch("verify"))
                # A library more, then all.
                self.sync(watch, peer, "--libraries", "papers,cities")
                self.assertEqual(self.expect(0, watch("list", "cities", "--all", "--json")).lines,
                                 self.expect(0, phone("list", "cities", "--all", "--json")).lines)
                last = self.sync(watch, peer, "--libraries", "all").object
                self.assertGreater(last["completed"], 0)
                self.assertNotIn("withoutContent", last)
                if way == "folder":
                    self.sync(phone, peer)
                self.check_same(watch, phone)

    def test_what_it_says(self):
        phone, watch = self.store("phone"), self.store("watch")
        self.expect(0, phone("add", "cities", "berlin"))
        self.expect(0, phone("add", "papers", "2006.08594v1"))
        replica = self.expect(0, phone("status", "--json")).object["replica"]
        told = self.expect(0, watch("sync", phone.path, "--libraries", "papers")).out
        self.assertIn("same history, less content: 1 event here without content", told)
        self.assertIn("takes only papers from other devices", self.expect(0, watch("status")).out)
        self.assertIn("only papers here", self.expect(0, watch("devices")).out)
        lines = {line["id"]: line for line in self.expect(0, watch("devices", "--json")).lines}
        self.assertEqual(lines[replica]["partial"], {"fromCommit": 1, "libraries": ["papers"]})
        self.assertEqual(sum("partial" in line for line in lines.values()), 1)
        listed = self.expect(0, watch("list", "cities"))
        self.assertEqual(listed.out, "")
        self.assertIn("does not take everything of \"cities\"", listed.err)
        self.assertEqual(self.expect(0, watch("list", "papers")).err, "")
        self.assertIn("does not take everything of \"cities\"", self.expect(1, watch("show", "cities", "berlin")).err)
        self.assertIn("erase on a device that takes all of cities", self.expect(64, watch("erase", "cities", "berlin")).err)
        for options in (("--libraries", "Papers"), ("--libraries", ""), ("--libraries", ",")):
            answer = watch("sync", phone.path, *options)
            self.assertIn(answer.code, (64, 65), answer.err)
        self.expect(64, watch("sync", phone.path, "--libraries", "papers", "--dry-run"))
        self.assertEqual(self.expect(0, watch("status", "--json")).object["subscribed"], ["papers"])

    def test_killed_while_content_arrives(self):
        chance = random.Random(seed())
        phone, watch = self.store("phone"), self.store("watch")
        for part in range(8):
            self.write(chance, phone, 400, part * 400)
            self.expect(0, phone("compact"))
        self.sync(watch, phone.path, "--libraries", "papers")
        self.expect(0, watch("compact"))
        unkilled = 0
        for turn in range(30):
            with watch.start("sync", phone.path, "--libraries", "all") as process:
                time.sleep(chance.random() * 0.06)
                process.send_signal(signal.SIGKILL)
            unkilled += process.returncode == 0
            self.expect(0, watch("verify"))
            self.expect(0, watch("replay"))
            if turn % 10 == 9:
                self.sync(watch, phone.path, "--libraries", "all")
                self.check_same(watch, phone)
                # From the beginning.
                watch = self.store(f"watch-{turn}")
                self.sync(watch, phone.path, "--libraries", "papers")
                self.expect(0, watch("compact"))
        self.assertLess(unkilled, 30)
        self.sync(watch, phone.path, "--libraries", "all")
        self.check_same(watch, phone)


if __name__ == "__main__":
    unittest.main()
