"""A store that is damaged gives all that can be read, whoever calls; what is told names it, the place, and what to run."""

import pathlib
import unittest

from heartlog import TestCase


class DamagedPeerTests(TestCase):
    def setUp(self):
        super().setUp()
        # The device with the highest replica has the streams of all three.
        self.names = ("phone", "tablet", "desk")
        self.devices = {}
        for name in self.names:
            store = self.store(name)
            self.devices[self.replica(store)] = store
            self.write(store, name, 0)
        self.replicas = sorted(self.devices)
        self.hub = self.devices[self.replicas[2]]
        for replica in self.replicas[:2]:
            self.sync(self.hub, self.devices[replica].path)

    def write(self, store, name, start, count=40):
        self.expect(0, store.apply([{"op": "add", "library": "papers", "id": f"{name}-{number}", "fields": {"title": f"{number}" * 30}}
                                    for number in range(start, start + count)]))

    def heads(self, store):
        return {replica["id"]: replica["head"] for replica in store("status", "--json").object["replicas"]}

    def damage(self, replica, snapshot=False, tail=False):
        """Flips a byte of one of the hub's streams, in its sealed segment, or in what was written since."""
        self.hub.seal()
        source = self.devices[replica]
        self.write(source, "later", 100)
        if source is not self.hub:
            self.sync(self.hub, source.path)
        if not tail:
            self.hub.seal()
        if snapshot:
            self.hub.snapshot()
        (path,) = pathlib.Path(self.hub.path, "replicas", replica).glob("*.open" if tail else "*.sealed")
        content = bytearray(path.read_bytes())
        content[4300] ^= 1
        path.write_bytes(content)
        return path

    def check_told(self, answer, path):
        for word in ("damaged", f"replicas/{path.parent.name}/{path.name}", "verify"):
            self.assertIn(word, answer.err)

    def test_what_is_sound_arrives_whoever_calls_and_over_every_carrier(self):
        for damaged in range(3):
            for snapshot in (False, True):
                with self.subTest(damaged=damaged, snapshot=snapshot):
                    self.setUp()
                    path = self.damage(self.replicas[damaged], snapshot=snapshot)
                    sound = [replica for replica in self.replicas if replica != self.replicas[damaged]]
                    cloud = self.folder / "cloud"
                    cloud.mkdir(exist_ok=True)
                    peers = {}
                    for way in ("exec", "directory", "merge", "called", "folder"):
                        peer = peers[way] = self.store(way)
                        self.write(peer, way, 0, 1)
                        match way:
                            case "exec":
                                answer = self.sync(peer, self.serving(self.hub), code=65)
                            case "directory":
                                answer = self.sync(peer, self.hub.path, code=65)
                            case "merge":
                                answer = self.expect(65, peer("sync", self.hub.path, "--pull", "--json"))
                            case "called":
                                answer = self.sync(self.hub, self.serving(peer), code=65)
                            case "folder":
                                answer = self.sync(self.hub, f"folder:{cloud}", code=65)
                                self.sync(peer, f"folder:{cloud}")
                        self.check_told(answer, path)
                        heads = self.heads(peer)
                        for replica in sound:
                            self.assertEqual(heads.get(replica), 40, way)
                        if way in ("exec", "directory", "merge"):
                            self.assertIn("peerDamage", answer.object)
                            self.assertNotIn(self.hub.path, answer.object["peerDamage"])
                            self.assertIn("repair", answer.err)

    def test_the_part_in_front_of_the_damage_arrives(self):
        for snapshot in (False, True):
            for calls in (False, True):
                with self.subTest(snapshot=snapshot, calls=calls):
                    self.setUp()
                    own = self.replicas[2]
                    path = self.damage(own, snapshot=snapshot, tail=True)
                    peer = self.store("peer")
                    answer = self.sync(self.hub, peer.path, code=65) if calls else self.sync(peer, self.hub.path, code=65)
                    self.check_told(answer, path)
                    heads = self.heads(peer)
                    self.assertEqual([heads[replica] for replica in self.replicas[:2]], [40, 40])
                    self.assertTrue(40 <= heads[own] < 80, heads)

    def test_a_peer_that_has_what_is_in_front_of_the_damage_gets_nothing_wrong(self):
        peer = self.store("peer")
        self.sync(peer, self.hub.path)
        before = self.heads(peer)
        path = self.damage(self.replicas[0])
        self.check_told(self.sync(peer, self.hub.path, code=65), path)
        self.assertEqual(self.heads(peer), before)
        # The device itself still has all: whoever is damaged stands in nobody else's way.
        self.sync(peer, self.devices[self.replicas[0]].path)
        self.assertEqual(self.heads(peer)[self.replicas[0]], 80)


if __name__ == "__main__":
    unittest.main()
