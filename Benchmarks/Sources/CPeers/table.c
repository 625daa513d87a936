// The raw limit of looking up: a hash table in a mapped file, which has no history, no checks, no writers and no lock. An id leads to
// an entry, an entry to a record with the id in it, and a record to the item's texts: what is in no cache is waited for as often as that.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include "CPeers.h"
#include "check.h"

enum { ID_BYTES_MAX = 24, FILE_VERSION = 1 };

typedef struct {
  char id[ID_BYTES_MAX];
  uint32_t length;
  uint32_t texts_length;
  uint64_t texts;
  uint64_t on;
} record;

typedef struct {
  uint64_t version, capacity, count, texts_length;
} header;

/// In the file one part stands behind the other.
typedef struct {
  header header;
  /// 0 is free; else the hash in the high half, the record's number plus one in the low. At most half of them are taken.
  uint64_t *entries;
  record *records;
  char *texts;
  /// Where the file goes that is not there yet; NULL where it is mapped.
  char *path;
  char *copied;
} table;

static void take_parts(table *table, char *bytes) {
  table->entries = (uint64_t *)(bytes + sizeof(header));
  table->records = (record *)(table->entries + table->header.capacity);
  table->texts = (char *)(table->records + table->header.count);
}

static void *table_open(const char *folder, bench_durability durability) {
  (void)durability;
  table *opened = bench_allocate(sizeof *opened);
  char *path = bench_path(folder, "table");
  int file = open(path, O_RDONLY);
  if (file == -1) {
    opened->path = path;
    return opened;
  }
  free(path);
  off_t length = lseek(file, 0, SEEK_END);
  BENCH_CHECK(length);
  char *bytes = mmap(NULL, (size_t)length, PROT_READ, MAP_SHARED, file, 0);
  if (bytes == MAP_FAILED) BENCH_FAIL(strerror(errno));
  close(file);
  memcpy(&opened->header, bytes, sizeof opened->header);
  if (opened->header.version != FILE_VERSION) BENCH_FAIL("a table of another version");
  take_parts(opened, bytes);
  opened->copied = bench_allocate(1 << 16);
  return opened;
}

static record *find(table *table, const char *id, size_t length, uint64_t **place) {
  uint64_t hash = XXH3_64bits(id, length) >> 32, mask = table->header.capacity - 1;
  for (uint64_t index = hash & mask;; index = (index + 1) & mask) {
    uint64_t entry = table->entries[index];
    if (place) *place = &table->entries[index];
    if (!entry) return NULL;
    if (entry >> 32 != hash) continue;
    record *found = &table->records[(uint32_t)entry - 1];
    if (found->length == length && !memcmp(found->id, id, length)) return found;
  }
}

/// Fills the table, once: it is there to be asked.
static void table_commit(void *opened, const bench_operation *operations, size_t count) {
  table *table = opened;
  if (!table->path) BENCH_FAIL("a mapped table takes no operations");
  header *header = &table->header;
  size_t most = header->count + count, capacity = 16, texts = header->texts_length;
  while (capacity < 2 * most) capacity *= 2;
  for (size_t index = 0; index < count; index++) texts += operations[index].payload.length;
  table->records = realloc(table->records, most * sizeof *table->records);
  table->texts = realloc(table->texts, texts + 1);
  if (!table->records || !table->texts) BENCH_FAIL("no memory");
  if (capacity > header->capacity) {
    free(table->entries);
    table->entries = bench_allocate(capacity * sizeof *table->entries);
    header->capacity = capacity;
    for (size_t number = 0; number < header->count; number++) {
      uint64_t *place;
      record *known = &table->records[number];
      find(table, known->id, known->length, &place);
      *place = XXH3_64bits(known->id, known->length) >> 32 << 32 | (number + 1);
    }
  }
  for (size_t index = 0; index < count; index++) {
    const bench_operation *operation = &operations[index];
    bench_text id = operation->id, payload = operation->payload;
    if (operation->kind != 'A' || id.length > ID_BYTES_MAX) BENCH_FAIL("a table takes adds of short ids alone");
    uint64_t *place;
    if (find(table, id.bytes, id.length, &place)) BENCH_FAIL("an item is added twice");
    record *added = &table->records[header->count];
    *added = (record){.length = (uint32_t)id.length, .texts_length = (uint32_t)payload.length,
                      .texts = header->texts_length, .on = operation->on};
    memcpy(added->id, id.bytes, id.length);
    memcpy(table->texts + header->texts_length, payload.bytes, payload.length);
    header->texts_length += payload.length;
    header->count++;
    *place = XXH3_64bits(id.bytes, id.length) >> 32 << 32 | header->count;
  }
}

static bool table_is_favorite(void *opened, const char *id, size_t length) {
  record *found = find(opened, id, length, NULL);
  return found && found->on;
}

static size_t table_item(void *opened, const char *id, size_t length) {
  table *table = opened;
  record *found = find(table, id, length, NULL);
  if (!found) return 0;
  memcpy(table->copied, table->texts + found->texts, found->texts_length);
  return found->texts_length + (size_t)(unsigned char)table->copied[found->texts_length / 2];
}

static size_t table_page(void *opened, size_t limit) {
  (void)opened;
  (void)limit;
  BENCH_FAIL("a table knows no order");
}

static size_t table_favorites(void *opened) {
  table *table = opened;
  size_t count = 0;
  for (size_t number = 0; number < table->header.count; number++) count += table->records[number].on;
  return count;
}

static void write_all(int file, const void *bytes, size_t length) {
  const char *rest = bytes;
  while (length) {
    ssize_t written = write(file, rest, length);
    BENCH_CHECK(written);
    rest += written;
    length -= (size_t)written;
  }
}

static void table_close(void *opened) {
  table *table = opened;
  if (table->path) {
    int file = open(table->path, O_WRONLY | O_CREAT | O_EXCL, 0644);
    BENCH_CHECK(file);
    table->header.version = FILE_VERSION;
    write_all(file, &table->header, sizeof table->header);
    write_all(file, table->entries, table->header.capacity * sizeof *table->entries);
    write_all(file, table->records, table->header.count * sizeof *table->records);
    write_all(file, table->texts, table->header.texts_length);
    BENCH_CHECK(close(file));
  }
  free(table->path);
}

const bench_peer bench_table = {.open = table_open,
                                .commit = table_commit,
                                .is_favorite = table_is_favorite,
                                .item = table_item,
                                .page = table_page,
                                .favorites = table_favorites,
                                .close = table_close};
