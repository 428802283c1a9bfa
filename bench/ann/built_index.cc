#include "bench/ann/built_index.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <random>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "bench/common/machine.h"

namespace quiver::bench {
namespace {

constexpr std::string_view kPrefix = "building-";
constexpr std::size_t kDigits = 16;

/// The file locked while `directory` is in use. A process id would not do: containers and machines
/// that share the cache number their processes independently.
std::string lock_path(const std::string& directory) { return directory + "/lock"; }

/// True for the names that `BuiltIndex` gives its directories.
bool is_of_a_build(std::string_view name) {
  return name.size() == kPrefix.size() + kDigits && name.starts_with(kPrefix) &&
         name.find_first_not_of("0123456789abcdef", kPrefix.size()) == std::string_view::npos;
}

std::string random_digits() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

Result<const index::IndexType*> find_type(const std::string& name, const FieldSchema& schema) {
  QV_TRY(const auto* type, find_index(name));
  if (!type->supports(schema)) {
    return fail(Code::kInvalidArgument,
                fmt::format("index `{}` does not support such a field", name));
  }
  return type;
}

Result<std::uint64_t> bytes_of_files(const Directory& directory) {
  std::uint64_t sum = 0;
  QV_TRY(const auto entries, directory.list());
  for (const auto& entry : entries) {
    if (entry.kind != EntryKind::kFile) continue;
    QV_TRY(const auto bytes, directory.file_size(entry.name));
    sum += bytes;
  }
  return sum;
}

}  // namespace

Result<const index::IndexType*> find_index(const std::string& name) {
  const auto* type = index::find_index_type(name);
  if (type != nullptr) return type;
  std::vector<std::string_view> known;
  for (const auto* other : index::index_types()) known.push_back(other->name);
  return fail(Code::kNotFound,
              fmt::format("no index type `{}`; one of {}", name, fmt::join(known, ", ")));
}

std::string cache_path(const std::string& given) {
  if (!given.empty()) return given;
  const char* xdg = std::getenv("XDG_CACHE_HOME");
  if (xdg != nullptr && *xdg != '\0') return std::string(xdg) + "/quiver";
  const char* home = std::getenv("HOME");
  return std::string(home != nullptr ? home : ".") + "/.cache/quiver";
}

void remove_abandoned_builds(Directory& parent) {
  const auto entries = parent.list();
  if (!entries) return;
  for (const auto& entry : *entries) {
    if (entry.kind != EntryKind::kDirectory || !is_of_a_build(entry.name)) continue;
    const auto lock = FileLock::try_lock(lock_path(parent.path() + "/" + entry.name));
    if (lock && *lock) (void)parent.remove_subdirectory(entry.name);
  }
}

Result<BuiltIndex> BuiltIndex::build(const std::string& type, const index::FieldColumn& column,
                                     const KeyValues& params, std::uint64_t seed,
                                     Executor& executor, Directory& parent) {
  BuiltIndex built;
  QV_TRY(built.type_, find_type(type, column.schema));
  QV_TRY(const auto parsed, built.type_->parse_build(params));
  QV_TRY(built.make_directory(parent));
  const Cancel cancel;
  const PeakMemory memory;
  const Stopwatch watch;
  QV_TRY(built.type_->build(column, parsed, {&executor, cancel, seed, [](auto) {}},
                            *built.directory_));
  QV_TRY(built.searcher_, built.type_->open(*built.directory_, column));
  built.cost_.seconds = watch.seconds();
  built.cost_.peak_bytes = memory.bytes();
  QV_TRY(built.cost_.file_bytes, bytes_of_files(*built.directory_));
  built.cost_.memory = built.searcher_->memory();
  return built;
}

/// Creates and locks the directory under a temporary name, then renames it:
/// `remove_abandoned_builds` never sees it unlocked.
Result<> BuiltIndex::make_directory(Directory& parent) {
  const std::string digits = random_digits();
  const std::string first_name = "new-" + digits;
  const std::string name = std::string(kPrefix) + digits;
  QV_TRY(const auto directory, parent.subdirectory(first_name));
  QV_TRY(lock_, FileLock::try_lock(lock_path(directory->path())));
  QV_TRY(parent.rename_subdirectory(first_name, name));
  QV_TRY(directory_, parent.open_subdirectory(name));
  return {};
}

BuiltIndex::~BuiltIndex() {
  if (directory_ == nullptr) return;
  searcher_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(directory_->path(), ignored);
}

}  // namespace quiver::bench
