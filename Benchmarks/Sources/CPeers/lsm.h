// A store on a log-structured merge tree: events, items, dates and positions under keys that begin with a letter of their own; a
// commit is a write batch.
//
// RocksDB kept the calls of LevelDB under names of its own. leveldb.c and rocksdb.c include this file once each, after they have
// defined LSM, which makes a name of theirs, and what differs: `tables`, `set_tables` and `free_tables`.
#include <stdatomic.h>
#include <xxhash.h>

#include "CPeers.h"
#include "check.h"
#include "record.h"

typedef struct {
  LSM(t) *database;
  LSM(options_t) *options;
  LSM(writeoptions_t) *writing;
  LSM(readoptions_t) *reading;
  tables tables;
  atomic_size_t events;
} store;

static void check(char *error) {
  if (error) BENCH_FAIL(error);
}

static void *lsm_open(const char *folder, bench_durability durability) {
  store *opened = bench_allocate(sizeof *opened);
  opened->options = LSM(options_create)();
  LSM(options_set_create_if_missing)(opened->options, 1);
  LSM(options_set_write_buffer_size)(opened->options, 64 << 20);
  opened->tables = set_tables(opened->options);
  opened->writing = LSM(writeoptions_create)();
  LSM(writeoptions_set_sync)(opened->writing, durability == BENCH_DURABLE);
  opened->reading = LSM(readoptions_create)();
  char *error = NULL;
  opened->database = LSM(open)(opened->options, folder, &error);
  check(error);
  return opened;
}

static size_t write_key(char *key, char kind, bench_text id) {
  key[0] = kind;
  memcpy(key + 1, id.bytes, id.length);
  return id.length + 1;
}

/// A copy that the caller frees; NULL where there is none.
static char *get(store *store, char kind, bench_text id, size_t *length) {
  char key[RECORD_BYTES_MAX], *error = NULL;
  char *held = LSM(get)(store->database, store->reading, key, write_key(key, kind, id), length, &error);
  check(error);
  return held;
}

/// What a batch wrote so far: reads do not see it, and an item may be written more than once.
typedef struct {
  LSM(writebatch_t) *batch;
  const bench_operation *operations;
  size_t slot_count;
  /// Places among the operations, plus one, by the ids' hashes.
  uint32_t *slots;
} batch;

/// Where the batch keeps the last operation on that item.
static uint32_t *slot_of(batch *batch, bench_text id) {
  uint64_t slot = XXH3_64bits(id.bytes, id.length);
  for (;; slot++) {
    uint32_t *found = &batch->slots[slot & (batch->slot_count - 1)];
    if (!*found) return found;
    bench_text other = batch->operations[*found - 1].id;
    if (other.length == id.length && memcmp(other.bytes, id.bytes, id.length) == 0) return found;
  }
}

static void write_item(store *store, batch *batch, size_t index) {
  const bench_operation *operation = &batch->operations[index];
  bench_text id = operation->id, payload = operation->payload;
  size_t length = 0;
  char *held = payload.length ? NULL : get(store, 'i', id, &length);
  if (held) payload = (bench_text){held + RECORD_HEADER_BYTES, length - RECORD_HEADER_BYTES};

  bool was_on = held && record_is_on(held);
  int64_t date = held ? record_date(held) : 0;
  uint32_t *slot = slot_of(batch, id);
  if (*slot) {
    const bench_operation *before = &batch->operations[*slot - 1];
    was_on = before->on;
    date = before->time;
    // A new item is written twice in this batch: its texts are those of its first operation, at whatever place.
    for (size_t place = 0; !payload.length && place < index; place++) {
      bench_text other = batch->operations[place].id;
      if (other.length == id.length && memcmp(other.bytes, id.bytes, id.length) == 0) {
        payload = batch->operations[place].payload;
      }
    }
  }
  *slot = (uint32_t)index + 1;

  char key[RECORD_BYTES_MAX], record[RECORD_BYTES_MAX];
  key[0] = 'd';
  if (was_on) LSM(writebatch_delete)(batch->batch, key, 1 + write_date_key(key + 1, date, id));
  if (operation->on) {
    LSM(writebatch_put)(batch->batch, key, 1 + write_date_key(key + 1, operation->time, id), "", 0);
  }
  size_t record_length = write_record(record, operation->time, operation->on, payload);
  LSM(writebatch_put)(batch->batch, key, write_key(key, 'i', id), record, record_length);
  free(held);
}

static void lsm_commit(void *opened, const bench_operation *operations, size_t count) {
  store *store = opened;
  batch batch = {.batch = LSM(writebatch_create)(), .operations = operations, .slot_count = 4};
  while (batch.slot_count < 2 * count) batch.slot_count *= 2;
  batch.slots = bench_allocate(batch.slot_count * sizeof *batch.slots);
  for (size_t index = 0; index < count; index++) {
    const bench_operation *operation = &operations[index];
    size_t number = atomic_fetch_add(&store->events, 1);
    char key[RECORD_BYTES_MAX] = "e";
    for (int byte = 0; byte < 8; byte++) key[1 + byte] = (char)(number >> (56 - 8 * byte));
    LSM(writebatch_put)(batch.batch, key, 9, operation->line.bytes, operation->line.length);
    if (operation->kind == 'P') {
      LSM(writebatch_put)(
          batch.batch, key, write_key(key, 'p', operation->id), (const char *)&operation->value,
          sizeof operation->value);
    } else {
      write_item(store, &batch, index);
    }
  }
  char *error = NULL;
  LSM(write)(store->database, store->writing, batch.batch, &error);
  check(error);
  LSM(writebatch_destroy)(batch.batch);
  free(batch.slots);
}

static bool lsm_is_favorite(void *opened, const char *id, size_t length) {
  size_t found;
  char *held = get(opened, 'i', (bench_text){id, length}, &found);
  bool on = held && record_is_on(held);
  free(held);
  return on;
}

static size_t lsm_item(void *opened, const char *id, size_t length) {
  size_t sum = 0;
  char *held = get(opened, 'i', (bench_text){id, length}, &sum);
  if (held) {
    for (size_t index = 0, found = sum; index < found; index++) sum += held[index] & 1;
  }
  free(held);
  return sum;
}

/// Visits the favorites, newest first.
static size_t visit(store *store, size_t limit, bool reads_items) {
  LSM(iterator_t) *iterator = LSM(create_iterator)(store->database, store->reading);
  size_t count = 0;
  for (LSM(iter_seek)(iterator, "d", 1); count < limit && LSM(iter_valid)(iterator); LSM(iter_next)(iterator)) {
    size_t length;
    const char *key = LSM(iter_key)(iterator, &length);
    if (key[0] != 'd') break;
    count += !reads_items || lsm_item(store, key + 9, length - 9) ? 1 : 0;
  }
  LSM(iter_destroy)(iterator);
  return count;
}

static size_t lsm_page(void *opened, size_t limit) { return visit(opened, limit, true); }
static size_t lsm_favorites(void *opened) { return visit(opened, SIZE_MAX, false); }

static void lsm_compact(void *opened) { LSM(compact_range)(((store *)opened)->database, NULL, 0, NULL, 0); }

static void lsm_close(void *opened) {
  store *store = opened;
  LSM(close)(store->database);
  LSM(options_destroy)(store->options);
  LSM(writeoptions_destroy)(store->writing);
  LSM(readoptions_destroy)(store->reading);
  free_tables(&store->tables);
  free(store);
}

const bench_peer LSM_PEER = {
    .open = lsm_open, .commit = lsm_commit, .is_favorite = lsm_is_favorite,
    .item = lsm_item, .page = lsm_page, .favorites = lsm_favorites, .compact = lsm_compact,
    .close = lsm_close};
