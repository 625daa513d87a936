"""How long it is from the put of one device to the commit of another: two devices of an encrypted vault that watch a hub.

python -m hub.commits URL COUNT adds COUNT items on the first one, and prints when the run of each left it and when the log of the second one
was written, as milliseconds between them, sorted. Part of `Scripts/bench watchers`.
"""

import json
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import time

PROGRAM = pathlib.Path(__file__).resolve().parents[2] / ".build" / "release" / "heartlog"
PAUSE, SECONDS_MAX = 0.3, 10


class Proxy:
    """Hands on connections to a hub, and notes when a put was sent."""

    def __init__(self, host):
        name, port = host.rsplit(":", 1)
        self.target, self.puts = (name, int(port)), []
        self.listening = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.host = "127.0.0.1:%d" % self.listening.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listening.accept()
            hub = socket.create_connection(self.target)
            for end in client, hub:
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.pump, args=(client, hub, True), daemon=True).start()
            threading.Thread(target=self.pump, args=(hub, client, False), daemon=True).start()

    def pump(self, source, sink, notes):
        try:
            while part := source.recv(65_536):
                if notes and part.startswith(b"PUT /v1/vaults/") and b".run " in part.partition(b"\r\n")[0]:
                    self.puts.append(time.time())
                sink.sendall(part)
        except OSError:
            pass
        for end in source, sink:
            end.close()


class Device:
    def __init__(self, folder, name):
        self.store = folder / name
        self("init", "--name", name)
        self.replica = json.loads(self("status", "--json"))["replica"]

    def __call__(self, *words):
        return subprocess.run([PROGRAM, "--store", self.store, *words], check=True, capture_output=True, text=True).stdout

    def watch(self, address):
        return subprocess.Popen([PROGRAM, "--store", self.store, "sync", address, "--watch"], stdout=subprocess.DEVNULL)

    def written(self, replica):
        """When the log of a replica was last written."""
        files = (self.store / "replicas" / replica).glob("*.*")
        return max(file.stat().st_mtime_ns for file in files) / 1e9


def main():
    host, count = sys.argv[1].removeprefix("http://"), int(sys.argv[2])
    proxy = Proxy(host)
    with tempfile.TemporaryDirectory(prefix="heartlog-bench-") as folder:
        one, other = (Device(pathlib.Path(folder), name) for name in ("one", "other"))
        one("add", "papers", "first")
        one("sync", f"http://{host}", "--encrypted")
        vault = json.loads(one("hub", f"http://{host}", "--json"))["vault"]
        other("keys", "join", one("keys", "show").splitlines()[-1])
        for device in (other, one) * 2:
            device("sync", f"http://{host}/{vault}")
        watching = one.watch(f"http://{proxy.host}/{vault}"), other.watch(f"http://{host}/{vault}")
        time.sleep(2)
        times = []
        for number in range(count):
            puts, before = len(proxy.puts), other.written(one.replica)
            one("add", "papers", f"item-{number}")
            end = time.monotonic() + SECONDS_MAX
            while len(proxy.puts) == puts or other.written(one.replica) == before:
                if time.monotonic() > end:
                    sys.exit("commits: a commit did not arrive")
                time.sleep(0.01)
            times.append((other.written(one.replica) - proxy.puts[puts]) * 1e3)
            time.sleep(PAUSE)
        for process in watching:
            process.terminate()
            process.wait()
    print(json.dumps(sorted(times)))


if __name__ == "__main__":
    main()
