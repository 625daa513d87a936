"""Kills writers, readers, sealers and receivers that share two stores: `kills.py KILLS [SEED]`."""

import random
import tempfile
import time

from load import Command, Writer, check_store, join, main, make_stores, require

# Larger stores are slower to check, and have nothing that smaller ones have not.
ROUNDS_PER_STORE = 8


def load(stores, other, chance, round, acknowledged):
    """Starts everything at once, kills some at any moment, and waits for the others. Returns the number of kills."""
    writers = [Writer(store, f"{name}.{round}.{index}", chance, chance.choice((40, 400)))
               for name, store in enumerate(stores) for index in range(2)]
    commands = [
        Command(stores[0], "compact"), Command(stores[0], "sync", stores[1], "--join"), Command(stores[1], "sync", stores[0], "--join"),
        Command(stores[0], "list", "papers"), Command(stores[1], "verify"), Command(stores[1], "compact"),
        Command(stores[1], "sync", other, "--join"),
    ]
    actors = writers + commands
    chance.shuffle(actors)
    victims = actors[:chance.randint(3, len(actors))]
    kills = 0
    for victim in victims:
        time.sleep(chance.choice((0, 0, chance.uniform(0, 0.05))))
        if victim.process.poll() is None:
            victim.kill()
            kills += 1
    for actor in actors:
        code, said = actor.end()
        # Busy stores and killed peers are answers; damage, a trap and silence are not.
        require(code in (0, -9, 75, 69, 76), "exit code", code, said)
        require(code in (0, -9) or said.startswith("heartlog: "), "exit code", code, said)
    for writer in writers:
        acknowledged.setdefault(writer.store, {})[writer.name] = writer.acknowledged
    return kills


def run(wanted, seed, rounds_per_store=ROUNDS_PER_STORE):
    """Returns how many processes were killed, in how many rounds, and how many lines were acknowledged."""
    chance, kills, lines, rounds = random.Random(seed), 0, 0, 0
    while kills < wanted:
        with tempfile.TemporaryDirectory(prefix="heartlog-") as folder:
            stores = make_stores(folder, ("phone", "tablet", "laptop"))
            acknowledged = {}
            for _ in range(rounds_per_store):
                kills += load(stores[:2], stores[2], chance, rounds, acknowledged)
                rounds += 1
                for store in stores:
                    check_store(store, acknowledged.get(store, {}))
            join(stores)
            everything = {name: last for part in acknowledged.values() for name, last in part.items()}
            for store in stores:
                check_store(store, everything)
            lines += sum(everything.values())
    return kills, rounds, lines


if __name__ == "__main__":
    main(lambda wanted, seed: "{} processes killed in {} rounds, {} lines acknowledged, none lost".format(*run(wanted, seed)))
