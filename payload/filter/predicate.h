// A filter made ready for evaluation, and the rows that it is evaluated on.
//
// What a condition means does not depend on which columns exist, only on which indexes the
// collection declares: under a text index, text conditions compare tokens (else substrings), and
// under a uuid index, strings that are UUIDs compare as UUIDs.
//
// `evaluate` works in two steps. Columns give, for the whole tree at once, the rows that surely
// match and those that may; documents of the rows in between, and only those, are parsed, once
// each.
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

/// The rows of one segment, as a filter needs to see them. Everything it hands out is valid, and
/// the same, while the view lives; called from one thread per evaluation.
class RowsView {
 public:
  virtual ~RowsView() = default;

  [[nodiscard]] virtual std::uint32_t n_rows() const = 0;
  /// [n_rows]
  [[nodiscard]] virtual std::span<const PointId> ids() const = 0;
  /// Whether `ids` ascends.
  [[nodiscard]] virtual bool sorted_ids() const = 0;
  /// The payload, JSON; may be empty for `{}`. Valid until the next call.
  [[nodiscard]] virtual Result<std::string_view> document(std::uint32_t row) const = 0;
  /// By the key of the index as its `FieldIndex` spells it; null if there is no such column. It has
  /// at least `n_rows` rows.
  [[nodiscard]] virtual const ColumnView* column(std::string_view key) const = 0;
  /// [n_rows] of 0 or 1: the row has a vector in this field; null if there is no such field.
  [[nodiscard]] virtual const std::uint8_t* present(std::string_view field_name) const = 0;
};

/// How many rows match: at least `min`, at most `max`, perhaps `expected`.
struct Estimate {
  std::uint64_t min = 0;
  std::uint64_t expected = 0;
  std::uint64_t max = 0;
  bool operator==(const Estimate&) const = default;
};

/// Tells whether the point has a vector in the named field.
using HasVectorFn = std::function<bool(std::string_view field_name)>;

/// Immutable; any number of threads.
class Predicate {
 public:
  virtual ~Predicate() = default;
  Predicate(const Predicate&) = delete;
  Predicate& operator=(const Predicate&) = delete;

  /// `candidates` (of n_rows bits) that match. kCancelled or kDeadlineExceeded from `cancel`;
  /// kDataLoss, naming the row, if a stored document is not JSON.
  [[nodiscard]] virtual Result<Bitset> evaluate(const RowsView& rows, const Bitset& candidates,
                                                const Cancel& cancel) const = 0;
  /// One point, slowly, from its document alone.
  [[nodiscard]] virtual bool matches(const Value& document, const PointId& id,
                                     const HasVectorFn& has_vector) const = 0;
  /// From postings and sorted values, without touching rows: microseconds.
  [[nodiscard]] virtual Estimate estimate(const RowsView& rows) const = 0;
  /// Whether it matches every point, so that it need not be evaluated.
  [[nodiscard]] virtual bool always_true() const = 0;

 protected:
  Predicate() = default;
};

/// Filters nested deeper than this are refused.
inline constexpr int kMaxFilterDepth = 64;

/// `indexes` are those that the collection declares. kInvalidArgument for a malformed path, lists
/// of mixed types, polygons with open or short rings, coordinates out of range, and too deep
/// nesting.
[[nodiscard]] Result<std::shared_ptr<const Predicate>> compile(const Filter& filter,
                                                               std::span<const FieldIndex> indexes);

}  // namespace quiver::payload
