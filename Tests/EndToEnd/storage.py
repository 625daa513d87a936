"""Servers of files that people have: Apache and WsgiDAV for WebDAV, moto for S3, and a proxy that fails as servers do."""

import contextlib
import http.client
import http.server
import importlib.util
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import threading
import time

from heartlog import SECONDS_MAX
from postgres import free_port

APACHE = shutil.which("apache2") or shutil.which("apache2", path="/usr/sbin")
MODULES = pathlib.Path("/usr/lib/apache2/modules")
HAS_WSGIDAV = importlib.util.find_spec("wsgidav") is not None
HAS_MOTO = importlib.util.find_spec("moto") is not None
USER, PASSWORD = "anna", "se: cret#ö"
BUCKET = "favorites"


class Server:
    """A server in a folder of its own, on a port of the loopback interface."""

    def __init__(self, folder, command, port, env=None):
        self.port, self.log = port, folder / "log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [str(word) for word in command], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder,
                env=None if env is None else os.environ | env)
        end = time.monotonic() + SECONDS_MAX
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                return
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"{command[0]} does not run: {self.log.read_text()[-2_000:]}")
            time.sleep(0.05)

    def end(self):
        self.process.terminate()
        self.process.wait(SECONDS_MAX)


def wsgidav(folder):
    """A share of WsgiDAV."""
    (folder / "share").mkdir()
    port = free_port()
    (folder / "wsgidav.json").write_text(
        '{"host": "127.0.0.1", "port": %d, "provider_mapping": {"/": "%s"}, "simple_dc": {"user_mapping": {"*": {"%s": {"password": "%s"}}}}, '
        '"http_authenticator": {"accept_basic": true, "accept_digest": false, "default_to_digest": false}}'
        % (port, folder / "share", USER, PASSWORD))
    return Server(folder, [sys.executable, "-m", "wsgidav.server.server_cli", "-c", "wsgidav.json"], port)


def apache(folder, certificate=None, key=None):
    """A share of Apache's mod_dav, over TLS where there is a certificate."""
    share = folder / "share"
    share.mkdir()
    # Apache gives up the rights of root.
    folder.parent.chmod(0o755)
    folder.chmod(0o755)
    share.chmod(0o777)
    (folder / "locks").mkdir()
    (folder / "locks").chmod(0o777)
    hashed = subprocess.run(
        ["openssl", "passwd", "-apr1", "-stdin"], input=PASSWORD.encode(), stdout=subprocess.PIPE, check=True).stdout.decode().strip()
    (folder / "users").write_text(f"{USER}:{hashed}\n")
    (folder / "users").chmod(0o644)
    port = free_port()
    modules = ["mpm_event", "authn_core", "authz_core", "authn_file", "authz_user", "auth_basic", "dav", "dav_fs"]
    secure = ""
    if certificate:
        modules.append("ssl")
        secure = f'SSLEngine on\nSSLCertificateFile "{certificate}"\nSSLCertificateKeyFile "{key}"\n'
    lines = [f"LoadModule {name}_module {MODULES}/mod_{name}.so" for name in modules]
    (folder / "httpd.conf").write_text("\n".join(lines) + f"""
ServerName 127.0.0.1
ServerRoot "{folder}"
Listen 127.0.0.1:{port}
PidFile "{folder}/pid"
ErrorLog "{folder}/errors"
DocumentRoot "{share}"
DAVLockDB "{folder}/locks/db"
User www-data
Group www-data
{secure}<Directory "{share}">
DAV On
AuthType Basic
AuthName share
AuthBasicProvider file
AuthUserFile "{folder}/users"
Require valid-user
</Directory>
""")
    return Server(folder, [APACHE, "-f", folder / "httpd.conf", "-DFOREGROUND"], port)


def moto(folder):
    """A server with a bucket that verifies signatures, and the key to it."""
    import boto3

    port = free_port()
    endpoint = f"http://127.0.0.1:{port}"
    # What is asked first makes the key, and is not verified.
    server = Server(folder, [sys.executable, "-m", "moto.server", "-p", port], port, {"INITIAL_NO_AUTH_ACTION_COUNT": "4"})
    try:
        options = dict(endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
        users = boto3.client("iam", **options)
        users.create_user(UserName=USER)
        key = users.create_access_key(UserName=USER)["AccessKey"]
        policy = '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}'
        users.put_user_policy(UserName=USER, PolicyName="all", PolicyDocument=policy)
        boto3.client("s3", **options).create_bucket(Bucket=BUCKET)
    except Exception:
        server.end()
        raise
    return server, key["AccessKeyId"], key["SecretAccessKey"]


class FailingProxy(http.server.ThreadingHTTPServer):
    """Hands requests on to a port, and fails as `choose` says: by a status, by "lost" (done, and not answered), "half" of an answer or of
    what is sent, or "hang"."""

    daemon_threads = True

    def __init__(self, target, choose):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.target, self.choose, self.port = target, choose, self.server_address[1]
        self.requests = []
        self.ended = threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def end(self):
        self.ended.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, request, client_address):
        pass  # a client that was answered by half hangs up


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def handle_any(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.requests.append((self.command, self.path))
        fault = self.server.choose(self.command, self.path)
        if fault == "hang":
            self.server.ended.wait(SECONDS_MAX)
            self.close_connection = True
            return
        if isinstance(fault, int):
            self.answer(fault, {}, b"")
            return
        there = http.client.HTTPConnection("127.0.0.1", self.server.target, timeout=SECONDS_MAX)
        headers = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
        if fault == "half" and self.command == "PUT":
            # The connection breaks while the object is sent.
            there.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in headers.items():
                there.putheader(name, value)
            there.endheaders(body[:len(body) // 2])
            there.close()
            self.close_connection = True
            return
        there.request(self.command, self.path, body, headers)
        answer = there.getresponse()
        content = answer.read()
        there.close()
        if fault == "lost":
            self.close_connection = True
            return
        self.answer(answer.status, answer.headers, content, isHalf=fault == "half")

    def answer(self, status, headers, content, isHalf=False):
        self.send_response_only(status)
        for name, value in headers.items() if headers else ():
            if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[:len(content) // 2] if isHalf else content)
        if isHalf:
            self.close_connection = True

    do_GET = do_PUT = do_DELETE = do_PROPFIND = do_MKCOL = handle_any

    def log_message(self, *arguments):
        pass
