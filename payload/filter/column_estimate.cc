#include <algorithm>

#include "payload/column/kinds.h"
#include "payload/filter/column_match.h"
#include "payload/filter/column_terms.h"

namespace quiver::payload {
namespace {

/// Bounds a number of rows by a number of values; a row may have several values.
Estimate from_values(std::uint64_t n_values, std::uint64_t n_rows) {
  const std::uint64_t most = std::min(n_values, n_rows);
  return {n_values == 0 ? 0U : 1U, most, most};
}
Estimate unknown(std::uint64_t n_rows) { return {0, n_rows / 2, n_rows}; }

bool decides(const ColumnView& column, Decidable condition) {
  return traits_of(column.index->kind).decides(condition);
}

Estimate any_of_terms(const ColumnView& column, const std::vector<std::uint32_t>& ids,
                      std::uint64_t n_rows) {
  std::uint64_t largest = 0;
  std::uint64_t sum = 0;
  for (const std::uint32_t id : ids) {
    largest = std::max<std::uint64_t>(largest, column.postings(id).size());
    sum += column.postings(id).size();
  }
  const std::uint64_t most = std::min(sum, n_rows);
  return {largest, most, most};
}

Estimate all_tokens(const ColumnView& column, const TextCondition& condition,
                    std::uint64_t n_rows) {
  double expected = static_cast<double>(n_rows);
  std::uint64_t most = n_rows;
  for (const auto& word : condition.words) {
    const std::uint32_t id = column.find_term(word);
    if (id == ColumnView::kNoTerm) return {};
    const std::uint64_t n = column.postings(id).size();
    most = std::min(most, n);
    expected *= static_cast<double>(n) / static_cast<double>(std::max<std::uint64_t>(1, n_rows));
  }
  const bool exact = condition.words.size() == 1;
  return {exact ? most : 0, exact ? most : static_cast<std::uint64_t>(expected), most};
}

/// Words for which several terms may stand.
Estimate estimate_patterns(const ColumnView& column, const TextCondition& condition,
                           std::uint64_t n_rows) {
  if (condition.mode == TextCondition::Mode::kAny) {
    std::uint64_t sum = 0;
    for (const auto& word : condition.patterns) {
      sum += any_of_terms(column, resembling_terms(column, word), n_rows).max;
    }
    const std::uint64_t most = std::min(sum, n_rows);
    return {0, most, most};
  }
  std::uint64_t most = n_rows;
  for (const auto& word : condition.patterns) {
    most = std::min(most, any_of_terms(column, resembling_terms(column, word), n_rows).max);
  }
  return {0, condition.patterns.size() == 1 ? most : most / 2, most};
}

Estimate estimate_condition(const ColumnView& column, const MembershipCondition& condition,
                            std::uint64_t n_rows) {
  if (condition.mode == MembershipCondition::Mode::kNoneOf ||
      !holds(column.index->kind, condition.type)) {
    return unknown(n_rows);
  }
  if (condition.type == ScalarType::kNone) return {};
  if (condition.type != ScalarType::kInteger) {
    return any_of_terms(column, wanted_terms(column, condition), n_rows);
  }
  std::uint64_t n_values = 0;
  for (const std::int64_t value : condition.integers) {
    n_values += find_sorted(column.sorted_integers.span(), value, value).size();
  }
  return from_values(n_values, n_rows);
}
Estimate estimate_condition(const ColumnView& column, const TextCondition& condition,
                            std::uint64_t n_rows) {
  if (condition.words.empty()) return {};
  if (!condition.tokens || !decides(column, Decidable::kTokens)) return unknown(n_rows);
  if (!condition.patterns.empty()) return estimate_patterns(column, condition, n_rows);
  if (condition.mode != TextCondition::Mode::kAny) return all_tokens(column, condition, n_rows);
  return any_of_terms(column, find_terms(column, condition.words), n_rows);
}
Estimate estimate_condition(const ColumnView& column, const PrefixCondition& condition,
                            std::uint64_t n_rows) {
  if (!decides(column, Decidable::kStringParts)) return unknown(n_rows);
  return any_of_terms(column, prefixed_terms(column, condition.prefix), n_rows);
}
Estimate estimate_condition(const ColumnView& column, const RangeCondition& condition,
                            std::uint64_t n_rows) {
  const IndexTraits& traits = traits_of(column.index->kind);
  if (!traits.decides(Decidable::kRange)) return unknown(n_rows);
  if (traits.storage == ValueStorage::kIntegers) {
    const auto range =
        find_sorted(column.sorted_integers.span(), condition.integers.low, condition.integers.high);
    return from_values(range.size(), n_rows);
  }
  const auto range =
      find_sorted(column.sorted_doubles.span(), condition.doubles.low, condition.doubles.high);
  auto estimate = from_values(range.size(), n_rows);
  estimate.min = column.irregular.empty() ? estimate.min : 0;
  return estimate;
}
Estimate estimate_condition(const ColumnView& column, const DatetimeCondition& condition,
                            std::uint64_t n_rows) {
  if (!decides(column, Decidable::kDatetimeRange)) return unknown(n_rows);
  const auto range =
      find_sorted(column.sorted_integers.span(), condition.micros.low, condition.micros.high);
  return from_values(range.size(), n_rows);
}
Estimate estimate_condition(const ColumnView& column, const GeoCondition& condition,
                            std::uint64_t n_rows) {
  if (!decides(column, Decidable::kGeo)) return unknown(n_rows);
  const auto range =
      find_sorted(column.sorted_doubles.span(), condition.latitudes.low, condition.latitudes.high);
  const std::uint64_t most = std::min<std::uint64_t>(range.size(), n_rows);
  return {0, most / 4, most};
}
template <class Prepared>
Estimate estimate_condition(const ColumnView&, const Prepared&, std::uint64_t n_rows) {
  return unknown(n_rows);
}

}  // namespace

Estimate estimate_column(const ColumnView& column, const PreparedCondition& condition,
                         std::uint64_t n_rows) {
  if (!column.sealed) return {0, n_rows / 10, n_rows};
  auto estimate =
      std::visit([&](const auto& t) { return estimate_condition(column, t, n_rows); }, condition);
  estimate.max = std::min(n_rows, estimate.max + column.irregular.size());
  return estimate;
}

}  // namespace quiver::payload
