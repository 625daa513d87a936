// The raw limits of writing: frames in a file whose blocks are there and were written, and nothing else.
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include "CPeers.h"
#include "check.h"
#include "group.h"

enum { FILE_BYTES = 8 << 20, CHUNK_BYTES = 1 << 20, FRAME_BYTES_MAX = 4096, HEADER_BYTES = 16 };

typedef struct {
  int file;
  bench_durability durability;
  off_t length;
  unsigned char *batch;
  bench_group group;
} store;

static void *raw_open(const char *folder, bench_durability durability) {
  store *opened = bench_allocate(sizeof *opened);
  char *path = bench_path(folder, "raw.log");
  opened->file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
  BENCH_CHECK(opened->file);
  free(path);
  opened->durability = durability;
  opened->batch = bench_allocate(CHUNK_BYTES);
  for (off_t place = 0; place < FILE_BYTES; place += CHUNK_BYTES) {
    BENCH_CHECK(pwrite(opened->file, opened->batch, CHUNK_BYTES, place));
  }
  BENCH_CHECK(fsync(opened->file));
  return opened;
}

/// A frame: its length, a checksum, and the line of the trace in place of an encoding.
static size_t encode(unsigned char *frame, const bench_operation *operation) {
  uint64_t length = operation->line.length;
  if (length + HEADER_BYTES > FRAME_BYTES_MAX) BENCH_FAIL("a line is too long");
  memcpy(frame, &length, 8);
  memcpy(frame + HEADER_BYTES, operation->line.bytes, length);
  uint64_t checksum = XXH3_64bits(frame + HEADER_BYTES, length);
  memcpy(frame + 8, &checksum, 8);
  return length + HEADER_BYTES;
}

static void append(void *opened, const void *bytes, size_t length) {
  store *store = opened;
  // Going round keeps the file small: what is made ready before the clock starts takes a disk its time, too.
  if (store->length + (off_t)length > FILE_BYTES) store->length = 0;
  if (pwrite(store->file, bytes, length, store->length) != (ssize_t)length) BENCH_FAIL(strerror(errno));
  store->length += (off_t)length;
  if (store->durability == BENCH_DURABLE) BENCH_CHECK(fdatasync(store->file));
}

static void raw_commit(void *opened, const bench_operation *operations, size_t count) {
  store *store = opened;
  size_t length = 0;
  for (size_t index = 0; index < count; index++) {
    if (length + FRAME_BYTES_MAX > CHUNK_BYTES) BENCH_FAIL("a commit is too long");
    length += encode(store->batch + length, &operations[index]);
  }
  append(store, store->batch, length);
}

static void raw_close(void *opened) {
  store *store = opened;
  BENCH_CHECK(fdatasync(store->file));
  close(store->file);
  free(store->batch);
  free(store);
}

const bench_peer bench_raw = {.open = raw_open, .commit = raw_commit, .close = raw_close};

static void *group_open(const char *folder, bench_durability durability) {
  store *opened = raw_open(folder, durability);
  bench_group_open(&opened->group, CHUNK_BYTES, append, opened);
  return opened;
}

static void group_commit(void *opened, const bench_operation *operations, size_t count) {
  store *store = opened;
  unsigned char one[FRAME_BYTES_MAX];
  unsigned char *frames = count == 1 ? one : bench_allocate(count * FRAME_BYTES_MAX);
  size_t length = 0;
  for (size_t index = 0; index < count; index++) length += encode(frames + length, &operations[index]);
  bench_group_commit(&store->group, frames, length);
  if (frames != one) free(frames);
}

static void group_close(void *opened) {
  bench_group_close(&((store *)opened)->group);
  raw_close(opened);
}

const bench_peer bench_group_log = {.open = group_open, .commit = group_commit, .close = group_close};
