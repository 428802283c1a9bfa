// Rows that cannot become points: named, and skipped only when asked.
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
  std::string text;  ///< file, line or row, and what is wrong
};

enum class OnBadRow : std::uint8_t { kStop, kSkip };

/// Any thread may call anything.
class BadRows {
 public:
  /// Texts beyond this many are only counted.
  static constexpr std::size_t kMaxKept = 1000;

  explicit BadRows(OnBadRow policy) : policy_(policy) {}

  /// Takes a row that is left out; kInvalidArgument with its text if the import is to stop there.
  Result<> add(std::uint64_t row, std::string text) QV_EXCLUDES(mutex_);
  /// What an earlier run left out.
  void restore(std::uint64_t n, std::vector<BadRow> rows) QV_EXCLUDES(mutex_);

  [[nodiscard]] std::uint64_t count() const QV_EXCLUDES(mutex_);
  /// Of rows before `end`; those whose text was dropped are taken to be.
  [[nodiscard]] std::uint64_t count_before(std::uint64_t end) const QV_EXCLUDES(mutex_);
  /// Those before row `end`, by row.
  [[nodiscard]] std::vector<BadRow> before(std::uint64_t end) const QV_EXCLUDES(mutex_);
  [[nodiscard]] bool skips() const { return policy_ == OnBadRow::kSkip; }

 private:
  const OnBadRow policy_;
  mutable Mutex mutex_;
  std::vector<BadRow> rows_ QV_GUARDED_BY(mutex_);
  std::uint64_t n_dropped_ QV_GUARDED_BY(mutex_) = 0;  ///< counted, text not kept
};

}  // namespace quiver::app
