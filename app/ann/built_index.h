// An index built over a column in a directory of its own, for as long as it is measured.
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

namespace quiver::app {

/// kNotFound if there is no index of this name; the text lists those there are.
[[nodiscard]] Result<const index::IndexType*> find_index(const std::string& name);

/// Removes what killed processes left in `parent` while they measured an index; what another one
/// measures, of this machine or of one that shares the files, stays. So does what cannot be
/// removed.
void remove_abandoned_builds(Directory& parent);

/// Its directory goes when it does.
class BuiltIndex {
 public:
  struct Cost {
    double seconds = 0;                       ///< building and opening
    std::optional<std::uint64_t> peak_bytes;  ///< beyond what was in memory before
    std::uint64_t file_bytes = 0;
    index::MemoryUse memory;
  };

  /// Below `parent`. kNotFound, with the known types, for a type that does not exist;
  /// kInvalidArgument if it does not support the field or its parameters are wrong.
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
  std::optional<FileLock> lock_;  ///< of the directory, until that is gone
  std::unique_ptr<Directory> directory_;
  std::unique_ptr<index::Searcher> searcher_;
  Cost cost_;
};

}  // namespace quiver::app
