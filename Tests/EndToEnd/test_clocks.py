"""Clocks that are wrong: who is found at which moment, who is named, and what a far stamp may do."""

import datetime
import os
import shutil
import unittest

from format_decoder import Commit, Event
from format_writer import open_segment
from heartlog import PACKAGE, TestCase, environment, lines

DAY = 86_400
FAKETIME = shutil.which("faketime")
# faketime is loaded into a program, which one that is linked statically does not allow.
PROGRAM = str(PACKAGE / ".build" / "debug" / "heartlog")
# Of the monotonic clock only differences count.
FAKED = environment(FAKETIME_DONT_FAKE_MONOTONIC="1")
LAST_OF_CLOCKS = 7_258_118_399_999
LAST = 32_503_679_999_999
FAR = "2199-12-31T23:59:59.999Z"


def now():
    return datetime.datetime.now(datetime.timezone.utc)


def text(time):
    return time.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


class ClockTestCase(TestCase):
    def items(self, store, *arguments):
        return {event["item"] for event in self.expect(0, store("log", "--json", *arguments)).lines}

    def devices(self, store):
        return {device["name"]: device for device in self.expect(0, store("devices", "--json")).lines}


@unittest.skipUnless(FAKETIME, "there is no faketime here")
@unittest.skipUnless(os.access(PROGRAM, os.X_OK), "faketime needs the program that swift build makes, which is not there")
class FastClockTests(ClockTestCase):
    """Three devices, of which one is ten days ahead."""

    def setUp(self):
        super().setUp()
        self.fast, self.right, self.third = (self.store(name) for name in ("fast", "right", "third"))

    def ahead(self, store, *arguments, days=10):
        return store(*arguments, prefix=(FAKETIME, "-f", f"+{days}d"), program=PROGRAM, env=FAKED)

    def test_each_device_is_found_by_its_own_clock_and_only_the_wrong_one_is_named(self):
        self.expect(0, self.right("add", "papers", "before"))
        self.expect(0, self.ahead(self.fast, "add", "papers", "ahead"))
        answer = self.expect(0, self.right("sync", self.fast.path, "--json"), "the clock of fast (", "ahead of this device")
        (named,) = answer.object["clocksAhead"]
        self.assertEqual(named["name"], "fast")
        self.assertAlmostEqual(named["aheadSeconds"], 10 * DAY, delta=600)
        self.expect(0, self.right("add", "papers", "after"))
        stamp = int(self.right.log()[-1]["stamp"], 16) >> 16
        self.assertGreater(stamp, (now().timestamp() + 9 * DAY) * 1000)

        # A third device that only meets the innocent one.
        answer = self.expect(0, self.third("sync", self.right.path, "--pull", "--json"), "the clock of fast (")
        self.assertEqual([clock["name"] for clock in answer.object["clocksAhead"]], ["fast"])
        self.assertEqual(self.expect(0, self.third("sync", self.right.path, "--pull")).err, "")
        self.expect(0, self.third("add", "papers", "third"))
        today, late = {"before", "after", "third"}, text(now() + datetime.timedelta(seconds=1))
        for store in (self.third, self.third):
            self.assertEqual(self.items(store, "--until", late), today)
            self.assertEqual(self.items(store, "--since", late), {"ahead"})
            replayed = self.expect(0, store("status", "--at", late, "--json")).object
            self.assertEqual({replica["name"]: replica["head"] for replica in replayed["replicas"]}, {"fast": 0, "right": 2, "third": 1})
            everything = self.expect(0, store("status", "--at", text(now() + datetime.timedelta(days=11)), "--json")).object
            self.assertEqual(everything["digest"], self.digest(store))
            last = store.log()[-1]
            by_event = self.expect(0, store("status", "--at", f"{last['replica']}:{last['sequence']}", "--json")).object
            self.assertEqual(by_event["digest"], self.digest(store))
            counted = self.expect(0, store("stats", "--until", late, "--json")).lines
            self.assertEqual({line["name"] for line in counted if line["kind"] == "source"}, {"right", "third"})
            store.seal()
            store.snapshot()
        for store in (self.right, self.third):
            devices = self.devices(store)
            ahead = {name: device["wallClockAheadSeconds"] for name, device in devices.items()}
            self.assertAlmostEqual(ahead.pop("fast"), 10 * DAY, delta=600)
            self.assertEqual(set(ahead.values()), {0})
            for name in set(devices) - {"fast"}:
                if devices[name]["lastSeen"]:
                    self.assertLess(devices[name]["lastSeen"], late)
            self.assertEqual(store("devices").out.count("ahead"), 1)
            self.assertEqual(store("status").out.count("ahead"), 1)

    def test_a_clock_that_is_set_right_is_no_longer_ahead_but_was(self):
        self.expect(0, self.ahead(self.fast, "add", "papers", "ahead"))
        self.expect(0, self.fast("add", "papers", "right now"))
        self.assertEqual(self.expect(0, self.third("sync", self.fast.path)).err, "")
        device = self.devices(self.third)["fast"]
        self.assertEqual(device["wallClockAheadSeconds"], 0)
        self.assertGreater(device["latestTime"], device["lastSeen"])
        self.assertIn("was ahead, at", self.third("devices").out)

    def test_a_peer_that_is_ahead_is_named_by_its_greeting(self):
        self.expect(0, self.fast("add", "papers", "x"))
        command = f"exec:{FAKETIME} -f +2h {PROGRAM} --store {self.fast.path} serve --stdio"
        answer = self.expect(0, self.third("sync", command, "--json", env=FAKED), "the clock of fast (")
        (named,) = answer.object["clocksAhead"]
        self.assertAlmostEqual(named["aheadSeconds"], 7200, delta=600)

    def test_a_device_beyond_2199_says_so_and_writes_nothing(self):
        self.expect(0, self.right("add", "papers", "before"))
        answer = self.right("add", "papers", "x", prefix=(FAKETIME, "2301-05-06 07:08:09"), program=PROGRAM, env=FAKED)
        self.expect(75, answer, "this device's clock says 2301-05-06T", "set it right and try again")
        self.assertEqual(self.items(self.right), {"before"})
        self.expect(0, self.right("add", "papers", "x"))


class FarStampTests(ClockTestCase):
    def write(self, store, name):
        self.expect(0, store("add", "papers", name))

    def test_a_time_beyond_2199_is_refused_by_apply(self):
        store = self.store()
        for time in ("2200-01-01T00:00:00Z", "2999-12-31T23:59:59.999Z"):
            self.expect(65, store.apply([{"op": "add", "library": "papers", "id": "x", "time": time}]), "2199", "line 1")
        self.assertEqual(store.log(), [])

    def test_whoever_hears_of_the_last_stamp_of_clocks_goes_on_writing_and_so_does_who_joins_late(self):
        """At the last millisecond of 2199 until the counter is full, and far beyond what clocks give."""
        far, phone, tablet, late, later = (self.store(name) for name in ("far", "phone", "tablet", "late", "later"))
        operations = ({"op": "toggle", "library": "papers", "id": str(number % 9), "time": FAR} for number in range((1 << 16) + 200))
        self.expect(0, far.apply(lines(operations)))
        for round in range(4):
            for store, other in ((phone, far), (tablet, phone)):
                self.write(store, f"{store.path} {round} before")
                self.expect(0, store("sync", other.path))
                self.write(store, f"{store.path} {round} after")
        self.expect(0, phone("sync", tablet.path))
        stamps = [int(event["stamp"], 16) for event in phone.log("-n", "9")]
        self.assertGreater(min(stamps) >> 16, LAST_OF_CLOCKS)
        cloud = self.folder / "cloud"
        cloud.mkdir()
        self.expect(0, phone("sync", f"folder:{cloud}"))
        for store, peer in ((late, phone.path), (later, f"folder:{cloud}")):
            report = self.expect(0, store("sync", peer, "--json")).object
            self.assertEqual(report["skipped"], [])
            self.assertEqual(self.digest(store), self.digest(phone))
            self.write(store, store.path)
            self.expect(0, store("verify"))

    def forge(self, store, number, times):
        """A stream as an earlier version took it, from a writer who chose stamps and wall times."""
        replica = bytes([number]) * 16
        commits = [
            Commit(replica, place, stamp, wall, place, "", [], [], [Event(head=0, library="papers", item=f"{number}-{place}")])
            for place, (stamp, wall) in enumerate(times, 1)]
        folder = self.folder / store.path / "replicas" / replica.hex()
        folder.mkdir(parents=True)
        (folder / f"{1:016}.open").write_bytes(open_segment(bytes(range(16)), commits, bytes(32), name=f"forged {number}"))

    def test_far_stamps_and_wall_times_are_left_and_named_and_the_rest_arrives(self):
        source = self.store("source")
        self.write(source, "own")
        early = int(now().timestamp() * 1000)
        self.forge(source, 1, [(early << 16, early), (LAST << 16, LAST)])
        self.forge(source, 2, [(LAST << 16 | 0xFFFF, LAST_OF_CLOCKS)])
        self.forge(source, 3, [(LAST_OF_CLOCKS << 16 | 0xFFFF, LAST_OF_CLOCKS)])
        self.assertEqual(len(source.log()), 5, "what an earlier version took can be read")
        self.expect(0, source("verify"))
        cloud = self.folder / "cloud"
        cloud.mkdir()
        self.expect(0, source("sync", f"folder:{cloud}"))
        targets = [self.store(f"target {number}") for number in range(2)]
        for target, peer in zip(targets, (source.path, f"folder:{cloud}")):
            for received in (2, 0):
                answer = target("sync", peer, "--json", "--pull")
                report = self.expect(65, answer).object
                self.assertEqual(report["received"]["commits"], received)
                self.assertEqual({(stream["name"], stream["cause"]) for stream in report["skipped"]},
                                 {("forged 1", "clock"), ("forged 2", "waiting")})
            answer = target("sync", peer, "--pull")
            told = answer.out + answer.err
            self.assertIn("refused: the stream of forged 1 (01010101) from commit 1 on: commit 2 was written when a clock said 2999-12-31", told)
            self.assertIn("waiting: the stream of forged 2 (02020202) from commit 1 on: commit 1 has a stamp of 2999-12-31", told)
            self.assertEqual(self.items(target), {"own", "3-1"})
            self.write(target, "goes on")
            self.expect(0, target("verify"))
        # The source cannot write any more, and says why.
        self.expect(64, source("add", "papers", "x"), "2999")


if __name__ == "__main__":
    unittest.main()
