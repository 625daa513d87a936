// LMDB: the events by number, the items by id, the favorites by date, and the positions, in one environment.
#include <lmdb.h>

#include "CPeers.h"
#include "check.h"
#include "record.h"

typedef struct {
  MDB_env *environment;
  MDB_dbi events, items, dates, positions;
  /// Renewed for every read, as its manual advises for threads that read often.
  MDB_txn *reader;
} store;

static void check(int code) {
  if (code) BENCH_FAIL(mdb_strerror(code));
}

static MDB_val value(const void *bytes, size_t length) { return (MDB_val){length, (void *)(uintptr_t)bytes}; }

static void *lmdb_open(const char *folder, bench_durability durability) {
  store *opened = bench_allocate(sizeof *opened);
  check(mdb_env_create(&opened->environment));
  check(mdb_env_set_maxdbs(opened->environment, 4));
  check(mdb_env_set_mapsize(opened->environment, (size_t)4 << 30));
  // Without MDB_NORDAHEAD and the like: what it does by itself is what its manual advises for data that fits into memory.
  unsigned flags = durability == BENCH_DURABLE ? 0 : MDB_NOSYNC;
  check(mdb_env_open(opened->environment, folder, flags, 0644));
  MDB_txn *transaction;
  check(mdb_txn_begin(opened->environment, NULL, 0, &transaction));
  check(mdb_dbi_open(transaction, "events", MDB_CREATE | MDB_INTEGERKEY, &opened->events));
  check(mdb_dbi_open(transaction, "items", MDB_CREATE, &opened->items));
  check(mdb_dbi_open(transaction, "dates", MDB_CREATE, &opened->dates));
  check(mdb_dbi_open(transaction, "positions", MDB_CREATE, &opened->positions));
  check(mdb_txn_commit(transaction));
  return opened;
}

/// What the last event's number is follows from the number of events: none is ever removed.
static size_t count_of(MDB_txn *transaction, MDB_dbi database) {
  MDB_stat status;
  check(mdb_stat(transaction, database, &status));
  return status.ms_entries;
}

static void write_favorite(store *store, MDB_txn *transaction, const bench_operation *operation) {
  MDB_val id = value(operation->id.bytes, operation->id.length);
  if (operation->kind == 'P') {
    MDB_val position = value(&operation->value, sizeof operation->value);
    check(mdb_put(transaction, store->positions, &id, &position, 0));
    return;
  }
  char record[RECORD_BYTES_MAX], key[RECORD_BYTES_MAX];
  bench_text payload = operation->payload;
  MDB_val held, empty = {0, NULL};
  int code = mdb_get(transaction, store->items, &id, &held);
  if (code != MDB_NOTFOUND) {
    check(code);
    const char *bytes = held.mv_data;
    if (record_is_on(bytes)) {
      MDB_val date = value(key, write_date_key(key, record_date(bytes), operation->id));
      check(mdb_del(transaction, store->dates, &date, NULL));
    }
    if (!payload.length) payload = (bench_text){bytes + RECORD_HEADER_BYTES, held.mv_size - RECORD_HEADER_BYTES};
  }
  MDB_val item = value(record, write_record(record, operation->time, operation->on, payload));
  check(mdb_put(transaction, store->items, &id, &item, 0));
  if (operation->on) {
    MDB_val date = value(key, write_date_key(key, operation->time, operation->id));
    check(mdb_put(transaction, store->dates, &date, &empty, 0));
  }
}

static void lmdb_commit(void *opened, const bench_operation *operations, size_t count) {
  store *store = opened;
  MDB_txn *transaction;
  check(mdb_txn_begin(store->environment, NULL, 0, &transaction));
  size_t number = count_of(transaction, store->events);
  for (size_t index = 0; index < count; index++) {
    MDB_val key = value(&number, sizeof number);
    MDB_val event = value(operations[index].line.bytes, operations[index].line.length);
    check(mdb_put(transaction, store->events, &key, &event, MDB_APPEND));
    write_favorite(store, transaction, &operations[index]);
    number++;
  }
  check(mdb_txn_commit(transaction));
}

static MDB_txn *reader(store *store) {
  if (store->reader) check(mdb_txn_renew(store->reader));
  else check(mdb_txn_begin(store->environment, NULL, MDB_RDONLY, &store->reader));
  return store->reader;
}

static bool lmdb_is_favorite(void *opened, const char *id, size_t length) {
  store *store = opened;
  MDB_val key = value(id, length), item;
  int code = mdb_get(reader(store), store->items, &key, &item);
  bool found = code != MDB_NOTFOUND;
  if (found) check(code);
  bool on = found && record_is_on(item.mv_data);
  mdb_txn_reset(store->reader);
  return on;
}

static size_t read_bytes(MDB_val item) {
  const char *bytes = item.mv_data;
  size_t sum = item.mv_size;
  for (size_t index = 0; index < item.mv_size; index++) sum += bytes[index] & 1;
  return sum;
}

static size_t lmdb_item(void *opened, const char *id, size_t length) {
  store *store = opened;
  MDB_val key = value(id, length), item;
  int code = mdb_get(reader(store), store->items, &key, &item);
  if (code != MDB_NOTFOUND) check(code);
  size_t bytes = code ? 0 : read_bytes(item);
  mdb_txn_reset(store->reader);
  return bytes;
}

static size_t lmdb_page(void *opened, size_t limit) {
  store *store = opened;
  MDB_cursor *cursor;
  MDB_val date, empty, item;
  check(mdb_cursor_open(reader(store), store->dates, &cursor));
  size_t count = 0;
  while (count < limit && mdb_cursor_get(cursor, &date, &empty, MDB_NEXT) == 0) {
    MDB_val id = value((char *)date.mv_data + 8, date.mv_size - 8);
    check(mdb_get(store->reader, store->items, &id, &item));
    count += read_bytes(item) ? 1 : 0;
  }
  mdb_cursor_close(cursor);
  mdb_txn_reset(store->reader);
  return count;
}

static size_t lmdb_favorites(void *opened) {
  store *store = opened;
  size_t count = count_of(reader(store), store->dates);
  mdb_txn_reset(store->reader);
  return count;
}

static void lmdb_close(void *opened) {
  store *store = opened;
  if (store->reader) mdb_txn_abort(store->reader);
  check(mdb_env_sync(store->environment, 1));
  mdb_env_close(store->environment);
  free(store);
}

const bench_peer bench_lmdb = {
    .open = lmdb_open, .commit = lmdb_commit, .is_favorite = lmdb_is_favorite, .item = lmdb_item,
    .page = lmdb_page, .favorites = lmdb_favorites, .close = lmdb_close};
