"""A process killed at any moment loses nothing that it acknowledged: the short form of `Scripts/torture kills`, and whole commits."""

import json
import random
import signal
import sys
import unittest

from heartlog import PACKAGE, TestCase, lines, seed

sys.path.insert(0, str(PACKAGE / "Tests" / "Endurance"))

import kills  # noqa: E402

KILLS, ROUNDS_PER_STORE = 15, 4
RUNS = 12


class KillTests(TestCase):
    def test_killed_processes_lose_nothing_that_was_acknowledged(self):
        killed, rounds, acknowledged = kills.run(KILLS, seed(), ROUNDS_PER_STORE)
        print(f"{killed} processes killed in {rounds} rounds, {acknowledged} lines acknowledged", file=sys.stderr)
        self.assertGreater(acknowledged, 0)

    def test_a_kill_between_acknowledgements_leaves_whole_commits(self):
        """Each `apply --ack` reads a file, and is killed right after one of its acknowledgements: the next commits are under way."""
        chance, store, file = random.Random(seed()), self.store(), self.folder / "operations"
        history, unfinished = [], 0
        for run in range(RUNS):
            count, size = chance.choice((400, 1200)), chance.choice((1, 3, 20))
            file.write_text(lines(
                {"op": "add", "library": "papers", "id": f"{run}-{number}", "fields": {"title": "x" * chance.choice((3, 40, 600))},
                 "commit": number // size} for number in range(count)))
            process = store.start("apply", "--ack", str(file))
            with self.ended(process):
                out = b"".join(process.stdout.readline() for _ in range(chance.randint(1, count // 4)))
                process.send_signal(signal.SIGKILL)
                out += process.stdout.read()
                self.assertEqual(process.stderr.read(), b"")
            # A line cut off by the kill is none: whoever reads it cannot take it for whole.
            acknowledged = [json.loads(line)["ack"] for line in out.split(b"\n")[:-1]]
            self.assertEqual(acknowledged, list(range(1, len(acknowledged) + 1)))
            # What is in the log are the first lines of the input, whole commits, and at least all that was acknowledged.
            log = store.log()
            new = log[len(history):]
            self.assertEqual(log[:len(history)], history)
            self.assertGreaterEqual(len(new), len(acknowledged))
            self.assertEqual([event["item"] for event in new], [f"{run}-{number}" for number in range(len(new))])
            self.assertTrue(len(new) == count or len(new) % size == 0, f"a part of a commit: {len(new)} lines in commits of {size}")
            last = history[-1]["commit"] if history else 0
            self.assertEqual([event["commit"] for event in new], [last + 1 + place // size for place in range(len(new))])
            self.assertEqual([event["sequence"] for event in log], list(range(1, len(log) + 1)))
            unfinished += len(new) < count
            history = log
            self.assertEqual(store("status", "--json").object["digest"], self.expect(0, store("replay", "--json")).object["digest"])
        print(f"{len(history)} events, {unfinished} runs unfinished", file=sys.stderr)
        self.assertGreater(unfinished, 2, "too few runs were killed before their end")
        # Whatever the last one left behind, the next one goes on.
        self.expect(0, store("add", "books", "last"))
        self.expect(0, store("verify"))
        self.expect(0, store("compact"))
        self.assertEqual(store.log()[:-1], history)


if __name__ == "__main__":
    unittest.main()
