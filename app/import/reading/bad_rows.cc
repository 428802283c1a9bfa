#include "app/import/reading/bad_rows.h"

#include <algorithm>
#include <utility>

namespace quiver::app {

Result<> BadRows::add(std::uint64_t row, std::string text) {
  if (policy_ == OnBadRow::kStop) return fail(Code::kInvalidArgument, std::move(text));
  MutexLock lock(mutex_);
  if (rows_.size() < kMaxKept) {
    rows_.push_back(BadRow{row, std::move(text)});
  } else {
    ++n_dropped_;
  }
  return {};
}

void BadRows::restore(std::uint64_t n, std::vector<BadRow> rows) {
  MutexLock lock(mutex_);
  n_dropped_ = n - std::min<std::uint64_t>(n, rows.size());
  rows_ = std::move(rows);
}

std::uint64_t BadRows::count() const {
  MutexLock lock(mutex_);
  return rows_.size() + n_dropped_;
}

std::uint64_t BadRows::count_before(std::uint64_t end) const {
  MutexLock lock(mutex_);
  const auto n =
      std::count_if(rows_.begin(), rows_.end(), [&](const BadRow& bad) { return bad.row < end; });
  return static_cast<std::uint64_t>(n) + n_dropped_;
}

std::vector<BadRow> BadRows::before(std::uint64_t end) const {
  std::vector<BadRow> found;
  {
    MutexLock lock(mutex_);
    std::copy_if(rows_.begin(), rows_.end(), std::back_inserter(found),
                 [&](const BadRow& bad) { return bad.row < end; });
  }
  std::sort(found.begin(), found.end(),
            [](const BadRow& a, const BadRow& b) { return a.row < b.row; });
  return found;
}

}  // namespace quiver::app
