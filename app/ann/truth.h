// Ground truth: the ids of each query's best rows, given or found by exact search.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/ann/recall.h"
#include "app/ann/vectors.h"
#include "base/io/file.h"
#include "base/result.h"
#include "base/threads/executor.h"
#include "index/vector_column.h"

namespace quiver::app {

struct Truth {
  std::vector<Perfect> perfect;  ///< one for each query
  double seconds = 0;            ///< of exact search; 0 if it was given or cached
  bool cached = false;
};

/// The best `k` rows of every query by exact search over the stored values on all threads of
/// `executor`, or what the same question left in `cache` before. The key is made of all stored
/// values, all query values, metric and k, so that neither names nor times of files matter.
[[nodiscard]] Result<Truth> exact_truth(const index::FieldColumn& column, const QuerySet& queries,
                                        std::size_t k, Executor& executor, Directory& cache);

/// From a file of ids, row i for row i of the query file; -1 for none. Ids count rows of the whole
/// base. Scores are ours. kInvalidArgument if it does not cover queries, rows or k.
[[nodiscard]] Result<Truth> given_truth(const std::string& source, const index::FieldColumn& column,
                                        const QuerySet& queries, std::size_t k);

/// Replaces scores by exact ones; rows that are no hits at all are taken out. Rows are in range.
void score_exactly(const index::FieldColumn& column, const index::PreparedQuery& query,
                   std::vector<index::Hit>& hits);

}  // namespace quiver::app
