#include "storage/store_check.h"

#include <fmt/format.h>
#include <rocksdb/db.h>

#include <algorithm>
#include <vector>

#include "storage/database.h"
#include "storage/rocksdb_status.h"
#include "storage/runtime_shared.h"

namespace quiver::storage {

Result<> check_store(const std::string& path, const Runtime& runtime) {
  const Runtime::Shared& shared = runtime.shared();
  QV_TRY(const bool there, has_manifest(path, *shared.env));
  if (!there) return {};
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
