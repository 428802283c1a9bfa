#include "engine/files/data_directory.h"

#include <fmt/format.h>

#include <utility>

#include "base/io/file_tree.h"
#include "storage/catalog/catalog_format.h"

namespace quiver::engine {
namespace {

using storage::Catalog;

Result<Catalog::State> read_state(const Directory& directory, std::string_view name) {
  const std::string path = fmt::format("{}/{}", directory.path(), name);
  if (!directory.exists(name)) return fail(Code::kNotFound, fmt::format("`{}` is missing", path));
  QV_TRY(const auto bytes, directory.read_file(name));
  return storage::decode_catalog(bytes, path);
}

}  // namespace

Result<DataDirectory> DataDirectory::open(const std::string& path) {
  DataDirectory opened;
  QV_TRY(opened.directory_, open_existing_directory(path));
  const std::string lock_path = path + "/LOCK";
  if (opened.directory_->exists("LOCK")) {
    auto lock = FileLock::try_lock(lock_path);
    if (lock && !*lock) {
      return fail(Code::kUnavailable,
                  fmt::format("data directory {} is in use by a server: stop it first", path));
    }
    if (lock) opened.lock_ = std::move(*lock);
  }
  QV_TRY(opened.context_.runtime, storage::Runtime::create({}));
  return opened;
}

ReadCatalog DataDirectory::read_catalog() const {
  ReadCatalog read;
  auto state = read_state(*directory_, Catalog::kFileName);
  auto copy = read_state(*directory_, Catalog::kCopyName);
  if (!copy && copy.error().code() != Code::kNotFound) read.copy_problem = copy.error().message();
  if (state) {
    read.state = *std::move(state);
    return read;
  }
  read.problem = state.error().message();
  read.is_copy = copy.has_value();
  if (copy) read.state = *std::move(copy);
  return read;
}

std::vector<std::string> DataDirectory::names_below_collections() const {
  std::vector<std::string> names;
  const auto below = directory_->open_subdirectory(Catalog::kCollectionsDirectory);
  const auto entries = below ? (*below)->list() : Result<std::vector<DirectoryEntry>>();
  if (!entries) return names;
  for (const auto& entry : *entries) names.push_back(entry.name);
  return names;
}

}  // namespace quiver::engine
