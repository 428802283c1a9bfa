#include "app/ann/built_index.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "app/ann/machine.h"
#include "base/clock.h"

namespace quiver::app {
namespace {

constexpr std::string_view kPrefix = "building-";  // and the number of the process

/// nullopt for a name that `BuiltIndex` does not give.
std::optional<pid_t> builder_of(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  pid_t pid = 0;
  const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
  if (parsed.ec != std::errc() || parsed.ptr != name.data() + name.size() || pid <= 0) {
    return std::nullopt;
  }
  return pid;
}

bool is_gone(pid_t pid) { return ::kill(pid, 0) != 0 && errno == ESRCH; }

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

void remove_abandoned_builds(Directory& parent) {
  const auto entries = parent.list();
  if (!entries) return;
  for (const auto& entry : *entries) {
    const auto pid = builder_of(entry.name);
    if (entry.kind == EntryKind::kDirectory && pid && is_gone(*pid)) {
      (void)parent.remove_subdirectory(entry.name);
    }
  }
}

Result<BuiltIndex> BuiltIndex::build(const std::string& type, const index::FieldColumn& column,
                                     const KeyValues& params, std::uint64_t seed,
                                     Executor& executor, Directory& parent) {
  BuiltIndex built;
  QV_TRY(built.type_, find_type(type, column.schema));
  QV_TRY(const auto parsed, built.type_->parse_build(params));
  const std::string name = fmt::format("{}{}", kPrefix, ::getpid());
  if (parent.exists(name))
    QV_TRY(parent.remove_subdirectory(name));  // of a process that was killed
  QV_TRY(built.directory_, parent.subdirectory(name));
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

BuiltIndex::~BuiltIndex() {
  if (directory_ == nullptr) return;
  searcher_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(directory_->path(), ignored);
}

}  // namespace quiver::app
