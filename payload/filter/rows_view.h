// The rows that a filter is evaluated on, and an estimate of how many match.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "payload/attribute/attribute.h"
#include "payload/column/column.h"
#include "payload/json/document.h"

namespace quiver::payload {

/// The attribute of rows `[first_row, first_row + n_rows)`.
struct AttributePart {
  std::uint32_t first_row = 0;  ///< a multiple of 64
  std::uint32_t n_rows = 0;
  const AttributeView* view = nullptr;  ///< nullptr: in these rows the path leads to nothing
};

/// The rows of one segment, as a filter sees them. Everything returned stays valid and unchanged
/// while the view lives. One thread per evaluation calls it.
class RowsView {
 public:
  virtual ~RowsView() = default;

  [[nodiscard]] virtual std::uint32_t n_rows() const = 0;
  /// [n_rows], the id of each row.
  [[nodiscard]] virtual std::span<const PointId> ids() const = 0;
  /// True if `ids` ascends.
  [[nodiscard]] virtual bool sorted_ids() const = 0;
  /// [n_rows], the rows by ascending id, if that is known of rows in another order; else empty.
  [[nodiscard]] virtual std::span<const std::uint32_t> id_order() const { return {}; }
  /// The payload as JSON; an empty text stands for `{}`. Valid until the next call.
  [[nodiscard]] virtual Result<std::string_view> document(std::uint32_t row) const = 0;
  /// The column with at least `n_rows` rows, by the key as its `FieldIndex` spells it; null if
  /// there is none.
  [[nodiscard]] virtual const ColumnView* column(std::string_view key) const = 0;
  /// What is known of the values under a path, given in its canonical spelling, by parts of the
  /// rows. Nothing is known of rows in no part.
  [[nodiscard]] virtual std::vector<AttributePart> attributes(std::string_view /*path*/) const {
    return {};
  }
  /// [n_rows] of 0 or 1: 1 if the row has a vector in this field. Null if there is no such field.
  [[nodiscard]] virtual const std::uint8_t* present(std::string_view field_name) const = 0;
};

/// The document of a row. kDataLoss, naming the point, if it is not JSON.
[[nodiscard]] Result<Value> read_document(const RowsView& rows, std::uint32_t row);

/// Estimated number of matching rows: at least `min`, at most `max`, probably about `expected`.
struct Estimate {
  std::uint64_t min = 0;
  std::uint64_t expected = 0;
  std::uint64_t max = 0;
  bool operator==(const Estimate&) const = default;
};

/// Returns true if the point has a vector in the named field.
using HasVectorFn = std::function<bool(std::string_view field_name)>;

}  // namespace quiver::payload
