// What a store of keys and values keeps of an item, and the key that puts favorites in order of their dates.
#ifndef CPEERS_RECORD_H
#define CPEERS_RECORD_H

#include <string.h>

#include "check.h"
#include "trace.h"

enum { RECORD_BYTES_MAX = 2048, RECORD_HEADER_BYTES = 9 };

/// The date, the flag, and the texts.
static inline size_t write_record(char *record, int64_t date, bool on, bench_text payload) {
  if (payload.length + RECORD_HEADER_BYTES > RECORD_BYTES_MAX) BENCH_FAIL("an item is too long");
  memcpy(record, &date, 8);
  record[8] = (char)on;
  if (payload.length) memcpy(record + RECORD_HEADER_BYTES, payload.bytes, payload.length);
  return RECORD_HEADER_BYTES + payload.length;
}

static inline int64_t record_date(const char *record) {
  int64_t date;
  memcpy(&date, record, 8);
  return date;
}

static inline bool record_is_on(const char *record) { return record[8] != 0; }

/// The newest first, and what is of one millisecond by id.
static inline size_t write_date_key(char *key, int64_t date, bench_text id) {
  uint64_t rank = ~(uint64_t)date;
  for (int index = 0; index < 8; index++) key[index] = (char)(rank >> (56 - 8 * index));
  memcpy(key + 8, id.bytes, id.length);
  return 8 + id.length;
}

#endif
