"""PostgreSQL servers for one run: a primary, and a synchronous standby of it where one is asked for."""

import os
import pathlib
import pwd
import shutil
import subprocess
import sys
import tempfile

PROGRAMS = max(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: int(folder.parent.name), default=None)
# As a machine of its own would have it; the rest is what PostgreSQL ships with.
SETTINGS = {
    "listen_addresses": "''", "shared_buffers": "1GB", "max_wal_size": "8GB", "checkpoint_timeout": "15min",
    "wal_compression": "lz4", "full_page_writes": "on", "synchronous_commit": "on",
}


class Database:
    """Ends with the `with` that it stands in."""

    def __init__(self, standby=False):
        if PROGRAMS is None:
            sys.exit("hub: there is no PostgreSQL; on Debian: apt-get install postgresql")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="heartlog-bench-"))
        self.servers = []
        if os.geteuid() == 0:
            shutil.chown(self.folder, self.user())
        self.run("initdb", "-D", self.folder / "primary", "-U", "hub", "-A", "trust", "-E", "UTF8", "--locale=C")
        self.start("primary", SETTINGS | {"synchronous_standby_names": "'*'"} if standby else SETTINGS)
        if standby:
            self.run("pg_basebackup", "-h", self.folder, "-p", "5432", "-U", "hub", "-D", self.folder / "standby", "-R", "-X", "stream")
            self.start("standby", {"port": "5433"})
        self.url = f"postgresql:///postgres?host={self.folder}&user=hub"

    @staticmethod
    def user():
        return "postgres" if "postgres" in {entry.pw_name for entry in pwd.getpwall()} else "nobody"

    def command(self, program, *arguments):
        # PostgreSQL refuses to run as root.
        prefix = []
        if os.geteuid() == 0:
            entry = pwd.getpwnam(self.user())
            prefix = ["setpriv", f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups"]
        return [*prefix, str(PROGRAMS / program), *map(str, arguments)]

    def run(self, program, *arguments, text=None):
        done = subprocess.run(self.command(program, *arguments), input=text, capture_output=True, text=True, cwd=self.folder)
        if done.returncode != 0:
            raise RuntimeError(f"{program}: {done.stderr}")
        return done.stdout

    def start(self, name, settings):
        words = [word for key, value in (settings | {"unix_socket_directories": str(self.folder)}).items()
                 for word in ("-c", f"{key}={value}".replace("'", ""))]
        with open(self.folder / f"{name}.log", "wb") as log:
            self.servers.append(subprocess.Popen(self.command("postgres", "-D", self.folder / name, *words), stderr=log, stdout=log))
        port = settings.get("port", "5432")
        self.wait(port)

    def wait(self, port):
        for _ in range(300):
            if subprocess.run(self.command("pg_isready", "-q", "-h", self.folder, "-p", port), cwd=self.folder).returncode == 0:
                return
            subprocess.run(["sleep", "0.1"], check=True)
        raise RuntimeError("PostgreSQL does not start")

    def restart(self, settings):
        """Starts the primary again, with other settings and with nothing of it in memory."""
        self.servers[0].send_signal(2)
        self.servers.pop(0).wait(600)
        for path in self.folder.rglob("*"):
            if path.is_file():
                with open(path, "rb") as file:
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        self.start("primary", SETTINGS | settings)

    def query(self, text):
        return self.run("psql", "-h", self.folder, "-U", "hub", "-d", "postgres", "-AtqX", "-v", "ON_ERROR_STOP=1", text=text).strip()

    def seconds(self):
        """Processor time of all servers so far, that of connections which ended included."""
        total = 0
        for folder in pathlib.Path("/proc").iterdir():
            if not folder.name.isdigit():
                continue
            try:
                fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
                parent = int(fields[1])
            except OSError:
                continue
            mine = {server.pid for server in self.servers}
            if int(folder.name) in mine:
                total += sum(map(int, fields[11:15]))
            elif parent in mine:
                total += sum(map(int, fields[11:13]))
        return total / os.sysconf("SC_CLK_TCK")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for server in reversed(self.servers):
            server.send_signal(2)
        for server in self.servers:
            server.wait(600)
        shutil.rmtree(self.folder)
