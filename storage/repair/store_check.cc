#include "storage/repair/store_check.h"

#include <fmt/format.h>
#include <rocksdb/db.h>

#include <algorithm>
#include <vector>

#include "storage/logs/log_check.h"
#include "storage/logs/rocksdb_status.h"
#include "storage/rows/row_store.h"
#include "storage/rows/runtime_shared.h"

namespace quiver::storage {
namespace {

/// True if there are files with rows. A log is empty until its first row.
bool holds_rows(const std::string& path, rocksdb::Env& env) {
  std::vector<std::string> files;
  if (!env.GetChildren(path, &files).ok()) return false;
  return std::any_of(files.begin(), files.end(), [&](const std::string& file) {
    std::uint64_t size = 0;
    if (file.ends_with(".log")) return env.GetFileSize(path + "/" + file, &size).ok() && size > 0;
    return file.ends_with(".sst") || file.ends_with(".blob");
  });
}

/// RocksDB creates the tables one after another. So a crash during creation leaves only the first
/// of them beside `default`, and no rows; opening the store creates the rest. A manifest that was
/// cut short looks the same, but then there are rows.
Result<> check_tables(const std::string& path, const std::vector<std::string>& found,
                      rocksdb::Env& env) {
  const auto& wanted = RowStore::kTableNames;
  if (found.size() <= wanted.size() && holds_rows(path, env)) {
    return fail(Code::kDataLoss,
                fmt::format("the manifest of `{}` names the tables {} only, but there are rows",
                            path, fmt::join(found, ", ")));
  }
  const std::size_t n_made = std::min(found.size(), wanted.size() + 1) - 1;
  for (std::size_t i = 0; i < n_made; ++i) {
    if (std::find(found.begin(), found.end(), wanted[i]) != found.end()) continue;
    return fail(Code::kDataLoss,
                fmt::format("`{}` has the tables {}, but no `{}`: it is no shard store", path,
                            fmt::join(found, ", "), wanted[i]));
  }
  return {};
}

}  // namespace

Result<> check_exists(const std::string& path, const Runtime& runtime) {
  QV_TRY(const bool there, has_manifest(path, *runtime.shared().env));
  if (there) return {};
  return fail(Code::kDataLoss,
              fmt::format("the rows are gone: `{}` holds no database (no file CURRENT)", path));
}

Result<> check_store(const std::string& path, const Runtime& runtime, Opening opening) {
  if (opening == Opening::kMustExist) QV_TRY(check_exists(path, runtime));
  const RuntimeShared& shared = runtime.shared();
  QV_TRY(const bool there, has_manifest(path, *shared.env));
  if (!there) return {};
  if (const auto synced = SyncedMark::read(*shared.env, path)) {
    QV_TRY(check_sizes(*shared.env, path, *synced));
  }
  std::vector<std::string> families;
  const auto status = rocksdb::DB::ListColumnFamilies(shared.database_options, path, &families);
  if (status.IsPathNotFound()) {
    return fail(Code::kDataLoss,
                fmt::format("cannot open `{}`: its manifest is gone: {}", path, status.ToString()));
  }
  QV_TRY(to_result(status, "read the manifest of", path));
  return check_tables(path, families, *shared.env);
}

Result<> check_store_logs(const std::string& path, const Runtime& runtime) {
  rocksdb::Env& env = *runtime.shared().env;
  if (!env.FileExists(path + "/CURRENT").ok()) return {};
  const auto synced = SyncedMark::read(env, path);
  QV_TRY(check_logs(env, path, synced));
  return RowStore::check_end(path, runtime.shared(), synced);
}

}  // namespace quiver::storage
