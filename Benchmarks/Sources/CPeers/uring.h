// A durable write through io_uring by its system calls alone, one at a time.
#ifndef CPEERS_URING_H
#define CPEERS_URING_H

#include <linux/io_uring.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct {
  int file;
  unsigned *submission_tail, *submission_mask, *submission_array, *completion_head, *completion_mask;
  struct io_uring_sqe *submissions;
  struct io_uring_cqe *completions;
} bench_uring;

/// Ends the process as a peer that is missing here if the kernel has no io_uring, or forbids it. The ring ends with the process.
void bench_uring_open(bench_uring *ring);
/// A write and then fdatasync, in one system call; returns what `pwrite` returns.
ssize_t bench_uring_write(bench_uring *ring, int file, const void *bytes, size_t length, off_t offset);

#endif
