"""A process killed at any moment loses nothing that it acknowledged."""

import json
import random
import signal
import sys
import threading
import time
import unittest

from heartlog import TestCase, model, seed

RUNS = 300
STORES = 10


class KillTests(TestCase):
    def operations(self, chance, run, count):
        """That many operations, each a change of its own, some in groups; every fourth flips an item that many share."""
        texts, group, left = [], 0, 0
        size = chance.choice((0, 0, 3, 20))  # of the groups; 0 for none
        for number in range(1, count + 1):
            marker = {"op": "add", "library": "papers", "id": f"{run}-{number}",
                      "fields": {"title": "x" * chance.choice((3, 40, 600)), "run": run, "line": number}}
            if number % 4 == 0:
                marker = {"op": "toggle", "library": "cities", "id": str(number % 9), "fields": {"run": run, "line": number}}
            if size:
                if left == 0:
                    group, left = group + 1, size
                marker["commit"] = group
                left -= 1
            marker["time"] = "2026-03-%02dT07:%02d:00Z" % (run % 28 + 1, group % 60 if size else number % 60)
            texts.append(json.dumps(marker) + "\n")
        return texts, size

    def run_and_kill(self, store, chance, texts):
        """Feeds an `apply --ack` from a pipe or a file, kills it, and returns the lines that it acknowledged."""
        delay = chance.choice((0, 0, chance.uniform(0, 0.02), chance.uniform(0, 0.15), chance.uniform(0, 0.3)))
        acknowledgements = chance.choice((None, None, chance.randint(1, len(texts))))
        if chance.random() < 0.4:
            file = self.folder / "operations"
            file.write_text("".join(texts))
            process = store.start("apply", "--ack", str(file))
            feeder = None
        else:
            process = store.start("apply", "--ack", stdin=-1)
            portion = chance.choice((1, 7, 50, 5000))

            def feed():
                try:
                    for place in range(0, len(texts), portion):
                        process.stdin.write("".join(texts[place:place + portion]).encode())
                        process.stdin.flush()
                        time.sleep(0.0005)
                    process.stdin.close()
                except (BrokenPipeError, ValueError):
                    pass
            feeder = threading.Thread(target=feed)
        with self.ended(process):
            if feeder:
                feeder.start()
            out = b""
            if acknowledgements:
                # Kill right behind an acknowledgement: the next thing that it does is under way.
                while out.count(b"\n") < acknowledgements and (line := process.stdout.readline()):
                    out += line
            else:
                time.sleep(delay)
            process.send_signal(signal.SIGKILL)
            out += process.stdout.read()
            process.wait()
            if feeder:
                feeder.join()
            self.assertEqual(process.stderr.read(), b"")
        # A line cut off by the kill is none: whoever reads it cannot take it for whole.
        return [json.loads(line)["ack"] for line in out.split(b"\n")[:-1]]

    def test_three_hundred_kills_lose_nothing_that_was_acknowledged(self):
        chance = random.Random(seed())
        stores = [(self.store(), []) for _ in range(STORES)]
        acknowledged_lines = unfinished = 0
        for run in range(RUNS):
            store, history = stores[run % STORES]
            texts, size = self.operations(chance, run, chance.choice((5, 60, 400, 1200)))
            acknowledged = self.run_and_kill(store, chance, texts)
            self.assertEqual(acknowledged, list(range(1, len(acknowledged) + 1)))
            acknowledged_lines += len(acknowledged)
            answer = store("log", "--json")
            self.expect(0, answer)
            # The marker's line is a field, or the last that was written to a city.
            log = answer.lines
            new = log[len(history):]
            self.assertEqual(log[:len(history)], history)
            self.check_numbers(log)
            written = [event for event in new if event["library"] == "papers"]
            self.assertEqual([event["fields"]["line"] for event in written], [line for line in range(1, len(texts) + 1) if line % 4][:len(written)])
            self.assertEqual({event["fields"]["run"] for event in written} - {run}, set())
            # What is in the log are the first lines of the input, whole groups, and at least all that was acknowledged.
            lines = len(new)
            self.assertGreaterEqual(lines, len(acknowledged))
            self.assertTrue(lines == len(texts) or not size or lines % size == 0, f"a part of a group: {lines} lines in groups of {size}")
            for place, event in enumerate(new):
                expected = (place // size if size else place) + log[len(history)]["commit"]
                self.assertEqual(event["commit"], expected)
            unfinished += lines < len(texts)
            history[:] = log
            if run % 7 == 0:
                self.check_state(store, log)
        print(f"{acknowledged_lines} lines acknowledged, {unfinished} runs unfinished", file=sys.stderr)
        self.assertGreater(unfinished, RUNS // 10, "too few runs were killed before their end")
        for store, history in stores:
            self.check_state(store, store.log())
            # Whatever the last one left behind, the next one goes on.
            self.expect(0, store.apply([{"op": "add", "library": "books", "id": "last"}]))
            self.expect(0, store("verify"))
            self.expect(0, store("compact"))
            self.assertEqual(store.log()[:-1], history)
            self.check_numbers(store.log())

    def check_numbers(self, log):
        self.assertEqual([event["sequence"] for event in log], list(range(1, len(log) + 1)))
        commits = [event["commit"] for event in log]
        self.assertTrue(all(later - earlier in (0, 1) for earlier, later in zip([0] + commits, commits)))
        self.assertEqual(len({event["replica"] for event in log}), min(1, len(log)))

    def check_state(self, store, log):
        """The state is that of the operations in the log, and the log is sound."""
        expected = model.Store()
        groups = {}
        for event in log:
            operation = {"op": "toggle" if event["action"] == "toggled" else "add", "library": event["library"], "id": event["item"],
                         "fields": event.get("fields")}
            groups.setdefault(event["commit"], (event["time"], []))[1].append(operation)
        for time_text, group in groups.values():
            expected.commit(group, model.milliseconds(time_text))
        self.assertEqual(expected.sequence, len(log))
        self.assertEqual(self.expect(0, store("status", "--json")).object["digest"], expected.digest())
        self.assertEqual(self.expect(0, store("replay", "--json")).object["digest"], expected.digest())
        self.expect(0, store("verify", "--json"))


if __name__ == "__main__":
    unittest.main()
