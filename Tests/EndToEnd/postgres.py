"""A PostgreSQL database that fails over: a primary and a synchronous standby in a temporary folder, on loopback ports.

PostgreSQL refuses to run as root, so root runs it as the user `postgres` or `nobody`.
"""

import contextlib
import os
import pathlib
import pwd
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from heartlog import SECONDS_MAX

# Files that a kill of processes leaves are whole without fsync; only a crash of the machine needs it.
SETTINGS = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
shared_buffers = 32MB
max_connections = 80
max_wal_senders = 5
wal_keep_size = 256MB
wal_log_hints = on
hot_standby = on
synchronous_commit = on
fsync = off
wal_receiver_status_interval = 1s
wal_retrieve_retry_interval = 200ms
logging_collector = off
"""
USER, DATABASE = "heartlog", "heartlog"


def programs():
    """Where the server's programs are; None if it is not installed."""
    found = [path for path in pathlib.Path("/usr/lib/postgresql").glob("*/bin") if os.access(path / "initdb", os.X_OK)]
    return max(found, key=lambda path: float(path.parent.name), default=None)


def free_port():
    """A port that connections do not take for their own end while the server is down."""
    while True:
        with socket.socket() as listening, contextlib.suppress(OSError):
            port = random.randrange(10_000, 30_000)
            listening.bind(("127.0.0.1", port))
            return port


def _owner():
    """The user that runs the server, if it cannot be this one."""
    if os.getuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise RuntimeError("there is no user who may run PostgreSQL")


class Server:
    """One server, with a data folder and a port of its own."""

    def __init__(self, folder, port):
        self.folder, self.port, self.process = folder, port, None

    @property
    def data(self):
        return self.folder / "data"

    def command(self, program, *arguments):
        owner = _owner()
        as_owner = [] if owner is None else [
            "setpriv", f"--reuid={owner.pw_uid}", f"--regid={owner.pw_gid}", "--clear-groups", "--"]
        return [*as_owner, str(programs() / program), *map(str, arguments)]

    def run(self, program, *arguments):
        """Runs a program of the server to its end, and returns what it printed."""
        done = subprocess.run(
            self.command(program, *arguments), stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd="/",
            timeout=SECONDS_MAX)
        if done.returncode != 0:
            raise RuntimeError(f"{program} {arguments} ended with {done.returncode}: {done.stderr[-2_000:]}")
        return done.stdout

    def query(self, text, database=DATABASE):
        """The rows of a statement, as lists of texts."""
        out = self.run(
            "psql", "-X", "-q", "-A", "-t", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", self.port, "-U", USER,
            "-d", database, "-c", text)
        return [line.split("\t") for line in out.splitlines()]

    def start(self):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                self.command("postgres", "-D", self.data, "-p", self.port), stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/")
        self.wait_for(self.answers)

    def answers(self):
        if self.process.poll() is not None:
            raise RuntimeError(f"the server on port {self.port} ended: {(self.folder / 'log').read_text()[-2_000:]}")
        done = subprocess.run(
            self.command("pg_isready", "-q", "-h", "127.0.0.1", "-p", self.port), stdin=subprocess.DEVNULL, cwd="/", timeout=SECONDS_MAX)
        return done.returncode == 0

    @staticmethod
    def wait_for(condition):
        end = time.monotonic() + SECONDS_MAX
        while not condition():
            if time.monotonic() > end:
                raise RuntimeError("a database server did not do in time what was waited for")
            time.sleep(0.02)

    def kill(self):
        """Ends all its processes at once, as the end of a machine would."""
        if self.process is None:
            return
        family = [self.process.pid]
        # The server of the others may not learn that one of them ended, and may not make another one.
        os.kill(self.process.pid, signal.SIGSTOP)
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]) == self.process.pid:
                    family.append(int(pid))
        for pid in family:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(SECONDS_MAX)
        self.process = None

    def stop(self):
        """Ends it as an operator would, with all that it holds written."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait(SECONDS_MAX)
        self.process = None


class Database:
    """A primary and its synchronous standby. Whichever of the two is the primary, `url` finds it."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="heartlog-postgres-"))
        self.servers = []
        try:
            for name in ("one", "two"):
                folder = self.folder / name
                folder.mkdir()
                self.servers.append(Server(folder, free_port()))
            if owner := _owner():
                for path in (self.folder, *self.folder.iterdir()):
                    os.chown(path, owner.pw_uid, owner.pw_gid)
            self.primary, self.standby = self.servers
            self.primary.run("initdb", "-D", self.primary.data, "-A", "trust", "-U", USER, "--no-sync", "-E", "UTF8", "--locale=C")
            with open(self.primary.data / "postgresql.conf", "a") as file:
                file.write(SETTINGS)
            self.primary.start()
            self.primary.query(f"create database {DATABASE}", database="postgres")
        except BaseException:
            self.close()
            raise

    @property
    def url(self):
        hosts = ",".join(f"127.0.0.1:{server.port}" for server in self.servers)
        return f"postgresql://{hosts}/{DATABASE}?user={USER}"

    def build_standby(self, rewinds=False):
        """Makes the other server a standby, of a copy or of what it had, and returns when nothing is acknowledged without it."""
        primary, standby = self.primary, self.standby
        connection = f"host=127.0.0.1 port={primary.port} user={USER}"
        if rewinds:
            # Rewinds to the last checkpoint that both have, which must be behind the promotion.
            primary.query("checkpoint")
            standby.run("pg_rewind", "-D", standby.data, "--source-server", f"{connection} dbname={DATABASE}", "--no-sync", "-R")
        else:
            shutil.rmtree(standby.data, ignore_errors=True)
            standby.run("pg_basebackup", "-D", standby.data, "-d", connection, "-c", "fast", "-X", "stream", "-R", "--no-sync")
        standby.start()
        primary.query("alter system set synchronous_standby_names = '*'")
        primary.query("select pg_reload_conf()")
        Server.wait_for(self.is_safe)

    def is_safe(self):
        """Whether the standby has all that was acknowledged, and all that will be is acknowledged with it."""
        return self.primary.query(
            "select 1 from pg_stat_replication where sync_state = 'sync' and flush_lsn >= pg_current_wal_lsn() "
            "and current_setting('synchronous_standby_names') = '*'") == [["1"]]

    def kill_primary(self):
        self.primary.kill()

    def promote(self):
        """Makes the standby the primary. It is alone, so it acknowledges alone."""
        self.primary, self.standby = self.standby, self.primary
        self.primary.query("alter system reset synchronous_standby_names", database="postgres")
        self.primary.query("select pg_reload_conf()", database="postgres")
        if self.primary.query("select pg_promote()", database="postgres") != [["t"]]:
            raise RuntimeError("the standby was not promoted")

    def close(self):
        for server in self.servers:
            server.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
