// The rows and the queries of a measurement, in memory as the server would hold them.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "dataset/vectors.h"
#include "index/prepared_query.h"
#include "index/vector_column.h"

namespace quiver::app {

/// kInvalidArgument for words that are not ones of the command line, or do not go together.
/// The dimension is not set.
[[nodiscard]] Result<FieldSchema> parse_schema(const std::string& kind, const std::string& metric,
                                               const std::string& dtype);

/// Rows `range` of `source`, converted (and under Cosine normalised) as the server stores them. A
/// multi-vector without tokens is absent. `schema` gets its dimension from the file.
[[nodiscard]] Result<index::FieldColumn> load_column(const std::string& source, FieldSchema schema,
                                                     dataset::RowRange range);
/// Bytes of the exact rows, offsets included.
[[nodiscard]] std::uint64_t column_bytes(const index::FieldColumn& column);

/// Query vectors as a user would send them. Immutable; any number of threads.
class QuerySet {
 public:
  /// kInvalidArgument if there are none or one of them does not fit the field.
  [[nodiscard]] static Result<QuerySet> load(const std::string& source, const FieldSchema& schema,
                                             dataset::RowRange range);

  [[nodiscard]] std::size_t size() const { return vectors_.n_rows(); }
  [[nodiscard]] std::uint64_t first_row() const { return vectors_.batch.first_row; }
  /// Query `i`, prepared for searching.
  [[nodiscard]] index::PreparedQuery prepare(std::size_t i) const;
  /// The length of query `i`; of a multi-vector the sum of its tokens' lengths. Under Cosine each
  /// is 1.
  [[nodiscard]] double length(std::size_t i) const;
  /// Of all values: two sets with the same digest ask the same.
  [[nodiscard]] std::uint64_t digest() const;

 private:
  QuerySet(FieldSchema schema, dataset::Vectors vectors)
      : schema_(std::move(schema)), vectors_(std::move(vectors)) {}

  FieldSchema schema_;
  dataset::Vectors vectors_;
};

/// Of all stored values and of how they are compared.
[[nodiscard]] std::uint64_t digest(const index::FieldColumn& column);

}  // namespace quiver::app
