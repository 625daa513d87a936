#define _GNU_SOURCE  // MAP_POPULATE
#include "trace.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

/// The text up to the next tab or the end, and steps over the tab.
static bench_text next_column(const char **place, const char *end) {
  const char *start = *place;
  const char *tab = memchr(start, '\t', (size_t)(end - start));
  const char *stop = tab ? tab : end;
  *place = tab ? tab + 1 : end;
  return (bench_text){start, (size_t)(stop - start)};
}

static bench_operation parse(const char *start, const char *end) {
  bench_operation operation = {.line = {start, (size_t)(end - start)}};
  const char *place = start;
  operation.kind = *next_column(&place, end).bytes;
  operation.time = strtoll(next_column(&place, end).bytes, NULL, 10);
  operation.id = next_column(&place, end);
  switch (operation.kind) {
    case 'A':
      operation.on = true;
      operation.payload = (bench_text){place, (size_t)(end - place)};
      for (int index = 0; index < BENCH_FIELD_COUNT; index++) operation.fields[index] = next_column(&place, end);
      break;
    case 'T': operation.on = *place == '1'; break;
    case 'R': operation.on = false; break;
    case 'P': operation.value = strtod(place, NULL); break;
    default: BENCH_FAIL("a line of the trace has no known kind");
  }
  return operation;
}

bench_trace bench_trace_read(const char *path, size_t limit) {
  int file = open(path, O_RDONLY);
  BENCH_CHECK(file);
  struct stat status;
  BENCH_CHECK(fstat(file, &status));
  size_t length = (size_t)status.st_size;
  // What reads only its beginning needs no more of it in memory.
  int flags = limit ? MAP_PRIVATE : MAP_PRIVATE | MAP_POPULATE;
  const char *text = mmap(NULL, length, PROT_READ, flags, file, 0);
  if (text == MAP_FAILED) BENCH_FAIL(strerror(errno));
  close(file);

  size_t capacity = 1 << 16, count = 0;
  bench_operation *operations = malloc(capacity * sizeof *operations);
  if (!operations) BENCH_FAIL("no memory");
  for (const char *place = text; place < text + length && (!limit || count < limit);) {
    const char *end = memchr(place, '\n', (size_t)(text + length - place));
    if (!end) BENCH_FAIL("the last line of the trace is cut");
    if (count == capacity) {
      capacity *= 2;
      operations = realloc(operations, capacity * sizeof *operations);
      if (!operations) BENCH_FAIL("no memory");
    }
    operations[count++] = parse(place, end);
    place = end + 1;
  }
  return (bench_trace){operations, count, {text, length}};
}
