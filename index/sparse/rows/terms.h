// Terms: components of a sparse column, split by the sign of their values and numbered.
//
// A component with values of both signs is two terms, so that all code behind works with
// non-negative values. The query's weight of the negative term is negated.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/io/shared_span.h"
#include "base/views.h"
#include "index/vector_column.h"

namespace quiver::index::sparse {

/// One term of a prepared query; `weight` may have either sign.
struct QueryTerm {
  std::uint32_t term = 0;
  float weight = 0;
};

/// The terms of a column, numbered from 0 by ascending key. Immutable; shares its memory.
class TermMap {
 public:
  /// component * 2, plus 1 for negative values. Zero is not negative.
  using Key = std::uint64_t;
  [[nodiscard]] static constexpr Key key_of(std::uint32_t component, float value) {
    return std::uint64_t{component} * 2 + (value < 0 ? 1 : 0);
  }

  TermMap() = default;
  /// `keys`: strictly ascending, at most 2^32 - 2.
  explicit TermMap(SharedSpan<Key> keys);
  /// The terms of rows `[first, first + n)` of `column`.
  [[nodiscard]] static TermMap of(const SparseColumn& column, std::uint32_t first, std::uint32_t n);

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(keys_.size()); }
  [[nodiscard]] const SharedSpan<Key>& keys() const { return keys_; }
  [[nodiscard]] std::optional<std::uint32_t> find(Key key) const;
  /// Number of a key that exists. Any number for others, which only a file damaged meanwhile can
  /// hold.
  [[nodiscard]] std::uint32_t at(Key key) const;
  /// The terms of `query` that occur here, ascending.
  [[nodiscard]] std::vector<QueryTerm> terms_of(const SparseView& query) const;

 private:
  SharedSpan<Key> keys_;
  std::vector<std::uint32_t> direct_;  ///< term number by key, if keys are small; kNone: no term
};

}  // namespace quiver::index::sparse
