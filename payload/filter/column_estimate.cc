#include <algorithm>

#include "payload/filter/column_match.h"
#include "payload/filter/column_terms.h"

namespace quiver::payload {
namespace {

/// Counts of values bound counts of rows: a row has perhaps several.
Estimate from_values(std::uint64_t n_values, std::uint64_t n_rows) {
  const std::uint64_t most = std::min(n_values, n_rows);
  return {n_values == 0 ? 0U : 1U, most, most};
}
Estimate unknown(std::uint64_t n_rows) { return {0, n_rows / 2, n_rows}; }

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

Estimate all_tokens(const ColumnView& column, const TextTest& test, std::uint64_t n_rows) {
  double expected = static_cast<double>(n_rows);
  std::uint64_t most = n_rows;
  for (const auto& word : test.words) {
    const std::uint32_t id = column.find_term(word);
    if (id == ColumnView::kNoTerm) return {};
    const std::uint64_t n = column.postings(id).size();
    most = std::min(most, n);
    expected *= static_cast<double>(n) / static_cast<double>(std::max<std::uint64_t>(1, n_rows));
  }
  const bool exact = test.words.size() == 1;
  return {exact ? most : 0, exact ? most : static_cast<std::uint64_t>(expected), most};
}

Estimate estimate_test(const ColumnView& column, const ValueTest& test, std::uint64_t n_rows) {
  const IndexKind kind = column.index->kind;
  if (test.mode == ValueTest::Mode::kNoneOf || !holds(kind, test.type)) return unknown(n_rows);
  if (test.type == ScalarType::kNone) return {};
  if (test.type != ScalarType::kInteger) {
    return any_of_terms(column, wanted_terms(column, test), n_rows);
  }
  std::uint64_t n_values = 0;
  for (const std::int64_t value : test.integers) {
    n_values += find_sorted(column.sorted_integers.span(), value, value).size();
  }
  return from_values(n_values, n_rows);
}
Estimate estimate_test(const ColumnView& column, const TextTest& test, std::uint64_t n_rows) {
  if (test.words.empty()) return {};
  if (!test.tokens || column.index->kind != IndexKind::kText) return unknown(n_rows);
  if (test.mode != TextTest::Mode::kAny) return all_tokens(column, test, n_rows);
  return any_of_terms(column, find_terms(column, test.words), n_rows);
}
Estimate estimate_test(const ColumnView& column, const PrefixTest& test, std::uint64_t n_rows) {
  if (column.index->kind != IndexKind::kKeyword) return unknown(n_rows);
  return any_of_terms(column, prefixed_terms(column, test.prefix), n_rows);
}
Estimate estimate_test(const ColumnView& column, const RangeTest& test, std::uint64_t n_rows) {
  const IndexKind kind = column.index->kind;
  if (kind == IndexKind::kInteger) {
    const auto range =
        find_sorted(column.sorted_integers.span(), test.integers.low, test.integers.high);
    return from_values(range.size(), n_rows);
  }
  if (kind != IndexKind::kFloat) return unknown(n_rows);
  const auto range = find_sorted(column.sorted_doubles.span(), test.doubles.low, test.doubles.high);
  auto estimate = from_values(range.size(), n_rows);
  estimate.min = column.irregular.empty() ? estimate.min : 0;
  return estimate;
}
Estimate estimate_test(const ColumnView& column, const DatetimeTest& test, std::uint64_t n_rows) {
  if (column.index->kind != IndexKind::kDatetime) return unknown(n_rows);
  const auto range = find_sorted(column.sorted_integers.span(), test.micros.low, test.micros.high);
  return from_values(range.size(), n_rows);
}
Estimate estimate_test(const ColumnView& column, const GeoTest& test, std::uint64_t n_rows) {
  if (column.index->kind != IndexKind::kGeo) return unknown(n_rows);
  const auto range =
      find_sorted(column.sorted_doubles.span(), test.latitudes.low, test.latitudes.high);
  const std::uint64_t most = std::min<std::uint64_t>(range.size(), n_rows);
  return {0, most / 4, most};
}
template <class Test>
Estimate estimate_test(const ColumnView&, const Test&, std::uint64_t n_rows) {
  return unknown(n_rows);
}

}  // namespace

Estimate estimate_column(const ColumnView& column, const PreparedTest& test, std::uint64_t n_rows) {
  if (!column.sealed) return {0, n_rows / 10, n_rows};
  auto estimate = std::visit([&](const auto& t) { return estimate_test(column, t, n_rows); }, test);
  estimate.max = std::min(n_rows, estimate.max + column.irregular.size());
  return estimate;
}

}  // namespace quiver::payload
