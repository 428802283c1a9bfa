// What tests of params, probe, probe_sample, searcher share.
#pragma once

#include <gtest/gtest.h>

#include "base/threads/executor.h"
#include "index/multi/stages/params.h"
#include "index/multi/stages/probe_sample.h"
#include "tests/index/documented.h"
#include "tests/index/multi/multi_index.h"
#include "tests/index/multi/multi_support.h"

namespace quiver::index::testing {

inline constexpr std::uint64_t kSeed = 20261122;
inline constexpr std::size_t kRows = 1500;
inline const KeyValues kEveryCandidate = {{"candidates", std::int64_t{1'000'000}}};

inline FieldSchema tokens_of(std::uint32_t dim, Metric metric = Metric::kCosine,
                             DType dtype = DType::kF32) {
  return {"", FieldKind::kMulti, dim, dtype, metric, SparseModifier::kNone};
}

inline double recall_of_default(const MultiIndex& index, const Corpus& corpus,
                                const Bitset& allowed, const KeyValues& search = {}) {
  double sum = 0;
  for (const auto& tokens : corpus.queries) {
    const PreparedQuery query = make_query(corpus.column.schema, tokens);
    const auto found = index.find(query, search, allowed, 10);
    const auto exact = expected_hits(query, corpus.column, allowed, 10);
    EXPECT_EQ(found.hits.size(), exact.size());
    for (const Hit& hit : found.hits) {
      EXPECT_EQ(score_row(query, corpus.column, hit.row), hit.score) << "row " << hit.row;
      EXPECT_TRUE(allowed.test(hit.row)) << "row " << hit.row;
    }
    sum += recall_of(found.hits, exact);
  }
  return sum / static_cast<double>(corpus.queries.size());
}

inline std::int64_t fact_of(const MultiIndex& index, const std::string& name) {
  for (const auto& [key, value] : index.searcher->describe().facts) {
    if (key == name) return std::get<std::int64_t>(value);
  }
  ADD_FAILURE() << "no fact " << name;
  return -1;
}

}  // namespace quiver::index::testing
