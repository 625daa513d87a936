"""Invitations and the places that a store knows: one line lets a device in, and sync alone does the rest."""

import json
import pathlib
import signal
import subprocess
import unittest

from heartlog import BINARY, SECONDS_MAX, Store, TestCase, environment
from hub import NEEDS_HUB, HubTestCase


class Invitations:
    """What holds at every place."""

    def ids(self, store):
        return {item["id"] for item in self.expect(0, store("list", "papers", "--json")).lines}

    def invite(self, store, *words):
        answer = self.expect(0, store("invite", *words))
        self.assertRegex(answer.out, r"\Aheartlog://[A-Za-z0-9_-]+\n\Z")
        return answer.out

    def new(self, name):
        """A device without a store."""
        return Store(str(self.folder / name))

    def check_once(self, phone, line):
        """One device gets in, writes, and syncs without naming a place; nobody gets in after it."""
        tablet, late = self.new("tablet"), self.new("late")
        self.expect(0, tablet("join", "-", input=line))
        self.assertEqual(self.ids(tablet), {"first"})
        self.expect(0, tablet("add", "papers", "second"))
        # Before and after a member has seen the new one.
        self.expect(1, late("join", "-", input=line), "the invitation is not good any more")
        self.expect(0, tablet("sync"))
        self.expect(0, phone("sync"))
        self.assertEqual(self.ids(phone), {"first", "second"})
        self.expect(1, late("join", line), "the invitation is not good any more")
        # The first one that was invited invites.
        self.expect(0, late("join", self.invite(tablet)))
        self.assertEqual(self.ids(late), {"first", "second"})

    def check_withdrawn(self, phone):
        line, late = self.invite(phone), self.new("late")
        self.assertEqual(self.expect(0, phone("invite", "--revoke", "--json")).object["withdrawn"], 1)
        self.expect(1, phone("invite", "--revoke"))
        self.expect(1, late("join", line), "the invitation is not good any more")
        self.expect(0, late("join", self.invite(phone)))
        self.assertEqual(self.ids(late), {"first"})


class FolderInvitations(Invitations, TestCase):
    def vault(self, *words):
        phone, cloud = self.store("phone"), self.folder / "cloud"
        cloud.mkdir()
        self.expect(0, phone("add", "papers", "first"))
        self.expect(0, phone("sync", f"folder:{cloud}", *words))
        return phone, cloud

    def test_an_encrypted_folder_takes_one_device(self):
        phone, cloud = self.vault("--encrypted")
        self.check_once(phone, self.invite(phone))
        # Nothing of an invitation is left but that it was withdrawn.
        self.assertNotIn(b"heartlog:", b"".join(file.read_bytes() for file in cloud.rglob("*") if file.is_file()))

    def test_an_invitation_is_void_after_a_revocation_and_a_rotation(self):
        phone, _ = self.vault("--encrypted")
        self.check_withdrawn(phone)
        line, other = self.invite(phone), self.new("other")
        self.expect(0, phone("keys", "rotate"))
        self.expect(0, phone("sync"))
        self.expect(1, other("join", line), "the keys were rotated since")

    def test_a_folder_may_have_another_path(self):
        phone, cloud = self.vault("--encrypted")
        line, elsewhere, tablet = self.invite(phone), cloud.with_name("elsewhere"), self.new("tablet")
        cloud.rename(elsewhere)
        self.expect(66, tablet("join", line))
        self.expect(0, tablet("join", "-", f"folder:{elsewhere}", input=line))
        self.assertEqual(self.expect(0, tablet("places", "--json")).object["place"], f"folder:{elsewhere}")

    def test_a_folder_that_is_not_encrypted_needs_no_key(self):
        phone, _ = self.vault()
        answer = self.expect(0, phone("invite"))
        self.assertIn("needs no invitation, because it is not encrypted", answer.err)
        for name in "tablet", "late":
            store = self.new(name)
            self.expect(0, store("join", answer.out))
            self.assertEqual(self.ids(store), {"first"})

    def test_a_line_that_is_not_whole_is_named_and_leaves_nothing(self):
        phone, _ = self.vault("--encrypted")
        line, tablet = self.invite(phone).strip(), self.new("tablet")
        for wrong in line[:-1], line[:20], line[:30] + "A" + line[31:], "heartlog://", "hello", "", line + line:
            self.expect(64, tablet("join", "-", input=wrong + "\n"))
            self.assertFalse(pathlib.Path(tablet.path).exists())

    def test_a_line_runs_nothing_and_opens_no_store(self):
        import encryption_reader as reader
        phone, _ = self.vault()
        for place in "exec:touch /tmp/ran", "/etc", "ssh://-oProxyCommand=x/y":
            content = b"\1" + bytes(17) + bytes([len(place)]) + place.encode() + b"\0"
            line = reader.base64.urlsafe_b64encode(
                content + reader.sha(reader.labelled("heartlog invitation 1", content))[:4]).decode().rstrip("=")
            self.assertEqual(reader.invitation_of("heartlog://" + line)[2], place)
            self.expect(64, phone("join", "heartlog://" + line))

    def test_a_line_that_is_spent_keeps_a_store_from_nothing(self):
        phone, _ = self.vault("--encrypted")
        line = self.invite(phone)
        tablet = self.new("tablet")
        self.expect(0, tablet("join", line))
        desk, other, shared = self.store("desk"), self.store("other"), self.folder / "shared"
        shared.mkdir()
        self.expect(0, other("add", "papers", "theirs"))
        for store in desk, other, desk:
            self.expect(0, store("sync", f"folder:{shared}"))
        self.expect(1, other("join", line), "the invitation is not good any more")
        self.expect(0, other("sync", f"folder:{shared}"))
        # Nor does one that is good take it out of the vault that it shares.
        good = self.invite(phone)
        self.expect(0, desk("sync", f"folder:{shared}"))
        self.expect(64, desk("join", good), "join - --join")
        self.expect(0, desk("sync", f"folder:{shared}"))
        self.assertEqual(list((shared / "keys").glob("*")) if (shared / "keys").exists() else [], [])
        self.expect(0, desk("join", good, "--join"))
        self.assertEqual(self.ids(desk), {"first", "theirs"})

    def test_a_new_device_decides_nothing_before_another_one_has_seen_it(self):
        phone, _ = self.vault("--encrypted")
        tablet = self.new("tablet")
        self.expect(0, tablet("join", self.invite(phone)))
        self.assertIn("no other one has seen it yet", self.expect(0, tablet("keys")).out)
        for words in ("invite",), ("invite", "--revoke"), ("keys", "rotate"):
            self.expect(1, tablet(*words), "another device of the vault must sync first")
        self.expect(0, phone("sync"))
        self.expect(0, tablet("sync"))
        self.assertNotIn("no other one has seen it yet", self.expect(0, tablet("keys")).out)
        self.expect(0, tablet("keys", "rotate"))

    def test_a_folder_that_is_still_on_its_way_is_named(self):
        phone, cloud = self.vault("--encrypted")
        line, tablet, held = self.invite(phone), self.new("tablet"), self.folder / "held"
        (cloud / "keys").rename(held)
        pathlib.Path(tablet.path).mkdir()
        self.expect(1, tablet("join", line), "are not here yet")
        held.rename(cloud / "keys")
        self.expect(0, tablet("join", line))
        self.assertEqual(self.ids(tablet), {"first"})

    def test_a_password_for_any_host_goes_to_none_that_only_the_line_names(self):
        import encryption_reader as reader
        place = b"davs://192.0.2.1/favorites"
        content = b"\1" + bytes(17) + bytes([len(place)]) + place + b"\0"
        line = "heartlog://" + reader.base64.urlsafe_b64encode(
            content + reader.sha(reader.labelled("heartlog invitation 1", content))[:4]).decode().rstrip("=")
        tablet = self.new("tablet")
        self.expect(64, tablet("join", line, env=environment(HEARTLOG_WEBDAV_USER="anna", HEARTLOG_WEBDAV_PASSWORD="secret")), "is for any host")
        self.assertFalse(pathlib.Path(tablet.path).exists())

    def test_only_places_are_remembered(self):
        phone, cloud = self.vault()
        known = pathlib.Path(phone.path) / "keys" / "known"
        ran = self.folder / "ran"
        known.write_text(known.read_text() * 2 + json.dumps({"place": f"exec:touch {ran}"}) + "\n" + json.dumps({"place": "/etc"})
                         + "\nnonsense\n{}\n")
        self.assertEqual(self.expect(0, phone("places")).out, f"folder:{cloud}\n")
        self.expect(0, phone("sync"))
        self.assertFalse(ran.exists())

    def test_a_terminal_shows_a_code(self):
        phone, _ = self.vault("--encrypted")
        words = " ".join([str(BINARY), "--store", str(phone.path), "invite"])
        shown = subprocess.run(["script", "-qec", words, "/dev/null"], capture_output=True, env=environment(), timeout=SECONDS_MAX,
                               stdin=subprocess.DEVNULL).stdout.decode()
        rows = [row for row in shown.splitlines() if row[:1] in "█▀▄" and row]
        self.assertGreater(len(rows), 15)
        self.assertEqual({len(row) for row in rows}, {2 * len(rows) - 1})
        self.assertIn("\nheartlog://", shown)

    def test_sync_alone_syncs_with_all_places_and_names_those_that_fail(self):
        phone, cloud = self.vault()
        stick = cloud.with_name("stick")
        stick.mkdir()
        self.expect(64, self.store("other")("sync"), "knows no place")
        self.expect(0, phone("sync", f"folder:{stick}"))
        self.assertEqual(self.expect(0, phone("places")).out, f"folder:{cloud}\nfolder:{stick}\n")
        self.expect(0, phone("add", "papers", "second"))
        reports = [json.loads(line) for line in self.expect(0, phone("sync", "--json")).out.splitlines()]
        self.assertEqual([report["sent"]["commits"] for report in reports], [1, 1])
        # One is away: the other is served, and the exit code says so.
        cloud.rename(cloud.with_name("away"))
        self.expect(0, phone("add", "papers", "third"))
        answer = self.expect(66, phone("sync", "--json"), str(cloud))
        self.assertEqual(json.loads(answer.out)["sent"]["commits"], 1)
        self.expect(64, phone("sync", "--encrypted"))
        self.expect(0, phone("places", "forget", f"folder:{cloud}"))
        self.expect(1, phone("places", "forget", f"folder:{cloud}"))
        self.expect(64, phone("places", "forget"))
        self.expect(0, phone("sync"))
        self.assertEqual(self.expect(0, phone("places")).out, f"folder:{stick}\n")
        # A directory of a store, a command and a dry run are not remembered.
        self.expect(0, phone("sync", self.store("peer").path))
        self.expect(0, phone("sync", f"folder:{cloud.with_name('away')}", "--dry-run"))
        self.assertEqual(len(self.expect(0, phone("places")).out.splitlines()), 1)

    def test_watching_alone_watches_all_places(self):
        phone, cloud = self.vault()
        stick, tablet = cloud.with_name("stick"), self.store("tablet")
        stick.mkdir()
        self.expect(0, phone("sync", f"folder:{stick}"))
        with self.ended(phone.start("sync", "--watch", "--json")) as process:
            for number, place in enumerate((cloud, stick, cloud, stick)):
                self.expect(0, tablet("add", "papers", f"tablet-{number}"))
                self.expect(0, tablet("sync", f"folder:{place}"))
                while line := process.stdout.readline():
                    report = json.loads(line)
                    if report["peer"] == f"folder:{place}" and report["received"]["commits"]:
                        break
                else:
                    self.fail(process.stderr.read())
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(SECONDS_MAX), 0)
        self.assertEqual(len(self.ids(phone)), 5)


@NEEDS_HUB
class HubInvitations(Invitations, HubTestCase):
    def vault(self, *words):
        phone = self.store("phone")
        self.expect(0, phone("add", "papers", "first"))
        self.expect(0, phone("sync", self.hub.url, *words))
        return phone

    def test_a_hub_lets_one_device_in(self):
        phone = self.vault()
        self.check_once(phone, self.invite(phone))
        keys = self.expect(0, phone("hub", self.hub.url, "--json")).object["keys"]
        self.assertEqual(len(keys), 3)

    def test_a_hub_lets_one_device_into_an_encrypted_vault(self):
        phone = self.vault("--encrypted")
        self.check_once(phone, self.invite(phone))

    def test_a_hub_refuses_what_was_withdrawn(self):
        self.check_withdrawn(self.vault())

    def test_a_hub_refuses_what_was_withdrawn_from_an_encrypted_vault(self):
        self.check_withdrawn(self.vault("--encrypted"))

    def test_of_devices_that_join_at_once_one_gets_in(self):
        for number, words in enumerate(((), ("--encrypted",))):
            phone = self.store(f"phone-{number}")
            self.expect(0, phone("add", "papers", "first"))
            self.expect(0, phone("sync", self.hub.url, *words))
            line = self.invite(phone)
            devices = [self.new(f"device-{number}-{index}") for index in range(4)]
            processes = [device.start("join", line.strip()) for device in devices]
            codes = sorted(process.wait(SECONDS_MAX) for process in processes)
            for process in processes:
                process.stdout.close()
                process.stderr.close()
            self.assertEqual(codes, [0, 1, 1, 1])
            self.expect(0, phone("sync"))
            keys = self.expect(0, phone("hub", self.hub.url, "--json")).object["keys"]
            self.assertEqual(len(keys), 2)


if __name__ == "__main__":
    unittest.main()
