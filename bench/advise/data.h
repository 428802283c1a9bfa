// The user's rows and queries, and parts of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/schema.h"
#include "dataset/vectors.h"

namespace quiver::bench::advise {

/// Most queries of a measurement: recall is then known to about .005 (95 %).
inline constexpr std::size_t kMaxQueries = 1000;

struct Data {
  FieldSchema schema;               ///< f32, dense
  dataset::Vectors base;            ///< the file's rows, as f32
  std::vector<std::uint32_t> rows;  ///< rows of `base` that are searched, ascending
  dataset::Vectors queries;
  bool held_out = false;  ///< the queries are rows of `base` that are not among `rows`
};

/// Reads the files; `base` only names the rows if `rows` has them. Of more than `kMaxQueries`
/// queries it takes that many, evenly. Without `queries` it holds out a tenth of the rows at
/// random, at most `kMaxQueries`. kInvalidArgument for an empty file, values that are not finite,
/// queries of another dimension, or fewer than `k` rows to search.
[[nodiscard]] Result<Data> load_data(const std::string& base, std::optional<dataset::Vectors> rows,
                                     const std::string& queries, Metric metric, std::size_t k,
                                     std::uint64_t seed);

/// `n` of the rows at random, ascending; all if there are no more.
[[nodiscard]] std::vector<std::uint32_t> sample_rows(const std::vector<std::uint32_t>& rows,
                                                     std::size_t n, std::uint64_t seed);

/// Every (n / `most`)-th vector of a dense set; all if there are no more.
[[nodiscard]] dataset::Vectors take_evenly(const dataset::Vectors& vectors, std::size_t most);

}  // namespace quiver::bench::advise
