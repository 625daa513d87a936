"""Several processes write to one store and read it, all at once."""

import json
import random
import threading
import time
import unittest

from heartlog import SECONDS_MAX, TestCase, model, seed

WRITERS = 4


class Follower:
    """A `log --follow --json`, read by a thread of its own."""

    def __init__(self, store):
        self.process = store.start("log", "--follow", "--json")
        self.lines = []
        self.grown = threading.Condition()
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        for line in self.process.stdout:
            with self.grown:
                self.lines.append(line)
                self.grown.notify_all()

    def wait(self, count):
        """Waits for that many events; returns all that came."""
        with self.grown:
            self.grown.wait_for(lambda: len(self.lines) >= count or self.process.poll() is not None, SECONDS_MAX)
            return [json.loads(line) for line in self.lines]

    def end(self):
        self.process.kill()
        self.process.wait()
        self.thread.join()
        errors = self.process.stderr.read().decode()
        self.process.stdout.close()
        self.process.stderr.close()
        return errors


class ManyTests(TestCase):
    def operations(self, writer, count, first=1):
        """Each writer has items of its own, and all of them flip the same few."""
        for line in range(first, first + count):
            yield {"op": "add", "library": "papers", "id": f"{writer}-{line}", "fields": {"writer": writer, "line": line}}
            if line % 5 == 0:
                yield {"op": "toggle", "library": "cities", "id": str(line % 7)}
            if line % 11 == 0:
                yield from ({"op": "set", "library": "books", "id": f"{writer}-{line}", "fields": {f"f{place}": line}, "commit": line}
                            if place == 0 else
                            {"op": "set", "library": "books", "id": f"{writer}-{line}.{place}", "fields": {"f": line}, "commit": line}
                            for place in range(3))

    def write(self, writer, store, acknowledges, count, chance, results, kills):
        """One writer; a killed one goes on behind the last line that it knows to be safe."""
        remaining, acknowledged = list(self.operations(writer, count)), []
        limit = len(remaining) // 3 if kills else None
        while remaining:
            process = store.start("apply", *["--ack"] * acknowledges, stdin=-1)
            with self.ended(process):
                texts = "".join(json.dumps(operation) + "\n" for operation in remaining).encode()
                # One that is to be killed gets its last line after that, or it may come to its end first.
                last = texts.rindex(b"\n", 0, -1) + 1 if limit is not None else len(texts)
                may_end = threading.Event()

                def feed():
                    try:
                        portion = chance.choice((200, 3_000, 100_000))
                        for place in range(0, last, portion):
                            process.stdin.write(texts[place:min(place + portion, last)])
                            process.stdin.flush()
                        if last != len(texts):
                            may_end.wait()
                            process.stdin.write(texts[last:])
                        process.stdin.close()
                    except (BrokenPipeError, ValueError):
                        pass

                feeder = threading.Thread(target=feed)
                feeder.start()
                acks = 0
                while acks != limit and (line := process.stdout.readline()):
                    acks += line.startswith(b'{"ack"')
                if acks == limit:
                    process.kill()
                may_end.set()
                acks += sum(1 for line in process.stdout.read().split(b"\n")[:-1])
                feeder.join()
                code, errors = process.wait(), process.stderr.read().decode()
                results.setdefault(writer, []).append((code, errors))
                if acks != 0 and code != 0:
                    # Groups are acknowledged whole, so the rest starts with a line of its own.
                    acknowledged += remaining[:acks]
                    remaining = remaining[acks:]
                    limit = None
                    continue
                if code == 0:
                    acknowledged += remaining
                return results[writer].append(acknowledged)
        results[writer].append(acknowledged)

    def check(self, acknowledges, count):
        chance = random.Random(seed())
        store = self.store()
        followers = [Follower(store) for _ in range(2)]
        results, reads, done = {}, [], threading.Event()

        def list_repeatedly():
            while not done.is_set():
                reads.append(store("list", "papers", "--json"))

        def seal():
            while len(followers[0].wait(0)) < count and not done.is_set():
                time.sleep(0.01)
            reads.append(store("compact"))

        try:
            readers = [threading.Thread(target=target) for target in (list_repeatedly, seal)]
            writers = [threading.Thread(target=self.write, args=(
                writer, store, acknowledges, count, random.Random(chance.random()), results, acknowledges and writer == 0))
                for writer in range(WRITERS)]
            for thread in readers + writers:
                thread.start()
            for thread in writers:
                thread.join(SECONDS_MAX)
                self.assertFalse(thread.is_alive(), "a writer does not come to its end")
            done.set()
            for thread in readers:
                thread.join()
            log = store.log()
            followed = [follower.wait(len(log)) for follower in followers]
        finally:
            done.set()
            errors = [follower.end() for follower in followers]
        self.assertEqual(errors, ["", ""])
        for answer in reads:
            self.expect(0, answer)
        self.check_reads(reads)
        # Numbers without a gap and without a repeat, in the order of their stamps.
        self.assertEqual([event["sequence"] for event in log], list(range(1, len(log) + 1)))
        commits = [event["commit"] for event in log]
        self.assertTrue(all(later - earlier in (0, 1) for earlier, later in zip([0] + commits, commits)))
        stamps = [(event["stamp"], event["commit"]) for event in log]
        self.assertEqual(stamps, sorted(stamps))
        # Each follower saw every event once, in that order.
        for events in followed:
            self.assertEqual(events, log)
        # Every acknowledged operation is there, each writer's in its order; an unacknowledged one may be there once.
        for writer in range(WRITERS):
            *endings, acknowledged = results[writer]
            for code, errors in endings:
                self.assertEqual((code, errors), (0, "") if code == 0 else (-9, ""))
            self.assertEqual(len(endings), 2 if acknowledges and writer == 0 else 1)
            own = [event["item"] for event in log if event["library"] == "papers" and event["fields"]["writer"] == writer]
            self.assertEqual(own, [operation["id"] for operation in acknowledged if operation["library"] == "papers"])
            self.assertEqual(own, [f"{writer}-{line}" for line in range(1, count + 1)])
        # The groups are whole.
        groups = {}
        for event in log:
            if event["library"] == "books":
                groups.setdefault(event["commit"], []).append(event["item"])
        for items in groups.values():
            self.assertEqual([item.partition(".")[2] for item in items], ["", "1", "2"])
            self.assertEqual(len({item.partition(".")[0] for item in items}), 1)
        self.expect(0, store("verify"))
        self.check_state(store, log)

    def check_reads(self, reads):
        """A later reading never shows less."""
        last = 0
        for answer in reads:
            if answer.out.startswith('{"library"'):
                self.assertGreaterEqual(len(answer.lines), last)
                last = len(answer.lines)

    def check_state(self, store, log):
        expected = model.Store()
        for event in log:
            operation = {"op": {"toggled": "toggle", "added": "add", "changed": "set"}[event["action"]],
                         "library": event["library"], "id": event["item"], "fields": event.get("fields")}
            self.assertTrue(expected.apply(operation, model.milliseconds(event["time"]), event["sequence"]))
        for command in (["status"], ["replay"]):
            self.assertEqual(self.expect(0, store(*command, "--json")).object["digest"], expected.digest())

    def test_four_writers_that_wait_for_acknowledgements(self):
        self.check(acknowledges=True, count=600)

    def test_four_writers_of_buffered_commits(self):
        self.check(acknowledges=False, count=3000)


if __name__ == "__main__":
    unittest.main()
