// Ground truth: the best rows of each query, read from a file or found by exact search.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/io/file.h"
#include "base/result.h"
#include "base/threads/executor.h"
#include "bench/ann/recall.h"
#include "bench/ann/search.h"
#include "bench/ann/vectors.h"
#include "index/vector_column.h"

namespace quiver::bench {

struct Truth {
  std::vector<Perfect> perfect;  ///< one per query
  double seconds = 0;            ///< time of the exact search; 0 if given or cached
  bool cached = false;
};

/// Finds the best `k` allowed rows of every query by exact search over the stored values, on all
/// threads of `executor`. Reads and writes `cache`; its key is a digest of all stored values, query
/// values, filters, metric and k, so file names and times do not matter.
[[nodiscard]] Result<Truth> exact_truth(const index::FieldColumn& column, const QuerySet& queries,
                                        const Allowed& allowed, std::size_t k, Executor& executor,
                                        Directory& cache);

/// Reads ids from a file: row i belongs to row i of the query file, -1 means no id. Ids are row
/// numbers of the whole base. Scores are computed here. kInvalidArgument if the file does not cover
/// the queries, the rows or k.
[[nodiscard]] Result<Truth> given_truth(const std::string& source, const index::FieldColumn& column,
                                        const QuerySet& queries, std::size_t k);

/// Replaces scores by exact ones. Removes rows that are out of range or absent.
void score_exactly(const index::FieldColumn& column, const index::PreparedQuery& query,
                   std::vector<index::Hit>& hits);

}  // namespace quiver::bench
