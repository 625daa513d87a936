#define _GNU_SOURCE
#include "uring.h"

#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"

void bench_uring_open(bench_uring *ring) {
  struct io_uring_params params = {0};
  ring->file = (int)syscall(SYS_io_uring_setup, 2, &params);
  if (ring->file == -1) BENCH_MISSING(strerror(errno));
  // Since Linux 5.4, both rings are one mapping.
  if (!(params.features & IORING_FEAT_SINGLE_MMAP)) BENCH_MISSING("io_uring is too old");
  size_t length = params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe);
  size_t array_end = params.sq_off.array + params.sq_entries * sizeof(unsigned);
  if (length < array_end) length = array_end;
  int access = PROT_READ | PROT_WRITE, flags = MAP_SHARED | MAP_POPULATE;
  char *rings = mmap(NULL, length, access, flags, ring->file, IORING_OFF_SQ_RING);
  ring->submissions =
      mmap(NULL, params.sq_entries * sizeof *ring->submissions, access, flags, ring->file, IORING_OFF_SQES);
  if (rings == MAP_FAILED || ring->submissions == MAP_FAILED) BENCH_FAIL(strerror(errno));
  ring->submission_tail = (unsigned *)(rings + params.sq_off.tail);
  ring->submission_mask = (unsigned *)(rings + params.sq_off.ring_mask);
  ring->submission_array = (unsigned *)(rings + params.sq_off.array);
  ring->completion_head = (unsigned *)(rings + params.cq_off.head);
  ring->completion_mask = (unsigned *)(rings + params.cq_off.ring_mask);
  ring->completions = (struct io_uring_cqe *)(rings + params.cq_off.cqes);
}

static void submit(bench_uring *ring, struct io_uring_sqe entry) {
  unsigned tail = *ring->submission_tail, place = tail & *ring->submission_mask;
  ring->submissions[place] = entry;
  ring->submission_array[place] = place;
  __atomic_store_n(ring->submission_tail, tail + 1, __ATOMIC_RELEASE);
}

static int completed(bench_uring *ring) {
  unsigned head = *ring->completion_head;
  int result = ring->completions[head & *ring->completion_mask].res;
  __atomic_store_n(ring->completion_head, head + 1, __ATOMIC_RELEASE);
  if (result < 0) errno = -result;
  return result < 0 ? -1 : result;
}

ssize_t bench_uring_write(bench_uring *ring, int file, const void *bytes, size_t length, off_t offset) {
  submit(ring, (struct io_uring_sqe){.opcode = IORING_OP_WRITE, .flags = IOSQE_IO_LINK, .fd = file,
                                     .addr = (uintptr_t)bytes, .len = (unsigned)length, .off = (uint64_t)offset});
  submit(ring, (struct io_uring_sqe){.opcode = IORING_OP_FSYNC, .fd = file, .fsync_flags = IORING_FSYNC_DATASYNC});
  BENCH_CHECK(syscall(SYS_io_uring_enter, ring->file, 2, 2, IORING_ENTER_GETEVENTS, NULL, 0));
  ssize_t written = completed(ring);
  return completed(ring) == -1 ? -1 : written;
}
