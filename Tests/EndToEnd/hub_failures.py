"""Devices that sync all the time through two hubs on one database, while servers, hubs and connections fail.

In each round the primary database is killed and its standby promoted, or a hub is killed and started again, or connections break in the
middle of requests and answers, or two of these. Every second vault is encrypted, the first one among them. Then writes must work again,
and nothing that a sync acknowledged may be missing.
"""

import collections
import contextlib
import pathlib
import random
import re
import signal
import socket
import statistics
import struct
import tempfile
import threading
import time

from heartlog import SECONDS_MAX, Store
from hub_process import HubProcess, NotStarted
from postgres import Database

# A run of commits that some device put, encrypted or not: its writer, its stream, its first and its last commit.
RUN = re.compile(r"([0-9a-f]{32})/([0-9a-f]{32})/(\d{16})-(\d{16})-[0-9a-f]{16}-[0-9a-f]{16}\.run")
# Of what is sent while connections break, one part in so many is cut, with its connection.
CUTS = 12
# What a sync may end with while something fails: no connection, or no answer in time.
FAILED = {74, 75}


class Proxy:
    """Hands on connections to a port, and breaks them when it is told to."""

    def __init__(self, port, chance):
        self.target, self.chance = port, chance
        self.breaks = threading.Event()
        self.listening = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self.listening.getsockname()[1]
        self.broken = 0
        self.guard = threading.Lock()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):  # closed
            while True:
                client, _ = self.listening.accept()
                threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        try:
            hub = socket.create_connection(("127.0.0.1", self.target))
        except OSError:
            self.reset(client)
            return
        pair = client, hub
        other = threading.Thread(target=self.pump, args=(hub, client, pair), daemon=True)
        other.start()
        self.pump(client, hub, pair)
        other.join()
        for end in pair:
            end.close()

    def pump(self, source, sink, pair):
        try:
            while part := source.recv(65_536):
                cut = None
                if self.breaks.is_set():
                    with self.guard:
                        if self.chance.randrange(CUTS) == 0:
                            cut = self.chance.randrange(len(part))
                            self.broken += 1
                sink.sendall(part[:cut])
                if cut is not None:
                    for end in pair:
                        self.reset(end)
                    return
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            for end in pair:
                self.reset(end)

    @staticmethod
    def reset(end):
        """Closes a connection without a good-bye, for both threads that use it."""
        with contextlib.suppress(OSError):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            end.shutdown(socket.SHUT_RDWR)
            end.close()

    def close(self):
        self.listening.close()


class HubPlace:
    """A hub on the database, and the proxy through which devices reach it, whichever port it has."""

    def __init__(self, database, chance):
        self.database = database
        self.hub = HubProcess(*self.options())
        self.proxy = Proxy(self.hub.port, chance)
        self.url = f"http://127.0.0.1:{self.proxy.port}"

    def options(self):
        # Devices reach it through a proxy with another port.
        return "--database", self.database.url, "--rate", "1000000", "--name", "127.0.0.1"

    def kill(self):
        self.hub.end(signal.SIGKILL)

    def start(self):
        """Starts it until it stays, as a service manager does: without its database it ends."""
        end = time.monotonic() + SECONDS_MAX
        while True:
            try:
                # On another port: somebody may have taken the old one.
                self.hub = HubProcess(*self.options())
                break
            except NotStarted:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)
        self.proxy.target = self.hub.port

    def close(self):
        if self.hub.process.poll() is None:
            self.hub.end(signal.SIGKILL)
        self.proxy.close()


class Vault:
    """A vault of some of the devices, which reach it through both hubs."""

    def __init__(self, is_encrypted):
        self.is_encrypted = is_encrypted
        self.devices = []
        self.id = self.code = None


class Device:
    """A store that toggles and syncs, in a thread of its own, and what of it was acknowledged."""

    def __init__(self, campaign, number, vault, place):
        self.campaign, self.number, self.vault, self.place = campaign, number, vault, place
        self.store = Store(campaign.folder / f"device-{number}")
        self.chance = random.Random(f"{campaign.seed}/{number}")
        self.guard = threading.Lock()
        self.replica, self.written, self.acknowledged = None, 0, 0
        self.syncs, self.failures, self.durations = 0, 0, []
        # When the sync began and ended that was the last to be acknowledged and had sent something.
        self.last = (0.0, 0.0)
        self.problems = []
        self.must(self.store("init", "--name", f"device {number}"))

    @property
    def address(self):
        """The first device has the vault of its own store, the others name it."""
        return self.place.url if self is self.vault.devices[0] else f"{self.place.url}/{self.vault.id}"

    def must(self, answer):
        if answer.code != 0:
            raise RuntimeError(f"device {self.number} of seed {self.campaign.seed}: {answer.code} {answer.err[-800:]}")
        return answer

    def toggle(self):
        item = f"item-{self.chance.randrange(60)}"
        line = self.must(self.store("toggle", self.chance.choice(("papers", "cities", "breeds")), item, "--json")).object
        self.replica, self.written = line["replica"], line["commit"]

    def sync(self, *options):
        began = time.monotonic()
        answer = self.store("sync", self.address, "--json", *options)
        ended = time.monotonic()
        self.syncs += 1
        if answer.code == 0:
            self.durations.append(ended - began)
            sent = answer.object["sent"]["commits"]
            with self.guard:
                self.acknowledged = self.written
                if sent:
                    self.last = (began, ended)
        else:
            self.failures += 1
            if answer.code not in FAILED:
                self.problems.append(f"device {self.number}: sync ended with {answer.code}: {answer.err.strip()[-400:]}")
        return answer

    def work(self, over):
        try:
            while not over.is_set():
                for _ in range(self.chance.randint(1, 3)):
                    self.toggle()
                self.sync()
                over.wait(self.chance.uniform(0, self.campaign.pause))
        except Exception as error:  # a thread has nobody to catch it
            self.problems.append(f"device {self.number} stopped: {error!r}")

    def status(self):
        return self.must(self.store("status", "--json")).object


class Campaign:
    def __init__(self, seed, devices, vaults, folder, pause=0.3, out=print):
        self.seed, self.folder, self.pause, self.out = seed, folder, pause, out
        self.chance = random.Random(seed)
        self.problems, self.broken, self.times, self.joined, self.repeated = [], collections.Counter(), [], 0, 0
        self.failed = None
        self.stack = contextlib.ExitStack()
        with contextlib.ExitStack() as stack:
            self.database = stack.enter_context(Database())
            self.database.build_standby()
            self.places = []
            for number in range(2):
                self.places.append(HubPlace(self.database, random.Random(f"{seed}/proxy/{number}")))
                stack.callback(self.places[-1].close)
            self.vaults = [Vault(is_encrypted=number % 2 == 0) for number in range(vaults)]
            for number in range(devices):
                vault = self.vaults[number % vaults]
                vault.devices.append(Device(self, number, vault, self.places[number // vaults % 2]))
            for vault in self.vaults:
                self.found(vault)
            self.stack = stack.pop_all()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stack.close()

    @property
    def devices(self):
        return [device for vault in self.vaults for device in vault.devices]

    def found(self, vault):
        """The first device makes the vault, and the others join it."""
        first = vault.devices[0]
        first.toggle()
        synced = first.must(first.sync(*(("--encrypted",) if vault.is_encrypted else ())))
        vault.id = first.must(first.store("hub", first.place.url, "--json")).object["vault"]
        if vault.is_encrypted:
            vault.code = synced.object["recoveryCode"]
        for device in vault.devices[1:]:
            self.join(device)

    def join(self, device):
        """Lets a device in, by the code or by the first device."""
        first = device.vault.devices[0]
        if device.vault.is_encrypted:
            device.must(device.store("keys", "join", "-", input=device.vault.code))
        else:
            refused = device.store("sync", device.address)
            key = re.search(r" admit ([0-9a-f]{64})", refused.err)
            if key is None:
                raise RuntimeError(f"device {device.number} was not told its key: {refused.code} {refused.err[-800:]}")
            first.must(first.store("hub", first.place.url, "admit", key[1]))
        device.must(device.sync())

    # What fails

    def primary_fails(self):
        """Returns what was acknowledged before, and what the new primary has of it before anybody puts it again."""
        before = self.acknowledged()
        self.database.kill_primary()
        time.sleep(self.chance.uniform(0, 0.5))
        self.database.promote()
        self.check_place(before, "after the promotion")

    def hub_fails(self, place):
        place.kill()
        time.sleep(self.chance.uniform(0, 0.5))
        place.start()

    def network_fails(self):
        for place in self.places:
            place.proxy.breaks.set()
        time.sleep(self.chance.uniform(1, 3))
        for place in self.places:
            place.proxy.breaks.clear()

    def round(self, number, chosen):
        """Lets something fail, and returns the longest time until writes worked at both hubs."""
        time.sleep(self.chance.uniform(0.3, 1.5))
        place = self.chance.choice(self.places)
        start = time.monotonic()
        threads = []
        for kind in chosen:
            body = {"primary": self.primary_fails, "network": self.network_fails, "hub": lambda: self.hub_fails(place)}[kind]
            threads.append(threading.Thread(target=self.guarded, args=(body,)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self.failed:
            raise self.failed
        seconds = max(self.seconds_until_writes(place, start) for place in self.places)
        self.times.append((seconds, number, "+".join(chosen)))
        if "primary" in chosen:
            self.database.build_standby(rewinds=self.chance.random() < 0.5)
        return seconds

    def guarded(self, body):
        try:
            body()
        except Exception as error:  # a thread has nobody to catch it
            self.failed = error

    def seconds_until_writes(self, place, start):
        """From the failure to the first sync through a hub that began after it, was acknowledged, and had sent something."""
        end = start + SECONDS_MAX
        while time.monotonic() < end:
            ended = [device.last[1] for device in self.devices if device.place is place and device.last[0] > start]
            if ended:
                return min(ended) - start
            time.sleep(0.01)
        raise RuntimeError(f"no write worked for {SECONDS_MAX} seconds: {[device.problems for device in self.devices]}")

    # What must hold

    def acknowledged(self, devices=None):
        """The last acknowledged commit of each device's stream."""
        found = {}
        for device in devices or self.devices:
            with device.guard:
                if device.acknowledged:
                    found[device.replica] = device.acknowledged
        return found

    def check_place(self, acknowledged, when):
        """Every acknowledged commit is in a run that the database has."""
        ranges = {}
        for (name,) in self.database.primary.query("select name from heartlog.objects"):
            if run := RUN.fullmatch(name):
                ranges.setdefault(run[2], []).append((int(run[3]), int(run[4])))
        for replica, last in acknowledged.items():
            next_commit = 1
            for first, end in sorted(ranges.get(replica, [])):
                if first > next_commit:
                    break
                next_commit = max(next_commit, end + 1)
            if next_commit <= last:
                self.problems.append(f"{when}: commits {next_commit}...{last} of {replica} were acknowledged, and no run has the first of them")

    def check_join(self, number, vault):
        """A device that has nothing gets everything that was acknowledged before it joined."""
        before = self.acknowledged(vault.devices)
        self.joined += 1
        device = Device(self, f"fresh-{self.joined}", vault, self.chance.choice(self.places))
        self.join(device)
        # A run may be merged away between the list and its reading. Then the next sync brings it.
        for _ in range(5):
            heads = {replica["id"]: replica["head"] for replica in device.status()["replicas"]}
            missing = {replica: (heads.get(replica, 0), last) for replica, last in before.items() if heads.get(replica, 0) < last}
            if not missing:
                break
            self.repeated += 1
            device.must(device.sync())
        for replica, (head, last) in missing.items():
            self.problems.append(f"round {number}: a device that joins has {head} commits of {replica} after six syncs, and {last} were acknowledged")
        self.verify(device, f"round {number}")
        return device

    def verify(self, device, when):
        answer = device.store("verify")
        if answer.code != 0:
            self.problems.append(f"{when}: verify of device {device.number} ended with {answer.code}: {answer.out[-400:]} {answer.err[-400:]}")

    def check_objects(self, vault):
        """Every object of a vault is whole: it is opened by a reader that shares no code with the program. Returns how many there are."""
        rows = self.database.primary.query(f"select name, encode(bytes, 'hex') from heartlog.objects where vault = '\\x{vault.id}'")
        if not vault.is_encrypted:
            return len(rows)
        if any(word.hex() in digits for _, digits in rows for word in (b"papers", b"device ", b"item-")):
            self.problems.append("at the end: the database has plain text of an encrypted vault")
        import encryption_reader  # which needs a package that the rest does not

        with tempfile.TemporaryDirectory() as folder:
            place, out = pathlib.Path(folder) / "place", pathlib.Path(folder) / "out"
            for name, digits in rows:
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                (place / name).write_bytes(bytes.fromhex(digits))
            try:
                count = encryption_reader.read(place, out, vault.code)
            except encryption_reader.Refused as error:
                self.problems.append(f"at the end: an object of the database cannot be opened: {error}")
                return len(rows)
        if count != len([name for name, _ in rows if not name.startswith("keys/")]):
            self.problems.append(f"at the end: {count} of {len(rows)} objects were opened")
        return len(rows)

    def check_end(self, vault):
        """All devices agree after a few syncs without failures, and one that joined is among them. Returns how many objects there are."""
        fresh = self.check_join("at the end", vault)
        everybody = [*vault.devices, fresh]
        for _ in range(10):
            for device in everybody:
                device.must(device.sync())
            digests = {device.status()["digest"] for device in everybody}
            if len(digests) == 1:
                break
        else:
            self.problems.append(f"at the end: {len(digests)} digests after ten syncs of each device")
        for device in everybody:
            self.verify(device, "at the end")
        self.check_place(self.acknowledged(), "at the end")
        return self.check_objects(vault)

    def run(self, rounds, join_every=10):
        """Runs a round for each element, which says what fails, and returns whether all promises were kept."""
        over = threading.Event()
        threads = [threading.Thread(target=device.work, args=(over,)) for device in self.devices]
        for thread in threads:
            thread.start()
        try:
            for number, chosen in enumerate(rounds, 1):
                seconds = self.round(number, chosen)
                joined = ""
                if number % join_every == 0:
                    joined = f", device {self.check_join(number, self.chance.choice(self.vaults)).number} joined"
                syncs, failures = (sum(getattr(device, name) for device in self.devices) for name in ("syncs", "failures"))
                commits = sum(self.acknowledged().values())
                self.out(f"round {number}: {'+'.join(chosen)}: writes worked after {seconds:.2f} s; {commits} commits acknowledged, "
                         f"{failures} of {syncs} syncs failed{joined}")
                self.tell_problems(f"in round {number}")
        finally:
            over.set()
            for thread in threads:
                thread.join()
        objects = sum(self.check_end(vault) for vault in self.vaults)
        self.tell_problems("at the end")
        self.times.sort(reverse=True)
        cut = sum(place.proxy.broken for place in self.places)
        self.out(f"{len(self.times)} rounds of seed {self.seed}: {sum(self.acknowledged().values())} commits of {len(self.devices)} devices of {len(self.vaults)} vaults acknowledged, "
                 f"{cut} connections cut, {self.joined} devices joined with {self.repeated} more syncs, {objects} objects at the end, {self.broken.total()} promises broken")
        self.out("longest until writes worked: " + ", ".join(f"{seconds:.2f} s (round {number}, {what})" for seconds, number, what in self.times[:5]))
        durations = [seconds for device in self.devices for seconds in device.durations]
        self.out(f"a sync that succeeded took {statistics.median(durations):.2f} s in the median")
        for kind, count in self.broken.most_common():
            self.out(f"{count} times: {kind}")
        return not self.broken

    def tell_problems(self, when):
        """Prints what was found since the last call; of what differs in numbers alone, the first, and how many there were in the end."""
        new = self.problems + [problem for device in self.devices for problem in device.problems]
        self.problems = []
        for device in self.devices:
            device.problems = []
        for problem in new:
            kind = re.sub(r"[0-9a-f]{8,}|\d+", "#", problem)
            self.broken[kind] += 1
            if self.broken[kind] == 1:
                self.out(f"BROKEN {when}, seed {self.seed}: {problem}")
