// What some searchers know beside the contract: which rows are similar.
#pragma once

#include <cstdint>
#include <vector>

namespace quiver::index {

/// A searcher may derive from this, too; those who want the order ask by `dynamic_cast`.
class RowOrder {
 public:
  virtual ~RowOrder() = default;
  /// Each row with a vector once, similar ones near one another: searches for them in this order
  /// read the same memory.
  [[nodiscard]] virtual std::vector<std::uint32_t> rows_by_nearness() const = 0;
};

}  // namespace quiver::index
