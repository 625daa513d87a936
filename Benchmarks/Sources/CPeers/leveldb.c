#include <leveldb/c.h>

#define LSM(name) leveldb_##name
#define LSM_PEER bench_leveldb

/// A table has a bloom filter; blocks of all tables share a cache.
typedef struct {
  leveldb_filterpolicy_t *filter;
  leveldb_cache_t *cache;
} tables;

static tables set_tables(leveldb_options_t *options) {
  tables tables = {leveldb_filterpolicy_create_bloom(10), leveldb_cache_create_lru((size_t)256 << 20)};
  leveldb_options_set_filter_policy(options, tables.filter);
  leveldb_options_set_cache(options, tables.cache);
  return tables;
}

static void free_tables(tables *tables) {
  leveldb_filterpolicy_destroy(tables->filter);
  leveldb_cache_destroy(tables->cache);
}

#include "lsm.h"
