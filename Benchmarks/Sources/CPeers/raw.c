// The raw limits of writing: frames in a file whose blocks are there and were written, and nothing else.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>
#include <xxhash.h>

#include "CPeers.h"
#include "check.h"
#include "group.h"
#include "uring.h"

enum { FILE_BYTES = 8 << 20, CHUNK_BYTES = 1 << 20, FRAME_BYTES_MAX = 4096, HEADER_BYTES = 16 };
// Every file system takes direct writes of whole pages.
enum { BLOCK_BYTES = 4096 };

/// How bytes get to the disk.
typedef enum {
  /// pwrite, and fdatasync if commits are durable.
  FDATASYNC,
  /// pwritev2 with RWF_DSYNC.
  DSYNC,
  /// pwrite of whole blocks into a file that was opened with O_DIRECT and O_DSYNC.
  DIRECT,
  /// io_uring: a write and fdatasync in one system call.
  URING,
} way;

typedef struct {
  int file;
  way way;
  bench_durability durability;
  off_t length;
  unsigned char *batch;
  /// For direct writes: the last block of the file as far as it is filled, then room for a commit.
  unsigned char *blocks;
  bench_uring ring;
  bench_group group;
} store;

static void *open_way(const char *folder, bench_durability durability, way way) {
  if (way != FDATASYNC && durability != BENCH_DURABLE) BENCH_FAIL("this way of writing is always durable");
  store *opened = bench_allocate(sizeof *opened);
  char *path = bench_path(folder, "raw.log");
  opened->file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
  BENCH_CHECK(opened->file);
  opened->way = way;
  opened->durability = durability;
  opened->batch = bench_allocate(CHUNK_BYTES);
  for (off_t place = 0; place < FILE_BYTES; place += CHUNK_BYTES) {
    BENCH_CHECK(pwrite(opened->file, opened->batch, CHUNK_BYTES, place));
  }
  BENCH_CHECK(fsync(opened->file));
  if (way == DIRECT) {
    close(opened->file);
    opened->file = open(path, O_WRONLY | O_DIRECT | O_DSYNC);
    if (opened->file == -1) BENCH_MISSING(strerror(errno));
    opened->blocks = aligned_alloc(BLOCK_BYTES, CHUNK_BYTES + 2 * BLOCK_BYTES);
    if (!opened->blocks) BENCH_FAIL("no memory");
  }
  if (way == URING) bench_uring_open(&opened->ring);
  free(path);
  return opened;
}

static void *raw_open(const char *folder, bench_durability durability) { return open_way(folder, durability, FDATASYNC); }
static void *dsync_open(const char *folder, bench_durability durability) { return open_way(folder, durability, DSYNC); }
static void *direct_open(const char *folder, bench_durability durability) { return open_way(folder, durability, DIRECT); }
static void *uring_open(const char *folder, bench_durability durability) { return open_way(folder, durability, URING); }

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

/// Writes the blocks that the bytes are in; the first of them again with what it had before.
static void append_blocks(store *store, const void *bytes, size_t length) {
  size_t before = (size_t)store->length % BLOCK_BYTES, filled = before + length;
  size_t written = (filled + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
  off_t start = store->length - (off_t)before;
  memcpy(store->blocks + before, bytes, length);
  memset(store->blocks + filled, 0, written - filled);
  if (pwrite(store->file, store->blocks, written, start) != (ssize_t)written) BENCH_FAIL(strerror(errno));
  memmove(store->blocks, store->blocks + filled / BLOCK_BYTES * BLOCK_BYTES, filled % BLOCK_BYTES);
}

static void append(void *opened, const void *bytes, size_t length) {
  store *store = opened;
  // Going round keeps the file small: what is made ready before the clock starts takes a disk its time, too.
  if (store->length + (off_t)length > FILE_BYTES) store->length = 0;
  if (store->way == DIRECT) {
    append_blocks(store, bytes, length);
  } else if (store->way == URING) {
    ssize_t count = bench_uring_write(&store->ring, store->file, bytes, length, store->length);
    if (count != (ssize_t)length) BENCH_FAIL(strerror(errno));
  } else if (store->way == DSYNC) {
    struct iovec vector = {(void *)(uintptr_t)bytes, length};
    ssize_t count = pwritev2(store->file, &vector, 1, store->length, RWF_DSYNC);
    if (count == -1 && errno == EOPNOTSUPP) BENCH_MISSING(strerror(errno));
    if (count != (ssize_t)length) BENCH_FAIL(strerror(errno));
  } else {
    if (pwrite(store->file, bytes, length, store->length) != (ssize_t)length) BENCH_FAIL(strerror(errno));
    if (store->durability == BENCH_DURABLE) BENCH_CHECK(fdatasync(store->file));
  }
  store->length += (off_t)length;
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
  free(store->blocks);
  free(store->batch);
  free(store);
}

const bench_peer bench_raw = {.open = raw_open, .commit = raw_commit, .close = raw_close};
const bench_peer bench_raw_dsync = {.open = dsync_open, .commit = raw_commit, .close = raw_close};
const bench_peer bench_raw_direct = {.open = direct_open, .commit = raw_commit, .close = raw_close};
const bench_peer bench_raw_uring = {.open = uring_open, .commit = raw_commit, .close = raw_close};

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
