// A compiled filter, and the rows that it is evaluated on.
//
// The meaning of a condition does not depend on which columns exist, only on which indexes the
// collection declares. Under a text index, text conditions compare tokens (else substrings). Under
// a uuid index, strings that are UUIDs compare as UUIDs.
//
// `evaluate` works in two steps. For the whole tree at once, columns give the rows that surely
// match and the rows that may match. Then only the documents of rows that may match are parsed,
// once each.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "base/bitset.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/threads/cancel.h"
#include "payload/column/column.h"
#include "payload/filter.h"
#include "payload/json/document.h"
#include "payload/schema.h"

namespace quiver::payload {

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
  /// The payload as JSON; an empty text stands for `{}`. Valid until the next call.
  [[nodiscard]] virtual Result<std::string_view> document(std::uint32_t row) const = 0;
  /// The column with at least `n_rows` rows, by the key as its `FieldIndex` spells it; null if
  /// there is none.
  [[nodiscard]] virtual const ColumnView* column(std::string_view key) const = 0;
  /// [n_rows] of 0 or 1: 1 if the row has a vector in this field. Null if there is no such field.
  [[nodiscard]] virtual const std::uint8_t* present(std::string_view field_name) const = 0;
};

/// Estimated number of matching rows: at least `min`, at most `max`, probably about `expected`.
struct Estimate {
  std::uint64_t min = 0;
  std::uint64_t expected = 0;
  std::uint64_t max = 0;
  bool operator==(const Estimate&) const = default;
};

/// Returns true if the point has a vector in the named field.
using HasVectorFn = std::function<bool(std::string_view field_name)>;

/// Immutable. Any number of threads may use it.
class Predicate {
 public:
  virtual ~Predicate() = default;
  Predicate(const Predicate&) = delete;
  Predicate& operator=(const Predicate&) = delete;

  /// The rows of `candidates` (n_rows bits) that match. kCancelled or kDeadlineExceeded from
  /// `cancel`; kDataLoss, naming the row, if a stored document is not JSON.
  [[nodiscard]] virtual Result<Bitset> evaluate(const RowsView& rows, const Bitset& candidates,
                                                const Cancel& cancel) const = 0;
  /// Evaluates one point from its document alone. Slow.
  [[nodiscard]] virtual bool matches(const Value& document, const PointId& id,
                                     const HasVectorFn& has_vector) const = 0;
  /// Estimates from postings and sorted values without reading rows, in microseconds.
  [[nodiscard]] virtual Estimate estimate(const RowsView& rows) const = 0;
  /// True if every point matches, so that evaluation can be skipped.
  [[nodiscard]] virtual bool always_true() const = 0;

 protected:
  Predicate() = default;
};

/// Maximum nesting depth of a filter.
inline constexpr int kMaxFilterDepth = 64;

/// Compiles a filter. `indexes` are those that the collection declares. kInvalidArgument for
/// malformed paths, lists of mixed types, polygons with open or short rings, coordinates out of
/// range and filters nested too deeply.
[[nodiscard]] Result<std::shared_ptr<const Predicate>> compile(const Filter& filter,
                                                               std::span<const FieldIndex> indexes);

}  // namespace quiver::payload
