// Attributes of a segment that still grows, made when a filter first asks for them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "payload/attribute/attribute.h"

namespace quiver::payload {

/// The attributes of rows `[first_row, first_row + n_rows)`.
struct AttributeRows {
  std::uint32_t first_row = 0;
  std::uint32_t n_rows = 0;
  AttributeSet set;
};

/// Rows are only ever added to the segment. Any number of threads may ask.
class GrowingAttributes {
 public:
  using Parts = std::vector<std::shared_ptr<const AttributeRows>>;

  /// Attributes of the rows below `n_rows`, except the last few, whose documents are read faster.
  /// A first row is a multiple of `kRowsPerCellRange`. Rows from one that is not JSON on have none.
  [[nodiscard]] Parts of_rows(
      std::uint32_t n_rows, const std::function<std::string_view(std::uint32_t)>& document_of_row);

 private:
  Mutex mutex_;
  Parts parts_ QV_GUARDED_BY(mutex_);
};

}  // namespace quiver::payload
