#include <algorithm>

#include "payload/column/kinds.h"
#include "payload/filter/column_match.h"
#include "payload/filter/column_terms.h"

namespace quiver::payload {
namespace {

class ColumnEstimator {
 public:
  ColumnEstimator(const ColumnView& column, std::uint64_t n_rows, bool is_single)
      : column_(column),
        traits_(traits_of(column.index->kind)),
        n_rows_(n_rows),
        is_single_(is_single) {}

  [[nodiscard]] Estimate of(const MembershipCondition& condition) const {
    if (condition.mode == MembershipCondition::Mode::kNoneOf ||
        !holds(traits_.kind, condition.type)) {
      return unknown();
    }
    if (condition.type == ScalarType::kNone) return {};
    if (condition.type != ScalarType::kInteger) {
      return any_of_terms(wanted_terms(column_, condition), is_single_);
    }
    std::uint64_t n_values = 0;
    for (const std::int64_t value : condition.integers) {
      n_values += find_sorted(column_.sorted_integers.span(), value, value).size();
    }
    return from_values(n_values);
  }
  [[nodiscard]] Estimate of(const TextCondition& condition) const {
    if (condition.words.empty()) return {};
    if (!condition.tokens || !traits_.decides(Decidable::kTokens)) return unknown();
    if (!condition.patterns.empty()) return patterns(condition);
    if (condition.mode != TextCondition::Mode::kAny) return all_tokens(condition);
    return any_of_terms(find_terms(column_, condition.words), false);
  }
  [[nodiscard]] Estimate of(const PrefixCondition& condition) const {
    if (!traits_.decides(Decidable::kStringParts)) return unknown();
    return any_of_terms(prefixed_terms(column_, condition.prefix), is_single_);
  }
  [[nodiscard]] Estimate of(const RangeCondition& condition) const {
    if (!traits_.decides(Decidable::kRange)) return unknown();
    if (traits_.storage == ValueStorage::kIntegers) {
      return from_values(find_sorted(column_.sorted_integers.span(), condition.integers.low,
                                     condition.integers.high)
                             .size());
    }
    auto estimate = from_values(
        find_sorted(column_.sorted_doubles.span(), condition.doubles.low, condition.doubles.high)
            .size());
    estimate.min = column_.irregular.empty() ? estimate.min : 0;
    return estimate;
  }
  [[nodiscard]] Estimate of(const DatetimeCondition& condition) const {
    if (!traits_.decides(Decidable::kDatetimeRange)) return unknown();
    return from_values(
        find_sorted(column_.sorted_integers.span(), condition.micros.low, condition.micros.high)
            .size());
  }
  [[nodiscard]] Estimate of(const GeoCondition& condition) const {
    if (!traits_.decides(Decidable::kGeo)) return unknown();
    const auto range = find_sorted(column_.sorted_doubles.span(), condition.latitudes.low,
                                   condition.latitudes.high);
    const std::uint64_t most = std::min<std::uint64_t>(range.size(), n_rows_);
    return {0, most / 4, most};
  }
  template <class Other>
  [[nodiscard]] Estimate of(const Other& /*condition*/) const {
    return unknown();
  }

 private:
  [[nodiscard]] Estimate unknown() const { return {0, n_rows_ / 2, n_rows_}; }
  [[nodiscard]] std::uint64_t n_postings(std::uint32_t term) const {
    return column_.postings(term).size();
  }

  /// Bounds a number of rows by a number of values.
  [[nodiscard]] Estimate from_values(std::uint64_t n_values) const {
    const std::uint64_t most = std::min(n_values, n_rows_);
    return {is_single_ ? most : std::min<std::uint64_t>(most, 1), most, most};
  }

  /// `are_disjoint`: no row has two of the terms.
  [[nodiscard]] Estimate any_of_terms(const std::vector<std::uint32_t>& ids,
                                      bool are_disjoint) const {
    std::uint64_t largest = 0;
    std::uint64_t sum = 0;
    for (const std::uint32_t id : ids) {
      largest = std::max(largest, n_postings(id));
      sum += n_postings(id);
    }
    const std::uint64_t most = std::min(sum, n_rows_);
    return {are_disjoint ? most : largest, most, most};
  }

  [[nodiscard]] Estimate all_tokens(const TextCondition& condition) const {
    auto expected = static_cast<double>(n_rows_);
    std::uint64_t most = n_rows_;
    for (const auto& word : condition.words) {
      const std::uint32_t id = column_.find_term(word);
      if (id == ColumnView::kNoTerm) return {};
      const std::uint64_t n = n_postings(id);
      most = std::min(most, n);
      expected *= static_cast<double>(n) / static_cast<double>(std::max<std::uint64_t>(1, n_rows_));
    }
    const bool exact = condition.words.size() == 1;
    return {exact ? most : 0, exact ? most : static_cast<std::uint64_t>(expected), most};
  }

  /// Words for which several terms may stand.
  [[nodiscard]] Estimate patterns(const TextCondition& condition) const {
    if (condition.mode == TextCondition::Mode::kAny) {
      std::uint64_t sum = 0;
      for (const auto& word : condition.patterns) sum += n_resembling(word);
      const std::uint64_t most = std::min(sum, n_rows_);
      return {0, most, most};
    }
    std::uint64_t most = n_rows_;
    for (const auto& word : condition.patterns) most = std::min(most, n_resembling(word));
    return {0, condition.patterns.size() == 1 ? most : most / 2, most};
  }
  [[nodiscard]] std::uint64_t n_resembling(const Resembling& word) const {
    return any_of_terms(resembling_terms(column_, word), false).max;
  }

  const ColumnView& column_;
  const IndexTraits& traits_;
  std::uint64_t n_rows_;
  bool is_single_;
};

}  // namespace

Estimate estimate_column(const ColumnView& column, const PreparedCondition& condition,
                         std::uint64_t n_rows, bool is_single) {
  if (!column.sealed) return {0, n_rows / 10, n_rows};
  const ColumnEstimator estimator(column, n_rows, is_single);
  auto estimate = std::visit([&](const auto& c) { return estimator.of(c); }, condition);
  estimate.max = std::min(n_rows, estimate.max + column.irregular.size());
  return estimate;
}

}  // namespace quiver::payload
