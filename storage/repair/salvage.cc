#include "storage/repair/salvage.h"

#include <fmt/format.h>
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/observe/log.h"
#include "storage/logs/log_check.h"
#include "storage/logs/log_records.h"
#include "storage/logs/rocksdb_status.h"
#include "storage/repair/store_check.h"
#include "storage/rows/keys.h"
#include "storage/rows/row_store.h"

namespace quiver::storage {
namespace {

namespace fs = std::filesystem;
using Table = RowBatch::Table;

/// Maps RocksDB's number of a column family, in the order of creation: `default`, then our tables.
std::optional<Table> table_of(std::uint32_t family) {
  if (family < 1 || family > RowStore::kTableNames.size()) return std::nullopt;
  return static_cast<Table>(family - 1);
}

/// Converts a batch of a log to a RowBatch.
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
  /// Ignores range deletions, which only remove operations that segments contain.
  rocksdb::Status DeleteRangeCF(std::uint32_t /*family*/, const rocksdb::Slice& /*begin*/,
                                const rocksdb::Slice& /*end*/) override {
    return rocksdb::Status::OK();
  }

  RowBatch batch;
};

void read_batch(std::string_view record, const Salvage::BatchVisitor& visit) {
  const rocksdb::WriteBatch writes{std::string(record)};
  BatchReader reader;
  // Changes read before an error count, because the record's checksum matched.
  writes.Iterate(&reader).PermitUncheckedError();
  visit(reader.batch);
}

void link_or_copy(const fs::path& from, const fs::path& to, std::error_code& error) {
  fs::create_hard_link(from, to, error);
  if (error) fs::copy_file(from, to, error);  // on another file system
}

/// Links all files of a store into `to`, except those that name other files. Adds the names of its
/// tables to `tables`.
bool link_files(const std::string& from, const std::string& to, std::vector<std::string>& tables) {
  std::error_code error;
  fs::remove_all(to, error);
  fs::create_directory(to, error);
  for (fs::directory_iterator at(from, error); !error && at != fs::directory_iterator();
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name == "CURRENT" || name.starts_with("MANIFEST-") || name == SyncedMark::kFile) continue;
    link_or_copy(at->path(), to + "/" + name, error);
    if (name.ends_with(".sst")) tables.push_back("/" + name);
  }
  return !error;
}

/// The manifests of a store, newest first, each with the size of its sound beginning.
std::vector<std::pair<std::string, std::uint64_t>> sound_beginnings(rocksdb::Env& env,
                                                                    const std::string& store) {
  std::vector<std::pair<std::string, std::uint64_t>> found;
  std::error_code error;
  for (fs::directory_iterator at(store, error); !error && at != fs::directory_iterator();
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with("MANIFEST-")) continue;
    const auto scan = scan_log(env, at->path().string(), nullptr);
    if (scan && scan->sound_bytes != 0) found.emplace_back(name, scan->sound_bytes);
  }
  std::sort(found.rbegin(), found.rend());
  return found;
}

bool use_manifest(const std::string& from, const std::string& to, const std::string& name,
                  std::uint64_t bytes) {
  std::error_code error;
  fs::copy_file(from + "/" + name, to + "/" + name, fs::copy_options::overwrite_existing, error);
  if (!error) fs::resize_file(to + "/" + name, bytes, error);
  std::ofstream(to + "/CURRENT", std::ios::trunc) << name << '\n';
  return !error;
}

/// True if the store's manifest names all `tables`.
bool names_all(const ShardStore& store, const std::vector<std::string>& tables) {
  const auto named = store.files();
  return named && std::all_of(tables.begin(), tables.end(), [&](const std::string& table) {
           return std::find(named->begin(), named->end(), table) != named->end();
         });
}

}  // namespace

Salvage::Salvage(std::string path, std::shared_ptr<Runtime> runtime, Effort effort)
    : Salvage(path, path + ".links.tmp", std::move(runtime), effort) {}

Salvage::Salvage(std::string path, std::string links, std::shared_ptr<Runtime> runtime,
                 Effort effort)
    : path_(std::move(path)), links_(std::move(links)), runtime_(std::move(runtime)) {
  rocksdb::Env& env = *runtime_->shared().env;
  const auto synced = SyncedMark::read(env, path_);
  has_synced_mark_ = synced.has_value();
  files_ = check_exists(path_, *runtime_);
  if (files_) files_ = check_manifest(env, path_, synced);
  if (files_) {
    logs_ = check_logs(env, path_, synced);
    if (logs_) logs_ = RowStore::check_end(path_, runtime_->shared(), synced);
    knows_all_files_ = true;
    open(path_);
  }
  if (store_ == nullptr && effort == Effort::kSave) open_with_made_manifest();
}

Salvage::~Salvage() {
  store_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(links_, ignored);
}

void Salvage::open(const std::string& path) {
  auto opened = ShardStore::open_read_only(path, runtime_);
  if (opened) {
    store_ = *std::move(opened);
    return;
  }
  if (files_) files_ = fail(opened.error());
  knows_all_files_ = false;
}

/// Lets RocksDB make a manifest from the tables that it finds. It does not look for blobs, so rows
/// with values in blobs are then unreadable.
void Salvage::open_with_made_manifest() {
  std::vector<std::string> tables;
  if (!link_files(path_, links_, tables) || tables.empty()) return;
  const auto manifests = sound_beginnings(*runtime_->shared().env, path_);
  for (const auto& [name, bytes] : manifests) {
    if (!use_manifest(path_, links_, name, bytes)) continue;
    open(links_);
    if (store_ != nullptr && names_all(*store_, tables)) return;
    store_.reset();
  }
  store_.reset();
  const auto& shared = runtime_->shared();
  const auto repaired =
      rocksdb::RepairDB(links_, shared.database_options, RowStore::families(shared));
  if (!repaired.ok())
    log_warning("cannot make a manifest for `{}`: {}", path_, repaired.ToString());
  open(links_);
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
    // The row after the last one is unreadable, and perhaps some rows after it.
    const auto at_least = last ? last : from;
    auto next = at_least ? std::upper_bound(known.begin(), known.end(), *at_least) : known.begin();
    if (next == known.end()) return;
    from = *next;
    // A scan reads all versions of a row, a look-up only the newest.
    if (const auto row = store_->row(*from); row && *row) visit(*from, **row);
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
