"""How peers are called where people read."""

LABELS = {
    "heartlog": "Heartlog",
    "heartlog-awaited": "Heartlog, tasks that await",
    "heartlog-fields": "Heartlog, by id and fields",
    "raw": "raw pwrite",
    "raw-dsync": "raw pwritev2, RWF_DSYNC",
    "raw-direct": "raw pwrite, O_DIRECT",
    "raw-uring": "raw io_uring",
    "group-log": "group-commit log in C",
    "sqlite": "SQLite",
    "sqlite-batched": "SQLite, batched by the application",
    "sqlite-columns": "SQLite, a Codable row of columns",
    "sqlite-json": "SQLite, a Codable row as JSON",
    "sqlite-each": "SQLite, a connection each",
    "lmdb": "LMDB",
    "leveldb": "LevelDB",
    "rocksdb": "RocksDB",
    "loro": "Loro",
    "yrs": "Yrs",
    "automerge": "Automerge",
    "lz4": "raw LZ4 decoding",
    "memory": "raw reading of memory",
    "table": "raw mapped hash table in C",
    "text": "the trace as text",
    "make-trace": "Heartlog, Scripts/make-trace.py",
    "empty": "an empty static Swift program",
    "empty-whole": "an empty Swift program linked with all libraries",
    "durable": "a durable toggle",
    "typed toggle": "a durable toggle of `Favorites<Item>`",
    "buffered": "a buffered toggle",
    "lookup": "a lookup",
    "item": "a lookup of a whole item",
    "typed item": "an item of `Favorites<Item>`",
    "replay": "replay of an event",
}

TITLES = {
    "durable": "One durable commit, one writer",
    "writers": "Many durable writers at once",
    "batches": "Durable commits of 1,000 events",
    "buffered": "Buffered appends, one event each",
    "size": "Size on disk",
    "replay": "Full replay to a state that can be asked",
    "open": "Opening, a first lookup, a first page of 50",
    "lookup": "Looking up one of 1,000,000 favorites",
    "typed": "The calls of an app among 100,000 favorites",
    "travel": "The state at half of 100,000 events",
    "tail": "Opening with a tail behind the snapshot",
    "list": "`heartlog list papers --limit 50`, a whole process",
    "beside": "Durable commits beside a snapshot being written",
    "large": "5,000,000 events",
    "growth": "Instructions of a durable commit as the store grows",
    "counts": "Counts that do not wander, an operation",
}


def label(peer):
    return LABELS.get(peer, peer)


def short_label(peer):
    """For charts, which have little room."""
    return label(peer).replace(" by the application", "")
