// What tests of the IVF index share: building, opening and searching one, and rows in clumps.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/io/file.h"
#include "index/index.h"
#include "tests/index/built_index.h"
#include "tests/index/support.h"

namespace quiver::index::testing {

inline constexpr std::uint64_t kIvfSeed = 20260612;

[[nodiscard]] inline const IndexType& ivf_type() { return *find_index_type("ivf"); }

[[nodiscard]] inline FieldSchema dense_schema(std::uint32_t dim, Metric metric = Metric::kDot,
                                              DType dtype = DType::kF32) {
  return {"", FieldKind::kDense, dim, dtype, metric, SparseModifier::kNone};
}

/// Every metric and type that the index is for.
[[nodiscard]] inline std::vector<FieldSchema> ivf_schemas(std::uint32_t dim) {
  std::vector<FieldSchema> schemas;
  for (const FieldSchema& schema : all_schemas(dim)) {
    if (ivf_type().supports(schema)) schemas.push_back(schema);
  }
  return schemas;
}

/// Scans every list and computes every exact score.
[[nodiscard]] inline KeyValues everything() {
  return {{"nprobe", std::int64_t{1} << 20}, {"rerank", std::int64_t{1'000'000}}};
}

inline void build_ivf(const FieldColumn& column, const KeyValues& values, Directory& directory,
                      Executor* executor = nullptr, std::uint64_t seed = kIvfSeed) {
  build_index(ivf_type(), column, values, directory, executor, seed);
}

struct IvfIndex : BuiltIndex {
  explicit IvfIndex(FieldColumn rows, const KeyValues& values = {})
      : BuiltIndex(ivf_type(), std::move(rows), values, kIvfSeed) {}
};

/// Vectors around a few centres, as embeddings lie; in the range of u8 where they must be.
class Clumps {
 public:
  /// `radius`: deviation of each dimension from the centre; those of centres from 0 are 1.
  Clumps(FieldSchema schema, std::uint32_t n_centres, Random& random, float radius = 0.7F)
      : schema_(schema),
        random_(random),
        radius_(radius),
        centres_(std::size_t{n_centres} * schema.dim) {
    for (float& value : centres_) value = normal_(random_);
  }

  [[nodiscard]] PlainVector vector() {
    const std::size_t centre = random_() % (centres_.size() / schema_.dim);
    PlainVector vector;
    for (std::size_t d = 0; d < schema_.dim; ++d) {
      const float value = centres_[centre * schema_.dim + d] + radius_ * normal_(random_);
      vector.values.push_back(schema_.dtype != DType::kU8
                                  ? value
                                  : std::clamp(std::round(128 + 35 * value), 0.0F, 255.0F));
    }
    return vector;
  }
  [[nodiscard]] PreparedQuery query() { return make_query(schema_, vector()); }
  [[nodiscard]] FieldColumn column(std::uint32_t n_rows, double present_share = 1,
                                   double duplicate_share = 0) {
    std::uniform_real_distribution<double> share(0, 1);
    std::vector<std::optional<PlainVector>> vectors;
    for (std::uint32_t row = 0; row < n_rows; ++row) {
      if (share(random_) >= present_share) {
        vectors.emplace_back(std::nullopt);
      } else if (row > 0 && share(random_) < duplicate_share) {
        vectors.push_back(vectors[random_() % row]);
      } else {
        vectors.emplace_back(vector());
      }
    }
    return make_column(schema_, vectors);
  }

 private:
  FieldSchema schema_;
  Random& random_;
  float radius_;
  std::normal_distribution<float> normal_;
  std::vector<float> centres_;
};

[[nodiscard]] inline Bitset random_rows(std::size_t n_rows, double share, Random& random) {
  Bitset rows(n_rows);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (std::size_t row = 0; row < n_rows; ++row) {
    if (uniform(random) < share) rows.set(row);
  }
  return rows;
}

/// The numbers of a `.npy` file of version 1 of the given size, which lies below the project.
template <class T>
[[nodiscard]] std::vector<T> read_npy(const std::string& folder, const std::string& name) {
  const auto directory = open_real_directory(folder);
  EXPECT_TRUE(directory) << folder;
  const auto bytes = (*directory)->read_file(name);
  EXPECT_TRUE(bytes) << bytes.error().to_string();
  std::uint16_t header = 0;
  std::memcpy(&header, bytes->data() + 8, sizeof(header));
  const std::size_t first = 10 + std::size_t{header};
  std::vector<T> values((bytes->size() - first) / sizeof(T));
  std::memcpy(values.data(), bytes->data() + first, values.size() * sizeof(T));
  return values;
}

/// The dense vectors of the sample that ships with the project.
[[nodiscard]] inline FieldColumn sample_column() {
  constexpr std::uint32_t kDim = 384;
  const auto values = read_npy<std::uint16_t>("examples/arxiv-3k", "dense.npy");
  FieldColumn column;
  column.schema = dense_schema(kDim, Metric::kDot, DType::kF16);
  column.n_rows = static_cast<std::uint32_t>(values.size() / kDim);
  column.n_present = column.n_rows;
  column.present = SharedSpan<std::uint8_t>::of(std::vector<std::uint8_t>(column.n_rows, 1));
  AppendBuffer<std::byte> rows;
  std::byte* out = rows.append_zeros(values.size() * sizeof(std::uint16_t));
  std::memcpy(out, values.data(), values.size() * sizeof(std::uint16_t));
  column.values = DenseColumn{rows.view(), kDim, DType::kF16};
  return column;
}

[[nodiscard]] inline std::vector<PreparedQuery> sample_queries(const FieldSchema& schema) {
  const auto values = read_npy<float>("examples/arxiv-3k", "queries.dense.npy");
  std::vector<PreparedQuery> queries;
  for (std::size_t first = 0; first < values.size(); first += schema.dim) {
    queries.push_back(PreparedQuery::dense(schema, std::span(values).subspan(first, schema.dim)));
  }
  return queries;
}

}  // namespace quiver::index::testing
