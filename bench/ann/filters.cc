#include "bench/ann/filters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <span>
#include <string_view>

#include "index/stored_rows.h"

namespace quiver::bench {
namespace {

constexpr std::size_t kAttributes = 4;
constexpr std::string_view kAttributeNames[] = {"uniform", "near", "far"};
constexpr std::string_view kListedRows = "rows:";

/// Values of one attribute, in [0, 1).
using Attribute = std::vector<float>;

/// A half-open range of attribute values.
struct Range {
  double low = 0;
  double high = 1;
};

double product_of(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t d = 0; d < a.size(); ++d) sum += double{a[d]} * b[d];
  return sum;
}

/// The products of rows with one direction, as shares of the rows that have smaller ones.
class Ranks {
 public:
  Ranks(const index::FieldColumn& column, std::vector<float> direction)
      : direction_(std::move(direction)), products_(column.n_rows) {
    std::vector<float> row(direction_.size());
    const auto& dense = column.dense();
    for (std::uint32_t i = 0; i < column.n_rows; ++i) {
      index::to_floats(dense.rows().row(i), dense.dtype, dense.dim, row.data());
      products_[i] = product_of(row, direction_);
    }
    sorted_ = products_;
    std::sort(sorted_.begin(), sorted_.end());
  }

  [[nodiscard]] Attribute of_rows() const {
    Attribute ranks;
    for (const double product : products_) ranks.push_back(static_cast<float>(rank(product)));
    return ranks;
  }
  [[nodiscard]] double of_query(std::span<const float> query) const {
    return rank(product_of(query, direction_));
  }

 private:
  [[nodiscard]] double rank(double product) const {
    const auto at = std::lower_bound(sorted_.begin(), sorted_.end(), product);
    return static_cast<double>(at - sorted_.begin()) / static_cast<double>(sorted_.size());
  }

  std::vector<float> direction_;
  std::vector<double> products_;
  std::vector<double> sorted_;
};

/// `<`, `>` or between, as often as each other; each allows the share `width`.
Range random_range(double width, std::mt19937_64& random) {
  const double start = std::uniform_real_distribution<double>(0, 1 - width)(random);
  switch (random() % 3) {
    case 0:
      return {0, width};
    case 1:
      return {1 - width, 1};
    default:
      return {start, start + width};
  }
}

Range range_around(double rank, double width) {
  const double low = std::clamp(rank - width / 2, 0.0, 1 - width);
  return {low, low + width};
}

Bitset rows_within(std::span<const Attribute> attributes, std::span<const Range> ranges,
                   const index::FieldColumn& column) {
  Bitset rows(column.n_rows);
  for (std::uint32_t i = 0; i < column.n_rows; ++i) {
    bool is_allowed = column.present[i] != 0;
    for (std::size_t a = 0; a < attributes.size(); ++a) {
      is_allowed =
          is_allowed && attributes[a][i] >= ranges[a].low && attributes[a][i] < ranges[a].high;
    }
    if (is_allowed) rows.set(i);
  }
  return rows;
}

std::vector<Bitset> uniform_filters(double width, const index::FieldColumn& column,
                                    std::size_t n_queries, std::mt19937_64& random) {
  std::uniform_real_distribution<float> uniform(0, 1);
  std::vector<Attribute> attributes(kAttributes, Attribute(column.n_rows));
  for (Attribute& attribute : attributes) {
    for (float& value : attribute) value = uniform(random);
  }
  std::vector<Bitset> filters;
  for (std::size_t q = 0; q < n_queries; ++q) {
    std::vector<Range> ranges;
    for (std::size_t a = 0; a < kAttributes; ++a) ranges.push_back(random_range(width, random));
    filters.push_back(rows_within(attributes, ranges, column));
  }
  return filters;
}

std::vector<Bitset> correlated_filters(const FilterSpec& spec, double width,
                                       const index::FieldColumn& column, const QuerySet& queries,
                                       std::mt19937_64& random) {
  std::vector<Ranks> ranks;
  std::vector<Attribute> attributes;
  std::normal_distribution<float> normal;
  for (std::size_t a = 0; a < kAttributes; ++a) {
    std::vector<float> direction(column.dense().dim);
    for (float& value : direction) value = normal(random);
    ranks.emplace_back(column, std::move(direction));
    attributes.push_back(ranks.back().of_rows());
  }
  std::vector<Bitset> filters;
  for (std::size_t q = 0; q < queries.size(); ++q) {
    const auto query = queries.prepare(q);
    std::vector<Range> ranges;
    for (const Ranks& of_attribute : ranks) {
      const double rank = of_attribute.of_query(query.values());
      const double far = rank < 0.5 ? 1 : 0;
      ranges.push_back(range_around(spec.attributes == Attributes::kFar ? far : rank, width));
    }
    filters.push_back(rows_within(attributes, ranges, column));
  }
  return filters;
}

Result<Bitset> listed_rows(const dataset::VectorBatch& lists, std::size_t query,
                           const index::FieldColumn& column, const std::string& source) {
  Bitset rows(column.n_rows);
  for (std::uint64_t i = lists.offsets[query]; i < lists.offsets[query + 1]; ++i) {
    const std::uint32_t row = lists.indices[i];
    if (row >= column.n_rows) {
      return fail(Code::kInvalidArgument,
                  fmt::format("{}: query {} allows row {}, and the base has {} rows", source, query,
                              row, column.n_rows));
    }
    if (column.present[row] != 0) rows.set(row);
  }
  return rows;
}

Result<std::vector<Bitset>> listed_filters(const std::string& source,
                                           const index::FieldColumn& column,
                                           const QuerySet& queries) {
  const std::uint64_t first = queries.first_row();
  QV_TRY(const auto lists,
         dataset::load_vectors(source, FieldKind::kSparse, {first, first + queries.size()}));
  std::vector<Bitset> filters;
  for (std::size_t q = 0; q < queries.size(); ++q) {
    QV_TRY(filters.emplace_back(), listed_rows(lists.batch, q, column, source));
  }
  return filters;
}

}  // namespace

Result<std::optional<FilterSpec>> parse_filter(const std::string& text) {
  if (text.empty()) return std::optional<FilterSpec>();
  if (text.starts_with(kListedRows) && text.size() > kListedRows.size()) {
    return std::optional(FilterSpec{Attributes::kListed, 1, text.substr(kListedRows.size())});
  }
  const auto colon = text.find(':');
  const auto name = std::find(std::begin(kAttributeNames), std::end(kAttributeNames),
                              std::string_view(text).substr(0, colon));
  char* end = nullptr;
  const std::string number = colon == std::string::npos ? "" : text.substr(colon + 1);
  const double selectivity = std::strtod(number.c_str(), &end);
  const bool is_number = !number.empty() && *end == 0;
  if (name == std::end(kAttributeNames) || !is_number || !(selectivity > 0 && selectivity <= 1)) {
    return fail(
        Code::kInvalidArgument,
        fmt::format(
            "--filter is {}, wanted uniform:S, near:S or far:S with S in (0, 1], or rows:SOURCE",
            text));
  }
  const auto attributes = static_cast<Attributes>(name - std::begin(kAttributeNames));
  return std::optional(FilterSpec{attributes, selectivity, {}});
}

Result<std::vector<Bitset>> make_filters(const FilterSpec& spec, const index::FieldColumn& column,
                                         const QuerySet& queries, std::uint64_t seed) {
  if (spec.attributes == Attributes::kListed) return listed_filters(spec.rows, column, queries);
  std::mt19937_64 random(seed);
  const double width = std::pow(spec.selectivity, 1.0 / kAttributes);
  if (spec.attributes == Attributes::kUniform) {
    return uniform_filters(width, column, queries.size(), random);
  }
  return correlated_filters(spec, width, column, queries, random);
}

}  // namespace quiver::bench
