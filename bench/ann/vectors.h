// The rows and queries of a measurement, in memory as the server holds them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "dataset/vectors.h"
#include "index/prepared_query.h"
#include "index/vector_column.h"

namespace quiver::bench {

/// Parses the words of --kind, --metric and --dtype; leaves the dimension 0. kInvalidArgument for
/// unknown words and for a combination that is not supported.
[[nodiscard]] Result<FieldSchema> parse_schema(const std::string& kind, const std::string& metric,
                                               const std::string& dtype);

/// Reads rows `range` of `source`, converted (and under Cosine normalised) as the server stores
/// them. A multi-vector without tokens is an absent row. The dimension comes from the file.
[[nodiscard]] Result<index::FieldColumn> load_column(const std::string& source, FieldSchema schema,
                                                     dataset::RowRange range);
/// Rows `which` of `rows`, converted in the same way; their positions in `which` become their
/// numbers. Dense fields; `schema` has the dimension of `rows`. kInvalidArgument if the type cannot
/// hold a row.
[[nodiscard]] Result<index::FieldColumn> make_column(const dataset::VectorBatch& rows,
                                                     const FieldSchema& schema,
                                                     std::span<const std::uint32_t> which);
/// Bytes of the exact rows, including offsets.
[[nodiscard]] std::uint64_t column_bytes(const index::FieldColumn& column);

/// Query vectors as a user sends them. Immutable, thread-safe.
class QuerySet {
 public:
  /// kInvalidArgument if the range is empty or a query does not fit the field.
  [[nodiscard]] static Result<QuerySet> load(const std::string& source, const FieldSchema& schema,
                                             dataset::RowRange range);

  /// Queries that are in memory. `source` names them in errors, which are those of `load`.
  [[nodiscard]] static Result<QuerySet> of(dataset::Vectors vectors, const FieldSchema& schema,
                                           const std::string& source);

  [[nodiscard]] std::size_t size() const { return vectors_.n_rows(); }
  [[nodiscard]] std::uint64_t first_row() const { return vectors_.batch.first_row; }
  /// Prepares query `i` for searching.
  [[nodiscard]] index::PreparedQuery prepare(std::size_t i) const;
  /// Length of query `i`; for a multi-vector, the sum of the lengths of its tokens. Under Cosine
  /// every vector has length 1.
  [[nodiscard]] double length(std::size_t i) const;
  /// Digest of all query values.
  [[nodiscard]] std::uint64_t digest() const;

 private:
  QuerySet(FieldSchema schema, dataset::Vectors vectors)
      : schema_(std::move(schema)), vectors_(std::move(vectors)) {}

  FieldSchema schema_;
  dataset::Vectors vectors_;
};

/// Digest of all stored values and of the schema.
[[nodiscard]] std::uint64_t digest(const index::FieldColumn& column);

}  // namespace quiver::bench
