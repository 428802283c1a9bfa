// Rows that cannot become points. They stop the import unless the user asked to skip them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"

namespace quiver::app {

struct BadRow {
  std::uint64_t row = 0;
  std::string text;  ///< file, line or row, and the problem
};

enum class OnBadRow : std::uint8_t { kStop, kSkip };

/// Thread-safe.
class BadRows {
 public:
  /// Bad rows beyond this many are counted without their texts.
  static constexpr std::size_t kMaxKept = 1000;

  explicit BadRows(OnBadRow policy) : policy_(policy) {}

  /// Records a skipped row; kInvalidArgument with `text` if the policy is to stop.
  Result<> add(std::uint64_t row, std::string text) QV_EXCLUDES(mutex_);
  /// Adds the rows that an earlier run skipped: `n` in all, some with texts.
  void restore(std::uint64_t n, std::vector<BadRow> rows) QV_EXCLUDES(mutex_);

  [[nodiscard]] std::uint64_t count() const QV_EXCLUDES(mutex_);
  /// Number of bad rows before `end`. Rows without a kept text count as before it.
  [[nodiscard]] std::uint64_t count_before(std::uint64_t end) const QV_EXCLUDES(mutex_);
  /// Bad rows before `end`, in order of rows.
  [[nodiscard]] std::vector<BadRow> before(std::uint64_t end) const QV_EXCLUDES(mutex_);
  [[nodiscard]] bool skips() const { return policy_ == OnBadRow::kSkip; }

 private:
  const OnBadRow policy_;
  mutable Mutex mutex_;
  std::vector<BadRow> rows_ QV_GUARDED_BY(mutex_);
  std::uint64_t n_dropped_ QV_GUARDED_BY(mutex_) = 0;  ///< counted, text not kept
};

}  // namespace quiver::app
