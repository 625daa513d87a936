// The trace that all peers play, read from its file. TraceFile.swift writes it, and says what is in a line.
#ifndef CPEERS_TRACE_H
#define CPEERS_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BENCH_FIELD_COUNT = 4 };

/// A text within the mapped file, without a zero at its end.
typedef struct {
  const char *bytes;
  size_t length;
} bench_text;

typedef struct {
  /// 'A' adds, 'T' toggles, 'R' removes, 'P' saves a position.
  char kind;
  /// What the item is afterwards; meaningless for a position.
  bool on;
  /// Milliseconds since 1970.
  int64_t time;
  /// The position.
  double value;
  bench_text line;
  bench_text id;
  /// authors, category, date and title of a new item, with tabs between them; empty for all others.
  bench_text payload;
  bench_text fields[BENCH_FIELD_COUNT];
} bench_operation;

typedef struct {
  const bench_operation *operations;
  size_t count;
  /// The whole file, mapped.
  bench_text text;
} bench_trace;

/// Reads the first operations of a trace, all of them where the limit is 0. They are never freed.
bench_trace bench_trace_read(const char *path, size_t limit);

#endif
