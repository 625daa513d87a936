#include "group.h"

#include <sched.h>

#include "check.h"

/// How often the leader looks whether the line still grows before it writes: gathering is what makes batches large.
enum { LOOKS_MAX = 64 };

void bench_group_open(
    bench_group *group, size_t capacity, void (*write)(void *, const void *, size_t), void *store) {
  *group = (bench_group){.capacity = capacity, .batch = 1, .write = write, .store = store};
  pthread_mutex_init(&group->mutex, NULL);
  for (int index = 0; index < 2; index++) pthread_cond_init(&group->written[index], NULL);
  group->line = bench_allocate(capacity);
  group->spare = bench_allocate(capacity);
}

static void gather(bench_group *group) {
  size_t before;
  int looks = 0;
  do {
    before = group->length;
    pthread_mutex_unlock(&group->mutex);
    sched_yield();
    pthread_mutex_lock(&group->mutex);
  } while (group->length != before && ++looks < LOOKS_MAX);
}

static void lead(bench_group *group) {
  group->is_led = true;
  gather(group);
  unsigned char *line = group->line;
  size_t length = group->length;
  uint64_t batch = group->batch++;
  group->line = group->spare;
  group->spare = line;
  group->length = 0;
  pthread_mutex_unlock(&group->mutex);
  group->write(group->store, line, length);
  pthread_mutex_lock(&group->mutex);
  group->batches_written = batch;
  group->is_led = false;
  pthread_cond_broadcast(&group->written[batch & 1]);
  // Somebody of the next batch has to lead it.
  if (group->length) pthread_cond_signal(&group->written[(batch + 1) & 1]);
}

void bench_group_commit(bench_group *group, const void *bytes, size_t length) {
  pthread_mutex_lock(&group->mutex);
  if (group->length + length > group->capacity) BENCH_FAIL("the line is full");
  memcpy(group->line + group->length, bytes, length);
  group->length += length;
  uint64_t batch = group->batch;
  while (group->batches_written < batch) {
    if (group->is_led) pthread_cond_wait(&group->written[batch & 1], &group->mutex);
    else lead(group);
  }
  pthread_mutex_unlock(&group->mutex);
}

void bench_group_close(bench_group *group) {
  free(group->line);
  free(group->spare);
}
