// Filters of a measurement: ranges of four attributes, as in the evaluation of SQUASH (arXiv
// 2502.01528), harder ones, and rows by list.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bitset.h"
#include "base/result.h"
#include "bench/ann/vectors.h"

namespace quiver::bench {

/// Where the four attributes of a row come from, and the ranges of a query.
enum class Attributes : std::uint8_t {
  kUniform,  ///< uniform random numbers; ranges `<`, `>` and between, at random places
  kNear,     ///< ranks of the row's products with random directions; ranges around the query's rank
  kFar,      ///< the same; ranges that are far from the query's rank
  kListed,   ///< none: a file lists the rows that each query allows
};

struct FilterSpec {
  Attributes attributes = Attributes::kUniform;
  double selectivity = 1;  ///< product of the shares of the four ranges, in (0, 1]
  std::string rows;        ///< kListed: a sparse source (dataset/vectors.h); row i is of query i
};

/// "" is none; `uniform:0.08`, `near:0.08`, `far:0.08`, `rows:SOURCE`. Else kInvalidArgument.
[[nodiscard]] Result<std::optional<FilterSpec>> parse_filter(const std::string& text);

/// The rows that the filter of each query allows. Dense fields only. Deterministic. Listed rows:
/// kInvalidArgument if the source lacks a query or names a row that is not there.
[[nodiscard]] Result<std::vector<Bitset>> make_filters(const FilterSpec& spec,
                                                       const index::FieldColumn& column,
                                                       const QuerySet& queries, std::uint64_t seed);

}  // namespace quiver::bench
