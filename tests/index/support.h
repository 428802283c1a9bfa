// What tests of index types share: every kind of field, random columns, and the exact score of a
// row in double precision, computed from what is stored and nothing else.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/io/append_buffer.h"
#include "base/schema_names.h"
#include "index/exact/searcher.h"
#include "index/index.h"
#include "index/stored_rows.h"
#include "kernels/kernels.h"

namespace quiver::index::testing {

using Random = std::mt19937_64;

[[nodiscard]] inline std::string describe(const FieldSchema& schema) {
  constexpr const char* kKinds[] = {"Dense", "Sparse", "Multi"};
  constexpr const char* kMetrics[] = {"Dot", "Cosine", "Euclid", "Manhattan"};
  return std::string(kKinds[static_cast<int>(schema.kind)]) +
         kMetrics[static_cast<int>(schema.metric)] + "_" + std::string(dtype_name(schema.dtype));
}

/// Every kind, metric and type that a field can have.
[[nodiscard]] inline std::vector<FieldSchema> all_schemas(std::uint32_t dim) {
  std::vector<FieldSchema> schemas;
  for (const auto kind : {FieldKind::kDense, FieldKind::kMulti}) {
    for (const auto metric : {Metric::kDot, Metric::kCosine, Metric::kEuclid, Metric::kManhattan}) {
      for (const auto dtype : {DType::kF32, DType::kF16, DType::kU8, DType::kTurbo4, DType::kBf16,
                               DType::kI8, DType::kE4m3, DType::kE5m2, DType::kBinary}) {
        schemas.push_back({"", kind, dim, dtype, metric, SparseModifier::kNone});
      }
    }
  }
  schemas.push_back({"", FieldKind::kSparse, 0, DType::kF32, Metric::kDot, SparseModifier::kNone});
  return schemas;
}

struct ColumnOptions {
  std::uint32_t n_rows = 0;
  double present_share = 1.0;
  double duplicate_share = 0.0;  ///< rows that repeat an earlier row's vector
  bool small_integers = false;   ///< few values, exact in f32: many equal scores
  std::uint32_t max_tokens = 5;
  std::uint32_t sparse_dim = 50;
  std::uint32_t max_nonzero = 12;
};

/// One vector before it is put into a column: `[n_tokens, dim]`, or sparse.
struct PlainVector {
  std::vector<float> values;
  std::vector<std::uint32_t> indices;
};

[[nodiscard]] inline float random_value(DType dtype, bool small_integers, Random& random) {
  if (small_integers) return static_cast<float>(random() % 4);
  if (dtype == DType::kU8) return static_cast<float>(random() % 256);
  return std::normal_distribution<float>()(random);
}

[[nodiscard]] inline PlainVector random_vector(const FieldSchema& schema,
                                               const ColumnOptions& options, Random& random) {
  PlainVector vector;
  if (schema.kind == FieldKind::kSparse) {
    std::set<std::uint32_t> indices;
    const std::size_t n = random() % (options.max_nonzero + 1);
    while (indices.size() < n) {
      indices.insert(static_cast<std::uint32_t>(random() % options.sparse_dim));
    }
    vector.indices.assign(indices.begin(), indices.end());
    vector.values.resize(n);
  } else {
    const std::size_t n_tokens =
        schema.kind == FieldKind::kMulti ? 1 + random() % options.max_tokens : 1;
    vector.values.resize(n_tokens * schema.dim);
  }
  for (float& value : vector.values) {
    value = random_value(schema.dtype, options.small_integers, random);
  }
  return vector;
}

inline void scale_to_unit(float* values, std::size_t dim) {
  double sum = 0;
  for (std::size_t i = 0; i < dim; ++i) sum += double{values[i]} * values[i];
  if (sum == 0) return;
  for (std::size_t i = 0; i < dim; ++i) {
    values[i] = static_cast<float>(values[i] / std::sqrt(sum));
  }
}

/// Appends tokens in stored form: unit length under Cosine (u8 excepted), converted, padded.
inline void append_tokens(const FieldSchema& schema, PlainVector vector,
                          AppendBuffer<std::byte>& rows) {
  const std::size_t stride = padded_row_bytes(schema.dim, schema.dtype);
  for (std::size_t first = 0; first < vector.values.size(); first += schema.dim) {
    float* values = vector.values.data() + first;
    if (schema.metric == Metric::kCosine && schema.dtype != DType::kU8) {
      scale_to_unit(values, schema.dim);
    }
    std::byte* out = rows.append_zeros(stride);
    if (schema.dtype == DType::kF32) std::memcpy(out, values, schema.dim * sizeof(float));
    if (schema.dtype == DType::kF16) {
      kernels().convert.f32_to_f16(values, schema.dim, reinterpret_cast<std::uint16_t*>(out));
    }
    if (schema.dtype == DType::kBf16) {
      kernels().convert.f32_to_bf16(values, schema.dim, reinterpret_cast<std::uint16_t*>(out));
    }
    if (is_code(schema.dtype)) {
      EXPECT_TRUE(store_code(schema, {values, schema.dim}, out));
    }
    for (std::uint32_t d = 0; schema.dtype == DType::kU8 && d < schema.dim; ++d) {
      out[d] = static_cast<std::byte>(values[d]);
    }
  }
}

/// `n` times the same.
[[nodiscard]] inline std::vector<std::optional<PlainVector>> repeated(std::size_t n,
                                                                      const PlainVector& vector) {
  std::vector<std::optional<PlainVector>> vectors;
  for (std::size_t i = 0; i < n; ++i) vectors.emplace_back(vector);
  return vectors;
}

/// A column of the given vectors; nullopt is an absent one.
[[nodiscard]] inline FieldColumn make_column(
    const FieldSchema& schema, const std::vector<std::optional<PlainVector>>& vectors) {
  FieldColumn column;
  column.schema = schema;
  column.n_rows = static_cast<std::uint32_t>(vectors.size());
  std::vector<std::uint8_t> present;
  std::vector<std::uint64_t> offsets = {0};
  AppendBuffer<std::byte> rows;
  std::vector<std::uint32_t> indices;
  std::vector<float> values;
  const std::size_t stride =
      schema.kind == FieldKind::kSparse ? 1 : padded_row_bytes(schema.dim, schema.dtype);
  for (const auto& vector : vectors) {
    present.push_back(vector ? 1 : 0);
    column.n_present += vector ? 1 : 0;
    if (schema.kind == FieldKind::kSparse) {
      if (vector) indices.insert(indices.end(), vector->indices.begin(), vector->indices.end());
      if (vector) values.insert(values.end(), vector->values.begin(), vector->values.end());
      offsets.push_back(indices.size());
    } else {
      if (vector) append_tokens(schema, *vector, rows);
      if (!vector && schema.kind == FieldKind::kDense) rows.append_zeros(stride);
      offsets.push_back(rows.size() / stride);
    }
  }
  column.present = SharedSpan<std::uint8_t>::of(std::move(present));
  const DenseColumn dense{rows.view(), schema.dim, schema.dtype};
  auto shared_offsets = SharedSpan<std::uint64_t>::of(std::move(offsets));
  if (schema.kind == FieldKind::kDense) column.values = dense;
  if (schema.kind == FieldKind::kMulti) column.values = MultiColumn{shared_offsets, dense};
  if (schema.kind == FieldKind::kSparse) {
    column.values = SparseColumn{shared_offsets, SharedSpan<std::uint32_t>::of(std::move(indices)),
                                 SharedSpan<float>::of(std::move(values))};
  }
  return column;
}

[[nodiscard]] inline FieldColumn random_column(const FieldSchema& schema,
                                               const ColumnOptions& options, Random& random) {
  std::vector<std::optional<PlainVector>> vectors;
  std::uniform_real_distribution<double> share(0, 1);
  for (std::uint32_t row = 0; row < options.n_rows; ++row) {
    if (share(random) >= options.present_share) {
      vectors.emplace_back(std::nullopt);
    } else if (row > 0 && share(random) < options.duplicate_share) {
      vectors.push_back(vectors[random() % row]);
    } else {
      vectors.emplace_back(random_vector(schema, options, random));
    }
  }
  return make_column(schema, vectors);
}

[[nodiscard]] inline PreparedQuery make_query(const FieldSchema& schema,
                                              const PlainVector& vector) {
  if (schema.kind == FieldKind::kSparse) {
    return PreparedQuery::sparse(schema, {vector.indices, vector.values});
  }
  if (schema.kind == FieldKind::kMulti) return PreparedQuery::multi(schema, vector.values);
  return PreparedQuery::dense(schema, vector.values);
}

[[nodiscard]] inline Bitset present_rows(const FieldColumn& column) {
  Bitset rows(column.n_rows);
  for (std::uint32_t row = 0; row < column.n_rows; ++row) {
    if (column.present[row] != 0) rows.set(row);
  }
  return rows;
}

/// A half by the book.
[[nodiscard]] inline double half_value(std::uint16_t half) {
  const int exponent = (half >> 10) & 31;
  const int mantissa = half & 1023;
  const double sign = (half & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

/// Values of codes are what users get back: tests/encoders checks these against slow decoders.
[[nodiscard]] inline double code_value(const std::byte* row, DType dtype, std::uint32_t dim,
                                       std::uint32_t d) {
  std::vector<float> values(dim);
  to_floats(row, dtype, dim, values.data());
  return values[d];
}

[[nodiscard]] inline double stored_value(const MatrixView& rows, std::size_t i, std::uint32_t d) {
  const std::byte* row = rows.row(i);
  float f32 = 0;
  std::uint16_t f16 = 0;
  switch (rows.dtype) {
    case DType::kF32:
      std::memcpy(&f32, row + d * sizeof(f32), sizeof(f32));
      return f32;
    case DType::kF16:
      std::memcpy(&f16, row + d * sizeof(f16), sizeof(f16));
      return half_value(f16);
    case DType::kU8:
      return static_cast<double>(row[d]);
    case DType::kBf16: {  // the upper half of an f32
      std::memcpy(reinterpret_cast<std::byte*>(&f32) + 2, row + d * 2, 2);
      return f32;
    }
    case DType::kTurbo4:
    case DType::kTurbo8:
    case DType::kTurbo16:
    case DType::kI8:
    case DType::kE4m3:
    case DType::kE5m2:
    case DType::kBinary:
      return code_value(row, rows.dtype, rows.dim, d);
  }
  return 0;
}

/// A score, and how far an f32 computation of it may be off.
struct Exact {
  double score = 0;
  double tolerance = 0;
};

[[nodiscard]] inline Exact exact_token(const FieldSchema& schema, const float* query,
                                       const MatrixView& rows, std::size_t i) {
  double query_norm = 0;
  double row_norm = 0;
  for (std::uint32_t d = 0; d < schema.dim; ++d) {
    query_norm += double{query[d]} * query[d];
    row_norm += stored_value(rows, i, d) * stored_value(rows, i, d);
  }
  const bool cosine = schema.metric == Metric::kCosine;
  const double query_scale = cosine && query_norm > 0 ? 1 / std::sqrt(query_norm) : 1;
  const bool divide = is_scaled_to_compare(schema);  // others are of unit length already
  const double row_scale = divide && row_norm > 0 ? 1 / std::sqrt(row_norm) : 1;
  double sum = 0;
  double magnitude = 0;
  for (std::uint32_t d = 0; d < schema.dim; ++d) {
    const double q = query[d] * query_scale;
    const double r = stored_value(rows, i, d) * row_scale;
    const double term = schema.metric == Metric::kEuclid      ? -(q - r) * (q - r)
                        : schema.metric == Metric::kManhattan ? -std::abs(q - r)
                                                              : q * r;
    sum += term;
    magnitude += std::abs(term);
  }
  if (is_turbo(schema.dtype)) {  // rounds by lengths: a rotation mixes the values
    const double q = cosine ? 1 : std::sqrt(query_norm);
    const double r = std::sqrt(row_norm);
    const double most = schema.metric == Metric::kManhattan ? std::sqrt(schema.dim) : q + r;
    magnitude = is_distance(schema.metric) ? (q + r) * most : q * r;
  }
  return {sum, (schema.dim + 8) * (std::ldexp(magnitude, -22) + std::ldexp(1.0, -149))};
}

[[nodiscard]] inline std::optional<Exact> exact_sparse(const PlainVector& query, SparseView row) {
  bool shared = false;
  double sum = 0;
  double magnitude = 0;
  for (std::size_t q = 0; q < query.indices.size(); ++q) {
    for (std::size_t r = 0; r < row.indices.size(); ++r) {
      if (query.indices[q] != row.indices[r]) continue;
      shared = true;
      sum += double{query.values[q]} * row.values[r];
      magnitude += std::abs(double{query.values[q]} * row.values[r]);
    }
  }
  if (!shared) return std::nullopt;
  const auto n = static_cast<double>(query.indices.size() + row.indices.size());
  return Exact{sum, (n + 8) * std::ldexp(magnitude, -22)};
}

/// nullopt: the row is no possible hit.
[[nodiscard]] inline std::optional<Exact> exact_score(const PlainVector& query,
                                                      const FieldColumn& column,
                                                      std::uint32_t row) {
  const FieldSchema& schema = column.schema;
  if (column.present[row] == 0) return std::nullopt;
  if (schema.kind == FieldKind::kSparse) return exact_sparse(query, column.sparse().row(row));
  if (schema.kind == FieldKind::kDense) {
    return exact_token(schema, query.values.data(), column.dense().rows(), row);
  }
  const MatrixView tokens = column.multi().row(row);
  Exact total;
  for (std::size_t first = 0; first < query.values.size(); first += schema.dim) {
    Exact best{-std::numeric_limits<double>::infinity(), 0};
    for (std::size_t t = 0; t < tokens.n_rows; ++t) {
      const Exact one = exact_token(schema, query.values.data() + first, tokens, t);
      best.score = std::max(best.score, one.score);
      best.tolerance = std::max(best.tolerance, one.tolerance);
    }
    total.score += best.score;
    total.tolerance += best.tolerance + std::abs(best.score) * 1e-6;
  }
  return total;
}

/// Hits by the definition: score every allowed row, sort by score, then by id.
[[nodiscard]] inline std::vector<Hit> expected_hits(const PreparedQuery& query,
                                                    const FieldColumn& column,
                                                    const Bitset& allowed, std::size_t k,
                                                    std::span<const PointId> ids = {}) {
  std::vector<Hit> hits;
  allowed.for_each([&](std::size_t i) {
    const auto row = static_cast<std::uint32_t>(i);
    if (const auto score = score_row(query, column, row)) hits.push_back({*score, row});
  });
  std::sort(hits.begin(), hits.end(), [&](const Hit& a, const Hit& b) {
    if (a.score != b.score) return a.score > b.score;
    return ids.empty() ? a.row < b.row : ids[a.row] < ids[b.row];
  });
  if (hits.size() > k) hits.resize(k);
  return hits;
}

/// Same rows, same bits, same order.
inline void expect_same_hits(const std::vector<Hit>& got, const std::vector<Hit>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].row, wanted[i].row) << "hit " << i;
    EXPECT_EQ(std::memcmp(&got[i].score, &wanted[i].score, sizeof(float)), 0)
        << "hit " << i << ": " << got[i].score << ", expected " << wanted[i].score;
  }
}

/// Bitmaps of several densities over `n` rows: none, one, few, half, all but one, all.
[[nodiscard]] inline std::vector<Bitset> some_filters(std::size_t n, Random& random) {
  std::vector<Bitset> filters = {Bitset(n)};
  if (n == 0) return filters;
  for (const std::size_t n_set : {std::size_t{1}, std::min<std::size_t>(n, 7), n / 2}) {
    Bitset bits(n);
    for (std::size_t i = 0; i < n_set; ++i) bits.set(random() % n);
    filters.push_back(std::move(bits));
  }
  Bitset run(n);  // whole words, then a part of one
  for (std::size_t i = n / 3; i < n; ++i) run.set(i);
  filters.push_back(std::move(run));
  filters.emplace_back(n, true);
  filters.back().reset(random() % n);
  filters.emplace_back(n, true);
  return filters;
}

}  // namespace quiver::index::testing
