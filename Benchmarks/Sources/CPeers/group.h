// Group commit: threads put what they write in line, and the first of them writes all of it at once.
#ifndef CPEERS_GROUP_H
#define CPEERS_GROUP_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
  pthread_mutex_t mutex;
  /// One for the batch that is being written and one for the next.
  pthread_cond_t written[2];
  unsigned char *line, *spare;
  size_t length, capacity;
  uint64_t batch, batches_written;
  bool is_led;
  void (*write)(void *store, const void *bytes, size_t length);
  void *store;
} bench_group;

void bench_group_open(bench_group *group, size_t capacity, void (*write)(void *, const void *, size_t), void *store);
/// Puts bytes in line and returns when they are written, by this thread or another.
void bench_group_commit(bench_group *group, const void *bytes, size_t length);
void bench_group_close(bench_group *group);

#endif
