#include "storage/store_check.h"

#include <fmt/format.h>
#include <rocksdb/db.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "storage/database.h"
#include "storage/rocksdb_status.h"
#include "storage/runtime_shared.h"

namespace quiver::storage {
namespace {

bool holds_data(std::string_view file) {
  return file.ends_with(".sst") || file.ends_with(".blob") || file.ends_with(".log");
}

}  // namespace

Result<> check_not_headless(const std::string& path, rocksdb::Env& env) {
  std::vector<std::string> files;
  if (!env.GetChildren(path, &files).ok()) return {};
  if (env.FileExists(path + "/CURRENT").ok()) return {};
  const auto data = std::find_if(files.begin(), files.end(), holds_data);
  if (data == files.end()) return {};
  return fail(Code::kDataLoss,
              fmt::format("cannot open `{}`: it holds `{}` but no file CURRENT", path, *data));
}

Result<> check_store(const std::string& path, const Runtime& runtime) {
  const Runtime::Shared& shared = runtime.shared();
  QV_TRY(check_not_headless(path, *shared.env));
  if (!shared.env->FileExists(path + "/CURRENT").ok()) return {};
  std::vector<std::string> families;
  const auto status = rocksdb::DB::ListColumnFamilies(shared.database_options, path, &families);
  if (status.IsPathNotFound()) {
    return fail(Code::kDataLoss,
                fmt::format("cannot open `{}`: its manifest is gone: {}", path, status.ToString()));
  }
  QV_TRY(to_result(status, "read the manifest of", path));
  for (const char* wanted : Database::kTableNames) {
    if (std::find(families.begin(), families.end(), wanted) != families.end()) continue;
    return fail(Code::kDataLoss,
                fmt::format("`{}` has no table `{}`: it is no shard store", path, wanted));
  }
  return {};
}

}  // namespace quiver::storage
