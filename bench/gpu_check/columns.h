// Made-up vectors, and columns of them.
#pragma once

#include <cstddef>
#include <random>
#include <span>
#include <vector>

#include "dataset/vectors.h"
#include "index/prepared_query.h"
#include "index/vector_column.h"

namespace quiver::bench {

/// `[n, dim]` values.
struct Values {
  std::size_t dim = 0;
  std::vector<float> values;
  [[nodiscard]] std::size_t n() const { return values.size() / dim; }
  [[nodiscard]] std::span<const float> row(std::size_t i) const {
    return std::span(values).subspan(i * dim, dim);
  }
};

[[nodiscard]] Values random_values(std::size_t n, std::size_t dim, std::mt19937& random);
/// Rows in clumps, as embeddings lie.
[[nodiscard]] Values clumps(std::size_t n, std::size_t dim, std::size_t n_centres,
                            std::mt19937& random);
/// The first `n_rows` of them: f32 or f16.
[[nodiscard]] index::FieldColumn column_of(const Values& values, std::size_t n_rows, DType dtype,
                                           Metric metric);
/// Documents of `n_tokens` tokens each on average, f16 under Cosine as most models give them.
[[nodiscard]] index::FieldColumn documents_of(std::size_t n_documents, std::size_t n_tokens,
                                              std::size_t dim, std::mt19937& random);

/// Sparse rows as the dataset readers give them.
using SparseRows = dataset::VectorBatch;

/// Documents or queries of terms by Zipf's law, as learned-sparse encoders give them.
[[nodiscard]] SparseRows generated(std::size_t n, std::size_t n_terms, std::mt19937& random);
[[nodiscard]] index::FieldColumn column_of(const SparseRows& rows, std::size_t n_rows);
[[nodiscard]] index::PreparedQuery query_of(const SparseRows& rows, std::size_t i);

}  // namespace quiver::bench
