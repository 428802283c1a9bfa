#include "storage/rows/store_links.h"

#include <fmt/format.h>
#include <rocksdb/db.h>
#include <rocksdb/metadata.h>
#include <rocksdb/options.h>

#include <limits>

#include "base/io/file.h"
#include "base/io/file_tree.h"
#include "storage/logs/rocksdb_status.h"

namespace quiver::storage {
namespace {

constexpr std::string_view kGrowing = ".growing";

/// RocksDB removes no file while this lives.
class KeptDeletions {
 public:
  explicit KeptDeletions(rocksdb::DB& db) : db_(db), status_(db.DisableFileDeletions()) {}
  ~KeptDeletions() {
    if (status_.ok()) db_.EnableFileDeletions(/*force=*/false).PermitUncheckedError();
  }
  KeptDeletions(const KeptDeletions&) = delete;
  KeptDeletions& operator=(const KeptDeletions&) = delete;
  [[nodiscard]] const rocksdb::Status& status() const { return status_; }

 private:
  rocksdb::DB& db_;
  const rocksdb::Status status_;
};

}  // namespace

Result<StoreLinks> link_store(rocksdb::DB& db, const std::string& path, const std::string& target) {
  const KeptDeletions kept(db);
  QV_TRY(to_result(kept.status(), "hold the files of", path));
  rocksdb::LiveFilesStorageInfoOptions options;
  // No flush: the log is part of the copy, and a flush would take as long as memory is large.
  options.wal_size_for_flush = std::numeric_limits<std::uint64_t>::max();
  std::vector<rocksdb::LiveFileStorageInfo> files;
  QV_TRY(to_result(db.GetLiveFilesStorageInfo(options, &files), "list", path));
  StoreLinks links(target);
  for (const auto& file : files) {
    const std::string& name = file.relative_filename;
    if (!file.replacement_contents.empty()) {
      links.small_.push_back({name, file.replacement_contents});
      continue;
    }
    const std::string from = fmt::format("{}/{}", file.directory, name);
    const bool is_growing = file.trim_to_size || file.file_type == rocksdb::kWalFile;
    QV_TRY(link_file(from, fmt::format("{}/{}{}", target, name, is_growing ? kGrowing : "")));
    if (is_growing) links.growing_.push_back({name, file.size});
  }
  return links;
}

Result<> StoreLinks::finish() {
  for (const Growing& file : growing_) {
    const std::string to = fmt::format("{}/{}", target_, file.name);
    const std::string link = fmt::format("{}{}", to, kGrowing);
    QV_TRY(copy_file(link, to, file.size_bytes));
    QV_TRY(remove_tree(link));
  }
  growing_.clear();
  QV_TRY(auto directory, open_real_directory(target_));
  for (const Small& file : small_) {
    QV_TRY(directory->write_file(file.name, as_byte_span(file.contents)));
  }
  small_.clear();
  return sync_directory(target_);
}

}  // namespace quiver::storage
