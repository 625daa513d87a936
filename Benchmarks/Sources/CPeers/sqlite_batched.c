// SQLite batched by the application: threads put operations in line, and one connection commits all of a line at once.
#include <string.h>

#include "CPeers.h"
#include "check.h"
#include "group.h"

extern const bench_peer bench_sqlite;

typedef struct {
  void *sqlite;
  bench_group group;
} store;

static void write_line(void *opened, const void *bytes, size_t length) {
  store *store = opened;
  bench_sqlite.commit(store->sqlite, bytes, length / sizeof(bench_operation));
}

static void *batched_open(const char *folder, bench_durability durability) {
  store *opened = bench_allocate(sizeof *opened);
  opened->sqlite = bench_sqlite.open(folder, durability);
  bench_group_open(&opened->group, 1 << 22, write_line, opened);
  return opened;
}

static void batched_commit(void *opened, const bench_operation *operations, size_t count) {
  store *store = opened;
  bench_group_commit(&store->group, operations, count * sizeof *operations);
}

static size_t batched_favorites(void *opened) {
  store *store = opened;
  return bench_sqlite.favorites(store->sqlite);
}

static void batched_close(void *opened) {
  store *store = opened;
  bench_sqlite.close(store->sqlite);
  bench_group_close(&store->group);
  free(store);
}

const bench_peer bench_sqlite_batched = {
    .open = batched_open, .commit = batched_commit, .favorites = batched_favorites, .close = batched_close};
