#include "bench/ann/truth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "bench/ann/terms.h"
#include "tests/bench/ann/support.h"

namespace quiver::bench {
namespace {

using testing::HasSubstr;

constexpr std::size_t kRows = 200;
constexpr std::size_t kQueries = 40;
constexpr std::size_t kDim = 9;
constexpr std::size_t kTop = 7;

class TruthTest : public AnnFiles {
 protected:
  void SetUp() override {
    rows_ = coarse_values(kRows * kDim);
    queries_ = coarse_values(kQueries * kDim);
    write_rows("rows.npy", rows_, kDim);
    write_rows("queries.npy", queries_, kDim);
    cache_ = *open_real_directory(path("cache"));
  }
  index::FieldColumn column(Metric metric, DType dtype = DType::kF32,
                            dataset::RowRange range = {}) {
    FieldSchema schema;
    schema.metric = metric;
    schema.dtype = dtype;
    auto column = load_column(path("rows.npy"), schema, range);
    EXPECT_TRUE(column) << column.error().message();
    return *std::move(column);
  }
  QuerySet queries(const index::FieldColumn& column, dataset::RowRange range = {}) {
    auto queries = QuerySet::load(path("queries.npy"), column.schema, range);
    EXPECT_TRUE(queries) << queries.error().message();
    return *std::move(queries);
  }
  /// Returns the scores of query `q`, best first.
  std::vector<double> slow_scores(Metric metric, std::size_t q) const {
    std::vector<double> scores;
    for (std::size_t row = 0; row < kRows; ++row) {
      scores.push_back(
          slow_score(metric, queries_.data() + q * kDim, rows_.data() + row * kDim, kDim));
    }
    std::sort(scores.begin(), scores.end(), std::greater<>());
    return scores;
  }
  /// Returns the only file in the cache.
  [[nodiscard]] std::string cached_file() const {
    const auto entries = *cache_->list();
    EXPECT_EQ(entries.size(), 1);
    return path("cache/" + entries.front().name);
  }

  std::vector<float> rows_, queries_;
  std::unique_ptr<Directory> cache_;
  Executor executor_{2, "test"};
};

TEST_F(TruthTest, IsTheKthBestByBruteForceUnderEveryMetric) {
  for (const Metric metric : {Metric::kDot, Metric::kCosine, Metric::kEuclid, Metric::kManhattan}) {
    for (const DType dtype : {DType::kF32, DType::kF16}) {
      if (metric == Metric::kCosine && dtype == DType::kF16) continue;  // stored values are rounded
      const auto rows = column(metric, dtype);
      const auto truth = exact_truth(rows, queries(rows), Allowed(rows), kTop, executor_, *cache_);
      ASSERT_TRUE(truth) << truth.error().message();
      for (std::size_t q = 0; q < kQueries; ++q) {
        EXPECT_EQ(truth->perfect[q].n, kTop);
        EXPECT_NEAR(truth->perfect[q].kth_score, slow_scores(metric, q)[kTop - 1], 1e-6);
      }
    }
  }
}

/// Ground truth of rows 0 to kTop - 1 for every query.
double recall_of_first_rows(const index::FieldColumn& column, const QuerySet& queries,
                            const Truth& truth) {
  std::vector<std::vector<index::Hit>> returned(queries.size());
  for (std::size_t q = 0; q < queries.size(); ++q) {
    for (std::uint32_t row = 0; row < kTop; ++row) returned[q].push_back({0, row});
    score_exactly(column, queries.prepare(q), returned[q]);
  }
  EXPECT_EQ(count_better_than_truth(truth.perfect, returned), 0);
  return summarise_recall(truth.perfect, kTop, returned).mean;
}

TEST_F(TruthTest, RecallIsTheSameOfVectorsTimesAConstant) {
  for (const Metric metric : {Metric::kDot, Metric::kCosine, Metric::kEuclid, Metric::kManhattan}) {
    std::vector<double> recalls;
    for (const float scale : {1.0F, 1e-4F, 1e4F}) {
      const auto scaled = [&](std::vector<float> values) {
        for (float& value : values) value *= scale;
        return values;
      };
      write_rows("rows.npy", scaled(rows_), kDim);
      write_rows("queries.npy", scaled(queries_), kDim);
      const auto rows = column(metric);
      const auto asked = queries(rows);
      const auto truth = exact_truth(rows, asked, Allowed(rows), kTop, executor_, *cache_);
      recalls.push_back(recall_of_first_rows(rows, asked, *truth));
    }
    EXPECT_LT(recalls[0], 0.5);
    EXPECT_EQ(recalls[1], recalls[0]);
    EXPECT_EQ(recalls[2], recalls[0]);
  }
}

TEST_F(TruthTest, TermsAreAsLargeAsTheLengthsOfWhatIsMultiplied) {
  write_rows("rows.npy", {3, 4, 0, 0, 0, 1}, 2);
  write_rows("queries.npy", {0, 2}, 2);
  const auto size = [&](Metric metric, std::uint32_t row) {
    const auto rows = column(metric);
    return size_of_terms(rows, queries(rows), 0, row);
  };
  EXPECT_DOUBLE_EQ(size(Metric::kDot, 0), 10);
  EXPECT_DOUBLE_EQ(size(Metric::kDot, 1), 0);
  EXPECT_DOUBLE_EQ(size(Metric::kCosine, 0), 1);
  EXPECT_DOUBLE_EQ(size(Metric::kEuclid, 0), 0);  // squares never cancel
  EXPECT_DOUBLE_EQ(size(Metric::kManhattan, 0), 0);
}

TEST_F(TruthTest, TermsOfSparseVectorsAndOfTokens) {
  write_npy("sparse.indptr.npy", dataset::ValueType::kU64, {3},
            std::vector<std::uint64_t>{0, 2, 3});
  write_npy("sparse.indices.npy", dataset::ValueType::kU32, {3},
            std::vector<std::uint32_t>{1, 5, 2});
  write_npy("sparse.values.npy", dataset::ValueType::kF32, {3}, std::vector<float>{3, 4, 2});
  write_npy("tokens.indptr.npy", dataset::ValueType::kU64, {3},
            std::vector<std::uint64_t>{0, 2, 3});
  write_npy("tokens.values.npy", dataset::ValueType::kF32, {3, 2},
            std::vector<float>{3, 4, 0, 1, 0, 2});
  const auto size = [&](FieldKind kind, const std::string& name, std::size_t q, std::uint32_t row) {
    FieldSchema schema;
    schema.kind = kind;
    schema.metric = Metric::kDot;
    const auto rows = *load_column(path(name), schema, {});
    return size_of_terms(rows, *QuerySet::load(path(name), rows.schema, {}), q, row);
  };
  EXPECT_DOUBLE_EQ(size(FieldKind::kSparse, "sparse", 0, 1), 5 * 2);
  EXPECT_DOUBLE_EQ(size(FieldKind::kMulti, "tokens", 0, 1), (5 + 1) * 2);
  EXPECT_DOUBLE_EQ(size(FieldKind::kMulti, "tokens", 1, 0), 2 * 5);  // the longest of its tokens
}

TEST_F(TruthTest, IsKeptByContentAndFoundAgain) {
  const auto rows = column(Metric::kDot);
  const auto first = exact_truth(rows, queries(rows), Allowed(rows), kTop, executor_, *cache_);
  std::filesystem::rename(path("rows.npy"), path("other.npy"));
  write_rows("rows.npy", rows_, kDim);
  const auto again = exact_truth(column(Metric::kDot), queries(rows), Allowed(column(Metric::kDot)),
                                 kTop, executor_, *cache_);
  EXPECT_FALSE(first->cached);
  EXPECT_TRUE(again->cached);
  for (std::size_t q = 0; q < kQueries; ++q) {
    EXPECT_EQ(again->perfect[q].kth_score, first->perfect[q].kth_score);
  }
}

TEST_F(TruthTest, AnotherQuestionHasAnotherKey) {
  const auto dot = column(Metric::kDot);
  const auto cached = [&](const index::FieldColumn& rows, dataset::RowRange range, std::size_t k) {
    return exact_truth(rows, queries(rows, range), Allowed(rows), k, executor_, *cache_)->cached;
  };
  EXPECT_FALSE(cached(dot, {}, kTop));
  EXPECT_FALSE(cached(dot, {}, kTop + 1));
  EXPECT_FALSE(cached(dot, {0, 10}, kTop));
  EXPECT_FALSE(cached(column(Metric::kEuclid), {}, kTop));
  EXPECT_FALSE(cached(column(Metric::kDot, DType::kF16), {}, kTop));
  EXPECT_FALSE(cached(column(Metric::kDot, DType::kF32, {0, 100}), {}, kTop));
  rows_[3] += 1;
  write_rows("rows.npy", rows_, kDim);
  EXPECT_FALSE(cached(column(Metric::kDot), {}, kTop));
  EXPECT_TRUE(cached(dot, {}, kTop));
}

TEST_F(TruthTest, DamagedCacheIsComputedAgain) {
  const auto rows = column(Metric::kDot);
  const auto good = exact_truth(rows, queries(rows), Allowed(rows), kTop, executor_, *cache_);
  const std::string file = cached_file();
  const auto size = std::filesystem::file_size(file);
  for (const auto length : {std::uintmax_t{0}, std::uintmax_t{60}, size - 8, size - 1}) {
    std::filesystem::resize_file(file, length);
    const auto truth = exact_truth(rows, queries(rows), Allowed(rows), kTop, executor_, *cache_);
    ASSERT_TRUE(truth) << length;
    EXPECT_FALSE(truth->cached) << length;
  }
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).seekp(135).put('\x7f');
  const auto truth =
      exact_truth(rows, queries(rows), Allowed(rows), kTop, executor_, *cache_);  // an id too large
  EXPECT_FALSE(truth->cached);
  EXPECT_EQ(truth->perfect[0].kth_score, good->perfect[0].kth_score);
}

TEST_F(TruthTest, FewerRowsThanKAreAllOfThem) {
  const auto rows = column(Metric::kDot, DType::kF32, {10, 15});
  for (int round = 0; round < 2; ++round) {  // computed, then cached
    const auto truth = exact_truth(rows, queries(rows), Allowed(rows), kTop, executor_, *cache_);
    EXPECT_EQ(truth->cached, round == 1);
    EXPECT_EQ(truth->perfect[0].n, 5);
  }
}

class GivenTruthTest : public TruthTest {
 protected:
  /// Returns the best `width` rows by dot, best first.
  std::string write_truth(std::size_t width) {
    std::vector<std::int32_t> ids;
    for (std::size_t q = 0; q < kQueries; ++q) {
      std::vector<std::int32_t> order(kRows);
      for (std::size_t row = 0; row < kRows; ++row) order[row] = static_cast<std::int32_t>(row);
      std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) {
        const auto score = [&](auto row) {
          return slow_score(Metric::kDot, queries_.data() + q * kDim,
                            rows_.data() + static_cast<std::size_t>(row) * kDim, kDim);
        };
        return score(a) > score(b);
      });
      ids.insert(ids.end(), order.begin(), order.begin() + static_cast<std::ptrdiff_t>(width));
    }
    return write_npy("truth.npy", dataset::ValueType::kI32, {kQueries, width}, ids);
  }
};

TEST_F(GivenTruthTest, IsScoredByUsAndCutToK) {
  const auto rows = column(Metric::kDot);
  const auto truth = given_truth(write_truth(kTop + 5), rows, queries(rows), kTop);
  ASSERT_TRUE(truth) << truth.error().message();
  for (std::size_t q = 0; q < kQueries; ++q) {
    EXPECT_EQ(truth->perfect[q].kth_score, slow_scores(Metric::kDot, q)[kTop - 1]);
  }
}

TEST_F(GivenTruthTest, FollowsTheRowsOfTheQueries) {
  const auto rows = column(Metric::kDot);
  const auto truth = given_truth(write_truth(kTop), rows, queries(rows, {30, 40}), kTop);
  ASSERT_TRUE(truth) << truth.error().message();
  ASSERT_EQ(truth->perfect.size(), 10);
  EXPECT_EQ(truth->perfect[0].kth_score, slow_scores(Metric::kDot, 30)[kTop - 1]);
}

TEST_F(GivenTruthTest, ThatDoesNotFitIsRefused) {
  const auto rows = column(Metric::kDot);
  const auto error = [&](const std::string& file, const index::FieldColumn& of, std::size_t k) {
    const auto truth = given_truth(file, of, queries(rows), k);
    return truth ? std::string("accepted") : truth.error().message();
  };
  const auto file = write_truth(kTop);
  EXPECT_THAT(error(file, rows, kTop + 1), HasSubstr("7 ids a query, wanted at least 8"));
  EXPECT_THAT(error(file, column(Metric::kDot, DType::kF32, {0, 20}), kTop),
              HasSubstr("beyond the 20 rows"));
  const std::vector<std::int32_t> few(3 * kTop, 0);
  EXPECT_THAT(error(write_npy("few.npy", dataset::ValueType::kI32, {3, kTop}, few), rows, kTop),
              HasSubstr("3 queries, wanted those of rows 0 to 40"));
}

TEST_F(TruthTest, QueriesOfAnotherDimensionAreRefused) {
  const auto rows = column(Metric::kDot);
  write_rows("narrow.npy", coarse_values(8), 4);
  const auto queries = QuerySet::load(path("narrow.npy"), rows.schema, {});
  ASSERT_FALSE(queries);
  EXPECT_THAT(queries.error().message(), HasSubstr("queries of 4 dimensions, rows of 9"));
}

TEST_F(TruthTest, RowsThatTheTypeCannotHoldAreNamed) {
  FieldSchema schema;
  schema.dtype = DType::kU8;
  const auto column = load_column(path("rows.npy"), schema, {});
  ASSERT_FALSE(column);
  EXPECT_THAT(column.error().message(), HasSubstr("row 0"));
}

}  // namespace
}  // namespace quiver::bench
