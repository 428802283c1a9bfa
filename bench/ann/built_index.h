// An index built over a column, in a temporary directory of its own.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/io/file.h"
#include "base/io/file_lock.h"
#include "base/params.h"
#include "base/result.h"
#include "base/threads/executor.h"
#include "index/index.h"

namespace quiver::bench {

/// kNotFound, with the known types, if no index has this name.
[[nodiscard]] Result<const index::IndexType*> find_index(const std::string& name);

/// `given`, or if it is empty `$XDG_CACHE_HOME/quiver` or `~/.cache/quiver`: where indexes are
/// built and ground truth is kept.
[[nodiscard]] std::string cache_path(const std::string& given);

/// Removes build directories that killed processes left in `parent`. Keeps those that a running
/// process holds locked, also from another machine, and those that cannot be removed.
void remove_abandoned_builds(Directory& parent);

/// Removes its directory when destroyed.
class BuiltIndex {
 public:
  struct Cost {
    double seconds = 0;  ///< wall time of building and opening
    std::optional<std::uint64_t>
        peak_bytes;  ///< peak memory above that before the build; nullopt if unknown
    std::uint64_t file_bytes = 0;
    index::MemoryUse memory;
  };

  /// Builds in a new directory below `parent`. kNotFound, with the known types, for an unknown
  /// type; kInvalidArgument if the type does not support the field or the parameters are wrong.
  [[nodiscard]] static Result<BuiltIndex> build(const std::string& type,
                                                const index::FieldColumn& column,
                                                const KeyValues& params, std::uint64_t seed,
                                                Executor& executor, Directory& parent);
  ~BuiltIndex();
  BuiltIndex(BuiltIndex&&) noexcept = default;
  BuiltIndex& operator=(BuiltIndex&&) = delete;

  [[nodiscard]] const index::IndexType& type() const { return *type_; }
  [[nodiscard]] const index::Searcher& searcher() const { return *searcher_; }
  [[nodiscard]] const Cost& cost() const { return cost_; }

 private:
  BuiltIndex() = default;
  Result<> make_directory(Directory& parent);

  const index::IndexType* type_ = nullptr;
  std::optional<FileLock> lock_;  ///< on the directory, until it is removed
  std::unique_ptr<Directory> directory_;
  std::unique_ptr<index::Searcher> searcher_;
  Cost cost_;
};

}  // namespace quiver::bench
