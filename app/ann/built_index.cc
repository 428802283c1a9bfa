#include "app/ann/built_index.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

#include "app/ann/machine.h"
#include "base/clock.h"

namespace quiver::app {
namespace {

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

Result<BuiltIndex> BuiltIndex::build(const std::string& type, const index::FieldColumn& column,
                                     const KeyValues& params, std::uint64_t seed,
                                     Executor& executor, Directory& parent) {
  BuiltIndex built;
  QV_TRY(built.type_, find_type(type, column.schema));
  QV_TRY(const auto parsed, built.type_->parse_build(params));
  const std::string name = fmt::format("building-{}", ::getpid());
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
