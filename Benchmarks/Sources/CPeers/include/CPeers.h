// Other people's stores and the raw limits, each behind the same few calls, so that one loop measures them all.
//
// A benchmark that meets an error has measured nothing: every call here prints it and ends the program with code 74; with
// code 69 if this machine has not what the peer needs.
#ifndef CPEERS_H
#define CPEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "limits.h"
#include "machine.h"
#include "trace.h"

/// When a commit returns.
typedef enum {
  /// After fdatasync.
  BENCH_DURABLE,
  /// After the write.
  BENCH_BUFFERED,
} bench_durability;

/// One way to keep favorites and their history. A call that is NULL does not exist for it.
typedef struct {
  /// Opens the store in an existing folder, and makes it there where there is none.
  void *(*open)(const char *folder, bench_durability durability);
  /// For a store whose threads have a connection each: another one. The others share what `open` returned.
  void *(*connect)(const char *folder, bench_durability durability);
  /// Writes operations as one transaction: the event of each, and what it makes true.
  void (*commit)(void *store, const bench_operation *operations, size_t count);
  bool (*is_favorite)(void *store, const char *id, size_t length);
  /// Reads a whole item; returns the bytes that were looked at.
  size_t (*item)(void *store, const char *id, size_t length);
  /// Reads the newest favorites with all that is known of them; returns how many there were.
  size_t (*page)(void *store, size_t limit);
  size_t (*favorites)(void *store);
  /// Makes the store as small as it gets.
  void (*compact)(void *store);
  void (*close)(void *store);
} bench_peer;

/// A peer by its name; NULL where there is none of that name.
const bench_peer *bench_peer_named(const char *name);

#endif
