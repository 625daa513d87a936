// What the machine itself takes for the two things that every replay has to do.
#ifndef CPEERS_LIMITS_H
#define CPEERS_LIMITS_H

#include <stddef.h>

/// Nanoseconds that it takes to decode a text from LZ4 blocks of 1 MiB, compressed by LZ4-HC.
double bench_lz4_decoding(const char *bytes, size_t length);
/// Nanoseconds that it takes to read every word of a text.
double bench_memory_reading(const char *bytes, size_t length);

#endif
