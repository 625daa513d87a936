"""What is run in each measure: turns, which are taken one after the other, round by round.

A turn takes nothing and returns samples. What it needs is made before the first round.
"""

from functools import partial

CRDTS = "loro", "yrs", "automerge"
STORES = "sqlite", "lmdb", "leveldb", "rocksdb"
# The ways to write to a disk durably: the raw limit is whichever is the fastest where they run.
RAW_WRITES = "raw", "raw-dsync", "raw-direct", "raw-uring"
# How many of the events are over each item on average.
EVENTS_PER_ITEM = 10
# What an app calls with its own item type.
TYPED_CALLS = ("contains", "item", "list of 50", "search for few", "search for many", "buffered toggle",
               "durable toggle")


def mixed(shop, events):
    return shop.trace(events, events // EVENTS_PER_ITEM)


def durable(shop):
    trace, count, under = mixed(shop, 200_000), shop.size(2_000, 300), shop.at_once
    return [partial(shop.fresh, "durable", peer, under=under, trace=trace, before=20_000, count=count)
            for peer in (*RAW_WRITES, "heartlog", *STORES)]


def writers(shop):
    trace, turns = mixed(shop, 200_000), []
    some = "group-log", "heartlog", "leveldb", "rocksdb", "sqlite-batched"
    for number, milliseconds, peers in (
            (1, 400, some), (4, 400, some), (16, 400, some),
            (64, 1000, (*some, "heartlog-awaited", "sqlite-each", "lmdb"))):
        turns += [partial(shop.fresh, "writers", peer, trace=trace, before=20_000, count=200_000, writers=number,
                          milliseconds=shop.size(milliseconds, 200)) for peer in peers]
    return turns


def batches(shop):
    count = shop.size(1_000_000, 100_000)
    return [partial(shop.fresh, "batches", peer, trace=mixed(shop, count), count=count)
            for peer in ("raw", "heartlog", *STORES)]


def buffered(shop):
    trace, count = mixed(shop, 1_000_000), shop.size(500_000, 50_000)
    # A rate is the same for fewer events: the slow ones need not play them all.
    return [partial(shop.fresh, "buffered", peer, trace=trace, count=count // part)
            for peer, part in (("raw", 1), ("heartlog", 1), ("sqlite", 5), ("lmdb", 1), ("leveldb", 1),
                               ("rocksdb", 1))]


def size(shop):
    trace = mixed(shop, shop.size(100_000, 20_000))
    turns = [partial(shop.fresh, "size", peer, trace=trace) for peer in ("heartlog", "text", *STORES)]

    def all_libraries():
        before, sealed = shop.size_by_command_line(shop.size(100_000, 20_000))
        return [sample("size", "make-trace", "before seal", "bytes/event", before),
                sample("size", "make-trace", "sealed", "bytes/event", sealed)]

    return turns + [all_libraries, *(partial(shop.crdt, "size", peer, trace) for peer in CRDTS)]


def replay(shop):
    count, turns = shop.size(1_000_000, 100_000), []
    for name, trace in ("mixed", mixed(shop, count)), ("adds", shop.adds(count)):
        store = shop.store("heartlog", trace, count)
        turns += [partial(shop.bench, "replay", peer, folder=store, trace=trace, name=name)
                  for peer in ("heartlog", "raw")]
    return turns + [partial(shop.crdt, "replay", peer, mixed(shop, count)) for peer in ("loro", "yrs")]


def opening(shop):
    turns = []
    most = shop.size(1_000_000, 200_000)
    for count in (10_000, 100_000, most):
        trace = shop.adds(count)
        # Each peer has opened another store before, so that its code is there.
        for peer in ("heartlog", *STORES):
            options = {"folder": shop.store(peer, trace, count), "trace": trace}
            after = shop.store(peer, trace, 5_000)
            turns.append(partial(shop.repeated, "open", peer, name=f"{count:,}", after=after, **options))
            if count == most:
                turns.append(partial(shop.repeated, "open", peer, name=f"{count:,}, the first of a process", **options))
    return turns


def lookup(shop):
    items = shop.size(1_000_000, 200_000)
    trace = shop.adds(items)
    return [partial(shop.bench, "lookup", peer, folder=shop.store(peer, trace, items), trace=trace, items=items,
                    count=200_000) for peer in ("heartlog", "table", *STORES)]


def travel(shop):
    events = shop.size(100_000, 20_000)
    trace = mixed(shop, events)
    store = shop.store("heartlog", trace, events)
    return [partial(shop.bench, "travel", "heartlog", folder=store, trace=trace),
            *(partial(shop.crdt, "travel", peer, trace) for peer in CRDTS)]


def tail(shop):
    items, commits = 100_000, shop.size(10_000, 2_000)
    trace = shop.adds(items)
    stores = ("no tail", shop.store("heartlog", trace, items)), (
        f"{commits:,} commits", shop.store("heartlog", trace, items, tail=commits))
    return [partial(shop.repeated, "tail", "heartlog", folder=store, trace=trace, name=name) for name, store in stores]


def listing(shop):
    items = shop.size(1_000_000, 200_000)
    store = shop.store("heartlog", shop.adds(items), items)
    return [partial(shop.bench, "list", "heartlog", command_line=shop.installed(), folder=store),
            partial(shop.bench, "list", "empty", command_line=shop.empty_program("-static-stdlib")),
            partial(shop.bench, "list", "empty-whole", command_line=shop.empty_program("-static-executable"))]


def beside(shop):
    items = shop.size(1_000_000, 200_000)
    trace = shop.adds(items)
    count = shop.size(20_000, 2_000)
    return [partial(shop.bench, "beside", "heartlog", folder=shop.store("heartlog", trace, items), trace=trace,
                    count=count),
            partial(shop.fresh, "beside", "raw", trace=trace, count=count)]


def large(shop):
    events = shop.size(5_000_000, 200_000)
    trace = mixed(shop, events)
    return [partial(shop.bench, "large", "heartlog", folder=shop.store("heartlog", trace, events), trace=trace,
                    count=events, command_line=shop.installed())]


def growth(shop):
    def turn(events):
        store = shop.store("heartlog", mixed(shop, events), events)
        count = 1_000
        instructions, _ = shop.instructions(
            "counts", "heartlog", operation="durable", count=count, folder=store, trace=mixed(shop, events))
        return [sample("growth", "heartlog", f"{events:,}", "instructions", instructions / count)]

    return [partial(turn, events) for events in (10_000, 100_000, shop.size(1_000_000, 200_000))]


def counts(shop):
    events = shop.size(100_000, 20_000)
    trace = mixed(shop, events)

    def turn(operation):
        count = 1_000
        options = {"operation": operation, "folder": shop.store("heartlog", trace, events), "trace": trace}
        instructions, samples = shop.instructions("counts", "heartlog", count=count, **options)
        done = next(s["value"] for s in samples if s["name"] == "operations")
        allocating = shop.bench(
            "counts", "heartlog", count=count, environment={"LD_PRELOAD": str(shop.counter)}, **options)
        allocations = next(s["value"] for s in allocating if s["name"] == "allocations")
        if operation == "replay":
            # What the process makes to start and end is little beside so many events.
            calls = shop.system_calls("counts", "heartlog", count=count, **options) / done
        else:
            few, many = (shop.system_calls("counts", "heartlog", count=number, **options) for number in (1_000, 3_000))
            calls = max(0, many - few) / 2_000
        return [sample("counts", operation, "instructions", "", instructions / done),
                sample("counts", operation, "allocations", "", allocations / done),
                sample("counts", operation, "system calls", "", calls)]

    operations = "durable", "typed toggle", "buffered", "lookup", "item", "typed item", "replay"
    return [partial(turn, operation) for operation in operations]


def typed(shop):
    items = shop.size(100_000, 20_000)
    trace, turns = shop.adds(items), []
    ways = {"heartlog": ("heartlog", "heartlog-fields"), "sqlite": ("sqlite-columns", "sqlite-json")}
    counted = set()

    def count(peer, way, call):
        # Counts are the same in every round.
        if (way, call) in counted:
            return []
        counted.add((way, call))
        instructions, samples = shop.instructions(
            "typed-count", peer, folder=folders[peer], trace=trace, items=items, way=way, call=call)
        return [sample("typed", way, f"{call}, instructions", "", instructions / samples[0]["value"])]

    folders = {peer: shop.prepared("prepare-typed", peer, trace=trace, items=items) for peer in ways}
    for peer in ways:
        turns.append(partial(shop.bench, "typed", peer, folder=folders[peer], trace=trace, items=items))
    return turns + [partial(count, peer, way, call) for peer in ways for way in ways[peer]
                    for call in TYPED_CALLS if call != "durable toggle"]


def sample(measure, peer, name, unit, value):
    return {"measure": measure, "peer": peer, "name": name, "unit": unit, "value": value}


# Replay takes the snapshots from its stores, and so comes last; how many rounds are enough where one takes long, or gives the same every time.
ALL = {
    "durable": (durable, 99), "writers": (writers, 99), "batches": (batches, 3), "buffered": (buffered, 99),
    "size": (size, 1), "open": (opening, 99), "lookup": (lookup, 3), "travel": (travel, 99),
    "tail": (tail, 99), "list": (listing, 99), "beside": (beside, 3), "large": (large, 5), "growth": (growth, 1),
    "counts": (counts, 1), "typed": (typed, 99), "replay": (replay, 3),
}
