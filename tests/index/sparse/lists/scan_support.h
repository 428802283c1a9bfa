// What tests of growing, scan share.
#pragma once

#include <gtest/gtest.h>

#include "base/io/file.h"
#include "index/sparse/lists/growing.h"
#include "index/sparse/lists/impact_lists.h"
#include "index/sparse/lists/range_builder.h"
#include "index/sparse/params.h"
#include "index/sparse/searcher.h"
#include "index/sparse/type.h"
#include "tests/index/documented.h"
#include "tests/index/support.h"

namespace quiver::index::testing {

inline constexpr std::uint64_t kSeed = 77;

inline FieldSchema sparse_schema() {
  return {"", FieldKind::kSparse, 0, DType::kF32, Metric::kDot, SparseModifier::kNone};
}

enum class Signs { kPositive, kMixed };

/// Zipf-like terms: some lists are long, many short.
inline PlainVector zipf_vector(std::size_t n, std::uint32_t dim, Signs signs, Random& random) {
  std::set<std::uint32_t> indices;
  std::uniform_real_distribution<double> uniform;
  while (indices.size() < n) {
    const double u = uniform(random);
    indices.insert(static_cast<std::uint32_t>(u * u * u * dim));
  }
  PlainVector vector;
  vector.indices.assign(indices.begin(), indices.end());
  std::exponential_distribution<float> weights(1.5F);
  for (std::size_t i = 0; i < n; ++i) {
    const float weight = weights(random);
    vector.values.push_back(signs == Signs::kMixed && random() % 3 == 0 ? -weight : weight);
  }
  return vector;
}

inline FieldColumn zipf_column(std::uint32_t n_rows, std::uint32_t dim, Signs signs,
                               Random& random) {
  std::vector<std::optional<PlainVector>> vectors;
  for (std::uint32_t i = 0; i < n_rows; ++i) {
    if (random() % 50 == 0) {
      vectors.emplace_back();
    } else {
      vectors.push_back(zipf_vector(random() % 30, dim, signs, random));
    }
  }
  return make_column(sparse_schema(), vectors);
}

inline std::vector<Hit> find(const Searcher& searcher, const PreparedQuery& query,
                             const KeyValues& params, const RowFilter& filter, std::size_t k,
                             Prefer prefer = Prefer::kAny) {
  const auto parsed = kSeismic.parse_search(params);
  EXPECT_TRUE(parsed) << parsed.error().to_string();
  const Cancel cancel;
  TopK top(k);
  WorkCounters work;
  EXPECT_TRUE(searcher.search(query, *parsed, filter, {cancel, nullptr, prefer}, top, work));
  return top.take_sorted();
}

inline bool same(const std::vector<Hit>& a, const std::vector<Hit>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Hit& x, const Hit& y) {
    return x.row == y.row && x.score == y.score;
  });
}

inline Bitset random_filter(std::uint32_t n_rows, unsigned one_in, Random& random) {
  Bitset bits(n_rows);
  for (std::uint32_t i = 0; i < n_rows; ++i) {
    if (random() % one_in == 0) bits.set(i);
  }
  return bits;
}

class SeismicScan : public ::testing::TestWithParam<Signs> {};

}  // namespace quiver::index::testing
