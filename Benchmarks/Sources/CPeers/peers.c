#include <string.h>

#include "CPeers.h"

extern const bench_peer bench_raw, bench_raw_dsync, bench_raw_direct, bench_raw_uring, bench_group_log, bench_sqlite,
    bench_sqlite_each, bench_sqlite_batched, bench_lmdb, bench_leveldb, bench_rocksdb, bench_table;

const bench_peer *bench_peer_named(const char *name) {
  static const struct {
    const char *name;
    const bench_peer *peer;
  } peers[] = {{"raw", &bench_raw},
               {"raw-dsync", &bench_raw_dsync},
               {"raw-direct", &bench_raw_direct},
               {"raw-uring", &bench_raw_uring},
               {"group-log", &bench_group_log},
               {"sqlite", &bench_sqlite},
               {"sqlite-each", &bench_sqlite_each},
               {"sqlite-batched", &bench_sqlite_batched},
               {"lmdb", &bench_lmdb},
               {"leveldb", &bench_leveldb},
               {"rocksdb", &bench_rocksdb},
               {"table", &bench_table}};
  for (size_t index = 0; index < sizeof peers / sizeof *peers; index++) {
    if (strcmp(peers[index].name, name) == 0) return peers[index].peer;
  }
  return NULL;
}
