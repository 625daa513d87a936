// SQLite as its manual advises for a program that writes often: WAL, prepared statements, BEGIN IMMEDIATE.
#include <sqlite3.h>

#include "CPeers.h"
#include "check.h"

typedef struct {
  sqlite3 *database;
  sqlite3_stmt *begin, *commit, *event, *add, *mark, *position, *contains, *item, *page, *count;
} store;

#define SQLITE_CHECK(store, call)                                                  \
  do {                                                                             \
    int code_ = (call);                                                            \
    if (code_ != SQLITE_OK && code_ != SQLITE_DONE && code_ != SQLITE_ROW)         \
      BENCH_FAIL(sqlite3_errmsg((store)->database));                               \
  } while (0)

static void execute(store *store, const char *text) {
  SQLITE_CHECK(store, sqlite3_exec(store->database, text, NULL, NULL, NULL));
}

/// Prepared when it is used first: an opening that only reads does not pay for the rest.
static sqlite3_stmt *prepared(store *store, sqlite3_stmt **statement, const char *text) {
  if (!*statement) {
    SQLITE_CHECK(
        store, sqlite3_prepare_v3(store->database, text, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL));
  }
  return *statement;
}

static void run(store *store, sqlite3_stmt *statement) {
  SQLITE_CHECK(store, sqlite3_step(statement));
  SQLITE_CHECK(store, sqlite3_reset(statement));
}

static void bind(sqlite3_stmt *statement, int place, bench_text text) {
  sqlite3_bind_text(statement, place, text.bytes, (int)text.length, SQLITE_STATIC);
}

static void *sqlite_open(const char *folder, bench_durability durability) {
  store *opened = bench_allocate(sizeof *opened);
  char *path = bench_path(folder, "favorites.sqlite");
  // Each connection belongs to one thread at a time.
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  SQLITE_CHECK(opened, sqlite3_open_v2(path, &opened->database, flags, NULL));
  free(path);
  sqlite3_busy_timeout(opened->database, 60000);
  execute(opened, "PRAGMA journal_mode = WAL");
  execute(opened, durability == BENCH_DURABLE ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
  sqlite3_stmt *version = NULL;
  prepared(opened, &version, "PRAGMA user_version");
  SQLITE_CHECK(opened, sqlite3_step(version));
  bool is_new = sqlite3_column_int(version, 0) == 0;
  sqlite3_finalize(version);
  if (is_new) {
    execute(opened,
      "BEGIN;"
      "CREATE TABLE events(number INTEGER PRIMARY KEY, time INTEGER NOT NULL, kind INTEGER NOT NULL,"
      " id TEXT NOT NULL, value REAL, payload TEXT);"
      "CREATE TABLE items(id TEXT PRIMARY KEY, favorite INTEGER NOT NULL, date INTEGER NOT NULL,"
      " authors TEXT, category TEXT, published TEXT, title TEXT) WITHOUT ROWID;"
      "CREATE INDEX dates ON items(date) WHERE favorite;"
      "CREATE TABLE positions(id TEXT PRIMARY KEY, value REAL NOT NULL) WITHOUT ROWID;"
      "PRAGMA user_version = 1;"
      "COMMIT");
  }
  return opened;
}

static void write_event(store *store, const bench_operation *operation) {
  sqlite3_stmt *event = prepared(
      store, &store->event, "INSERT INTO events(time, kind, id, value, payload) VALUES(?1, ?2, ?3, ?4, ?5)");
  sqlite3_bind_int64(event, 1, operation->time);
  sqlite3_bind_int(event, 2, operation->kind == 'T' ? (operation->on ? '+' : '-') : operation->kind);
  bind(event, 3, operation->id);
  if (operation->kind == 'P') sqlite3_bind_double(event, 4, operation->value);
  else sqlite3_bind_null(event, 4);
  if (operation->payload.length) bind(event, 5, operation->payload);
  else sqlite3_bind_null(event, 5);
  run(store, event);
}

static void write_favorite(store *store, const bench_operation *operation) {
  if (operation->kind == 'P') {
    sqlite3_stmt *position = prepared(
        store, &store->position,
        "INSERT INTO positions VALUES(?1, ?2) ON CONFLICT(id) DO UPDATE SET value = excluded.value");
    bind(position, 1, operation->id);
    sqlite3_bind_double(position, 2, operation->value);
    run(store, position);
  } else if (operation->payload.length) {
    sqlite3_stmt *add = prepared(
        store, &store->add,
        "INSERT INTO items VALUES(?1, 1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT(id) DO UPDATE SET favorite = 1,"
        " date = excluded.date, authors = excluded.authors, category = excluded.category,"
        " published = excluded.published, title = excluded.title");
    bind(add, 1, operation->id);
    sqlite3_bind_int64(add, 2, operation->time);
    for (int index = 0; index < BENCH_FIELD_COUNT; index++) bind(add, 3 + index, operation->fields[index]);
    run(store, add);
  } else {
    sqlite3_stmt *mark =
        prepared(store, &store->mark, "UPDATE items SET favorite = ?2, date = ?3 WHERE id = ?1");
    bind(mark, 1, operation->id);
    sqlite3_bind_int(mark, 2, operation->on);
    sqlite3_bind_int64(mark, 3, operation->time);
    run(store, mark);
  }
}

static void sqlite_commit(void *opened, const bench_operation *operations, size_t count) {
  store *store = opened;
  run(store, prepared(store, &store->begin, "BEGIN IMMEDIATE"));
  for (size_t index = 0; index < count; index++) {
    write_event(store, &operations[index]);
    write_favorite(store, &operations[index]);
  }
  run(store, prepared(store, &store->commit, "COMMIT"));
}

static bool sqlite_is_favorite(void *opened, const char *id, size_t length) {
  store *store = opened;
  sqlite3_stmt *contains =
      prepared(store, &store->contains, "SELECT 1 FROM items WHERE id = ?1 AND favorite");
  bind(contains, 1, (bench_text){id, length});
  int code = sqlite3_step(contains);
  SQLITE_CHECK(store, code);
  sqlite3_reset(contains);
  return code == SQLITE_ROW;
}

static size_t read_row(sqlite3_stmt *statement) {
  size_t bytes = (size_t)sqlite3_column_int64(statement, 1) & 1;
  for (int column = 2; column < sqlite3_column_count(statement); column++) {
    const unsigned char *text = sqlite3_column_text(statement, column);
    bytes += (size_t)sqlite3_column_bytes(statement, column) + (text ? text[0] & 1 : 0);
  }
  return bytes;
}

static size_t sqlite_item(void *opened, const char *id, size_t length) {
  store *store = opened;
  sqlite3_stmt *item = prepared(
      store, &store->item,
      "SELECT favorite, date, authors, category, published, title FROM items WHERE id = ?1");
  bind(item, 1, (bench_text){id, length});
  int code = sqlite3_step(item);
  SQLITE_CHECK(store, code);
  size_t bytes = code == SQLITE_ROW ? read_row(item) : 0;
  sqlite3_reset(item);
  return bytes;
}

static size_t sqlite_page(void *opened, size_t limit) {
  store *store = opened;
  sqlite3_stmt *page = prepared(
      store, &store->page,
      "SELECT id, date, authors, category, published, title FROM items WHERE favorite"
      " ORDER BY date DESC LIMIT ?1");
  sqlite3_bind_int64(page, 1, (sqlite3_int64)limit);
  size_t count = 0;
  int code;
  while ((code = sqlite3_step(page)) == SQLITE_ROW) count += read_row(page) ? 1 : 0;
  SQLITE_CHECK(store, code);
  sqlite3_reset(page);
  return count;
}

static size_t sqlite_favorites(void *opened) {
  store *store = opened;
  sqlite3_stmt *count = prepared(store, &store->count, "SELECT count(*) FROM items WHERE favorite");
  SQLITE_CHECK(store, sqlite3_step(count));
  size_t favorites = (size_t)sqlite3_column_int64(count, 0);
  sqlite3_reset(count);
  return favorites;
}

static void sqlite_compact(void *opened) {
  execute(opened, "VACUUM");
  execute(opened, "PRAGMA wal_checkpoint(TRUNCATE)");
}

static void sqlite_close(void *opened) {
  store *store = opened;
  sqlite3_stmt *statements[] = {store->begin, store->commit, store->event, store->add, store->mark,
                                store->position, store->contains, store->item, store->page, store->count};
  for (size_t index = 0; index < sizeof statements / sizeof *statements; index++) {
    sqlite3_finalize(statements[index]);
  }
  SQLITE_CHECK(store, sqlite3_close(store->database));
  free(store);
}

const bench_peer bench_sqlite = {
    .open = sqlite_open, .commit = sqlite_commit, .is_favorite = sqlite_is_favorite, .item = sqlite_item,
    .page = sqlite_page, .favorites = sqlite_favorites, .compact = sqlite_compact,
    .close = sqlite_close};

/// The same, with a connection for each thread that writes.
const bench_peer bench_sqlite_each = {
    .open = sqlite_open, .connect = sqlite_open, .commit = sqlite_commit, .favorites = sqlite_favorites,
    .close = sqlite_close};
