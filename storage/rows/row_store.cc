#include "storage/rows/row_store.h"

#include <fmt/format.h>

#include <rocksdb/listener.h>
#include <rocksdb/transaction_log.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>
#include <vector>

#include "base/observe/log.h"
#include "storage/logs/log_check.h"
#include "storage/logs/rocksdb_status.h"
#include "storage/rows/kept_files.h"
#include "storage/rows/keys.h"

namespace quiver::storage {

namespace {

using Table = RowBatch::Table;
using Kind = RowBatch::Kind;

constexpr std::array kAllTables{Table::kPoints, Table::kOps, Table::kMeta};

rocksdb::Status add(const RowBatch::Change& change, rocksdb::ColumnFamilyHandle* table,
                    rocksdb::WriteBatch& to) {
  switch (change.kind) {
    case Kind::kPut:
      return to.Put(table, to_slice(change.key), to_slice(change.value));
    case Kind::kDelete:
      return to.Delete(table, to_slice(change.key));
    case Kind::kDeleteBelow:
      return to.DeleteRange(table, to_slice(OpKey(Seq{0}).view()), to_slice(change.key));
  }
  return rocksdb::Status::InvalidArgument("unknown kind of change");
}

void put_back(Table table, std::string_view key, const std::optional<std::string>& value,
              RowBatch& to) {
  if (value) {
    to.put(table, key, *value);
  } else {
    to.erase(table, key);
  }
}

/// Records the current manifest's number and synced size.
void note_manifest(rocksdb::DB& db, SyncedMark& mark) {
  std::vector<std::string> files;
  std::uint64_t bytes = 0;
  if (!db.GetLiveFiles(files, &bytes, /*flush_memtable=*/false).ok()) return;
  constexpr std::string_view kPrefix = "/MANIFEST-";
  for (const std::string_view file : files) {
    if (!file.starts_with(kPrefix)) continue;
    std::uint64_t number = 0;
    std::from_chars(file.data() + kPrefix.size(), file.data() + file.size(), number);
    mark.note_manifest(number, bytes);
  }
}

/// Updates the mark after files are flushed, compacted or ingested. The manifest names them by
/// then.
class ManifestListener final : public rocksdb::EventListener {
 public:
  explicit ManifestListener(std::shared_ptr<SyncedMark> mark) : mark_(std::move(mark)) {}
  void OnFlushCompleted(rocksdb::DB* db, const rocksdb::FlushJobInfo& /*info*/) override {
    note_manifest(*db, *mark_);
  }
  void OnCompactionCompleted(rocksdb::DB* db, const rocksdb::CompactionJobInfo& /*i*/) override {
    note_manifest(*db, *mark_);
  }
  void OnExternalFileIngested(rocksdb::DB* db,
                              const rocksdb::ExternalFileIngestionInfo& /*info*/) override {
    note_manifest(*db, *mark_);
  }

 private:
  const std::shared_ptr<SyncedMark> mark_;
};

Result<> check_sequence(const std::string& path, std::uint64_t found,
                        const std::optional<SyncedState>& synced) {
  if (!synced || found >= synced->sequence) return {};
  return fail(Code::kDataLoss,
              fmt::format("`{}` is damaged: its logs end at change {}, but change {} was synced; "
                          "it was not opened and nothing was changed",
                          path, found, synced->sequence));
}

bool holds_data(std::string_view file) {
  return file.ends_with(".sst") || file.ends_with(".blob") || file.ends_with(".log");
}

}  // namespace

std::vector<rocksdb::ColumnFamilyDescriptor> RowStore::families(const RuntimeShared& shared) {
  return {{rocksdb::kDefaultColumnFamilyName, shared.small_options},
          {kTableNames[0], shared.points_options},
          {kTableNames[1], shared.small_options},
          {kTableNames[2], shared.small_options}};
}

Result<bool> has_manifest(const std::string& path, rocksdb::Env& env) {
  if (env.FileExists(path + "/CURRENT").ok()) return true;
  std::vector<std::string> files;
  if (!env.GetChildren(path, &files).ok()) return false;
  const auto data = std::find_if(files.begin(), files.end(), holds_data);
  if (data == files.end()) return false;
  return fail(Code::kDataLoss,
              fmt::format("cannot open `{}`: it holds `{}` but no file CURRENT", path, *data));
}

Result<> RowStore::check_end(const std::string& path, const RuntimeShared& shared,
                             const std::optional<SyncedState>& synced) {
  if (!synced || synced->sequence == 0 || has_log(*shared.env, path, synced->log)) return {};
  QV_TRY(const auto store, open_read_only(path, shared));
  return check_sequence(path, store->db_->GetLatestSequenceNumber(), synced);
}

Result<std::unique_ptr<RowStore>> RowStore::open(const std::string& path,
                                                 const RuntimeShared& shared) {
  QV_TRY(const bool exists, has_manifest(path, *shared.env));
  const auto synced = SyncedMark::read(*shared.env, path);
  QV_TRY(check_logs(*shared.env, path, synced));
  if (exists) QV_TRY(check_end(path, shared, synced));
  auto opened = std::unique_ptr<RowStore>(new RowStore(path));
  opened->mark_ = std::make_shared<SyncedMark>(*shared.env, path);
  auto options = shared.database_options;
  options.listeners.push_back(std::make_shared<ManifestListener>(opened->mark_));
  Handles handles;
  rocksdb::DB* db = nullptr;
  const auto status = rocksdb::DB::Open(options, path, families(shared), &handles, &db);
  QV_TRY(to_result(status, "open", path));
  opened->adopt(db, handles);
  QV_TRY(check_sequence(path, db->GetLatestSequenceNumber(), synced));
  opened->note_synced();
  note_manifest(*db, *opened->mark_);
  return opened;
}

Result<std::unique_ptr<RowStore>> RowStore::open_read_only(const std::string& path,
                                                           const RuntimeShared& shared) {
  auto opened = std::unique_ptr<RowStore>(new RowStore(path));
  Handles handles;
  rocksdb::DB* db = nullptr;
  auto options = shared.database_options;
  options.paranoid_checks = false;  // reading a missing or damaged table fails later
  const auto status = rocksdb::DB::OpenForReadOnly(options, path, families(shared), &handles, &db);
  QV_TRY(to_result(status, "open", path));
  opened->adopt(db, handles);
  return opened;
}

void RowStore::adopt(rocksdb::DB* db, const Handles& handles) {
  db_.reset(db);
  db->DestroyColumnFamilyHandle(handles[0]);
  for (std::size_t i = 0; i < kTables; ++i) handles_[i] = handles[i + 1];
}

RowStore::~RowStore() {
  if (db_ == nullptr) return;  // opening failed
  for (rocksdb::ColumnFamilyHandle* handle : handles_) db_->DestroyColumnFamilyHandle(handle);
  const auto status = db_->Close();
  if (!status.ok()) log_warning("cannot close `{}` cleanly: {}", path_, status.ToString());
  if (mark_ != nullptr) mark_->sync();
}

void RowStore::note_synced() {
  std::unique_ptr<rocksdb::LogFile> log;
  if (!db_->GetCurrentWalFile(&log).ok()) return;
  mark_->note_log(db_->GetLatestSequenceNumber(), log->LogNumber(), log->SizeFileBytes());
}

rocksdb::Status RowStore::write(const RowBatch& batch, bool sync) {
  rocksdb::WriteBatch writes(batch.size_bytes() + 64);
  rocksdb::Status status;
  batch.for_each([&](const RowBatch::Change& change) {
    if (status.ok()) status = add(change, handle(change.table), writes);
  });
  if (!status.ok()) return status;
  rocksdb::WriteOptions options;
  options.sync = sync;
  status = db_->Write(options, &writes);
  if (status.ok() && sync) note_synced();
  return status;
}

rocksdb::Status RowStore::ingest(const std::vector<std::string>& paths) {
  rocksdb::IngestExternalFileOptions options;
  options.move_files = true;
  options.write_global_seqno = false;  // the manifest has it; the file stays unchanged
  KeptFiles kept;
  auto status = db_->IngestExternalFile(handle(Table::kPoints), paths, options);
  if (status.ok()) kept.remove(*db_->GetEnv()->GetFileSystem());
  return status;
}

Result<std::optional<std::string>> RowStore::get(Table table, std::string_view key) const {
  std::string value;
  const auto status = db_->Get({}, handle(table), to_slice(key), &value);
  if (status.IsNotFound()) return std::optional<std::string>();
  QV_TRY(to_result(status, "read", path_));
  return std::optional<std::string>(std::move(value));
}

std::unique_ptr<rocksdb::Iterator> RowStore::iterate(Table table) const {
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  // Iterators of RocksDB 7.8 free their range deletions twice if a table is unreadable. Range
  // deletions only remove operations that segments contain, and nobody reads those.
  options.ignore_range_deletions = mark_ == nullptr;
  return std::unique_ptr<rocksdb::Iterator>(db_->NewIterator(options, handle(table)));
}

Result<RowBatch> RowStore::inverse_of(const RowBatch& batch) const {
  RowBatch inverse;
  Result<> result;
  batch.for_each([&](const RowBatch::Change& change) {
    if (!result) return;
    if (change.kind == Kind::kDeleteBelow) {
      result = add_ops_below(change.key, inverse);
      return;
    }
    auto present = get(change.table, change.key);
    if (present) {
      put_back(change.table, change.key, *present, inverse);
    } else {
      result = fail(present.error());
    }
  });
  QV_TRY(std::move(result));
  return inverse;
}

Result<> RowStore::add_ops_below(std::string_view end, RowBatch& to) const {
  auto ops = iterate(Table::kOps);
  for (ops->SeekToFirst(); ops->Valid() && to_view(ops->key()) < end; ops->Next()) {
    to.put(Table::kOps, to_view(ops->key()), to_view(ops->value()));
  }
  return to_result(ops->status(), "read", path_);
}

rocksdb::Status RowStore::flush() {
  rocksdb::FlushOptions options;
  options.wait = true;
  return db_->Flush(options, {handles_.begin(), handles_.end()});
}

rocksdb::Status RowStore::compact(std::atomic<bool>& cancelled) {
  rocksdb::CompactRangeOptions options;
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
  options.blob_garbage_collection_policy = rocksdb::BlobGarbageCollectionPolicy::kForce;
  options.blob_garbage_collection_age_cutoff = 1.0;
  options.canceled = &cancelled;
  for (const Table table : kAllTables) {
    const auto status = db_->CompactRange(options, handle(table), nullptr, nullptr);
    if (!status.ok()) return status;
  }
  return rocksdb::Status::OK();
}

std::uint64_t RowStore::sum_of(const std::string& property) const {
  std::uint64_t sum = 0;
  for (rocksdb::ColumnFamilyHandle* handle : handles_) {
    std::uint64_t value = 0;
    if (db_->GetIntProperty(handle, property, &value)) sum += value;
  }
  return sum;
}

}  // namespace quiver::storage
