#include "engine/collections/sharding/shard_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>
#include <system_error>

#include "base/io/file_tree.h"
#include "base/observe/log.h"

namespace quiver::engine {
namespace {

constexpr std::string_view kShardPrefix = "shard-";

bool is_shard_directory(std::string_view name) {
  if (!name.starts_with(kShardPrefix) || name.size() == kShardPrefix.size()) return false;
  return name.find_first_not_of("0123456789", kShardPrefix.size()) == std::string_view::npos;
}

}  // namespace

Result<> remove_stray_shards(const std::string& path, const CollectionConfig& config) {
  QV_TRY(make_directories(path));
  std::set<std::string> known;
  for (const auto number : shard_numbers(config)) {
    known.insert(fmt::format("{}{}", kShardPrefix, number));
  }
  std::error_code error;
  std::set<std::string> strays;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    const std::string name = entry.path().filename();
    if (is_shard_directory(name) && !known.contains(name)) strays.insert(name);
  }
  if (error)
    return fail(Code::kUnavailable, fmt::format("reading `{}`: {}", path, error.message()));
  for (const auto& name : strays) {
    log_info("`{}/{}` belongs to no shard key; it is removed", path, name);
    QV_TRY(remove_tree(fmt::format("{}/{}", path, name)));
  }
  return {};
}

}  // namespace quiver::engine
