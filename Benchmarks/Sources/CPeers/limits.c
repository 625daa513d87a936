#include "limits.h"

#include <lz4.h>
#include <lz4hc.h>

#include "check.h"
#include "machine.h"

enum { BLOCK_BYTES = 1 << 20 };

double bench_lz4_decoding(const char *bytes, size_t length) {
  size_t count = (length + BLOCK_BYTES - 1) / BLOCK_BYTES;
  size_t bound = (size_t)LZ4_compressBound(BLOCK_BYTES);
  char *packed = bench_allocate(count * bound);
  int *packed_lengths = bench_allocate(count * sizeof *packed_lengths);
  char *block = bench_allocate(BLOCK_BYTES);
  for (size_t index = 0; index < count; index++) {
    size_t start = index * BLOCK_BYTES;
    int part = (int)(length - start < BLOCK_BYTES ? length - start : BLOCK_BYTES);
    packed_lengths[index] = LZ4_compress_HC(bytes + start, packed + index * bound, part, (int)bound, 9);
    if (packed_lengths[index] <= 0) BENCH_FAIL("LZ4 compressed nothing");
  }
  size_t decoded = 0;
  uint64_t started = bench_computed();
  for (size_t index = 0; index < count; index++) {
    int part = LZ4_decompress_safe(packed + index * bound, block, packed_lengths[index], BLOCK_BYTES);
    if (part < 0) BENCH_FAIL("LZ4 could not decode");
    decoded += (size_t)part;
  }
  uint64_t nanoseconds = bench_computed() - started;
  if (decoded != length) BENCH_FAIL("LZ4 decoded something else");
  free(packed);
  free(packed_lengths);
  free(block);
  return (double)nanoseconds;
}

double bench_memory_reading(const char *bytes, size_t length) {
  uint64_t sum = 0;
  uint64_t started = bench_computed();
  for (size_t place = 0; place + 8 <= length; place += 8) {
    uint64_t word;
    memcpy(&word, bytes + place, 8);
    sum += word;
  }
  uint64_t nanoseconds = bench_computed() - started;
  // Whoever looks at the sum makes the compiler read the words.
  if (sum == 1) fputs("\n", stderr);
  return (double)nanoseconds;
}
