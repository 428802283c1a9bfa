#include "storage/rows/runtime.h"

#include <fmt/format.h>
#include <rocksdb/file_system.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <string_view>
#include <utility>

#include "base/observe/log_limit.h"
#include "storage/rows/kept_files.h"
#include "storage/rows/runtime_shared.h"

namespace quiver::storage {

namespace {

/// Forwards RocksDB's warnings to the process's log. The databases have no log files of their own.
class ForwardingLogger final : public rocksdb::Logger {
 public:
  ForwardingLogger() : Logger(rocksdb::InfoLogLevel::WARN_LEVEL) {}
  void LogHeader(const char* /*format*/, va_list /*arguments*/) override {}
  void Logv(const rocksdb::InfoLogLevel level, const char* format, va_list arguments) override {
    if (level < rocksdb::InfoLogLevel::WARN_LEVEL) return;
    std::array<char, 1024> text{};
    std::vsnprintf(text.data(), text.size(), format, arguments);
    // RocksDB warns at each opening about ingested files, because their writer sets no unique id.
    if (std::string_view(text.data()).find("without unique ID") != std::string_view::npos) return;
    const bool is_error = level >= rocksdb::InfoLogLevel::ERROR_LEVEL;
    repeated_.log(is_error ? LogLevel::kError : LogLevel::kWarning, format,
                  fmt::format("rocksdb: {}", text.data()));
  }

 protected:
  void Logv(const char* /*format*/, va_list /*arguments*/) override {}

 private:
  /// Keyed by format, because writes to a full disk fail alike one after another.
  LogLimit repeated_{std::chrono::seconds(10)};
};

Result<> check_at_least(std::string_view name, std::uint64_t value, std::uint64_t least) {
  if (value >= least) return {};
  return fail(Code::kInvalidArgument,
              fmt::format("storage option {} is {}, must be at least {}", name, value, least));
}

Result<> check(const RuntimeOptions& options) {
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  QV_TRY(check_at_least("block_cache_bytes", options.block_cache_bytes, kMiB));
  QV_TRY(check_at_least("write_buffer_bytes", options.write_buffer_bytes, kMiB));
  QV_TRY(check_at_least("shard_write_buffer_bytes", options.shard_write_buffer_bytes, 64 << 10));
  QV_TRY(check_at_least("max_wal_bytes", options.max_wal_bytes, kMiB));
  if (options.background_threads < 1 || options.background_threads > 64) {
    return fail(Code::kInvalidArgument,
                fmt::format("storage option background_threads is {}, must be 1 to 64",
                            options.background_threads));
  }
  if (options.max_open_files < 32) {
    return fail(Code::kInvalidArgument,
                fmt::format("storage option max_open_files is {}, must be at least 32",
                            options.max_open_files));
  }
  return {};
}

rocksdb::DBOptions database_options(const RuntimeOptions& options, const RuntimeShared& shared) {
  rocksdb::DBOptions db;
  db.env = shared.env;
  db.info_log = shared.logger;
  db.create_if_missing = true;
  db.create_missing_column_families = true;
  db.write_buffer_manager = shared.write_buffers;
  db.max_background_jobs = options.background_threads;
  db.max_open_files = options.max_open_files;
  db.max_file_opening_threads = 1;
  db.max_total_wal_size = options.max_wal_bytes;
  db.atomic_flush = true;
  db.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  db.paranoid_checks = true;
  db.bytes_per_sync = std::uint64_t{1} << 20;
  // Preallocation would give each idle shard a file of a write buffer's size.
  db.allow_fallocate = false;
  // Turns off timers per database for statistics that nobody reads.
  db.stats_dump_period_sec = 0;
  db.stats_persist_period_sec = 0;
  // The store repairs itself at the next write (shard_store_impl.cc).
  db.max_bgerror_resume_count = 0;
  return db;
}

rocksdb::BlockBasedTableOptions table_options(const RuntimeShared& shared) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = shared.cache;
  table.cache_index_and_filter_blocks = true;
  table.pin_l0_filter_and_index_blocks_in_cache = true;
  table.checksum = rocksdb::kXXH3;
  table.format_version = 5;
  table.block_size = 8 << 10;
  return table;
}

rocksdb::ColumnFamilyOptions family_options(rocksdb::BlockBasedTableOptions table,
                                            std::size_t write_buffer_bytes) {
  rocksdb::ColumnFamilyOptions family;
  family.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  family.write_buffer_size = write_buffer_bytes;
  // An idle column family then uses one small block, not an eighth of its write buffer.
  family.arena_block_size = 64 << 10;
  family.max_write_buffer_number = 3;
  family.target_file_size_base = std::uint64_t{16} << 20;
  family.max_bytes_for_level_base = std::uint64_t{64} << 20;
  family.level_compaction_dynamic_level_bytes = true;
  family.compression = rocksdb::kLZ4Compression;
  return family;
}

rocksdb::ColumnFamilyOptions points_options(const RuntimeOptions& options,
                                            const RuntimeShared& shared) {
  auto table = table_options(shared);
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  auto family = family_options(table, options.shard_write_buffer_bytes);
  family.enable_blob_files = true;
  family.min_blob_size = options.min_blob_bytes;
  family.blob_file_size = std::uint64_t{64} << 20;
  family.blob_compression_type = rocksdb::kNoCompression;
  family.enable_blob_garbage_collection = true;
  family.blob_garbage_collection_age_cutoff = 0.25;
  family.blob_garbage_collection_force_threshold = 0.5;
  family.blob_cache = shared.cache;
  return family;
}

}  // namespace

Runtime::Runtime(RuntimeOptions options, std::unique_ptr<RuntimeShared> shared)
    : options_(std::move(options)), shared_(std::move(shared)) {}

Runtime::~Runtime() = default;

Result<std::shared_ptr<Runtime>> Runtime::create(RuntimeOptions options) {
  QV_TRY(check(options));
  auto shared = std::make_unique<RuntimeShared>();
  shared->cache = rocksdb::NewLRUCache(options.block_cache_bytes);
  shared->write_buffers = std::make_shared<rocksdb::WriteBufferManager>(options.write_buffer_bytes);
  shared->logger = std::make_shared<ForwardingLogger>();
  auto file_system = rocksdb::FileSystem::Default();
  if (options.file_system) file_system = options.file_system->wrap(file_system);
  shared->own_env = rocksdb::NewCompositeEnv(KeptFiles::wrap(file_system));
  shared->env = shared->own_env.get();
  constexpr std::size_t kSmallWriteBuffer = std::size_t{8} << 20;
  const std::size_t small = std::min(options.shard_write_buffer_bytes, kSmallWriteBuffer);
  shared->database_options = database_options(options, *shared);
  shared->points_options = points_options(options, *shared);
  shared->small_options = family_options(table_options(*shared), small);
  return std::shared_ptr<Runtime>(new Runtime(std::move(options), std::move(shared)));
}

std::uint64_t Runtime::cache_bytes() const { return shared_->cache->GetUsage(); }

std::uint64_t Runtime::memtable_bytes() const { return shared_->write_buffers->memory_usage(); }

}  // namespace quiver::storage
