#include "storage/salvage.h"

#include <fmt/format.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <utility>

#include "storage/database.h"
#include "storage/keys.h"
#include "storage/log_check.h"
#include "storage/log_records.h"
#include "storage/rocksdb_status.h"
#include "storage/store_check.h"

namespace quiver::storage {
namespace {

using Table = RowBatch::Table;

/// RocksDB numbers tables as they were made: `default`, then ours.
std::optional<Table> table_of(std::uint32_t family) {
  if (family < 1 || family > Database::kTableNames.size()) return std::nullopt;
  return static_cast<Table>(family - 1);
}

/// A batch of a log as one of ours.
class BatchReader final : public rocksdb::WriteBatch::Handler {
 public:
  rocksdb::Status PutCF(std::uint32_t family, const rocksdb::Slice& key,
                        const rocksdb::Slice& value) override {
    if (const auto table = table_of(family)) batch.put(*table, to_view(key), to_view(value));
    return rocksdb::Status::OK();
  }
  rocksdb::Status DeleteCF(std::uint32_t family, const rocksdb::Slice& key) override {
    if (const auto table = table_of(family)) batch.erase(*table, to_view(key));
    return rocksdb::Status::OK();
  }
  /// Only operations that segments reflect are removed so.
  rocksdb::Status DeleteRangeCF(std::uint32_t /*family*/, const rocksdb::Slice& /*begin*/,
                                const rocksdb::Slice& /*end*/) override {
    return rocksdb::Status::OK();
  }

  RowBatch batch;
};

void read_batch(std::string_view record, const Salvage::BatchVisitor& visit) {
  const rocksdb::WriteBatch writes{std::string(record)};
  BatchReader reader;
  // What was read before an error counts: the record's checksum matched.
  writes.Iterate(&reader).PermitUncheckedError();
  visit(reader.batch);
}

}  // namespace

Salvage::Salvage(std::string path, std::shared_ptr<Runtime> runtime)
    : path_(std::move(path)), runtime_(std::move(runtime)) {
  rocksdb::Env& env = *runtime_->shared().env;
  const auto synced = SyncedMark::read(env, path_);
  files_ = check_exists(path_, *runtime_);
  if (!files_) return;
  files_ = check_manifest(env, path_, synced);
  knows_all_files_ = files_.has_value();
  logs_ = check_logs(env, path_, synced);
  auto opened = ShardStore::open_read_only(path_, runtime_);
  if (opened) {
    store_ = *std::move(opened);
  } else {
    files_ = fail(opened.error());
    knows_all_files_ = false;
  }
}

std::vector<std::string> Salvage::problems() const {
  std::vector<std::string> found;
  if (!files_) found.push_back(files_.error().message());
  if (!logs_ && (files_ || logs_.error().message() != files_.error().message())) {
    found.push_back(logs_.error().message());
  }
  if (store_ != nullptr) {
    if (auto verified = store_->verify(); !verified) found.push_back(verified.error().message());
  }
  return found;
}

void Salvage::scan_rows(const std::vector<PointId>& known, const RowVisitor& visit) const {
  std::optional<PointId> from;
  while (true) {
    std::optional<PointId> last;
    const auto scanned = store_->scan_rows(from, [&](const PointId& id, std::string_view row) {
      last = id;
      visit(id, row);
      return true;
    });
    if (scanned) return;
    // The row behind the last one cannot be read, nor perhaps some that follow it.
    const auto at_least = last ? last : from;
    auto next = at_least ? std::upper_bound(known.begin(), known.end(), *at_least) : known.begin();
    if (next == known.end()) return;
    from = *next;
  }
}

Result<> Salvage::late_batches(const BatchVisitor& visit) const {
  rocksdb::Env& env = *runtime_->shared().env;
  QV_TRY(const auto files, log_files(env, path_));
  bool is_late = store_ == nullptr;
  for (const std::string& file : files) {
    QV_TRY(const LogScan scan, scan_log(env, fmt::format("{}/{}", path_, file),
                                        [&](std::string_view record, bool behind_damage) {
                                          if (is_late || behind_damage) read_batch(record, visit);
                                        }));
    is_late = is_late || scan.damaged_at.has_value();
  }
  return {};
}

}  // namespace quiver::storage
