"""Stores that wrote apart know the same after a sync, over every carrier, and whatever breaks it off."""

import json
import os
import pathlib
import random
import shlex
import shutil
import signal
import sys
import threading
import time
import unittest

from heartlog import BINARY, SECONDS_MAX, Store, TestCase, environment, model, seed

KILLS = int(os.environ.get("KILLS") or 40)
OPERATIONS = int(os.environ.get("OPERATIONS") or 20_000)
ROUNDS = int(os.environ.get("ROUNDS") or 120)


def operations(chance, count, device, start=0):
    """Operations of a device, on items that all devices share."""
    found = []
    for number in range(start, start + count):
        operation = {"op": chance.choice(("add", "toggle", "toggle", "remove", "set")), "library": chance.choice(("papers", "cities")),
                     "id": str(chance.randrange(200)), "time": "2026-03-%02dT%02d:%02d:%02dZ" % (
                         number // 86400 % 27 + 1, number // 3600 % 24, number // 60 % 60, number % 60)}
        if operation["op"] == "set":
            operation["fields"] = {"title": f"{device} {number}"}
        found.append(operation)
    return found


class SyncTestCase(TestCase):
    def device(self, name, count, chance=None):
        store = self.store(name)
        if count:
            self.expect(0, store.apply(operations(chance or random.Random(name), count, name)))
        return store

    def check_same(self, *stores):
        """One digest, that of the log replayed; one root a stream; and sound."""
        self.assertEqual(len({self.digest(store) for store in stores}), 1)
        roots = []
        for store in stores:
            self.expect(0, store("replay", "--json"))
            lines = self.expect(0, store("verify", "--json")).lines
            roots.append({line["replica"]: (line["commits"], line["root"]) for line in lines if line.get("commits")})
        for other in roots[1:]:
            self.assertEqual(other, roots[0])
        return roots[0]

    def check_once(self, store):
        """Each event is in the log once."""
        events = [(event["replica"], event["sequence"]) for event in store.log()]
        self.assertEqual(len(events), len(set(events)))


class CarrierTests(SyncTestCase):
    def both(self):
        return self.device("phone", 60), self.device("tablet", 40)

    def check(self, report):
        self.assertGreater(report["received"]["events"], 0)
        self.assertGreater(report["sent"]["events"], 0)
        self.assertGreater(report["changedItems"], 0)
        self.assertEqual(report["streams"], 2)
        self.assertEqual(report["forks"], [])

    def test_a_pipe(self):
        phone, tablet = self.both()
        report = self.sync(phone, self.serving(tablet)).object
        self.check(report)
        self.assertEqual(report["peerName"], "tablet")
        self.check_same(phone, tablet)
        again = self.sync(phone, self.serving(tablet)).object
        self.assertEqual((again["received"]["commits"], again["sent"]["commits"]), (0, 0))

    def test_a_directory(self):
        phone, tablet = self.both()
        self.check(self.sync(phone, tablet.path).object)
        self.check_same(phone, tablet)
        self.expect(64, phone("sync", phone.path), "itself")

    def test_merge_takes_and_gives_nothing(self):
        phone, tablet = self.both()
        before = tablet.log()
        self.expect(0, phone("sync", tablet.path, "--pull"))
        self.assertEqual(tablet.log(), before)
        self.expect(0, tablet("sync", phone.path, "--pull"))
        self.check_same(phone, tablet)

    def test_a_dry_run_changes_nothing(self):
        phone, tablet = self.both()
        before = phone.log(), tablet.log()
        report = self.sync(phone, tablet.path, "--dry-run").object
        self.assertGreater(report["received"]["commits"], 0)
        self.assertGreater(report["sent"]["commits"], 0)
        self.assertEqual((phone.log(), tablet.log()), before)

    def test_ssh_is_given_its_words_one_by_one(self):
        phone, tablet = self.both()
        place = self.folder / "it's a $(place)"
        shutil.move(tablet.path, place)
        # Stands in for ssh: notes its words, and runs the command as the other machine's shell would.
        ssh = self.folder / "ssh"
        ssh.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" > {shlex.quote(str(self.folder))}/words\n"
                       f"for last; do :; done\nPATH={shlex.quote(os.path.dirname(BINARY))}:$PATH exec /bin/sh -c \"$last\"\n")
        ssh.chmod(0o755)
        peer = f"ssh://anna@desk:2222{place}"
        answer = phone("sync", peer, "--json", env=environment(HEARTLOG_SSH=str(ssh)))
        self.check(self.expect(0, answer).object)
        words = (self.folder / "words").read_text().splitlines()
        self.assertEqual(words[:4], ["-p", "2222", "--", "anna@desk"])
        self.expect(64, phone("sync", "ssh://-oProxyCommand=x/store"))

    def test_what_is_not_there(self):
        phone, _ = self.both()
        self.expect(66, phone("sync", str(self.folder / "none")))
        self.expect(66, phone("sync", f"folder:{self.folder}/none"))
        self.expect(66, phone("sync", self.serving(Store(self.folder / "none"))))
        self.assertFalse((self.folder / "none").exists())
        self.expect(74, phone("sync", "exec:exit 3"))
        self.expect(65, phone("sync", "exec:yes"))
        self.expect(65, phone("sync", "exec:cat"))
        self.expect(65, phone("sync", "exec:echo Welcome to desk; cat"), '"Welcome to desk"', "startup files")
        self.expect(64, phone("sync", "ssh://anna:secret@desk/store"), "password")
        self.assertNotIn("secret", phone("sync", "ssh://anna:secret@desk/store", "--json").err)
        self.expect(64, phone("serve"))


class FolderTests(SyncTestCase):
    def test_the_directory_of_a_store_is_no_folder_between_stores(self):
        phone, tablet = self.device("phone", 5), self.device("tablet", 5)
        before = [sorted(pathlib.Path(store.path).rglob("*")) for store in (phone, tablet)]
        for place in (phone.path, tablet.path, f"{tablet.path}/replicas", f"{tablet.path}/replicas/.."):
            self.expect(64, phone("sync", f"folder:{place}"), "the directory of a store", "a folder of its own")
        self.assertEqual([sorted(pathlib.Path(store.path).rglob("*")) for store in (phone, tablet)], before)

    def test_three_devices_that_never_meet(self):
        cloud = self.folder / "cloud"
        cloud.mkdir()
        chance = random.Random(seed())
        stores = [self.device(name, 50, chance) for name in ("phone", "tablet", "desk")]
        for round in range(6):
            for number, store in enumerate(stores):
                self.expect(0, store.apply(operations(chance, 7, number, 1000 * round)))
                self.sync(store, f"folder:{cloud}")
        for store in stores:
            report = self.sync(store, f"folder:{cloud}").object
            self.assertEqual(report["folder"]["damaged"], 0)
        self.check_same(*stores)

    def test_folders_that_are_carried_late_partly_and_out_of_order(self):
        chance = random.Random(seed())
        stores = [self.device(name, 20, chance) for name in ("phone", "tablet", "desk")]
        folders = []
        for number in range(3):
            folders.append(self.folder / f"cloud{number}")
            folders[-1].mkdir()
        own = [self.expect(0, store("status", "--json")).object["replica"] for store in stores]

        def carry(source, target, everything):
            files = [path for path in (folders[source] / own[source]).rglob("*.run")]
            chance.shuffle(files)
            for path in files:
                if not everything and chance.random() < 0.6:
                    continue
                place = folders[target] / path.relative_to(folders[source])
                place.parent.mkdir(parents=True, exist_ok=True)
                content = path.read_bytes()
                place.write_bytes(content if everything or chance.random() < 0.7 else content[:chance.randrange(len(content))])

        for round in range(15):
            for number, store in enumerate(stores):
                self.expect(0, store.apply(operations(chance, 3, number, 100 * round)))
                self.sync(store, f"folder:{folders[number]}")
                carry(number, chance.choice([other for other in range(3) if other != number]), False)
        for _ in range(2):
            for number, store in enumerate(stores):
                self.sync(store, f"folder:{folders[number]}")
                for other in range(3):
                    if other != number:
                        carry(number, other, True)
        for number, store in enumerate(stores):
            self.sync(store, f"folder:{folders[number]}")
        self.check_same(*stores)

    def test_watching_takes_in_what_comes_and_stops_when_told(self):
        cloud = self.folder / "cloud"
        phone, tablet = self.device("phone", 10), self.device("tablet", 10)
        with self.ended(phone.start("sync", f"folder:{cloud}", "--watch", "--json")) as process:
            # The folder is not there: told once, and waited for.
            told = process.stderr.readline()
            self.assertIn(b"no folder", told)
            cloud.mkdir()
            first = json.loads(process.stdout.readline())
            self.assertGreater(first["sent"]["commits"], 0)
            self.sync(tablet, f"folder:{cloud}")
            second = json.loads(process.stdout.readline())
            self.assertGreater(second["received"]["commits"], 0)
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(SECONDS_MAX), 0)
            self.assertEqual(process.stderr.read(), b"")
        self.sync(tablet, f"folder:{cloud}")
        self.check_same(phone, tablet)


class BreakingOffTests(SyncTestCase):
    def test_a_sync_killed_at_any_moment_loses_nothing_and_the_next_goes_on(self):
        chance = random.Random(seed())
        stores = [self.device("phone", 200, chance), self.device("tablet", 200, chance)]
        broken = 0
        for kill in range(KILLS):
            for number, store in enumerate(stores):
                count = chance.choice((1, 20, 300))
                self.expect(0, store.apply(operations(chance, count, number, kill * 400)))
            caller, server = stores if chance.random() < 0.5 else stores[::-1]
            pid_file = self.folder / "pid"
            pid_file.unlink(missing_ok=True)
            # The shell's own process becomes the server.
            command = f"echo $$ > {shlex.quote(str(pid_file))}; exec {self.serving(server)[5:]}"
            with self.ended(caller.start("sync", f"exec:{command}")) as process:
                time.sleep(chance.choice((0, chance.uniform(0, 0.01), chance.uniform(0, 0.06))))
                if chance.random() < 0.5:
                    process.kill()
                else:
                    try:
                        os.kill(int(pid_file.read_text()), signal.SIGKILL)
                    except (FileNotFoundError, ValueError, ProcessLookupError):
                        pass
                process.communicate(timeout=SECONDS_MAX)
                broken += process.returncode != 0
            if kill % 10 == 0:
                self.sync(caller, self.serving(server))
                self.check_same(*stores)
        self.sync(stores[0], self.serving(stores[1]))
        self.check_same(*stores)
        for store in stores:
            self.check_once(store)
        print(f"{broken} of {KILLS} syncs broke off", file=sys.stderr)
        self.assertGreater(broken, KILLS // 10)


class ForkTests(SyncTestCase):
    def write(self, store, name, count=5):
        self.expect(0, store.apply([{"op": "add", "library": "papers", "id": f"{name}-{number}"} for number in range(count)]))

    def items(self, store):
        return {item["id"] for item in self.expect(0, store("list", "papers", "--json")).lines}

    def moved(self, store, name):
        """What a restore in place looks like: the same folder, with what lay in it before."""
        copy = self.folder / name
        shutil.copytree(store.path, copy)
        return copy

    def restore(self, store, copy):
        for path in pathlib.Path(store.path).iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        shutil.copytree(copy, store.path, dirs_exist_ok=True)

    def test_a_store_restored_and_written_to_forks_and_every_life_is_kept(self):
        phone, tablet, desk = (self.store(name) for name in ("phone", "tablet", "desk"))
        self.write(phone, "common")
        yesterday = self.moved(phone, "yesterday")
        self.write(phone, "first life")
        self.sync(tablet, phone.path)
        self.restore(phone, yesterday)
        self.write(phone, "second life")
        self.sync(desk, phone.path)
        answers = [self.sync(phone, tablet.path).object, self.sync(desk, tablet.path).object]
        self.sync(phone, desk.path)
        self.sync(phone, tablet.path)
        self.check_same(phone, tablet, desk)
        self.assertEqual(self.items(desk), {f"{life}-{number}" for life in ("common", "first life", "second life") for number in range(5)})
        print(f"forks told: {[len(answer['forks']) for answer in answers]}", file=sys.stderr)

    def test_a_copy_on_a_second_device_becomes_another_device(self):
        phone = self.store("phone")
        self.write(phone, "common")
        copy = Store(self.moved(phone, "copy"))
        self.write(phone, "here")
        self.write(copy, "there")
        desk = self.store("desk")
        self.sync(desk, phone.path)
        self.sync(desk, copy.path)
        self.sync(phone, desk.path)
        self.sync(copy, phone.path)
        self.check_same(phone, copy, desk)
        self.assertEqual(self.items(phone), {f"{place}-{number}" for place in ("common", "here", "there") for number in range(5)})


class ManyTests(SyncTestCase):
    def test_three_devices_that_sync_in_random_pairs(self):
        """One digest in the end, and item by item the state of a model that knows neither logs nor syncs."""
        chance = random.Random(seed())
        stores = [self.store(name) for name in ("phone", "tablet", "desk")]
        models = [model.Store(self.expect(0, store("status", "--json")).object["replica"]) for store in stores]

        def meet(one, other, peer):
            self.sync(stores[one], peer)
            models[one].merge(models[other])
            models[other].merge(models[one])
            models[one].stamp = models[other].stamp = max(models[one].stamp, models[other].stamp)

        for start in range(0, OPERATIONS, 500):
            for number, store in enumerate(stores):
                written = operations(chance, 500 // 3, number, start)
                self.expect(0, store.apply(written))
                for operation in written:
                    models[number].commit([operation], model.milliseconds(operation["time"]))
            one, other = chance.sample(range(3), 2)
            meet(one, other, chance.choice((stores[other].path, self.serving(stores[other]))))
        for one, other in ((0, 1), (1, 2), (0, 1), (0, 2)):
            meet(one, other, stores[other].path)
        self.check_same(*stores)
        self.assertEqual(self.digest(stores[0]), models[0].digest())
        for library in ("papers", "cities"):
            expected = [(ident, None if item.date is None else model.time_text(item.date),
                         {name: json.loads(value) if tag == model.JSON else value for name, (tag, value) in item.values().items()})
                        for ident, item in models[0].listing(library, everything=True)]
            for store in stores:
                listed = self.expect(0, store("list", library, "--all", "--json")).lines
                self.assertEqual([(item["id"], item["favoritedDate"], item["fields"]) for item in listed], expected)

    def test_rounds_at_the_same_time_over_pipes_directories_and_a_folder_while_all_write(self):
        number = seed()
        stores = [self.store(name) for name in ("phone", "tablet", "desk")]
        cloud = self.folder / "cloud"
        cloud.mkdir()
        rounds, answers, written = iter(range(ROUNDS)), [], [0, 0, 0]
        over = threading.Event()

        def write(place):
            while not over.is_set():
                first = written[place]
                answer = stores[place].apply([{"op": "add", "library": "papers", "id": f"{place}-{item}"} for item in range(first, first + 5)])
                answers.append(("apply", answer))
                written[place] = first + 5

        def sync(place, lane):
            chance = random.Random(number * 10 + place * 2 + lane)
            for _ in rounds:
                other = stores[chance.choice([index for index in range(3) if index != place])]
                peer = chance.choice((other.path, self.serving(other), f"folder:{cloud}"))
                answers.append((peer, stores[place]("sync", peer, "--json")))

        # Of three devices that first meet in pairs, all at once, two may end in different vaults.
        for other in stores[1:]:
            self.sync(stores[0], other.path)
        writers = [threading.Thread(target=write, args=(place,)) for place in range(3)]
        syncers = [threading.Thread(target=sync, args=(place, lane)) for place in range(3) for lane in range(2)]
        for thread in writers + syncers:
            thread.start()
        for thread in syncers:
            thread.join()
        over.set()
        for thread in writers:
            thread.join()
        for what, answer in answers:
            self.assertEqual(answer.code, 0, f"{what}: {answer.err}")
        for one, other in ((0, 1), (1, 2), (0, 1), (0, 2)):
            self.sync(stores[one], stores[other].path)
        self.check_same(*stores)
        items = {item["id"] for item in self.expect(0, stores[2]("list", "papers", "--json")).lines}
        self.assertEqual(items, {f"{place}-{item}" for place in range(3) for item in range(written[place])})

    def test_one_new_event_moves_little(self):
        phone, tablet = self.device("phone", 3000), self.device("tablet", 3000)
        self.sync(phone, self.serving(tablet))
        self.expect(0, phone("add", "cities", "2950159", "name=Berlin"))
        report = self.sync(phone, self.serving(tablet)).object
        moved = report["received"]["bytes"] + report["sent"]["bytes"]
        print(f"one new event: {moved} bytes", file=sys.stderr)
        # Unsigned it would be 400 at most; the checkpoints, with their names and cosignatures, are the rest.
        self.assertLessEqual(moved, 1700)


if __name__ == "__main__":
    unittest.main()
