"""What was acknowledged stays when databases, hubs and connections fail, and what a backup lacks comes back from the devices."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

from heartlog import SECONDS_MAX, TestCase, seed
from hub import HUB, NEEDS_HUB
from hub_failures import Campaign, Proxy
from hub_process import NEEDS_CRYPTOGRAPHY, HubProcess
from postgres import DATABASE, USER, Database, programs

NEEDS_DATABASE = unittest.skipUnless(programs(), "PostgreSQL is not installed")


@NEEDS_HUB
@NEEDS_DATABASE
@NEEDS_CRYPTOGRAPHY
class FailureTests(TestCase):
    def test_nothing_acknowledged_is_lost_when_the_primary_a_hub_or_the_network_fails(self):
        lines = []

        def out(line):
            lines.append(line)
            print(line, file=sys.stderr, flush=True)

        with Campaign(seed(), 5, 2, self.folder, out=out) as campaign:
            kept = campaign.run((["primary"], ["network"], ["hub"], ["hub", "primary"]), join_every=3)
        self.assertTrue(kept, "\n".join(lines))


class CuttingProxy(Proxy):
    """Ends one answer early, and hands on the others."""

    def __init__(self, port):
        super().__init__(port, None)
        self.answers, self.number, self.place = 0, None, None

    def pump(self, source, sink, pair):
        try:
            while part := source.recv(65_536):
                if source is pair[1] and part.startswith(b"HTTP/1.1 "):
                    self.answers += 1
                    if self.answers == self.number:
                        self.broken += 1
                        head = part.index(b"\r\n\r\n")
                        sink.sendall(part[:{"line": 12, "head": head // 2, "end": head, "body": head + 5}[self.place]])
                        break
                sink.sendall(part)
            for end in pair:
                end.shutdown(socket.SHUT_RDWR)
        except OSError:
            for end in pair:
                self.reset(end)


@NEEDS_HUB
class AnswerTests(TestCase):
    def test_an_answer_that_ends_early_is_asked_for_again(self):
        hub = HubProcess("--database", self.folder / "hub.db", "--name", "127.0.0.1")
        self.addCleanup(lambda: hub.process.poll() is None and hub.end(signal.SIGKILL))
        phone, tablet = self.store("phone"), self.store("tablet")
        self.expect(0, phone("toggle", "papers", "first"))
        code = self.expect(0, phone("sync", hub.url, "--encrypted")).out.splitlines()[-1]
        vault = self.expect(0, phone("hub", hub.url, "--json")).object["vault"]
        self.expect(0, tablet("keys", "join", "-", input=code))
        self.expect(0, tablet("sync", f"{hub.url}/{vault}"))
        proxy = CuttingProxy(hub.port)
        self.addCleanup(proxy.close)
        failures = []
        for place in ("line", "head", "end", "body"):
            number = 0
            while True:
                number += 1
                for store in (phone, tablet):
                    self.expect(0, store("toggle", "papers", f"{place}-{number}"))
                self.expect(0, phone("sync", f"{hub.url}/{vault}"))
                proxy.answers, proxy.number, proxy.place, proxy.broken = 0, number, place, 0
                answer = tablet("sync", f"http://127.0.0.1:{proxy.port}/{vault}", "--json")
                if not proxy.broken:
                    break  # there are no more answers in a sync
                if answer.code != 0 or not (answer.object["received"]["commits"] and answer.object["sent"]["commits"]):
                    failures.append((number, place, answer.code, answer.out[-300:], answer.err[-300:]))
            self.assertGreater(number, 5)
        self.assertEqual(failures, [], "\n".join(map(str, failures)))
        self.expect(0, phone("sync", f"{hub.url}/{vault}"))
        self.assertEqual(len({self.expect(0, store("status", "--json")).object["digest"] for store in (phone, tablet)}), 1)


@NEEDS_HUB
class BackupTests(TestCase):
    """A hub without a standby is restored from a backup that lacks what came later."""

    def start(self, *options):
        hub = HubProcess(*options, "--name", "127.0.0.1")
        self.addCleanup(lambda: hub.process.poll() is None and hub.end(signal.SIGKILL))
        return hub

    def check_completed(self, start, save, restore):
        """Two devices write before the backup, three after it; the last one joined after it, too."""
        hub = start()
        phone, tablet, late = stores = [self.store(name) for name in ("phone", "tablet", "late")]
        self.expect(0, phone("toggle", "papers", "first"))
        code = self.expect(0, phone("sync", hub.url, "--encrypted")).out.splitlines()[-1]
        vault = self.expect(0, phone("hub", hub.url, "--json")).object["vault"]
        address = f"{hub.url}/{vault}"
        self.expect(0, tablet("keys", "join", "-", input=code))
        self.write_and_sync([phone, tablet], address, "before", 3)
        save(hub)
        hub = start()
        address = f"{hub.url}/{vault}"
        self.expect(0, late("keys", "join", "-", input=code))
        self.write_and_sync(stores, address, "after", 9)
        digest = self.agree(stores, address)
        self.assertEqual(hub.end(), 0)
        restore()
        hub = start()
        address = f"{hub.url}/{vault}"
        # The backup does not know the last device: its code lets it in again.
        for store in stores:
            self.expect(0, store("sync", address))
        self.assertEqual([self.digest(store) for store in stores], [digest] * 3)
        # All is at the place again: a device that has nothing gets it there.
        fresh = self.store("fresh")
        self.expect(0, fresh("keys", "join", "-", input=code))
        self.expect(0, fresh("sync", address))
        items = {line["id"] for line in self.expect(0, fresh("list", "papers", "--json")).lines if "id" in line}
        self.assertEqual(items, {line["id"] for line in self.expect(0, phone("list", "papers", "--json")).lines if "id" in line})
        self.assertEqual(len(items), 1 + 2 * 3 + 3 * 9)
        heads = {line["id"]: line["head"] for line in self.expect(0, phone("status", "--json")).object["replicas"]}
        found = {line["id"]: line["head"] for line in self.expect(0, fresh("status", "--json")).object["replicas"]}
        self.assertLessEqual(heads.items(), found.items())
        self.agree([*stores, fresh], address)
        self.assertEqual(hub.end(), 0)

    def check_watching(self, start, save, restore):
        """A device that watched all the time puts again what a backup lacks, although the hub gave all the numbers again that it knows."""
        hub = start()
        phone, tablet = self.store("phone"), self.store("tablet")
        self.expect(0, phone("toggle", "papers", "first"))
        code = self.expect(0, phone("sync", hub.url, "--encrypted")).out.splitlines()[-1]
        vault = self.expect(0, phone("hub", hub.url, "--json")).object["vault"]
        self.expect(0, tablet("keys", "join", "-", input=code))
        for store in (tablet, phone):
            self.expect(0, store("sync", f"{hub.url}/{vault}"))
        save(hub)
        hub = start()
        # The address stays when the hub gets another port.
        proxy = Proxy(hub.port, None)
        self.addCleanup(proxy.close)
        address = f"http://127.0.0.1:{proxy.port}/{vault}"
        watch = phone.start("sync", address, "--watch", "--json", stderr=subprocess.DEVNULL, start_new_session=True)
        with self.ended(watch):
            self.addCleanup(lambda: watch.poll() is None and os.killpg(watch.pid, signal.SIGKILL))
            # So few runs that the device does not merge them, which would put them again.
            for number in range(2):
                self.expect(0, phone("toggle", "papers", f"lost-{number}"))
                self.wait_until_sent(watch)
            os.killpg(watch.pid, signal.SIGSTOP)
            hub.end(signal.SIGKILL)
            restore()
            hub = start()
            proxy.target = hub.port
            self.write_and_sync([tablet], address, "later", 10)
            os.killpg(watch.pid, signal.SIGCONT)
            for number in range(2):
                self.expect(0, phone("toggle", "papers", f"after-{number}"))
            wanted, items, end = {"lost-0", "lost-1", "after-0", "after-1"}, set(), time.monotonic() + SECONDS_MAX
            while not wanted <= items and time.monotonic() < end:
                self.expect(0, tablet("sync", address))
                items = {line["id"] for line in self.expect(0, tablet("list", "papers", "--json")).lines if "id" in line}
            self.assertLessEqual(wanted, items)
            watch.send_signal(signal.SIGTERM)
            self.assertEqual(watch.wait(SECONDS_MAX), 0)
        self.assertEqual(hub.end(), 0)

    def wait_until_sent(self, watch):
        while line := watch.stdout.readline():
            if json.loads(line)["sent"]["commits"]:
                return
        self.fail("the watch ended")

    def write_and_sync(self, stores, address, word, count):
        for number in range(count):
            for index, store in enumerate(stores):
                self.expect(0, store("toggle", "papers", f"{word}-{index}-{number}"))
                self.expect(0, store("sync", address))

    def agree(self, stores, address):
        """Syncs until all have the same, and checks all of it."""
        for _ in range(2):
            for store in stores:
                self.expect(0, store("sync", address))
        digests = {self.digest(store) for store in stores}
        self.assertEqual(len(digests), 1)
        for store in stores:
            self.expect(0, store("verify"))
        return digests.pop()

    def file(self):
        """How a hub with a file is started, saved and restored, as docs/hub.md says."""
        database, backup = self.folder / "hub.db", self.folder / "backup.db"

        def save(hub):
            subprocess.run([HUB, "backup", backup, "--database", database], check=True, stdout=subprocess.DEVNULL, timeout=SECONDS_MAX)
            self.assertEqual(hub.end(), 0)

        def restore():
            for path in self.folder.glob("hub.db*"):
                path.unlink()
            shutil.copy(backup, database)

        return lambda: self.start("--database", database), save, restore

    def database(self):
        """How a hub with PostgreSQL is started, saved and restored, to the same server."""
        database = self.enterContext(Database())
        server = database.primary
        to_server = "-h", "127.0.0.1", "-p", server.port, "-U", USER
        dump = server.folder / "dump"

        def save(hub):
            server.run("pg_dump", "--schema=heartlog", *to_server, "-f", dump, DATABASE)
            self.assertEqual(hub.end(), 0)

        def restore():
            server.query("drop schema heartlog cascade")
            server.run("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", *to_server, "-d", DATABASE, "-f", dump)

        return lambda: self.start("--database", database.url), save, restore

    def server(self):
        """How a server of PostgreSQL is saved and restored with all its databases."""
        database = self.enterContext(Database())
        server = database.primary
        base = server.folder / "base"

        def save(hub):
            server.run("pg_basebackup", "-h", "127.0.0.1", "-p", server.port, "-U", USER, "-D", base, "-c", "fast", "--no-sync")
            self.assertEqual(hub.end(), 0)

        def restore():
            server.stop()
            shutil.rmtree(server.data)
            base.rename(server.data)
            signal_file = server.data / "recovery.signal"
            signal_file.touch()
            shutil.chown(signal_file, server.data.owner())
            with open(server.data / "postgresql.conf", "a") as file:
                file.write("restore_command = 'false'\n")
            server.start()
            server.wait_for(lambda: server.query("select pg_is_in_recovery()") == [["f"]])

        return lambda: self.start("--database", database.url), save, restore

    def test_an_older_copy_of_the_file_is_completed_by_the_devices(self):
        self.check_completed(*self.file())

    @NEEDS_DATABASE
    def test_an_older_dump_of_the_database_is_completed_by_the_devices(self):
        self.check_completed(*self.database())

    def test_an_older_copy_of_the_file_is_completed_by_a_device_that_watches(self):
        self.check_watching(*self.file())

    @NEEDS_DATABASE
    def test_an_older_dump_of_the_database_is_completed_by_a_device_that_watches(self):
        self.check_watching(*self.database())

    @NEEDS_DATABASE
    def test_an_older_copy_of_the_server_is_completed_by_the_devices(self):
        self.check_completed(*self.server())

    @NEEDS_DATABASE
    def test_an_older_copy_of_the_server_is_completed_by_a_device_that_watches(self):
        self.check_watching(*self.server())


if __name__ == "__main__":
    unittest.main()
