"""A device sends nothing to a hub that does not prove its host's name, and follows no hub to another host."""

import http.server
import ipaddress
import ssl
import threading
import unittest
import urllib.request

from cryptography import x509

from certificates import self_signed
from heartlog import SECONDS_MAX, TestCase
from hub import NEEDS_HUB, Hub


def trusting(certificate):
    """What runs a command that trusts this certificate and no other."""
    return ("env", f"SSL_CERT_FILE={certificate}")


class Listener(http.server.ThreadingHTTPServer):
    """A server that keeps what it is asked, and answers with a redirect."""

    daemon_threads = True

    def __init__(self, place=None):
        super().__init__(("127.0.0.1", 0), Redirect)
        self.place, self.requests = place, []
        self.port = self.server_address[1]

    def encrypt(self, certificate, key):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self.socket = context.wrap_socket(self.socket, server_side=True)

    def handle_error(self, request, client_address):
        pass  # a client that trusts nobody hangs up


class Redirect(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.requests.append((self.command, self.path, self.headers.get("Authorization"), body))
        self.send_response(307)
        self.send_header("Location", f"{self.server.place}{self.path}")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_POST = do_PUT = do_DELETE = answer

    def log_message(self, *arguments):
        pass


@NEEDS_HUB
class HubTLSTests(TestCase):
    def setUp(self):
        super().setUp()
        self.phone = self.store("phone")
        self.expect(0, self.phone("toggle", "papers", "first"))

    def certificate(self, *names):
        return self_signed(self.folder, *names)

    def loopback(self):
        return self.certificate(x509.IPAddress(ipaddress.ip_address("127.0.0.1")))

    def hub(self, certificate, key):
        """A hub that serves HTTPS with this certificate."""
        hub = Hub(self.folder / "hub", "--metrics", "127.0.0.1:0", "--certificate", str(certificate), "--key", str(key))
        hub.start()
        self.addCleanup(lambda: self.assertEqual(hub.end(), 0))
        self.assertTrue(hub.url.startswith("https://127.0.0.1:"), hub.url)
        return hub

    def listener(self, place=None, certificate=None):
        """A server that redirects to `place`."""
        server = Listener(place)
        if certificate:
            server.encrypt(*certificate)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()

        def end():
            server.shutdown()
            thread.join(SECONDS_MAX)
            server.server_close()
        self.addCleanup(end)
        return server

    def answered(self, hub):
        """What the hub's counters say it answered."""
        with urllib.request.urlopen(hub.metrics_url, timeout=SECONDS_MAX) as answer:
            return [line for line in answer.read().decode().splitlines() if line.startswith("heartlog_hub_requests_total{")]

    def test_a_certificate_of_nobody_who_is_trusted_is_refused_and_nothing_is_sent(self):
        certificate, key = self.loopback()
        hub = self.hub(certificate, key)
        refused = self.expect(74, self.phone("sync", hub.url), "does not prove that it is that host", "Nothing was sent")
        self.assertEqual(refused.out, "")
        self.assertEqual(self.answered(hub), [])

    def test_nothing_that_was_sent_reaches_a_server_that_is_not_trusted(self):
        server = self.listener("https://elsewhere.invalid", self.loopback())
        self.expect(74, self.phone("sync", f"https://127.0.0.1:{server.port}"), "does not prove that it is that host")
        self.assertEqual(server.requests, [])

    def test_two_devices_sync_with_a_hub_that_is_trusted(self):
        certificate, key = self.loopback()
        hub = self.hub(certificate, key)
        prefix = trusting(certificate)
        tablet = self.store("tablet")
        synced = self.expect(0, self.phone("sync", hub.url, "--encrypted", prefix=prefix)).out
        self.assertIn("at the hub: ", synced)
        vault = self.expect(0, self.phone("hub", hub.url, "--json", prefix=prefix)).object["vault"]
        self.expect(0, tablet("keys", "join", "-", input=synced.splitlines()[-1]))
        received = self.expect(0, tablet("sync", f"{hub.url}/{vault}", "--json", prefix=prefix)).object["received"]
        self.assertGreater(received["commits"], 0)
        self.expect(0, self.phone("sync", hub.url, prefix=prefix))
        digests = {self.expect(0, store("status", "--json")).object["digest"] for store in (self.phone, tablet)}
        self.assertEqual(len(digests), 1)
        self.assertNotEqual(self.answered(hub), [])

    def test_a_trusted_certificate_for_another_host_is_refused(self):
        certificate, key = self.certificate(x509.DNSName("localhost"))
        hub = self.hub(certificate, key)
        other = hub.url.replace("127.0.0.1", "localhost")
        prefix = trusting(certificate)
        self.expect(74, self.phone("sync", hub.url, prefix=prefix), "does not prove that it is that host", "Nothing was sent")
        self.assertEqual(self.answered(hub), [])
        self.expect(0, self.phone("sync", other, prefix=prefix))
        self.assertNotEqual(self.answered(hub), [])

    def test_a_redirect_of_a_trusted_hub_is_refused(self):
        other = self.listener()
        for place in (f"http://127.0.0.1:{other.port}", f"http://localhost:{other.port}"):
            certificate, key = self.loopback()
            server = self.listener(place, (certificate, key))
            refused = self.expect(
                65, self.phone("sync", f"https://127.0.0.1:{server.port}", prefix=trusting(certificate)), "redirects are not followed")
            self.assertIn(place, refused.err)
            self.assertTrue(server.requests)
        self.assertEqual(other.requests, [])

    def test_a_redirect_without_encryption_is_refused(self):
        other = self.listener()
        server = self.listener(f"http://127.0.0.1:{other.port}")
        self.expect(65, self.phone("sync", f"http://127.0.0.1:{server.port}"), "redirects are not followed")
        self.assertTrue(server.requests)
        self.assertEqual(other.requests, [])


if __name__ == "__main__":
    unittest.main()
