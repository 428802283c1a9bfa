#include "payload/column/counts.h"

#include <algorithm>
#include <span>
#include <utility>

#include "payload/column/kinds.h"

namespace quiver::payload {
namespace {

/// Sorting the values of chosen rows costs so many times more than passing over sorted ones.
constexpr std::uint64_t kCostOfSorting = 16;

/// Calls `visit(term)` for each distinct term of a row.
template <class Visit>
void for_each_distinct(std::span<const std::uint32_t> terms, std::vector<std::uint32_t>& scratch,
                       const Visit& visit) {
  if (terms.size() == 1) return visit(terms[0]);
  scratch.assign(terms.begin(), terms.end());
  std::sort(scratch.begin(), scratch.end());
  const auto end = std::unique(scratch.begin(), scratch.end());
  std::for_each(scratch.begin(), end, visit);
}

/// Calls `visit(row)` for the rows that are not in `rows`.
template <class Visit>
void for_each_other(const Bitset& rows, const Visit& visit) {
  Bitset others(rows.size(), true);
  others.subtract(rows);
  others.for_each(visit);
}

/// The number of rows of each term.
std::vector<std::uint32_t> rows_of_terms(const ColumnView& column, const Bitset* rows) {
  std::vector<std::uint32_t> counts(column.n_terms());
  std::vector<std::uint32_t> scratch;
  const auto for_row = [&](std::size_t row, std::uint32_t change) {
    for_each_distinct(column.row_terms(static_cast<std::uint32_t>(row)), scratch,
                      [&](std::uint32_t term) {
                        if (term < counts.size()) counts[term] += change;
                      });
  };
  const auto add = [&](std::size_t row) { for_row(row, 1); };
  const auto subtract = [&](std::size_t row) { for_row(row, ~std::uint32_t{0}); };
  if (!column.sealed || (rows != nullptr && rows->count() < column.n_rows / 2)) {
    if (rows != nullptr) {
      rows->for_each(add);
    } else {
      Bitset(column.n_rows, true).for_each(add);
    }
    return counts;
  }
  for (std::uint32_t term = 0; term < counts.size(); ++term) {
    counts[term] = static_cast<std::uint32_t>(column.postings(term).size());
  }
  if (rows != nullptr) for_each_other(*rows, subtract);
  return counts;
}

std::vector<ValueCount> count_terms(const ColumnView& column, const Bitset* rows) {
  const auto counts = rows_of_terms(column, rows);
  std::vector<ValueCount> values;
  for (std::uint32_t term = 0; term < counts.size(); ++term) {
    if (counts[term] != 0) values.push_back({term, counts[term]});
  }
  const bool in_order = column.sealed || !traits_of(column.index->kind).has_dictionary();
  if (in_order) return values;
  std::sort(values.begin(), values.end(), [&](const ValueCount& a, const ValueCount& b) {
    return column.term(static_cast<std::uint32_t>(a.value)) <
           column.term(static_cast<std::uint32_t>(b.value));
  });
  return values;
}

void add_value(std::vector<ValueCount>& values, std::int64_t value, std::uint32_t n_rows) {
  if (n_rows != 0) values.push_back({static_cast<std::uint64_t>(value), n_rows});
}

std::vector<ValueCount> count_by_sorting(const ColumnView& column, const Bitset* rows) {
  std::vector<std::int64_t> all;
  const auto add = [&](std::size_t row) {
    const auto own = column.row_integers(static_cast<std::uint32_t>(row));
    const auto first = static_cast<std::ptrdiff_t>(all.size());
    all.insert(all.end(), own.begin(), own.end());
    if (own.size() < 2) return;
    std::sort(all.begin() + first, all.end());
    all.erase(std::unique(all.begin() + first, all.end()), all.end());
  };
  if (rows != nullptr) {
    rows->for_each(add);
  } else {
    Bitset(column.n_rows, true).for_each(add);
  }
  std::sort(all.begin(), all.end());
  std::vector<ValueCount> values;
  for (std::size_t i = 0; i < all.size();) {
    const std::size_t first = i;
    while (i < all.size() && all[i] == all[first]) ++i;
    add_value(values, all[first], static_cast<std::uint32_t>(i - first));
  }
  return values;
}

/// The end of the run of equal values that begins at `first`, by steps that double.
std::size_t end_of_run(std::span<const std::int64_t> sorted, std::size_t first) {
  std::size_t step = 1;
  std::size_t low = first;
  while (low + step < sorted.size() && sorted[low + step] == sorted[first]) {
    low += step;
    step *= 2;
  }
  const auto end = std::min(low + step, sorted.size());
  const auto from = sorted.begin() + static_cast<std::ptrdiff_t>(low);
  const auto until = sorted.begin() + static_cast<std::ptrdiff_t>(end);
  return static_cast<std::size_t>(std::upper_bound(from, until, sorted[first]) - sorted.begin());
}

/// The distinct rows of a run, ascending as they are, that are in `rows`.
std::uint32_t distinct_rows(std::span<const std::uint32_t> run, const Bitset* rows) {
  std::uint32_t n = 0;
  std::uint32_t before = ColumnView::kNoTerm;  // no row has this number
  if (rows == nullptr) {
    for (const std::uint32_t row : run) n += row != std::exchange(before, row) ? 1U : 0U;
    return n;
  }
  for (const std::uint32_t row : run) {
    const bool is_new = row != std::exchange(before, row) && row < rows->size();
    n += is_new && rows->test(row) ? 1U : 0U;
  }
  return n;
}

std::vector<ValueCount> count_sorted(const ColumnView& column, const Bitset* rows) {
  const auto sorted = column.sorted_integers.span();
  const auto sorted_rows = column.sorted_rows.span();
  std::vector<ValueCount> values;
  for (std::size_t i = 0; i < sorted.size();) {
    const std::size_t end = end_of_run(sorted, i);
    add_value(values, sorted[i], distinct_rows(sorted_rows.subspan(i, end - i), rows));
    i = end;
  }
  return values;
}

}  // namespace

bool is_countable(const FieldIndex& index) {
  const IndexTraits& traits = traits_of(index.kind);
  return traits.decides(Decidable::kEquality);
}

std::vector<ValueCount> count_values(const ColumnView& column, const Bitset* rows) {
  if (traits_of(column.index->kind).storage == ValueStorage::kTerms) {
    return count_terms(column, rows);
  }
  const bool few =
      rows != nullptr && rows->count() * kCostOfSorting < column.sorted_integers.size();
  return column.sealed && !few ? count_sorted(column, rows) : count_by_sorting(column, rows);
}

}  // namespace quiver::payload
