// Ends the program where a call fails.
#ifndef CPEERS_CHECK_H
#define CPEERS_CHECK_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BENCH_FAIL(reason)                                              \
  do {                                                                  \
    fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, (reason));       \
    exit(74);                                                           \
  } while (0)

/// The same for what this machine or its file system does not have: Scripts/bench measures the rest (EX_UNAVAILABLE).
#define BENCH_MISSING(reason)                                           \
  do {                                                                  \
    fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, (reason));       \
    exit(69);                                                           \
  } while (0)

/// For calls that return -1 and set errno.
#define BENCH_CHECK(call)                                 \
  do {                                                    \
    if ((long)(call) == -1) BENCH_FAIL(strerror(errno));  \
  } while (0)

static inline void *bench_allocate(size_t count) {
  void *bytes = calloc(1, count);
  if (!bytes) BENCH_FAIL("no memory");
  return bytes;
}

static inline char *bench_path(const char *folder, const char *name) {
  size_t count = strlen(folder) + strlen(name) + 2;
  char *path = bench_allocate(count);
  snprintf(path, count, "%s/%s", folder, name);
  return path;
}

#endif
