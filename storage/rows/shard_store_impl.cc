#include "storage/rows/shard_store_impl.h"

#include <fmt/format.h>
#include <rocksdb/file_system.h>

#include <chrono>

#include "base/observe/failure.h"
#include "base/observe/log.h"
#include "storage/logs/rocksdb_status.h"

namespace quiver::storage {

namespace {

/// How long a repair waits for readers to leave before it refuses the write.
constexpr std::chrono::milliseconds kMaxReaderWait{1000};
/// Free bytes that a repair needs in addition to what is in memory: manifest, log, options.
constexpr std::uint64_t kReopenBytes = std::uint64_t{4} << 20;

/// Reopening helps after I/O errors and a full disk, not against damaged files or wrong calls.
bool is_repairable(const Error& error) {
  return error.code() == Code::kResourceExhausted || error.code() == Code::kUnavailable;
}

std::uint64_t count_row_deletions(const RowBatch& batch) {
  std::uint64_t n = 0;
  batch.for_each([&](const RowBatch::Change& change) {
    n += change.kind == RowBatch::Kind::kDelete && change.table == RowBatch::Table::kPoints;
  });
  return n;
}

}  // namespace

/// RocksDB writes when it opens. On a full disk the store is opened for reading, and the next write
/// tries again.
Result<> ShardStore::Impl::open() {
  auto opened = RowStore::open(path_, runtime_->shared());
  if (opened || opened.error().code() != Code::kResourceExhausted) {
    QV_TRY(row_store_, std::move(opened));
    return {};
  }
  const auto read_only = open_read_only();
  if (!read_only) {
    // One that is still to be made has nothing to read: the disk is the reason.
    log_error("{}; nor can it be opened for reading: {}", opened.error().message(),
              read_only.error().message());
    return fail(read_only.error().code() == Code::kDataLoss ? read_only.error() : opened.error());
  }
  log_error("{}; opened for reading only, until there is space", opened.error().message());
  return {};
}

Result<> ShardStore::Impl::open_read_only() {
  QV_TRY(row_store_, RowStore::open_read_only(path_, runtime_->shared()));
  needs_repair_ = true;
  return {};
}

void ShardStore::Impl::close() {
  MutexLock lock(write_mutex_);
  cancel_work_ = true;
  if (gate_.close()) row_store_.reset();
}

Result<ShardStore::Impl::Inside> ShardStore::Impl::enter() {
  if (!gate_.enter()) {
    return fail(Code::kUnavailable, fmt::format("the store `{}` is closed", path_));
  }
  if (row_store_ == nullptr) {
    gate_.leave();
    return fail(Code::kUnavailable,
                fmt::format("the store `{}` could not be opened again after an I/O error", path_));
  }
  return Inside(gate_, *row_store_);
}

Result<> ShardStore::Impl::write(const RowBatch& batch, Sync sync) noexcept {
  MutexLock lock(write_mutex_);
  return run_whole("writing to a store",
                   [&]() QV_NO_THREAD_SAFETY_ANALYSIS { return write_or_repair(batch, sync); });
}

Result<> ShardStore::Impl::write_or_repair(const RowBatch& batch, Sync sync) {
  if (needs_repair_) QV_TRY(repair());
  if (batch.empty()) return {};
  Result<> result = try_write(batch, sync);
  if (result || !is_repairable(result.error())) return result;
  failures_.log(LogLevel::kError, "write", result.error().message());
  // An earlier failure that is noticed only now, or one that has passed, costs the caller no error.
  if (!repair()) return result;
  return try_write(batch, sync);
}

Result<> ShardStore::Impl::try_write(const RowBatch& batch, Sync sync) {
  QV_TRY(auto inside, enter());
  const auto status = inside->write(batch, sync == Sync::kYes && runtime_->options().sync);
  if (status.ok()) {
    rows_deleted_ += count_row_deletions(batch);
    return {};
  }
  Error error = to_error(status, "write to", path_);
  if (is_repairable(error)) {
    failed_ = batch;
    needs_repair_ = true;
  }
  return fail(std::move(error));
}

Result<> ShardStore::Impl::ingest(std::span<const std::string> names) noexcept {
  MutexLock lock(write_mutex_);
  return run_whole("ingesting rows",
                   [&]() QV_NO_THREAD_SAFETY_ANALYSIS { return ingest_files(names); });
}

Result<> ShardStore::Impl::ingest_files(std::span<const std::string> names) {
  if (needs_repair_) QV_TRY(repair());
  std::vector<std::string> paths;
  for (const std::string& name : names) paths.push_back(fmt::format("{}/{}", path_, name));
  QV_TRY(auto inside, enter());
  Result<> result = to_result(inside->ingest(paths), "ingest rows into", path_);
  if (!result && is_repairable(result.error())) needs_repair_ = true;
  return result;
}

Result<> ShardStore::Impl::repair() {
  QV_TRY(prepare_undo());
  QV_TRY(check_disk());
  cancel_work_ = true;
  const bool alone = gate_.reserve(kMaxReaderWait);
  cancel_work_ = false;
  if (!alone) {
    return fail(Code::kUnavailable,
                fmt::format("cannot repair `{}` after a failed write: it is being read", path_));
  }
  Result<> result = reopen();
  gate_.release();
  if (result) log_info("repaired `{}` after a failed write", path_);
  return result;
}

Result<> ShardStore::Impl::prepare_undo() {
  if (!failed_) return {};
  QV_TRY(auto inside, enter());
  QV_TRY(undo_, inside->inverse_of(*failed_));
  failed_.reset();
  return {};
}

Result<> ShardStore::Impl::check_disk() {
  std::uint64_t wanted = kReopenBytes + (undo_ ? 2 * undo_->size_bytes() : 0);
  if (auto inside = enter()) wanted += (*inside)->sum_of("rocksdb.cur-size-all-mem-tables");
  std::uint64_t available = 0;
  const auto& files = runtime_->shared().env->GetFileSystem();
  const auto status = files->GetFreeSpace(path_, rocksdb::IOOptions(), &available, nullptr);
  if (status.ok() && available < wanted) {
    return fail(Code::kResourceExhausted, Subject::kDisk, path_,
                fmt::format("no space left on device: `{}` has {} bytes free, repair needs {}",
                            path_, available, wanted));
  }
  return write_probe_file();
}

Result<> ShardStore::Impl::write_probe_file() {
  const std::string probe = path_ + "/probe.tmp";
  rocksdb::Env& env = *runtime_->shared().env;
  const auto status = rocksdb::WriteStringToFile(&env, std::string(64 << 10, '\0'), probe, true);
  env.DeleteFile(probe).PermitUncheckedError();
  return to_result(status, "write to", probe);
}

Result<> ShardStore::Impl::reopen() {
  row_store_.reset();
  needs_repair_ = false;
  auto opened = open();
  if (opened && !needs_repair_) opened = write_back();
  if (opened && needs_repair_) {
    opened = fail(Code::kResourceExhausted, Subject::kDisk, path_,
                  fmt::format("no space left on device: `{}` is open for reading only", path_));
  }
  needs_repair_ = !opened;
  return opened;
}

/// Restores what the failed batch would have replaced.
Result<> ShardStore::Impl::write_back() {
  if (undo_ && !undo_->empty()) {
    QV_TRY(to_result(row_store_->write(*undo_, true), "write to", path_));
  }
  undo_.reset();
  return {};
}

Result<> ShardStore::Impl::reclaim() {
  QV_TRY(auto inside, enter());
  const std::uint64_t before = rows_deleted_;
  return run_whole("compacting a store", [&]() -> Result<> {
    QV_TRY(to_result(inside->flush(), "flush", path_));
    QV_TRY(to_result(inside->compact(cancel_work_), "compact", path_));
    rows_deleted_ -= before;
    return {};
  });
}

StoreStats ShardStore::Impl::stats() {
  StoreStats stats;
  stats.rows_deleted = rows_deleted_;
  stats.healthy = false;
  auto inside = enter();
  if (!inside) return stats;
  const RowStore& store = **inside;
  std::uint64_t rows = 0;
  store.db().GetIntProperty(store.handle(RowBatch::Table::kPoints), "rocksdb.estimate-num-keys",
                            &rows);
  stats.rows_estimate = rows;
  stats.memtable_bytes = store.sum_of("rocksdb.cur-size-all-mem-tables");
  stats.pending_compaction_bytes = store.sum_of("rocksdb.estimate-pending-compaction-bytes");
  stats.blob_bytes = store.sum_of("rocksdb.total-blob-file-size");
  stats.blob_garbage_bytes = store.sum_of("rocksdb.live-blob-file-garbage-size");
  stats.healthy = !needs_repair_ && store.sum_of("rocksdb.background-errors") == 0;
  return stats;
}

}  // namespace quiver::storage
