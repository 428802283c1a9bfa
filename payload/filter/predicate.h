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

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/bitset.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/threads/cancel.h"
#include "payload/column/column.h"
#include "payload/filter.h"
#include "payload/filter/identity.h"
#include "payload/filter/rows_view.h"
#include "payload/json/document.h"
#include "payload/schema.h"

namespace quiver::payload {

/// Immutable. Any number of threads may use it.
class Predicate {
 public:
  virtual ~Predicate() = default;
  Predicate(const Predicate&) = delete;
  Predicate& operator=(const Predicate&) = delete;

  /// The rows of `candidates` (n_rows bits) that match. kCancelled or kDeadlineExceeded from
  /// `cancel`; kDataLoss, naming the row, if a stored document is not JSON.
  [[nodiscard]] virtual Result<Bitset> evaluate(const RowsView& rows, Bitset candidates,
                                                const Cancel& cancel) const = 0;
  /// All rows that match, as far as they are known from an earlier evaluation; else nullptr.
  using KnownRows = std::function<std::shared_ptr<const Bitset>()>;
  /// The rows that match, ascending, but not those of `dead` (n_rows bits; nullptr: none), without
  /// a pass over all rows. nullopt, at once, unless columns or ids show that at most `most` can
  /// match. Asks `known` before it reads documents. Errors as in `evaluate`.
  [[nodiscard]] virtual Result<std::optional<std::vector<std::uint32_t>>> evaluate_few(
      const RowsView& rows, const Bitset* dead, std::size_t most, const KnownRows& known,
      const Cancel& cancel) const = 0;
  /// Evaluates one point from its document alone. Slow.
  [[nodiscard]] virtual bool matches(const Value& document, const PointId& id,
                                     const HasVectorFn& has_vector) const = 0;
  /// Estimates from postings, sorted values and attributes in microseconds. The first time, a
  /// growing segment may make its attributes for it, which takes microseconds a row.
  [[nodiscard]] virtual Estimate estimate(const RowsView& rows) const = 0;
  /// True if every point matches, so that evaluation can be skipped.
  [[nodiscard]] virtual bool always_true() const = 0;
  /// nullptr if it would be too long.
  [[nodiscard]] virtual const FilterIdentity* identity() const = 0;

 protected:
  Predicate() = default;
};

/// Compiles a filter. `indexes` are those that the collection declares. kInvalidArgument for
/// malformed paths, lists of mixed types, polygons with open or short rings, coordinates out of
/// range and filters nested too deeply.
[[nodiscard]] Result<std::shared_ptr<const Predicate>> compile(const Filter& filter,
                                                               std::span<const FieldIndex> indexes);

}  // namespace quiver::payload
