#include <xxhash.h>

/// Asks for the cache line at an address that will soon be read. No address is wrong: where nothing can be read, nothing happens.
static inline void heartlog_prefetch(const void *address) { __builtin_prefetch(address); }
