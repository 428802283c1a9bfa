#include <gtest/gtest.h>

#include <vector>

#include "index/exact/searcher.h"
#include "tests/index/exact/exact_support.h"
#include "tests/index/support.h"

namespace quiver::index::testing {
namespace {

const FieldSchema kSparseField{"", FieldKind::kSparse, 0, DType::kF32, Metric::kDot, {}};

std::vector<std::uint32_t> rows_of(const std::vector<Hit>& hits) {
  std::vector<std::uint32_t> rows;
  for (const Hit& hit : hits) rows.push_back(hit.row);
  return rows;
}

/// A row is a hit if it shares an index with the query, whatever the score; else it is none.
TEST(FlatSparse, SharingAnIndexMakesAHit) {
  const auto column =
      make_column(kSparseField, {
                                    PlainVector{{1, 1}, {1, 2}},   // 0: +1
                                    PlainVector{{1}, {9}},         // 1: no share
                                    PlainVector{{-2}, {1}},        // 2: -2
                                    PlainVector{{0}, {1}},         // 3: explicit 0
                                    PlainVector{{1, -1}, {1, 5}},  // 4: cancels to 0
                                    PlainVector{},                 // 5: empty
                                    std::nullopt,                  // 6: absent
                                });
  for (const std::uint32_t far : {100U, 4000000000U}) {  // scattered, and merged
    const PlainVector vector{{1, 1, 1}, {1, 5, far}};
    const PreparedQuery query = make_query(kSparseField, vector);
    EXPECT_EQ(query.sparse().scattered == nullptr, far > 1000);
    const auto hits = search(column, query, RowFilter::all(7), TopK(10));
    EXPECT_EQ(rows_of(hits), (std::vector<std::uint32_t>{0, 3, 4, 2}));
    EXPECT_EQ(hits[1].score, 0.0F);
    EXPECT_EQ(hits[2].score, 0.0F);
    EXPECT_EQ(hits[3].score, -2.0F);
  }
}

TEST(FlatSparse, EmptyQueryHasNoHits) {
  Random random(41);
  const auto column = random_column(kSparseField, {.n_rows = 100}, random);
  const PreparedQuery query = make_query(kSparseField, {});
  EXPECT_TRUE(search(column, query, RowFilter::all(100), TopK(10)).empty());
}

TEST(FlatSparse, ScatteredAndMergedQueriesGiveTheSameBits) {
  Random random(42);
  const auto column =
      random_column(kSparseField, {.n_rows = 300, .sparse_dim = 60, .max_nonzero = 40}, random);
  for (int i = 0; i < 20; ++i) {
    PlainVector vector = random_vector(kSparseField, {.sparse_dim = 60, .max_nonzero = 40}, random);
    const PreparedQuery near = make_query(kSparseField, vector);
    vector.indices.push_back(3000000000U);  // in no row, but too far to scatter
    vector.values.push_back(1);
    const PreparedQuery far = make_query(kSparseField, vector);
    ASSERT_EQ(far.sparse().scattered, nullptr);
    expect_same_hits(search(column, far, RowFilter::all(300), TopK(300)),
                     search(column, near, RowFilter::all(300), TopK(300)));
  }
}

TEST(FlatMulti, QueryWithoutTokensHasNoHits) {
  Random random(43);
  const FieldSchema field{"", FieldKind::kMulti, 4, DType::kF32, Metric::kDot, {}};
  const auto column = random_column(field, {.n_rows = 10}, random);
  EXPECT_TRUE(search(column, make_query(field, {}), RowFilter::all(10), TopK(10)).empty());
}

}  // namespace
}  // namespace quiver::index::testing
