#include <rocksdb/c.h>

#define LSM(name) rocksdb_##name
#define LSM_PEER bench_rocksdb

/// A table has a bloom filter, which belongs to the options; blocks of all tables share a cache.
typedef struct {
  rocksdb_block_based_table_options_t *options;
  rocksdb_cache_t *cache;
} tables;

static tables set_tables(rocksdb_options_t *options) {
  tables tables = {rocksdb_block_based_options_create(), rocksdb_cache_create_lru((size_t)256 << 20)};
  rocksdb_block_based_options_set_filter_policy(tables.options, rocksdb_filterpolicy_create_bloom_full(10));
  rocksdb_block_based_options_set_block_cache(tables.options, tables.cache);
  rocksdb_options_set_block_based_table_factory(options, tables.options);
  return tables;
}

static void free_tables(tables *tables) {
  rocksdb_block_based_options_destroy(tables->options);
  rocksdb_cache_destroy(tables->cache);
}

#include "lsm.h"
