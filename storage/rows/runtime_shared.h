// The RocksDB objects of a `Runtime`, for files of this room.
#pragma once

#include <rocksdb/cache.h>
#include <rocksdb/env.h>
#include <rocksdb/options.h>
#include <rocksdb/write_buffer_manager.h>

#include <memory>

namespace quiver::storage {

struct RuntimeShared {
  std::shared_ptr<rocksdb::Cache> cache;
  std::shared_ptr<rocksdb::WriteBufferManager> write_buffers;
  std::shared_ptr<rocksdb::Logger> logger;
  std::unique_ptr<rocksdb::Env> own_env;
  rocksdb::Env* env = nullptr;

  rocksdb::DBOptions database_options;
  rocksdb::ColumnFamilyOptions points_options;
  rocksdb::ColumnFamilyOptions small_options;  // for ops and meta
};

}  // namespace quiver::storage
