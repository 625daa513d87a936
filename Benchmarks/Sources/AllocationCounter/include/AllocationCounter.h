#ifndef ALLOCATION_COUNTER_H
#define ALLOCATION_COUNTER_H

#include <stdint.h>

/// How often this process has asked for memory, on all its threads.
uint64_t bench_allocation_count(void);

#endif
