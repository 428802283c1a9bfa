#include "bench/ann/filters.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "bench/ann/truth.h"
#include "index/exact/searcher.h"
#include "tests/bench/ann/support.h"

namespace quiver::bench {
namespace {

constexpr std::uint64_t kFilterSeed = 3;
constexpr std::size_t kFilterDim = 9;

class FilterTest : public AnnFiles {
 protected:
  void SetUp() override {
    write_rows("rows.npy", coarse_values(4000 * kFilterDim), kFilterDim);
    write_rows("queries.npy", coarse_values(50 * kFilterDim), kFilterDim);
    column_ = load_column(path("rows.npy"), FieldSchema{}, {}).value();
    queries_.emplace(QuerySet::load(path("queries.npy"), column_.schema, {}).value());
  }
  [[nodiscard]] std::vector<Bitset> filters(const std::string& flag) const {
    return make_filters(**parse_filter(flag), column_, *queries_, kFilterSeed).value();
  }
  /// Share of the rows that an average filter allows.
  [[nodiscard]] double share(const std::string& flag) const {
    return Allowed(column_, filters(flag)).selectivity(column_);
  }
  /// How many of the ten best rows of a query an average filter allows.
  [[nodiscard]] double n_best_allowed(const std::string& flag) const {
    const auto allowed = filters(flag);
    const index::FlatSearcher searcher(column_);
    const Allowed all(column_);
    double n = 0;
    for (std::uint32_t q = 0; q < queries_->size(); ++q) {
      std::vector<index::Hit> hits;
      index::WorkCounters work;
      const SearchSetup setup{searcher, *queries_, all, {}, 10};
      EXPECT_TRUE(search_call(setup, std::span(&q, 1), std::span(&hits, 1), work));
      for (const auto& hit : hits) n += allowed[q].test(hit.row) ? 1 : 0;
    }
    return n / static_cast<double>(queries_->size());
  }

  index::FieldColumn column_;
  std::optional<QuerySet> queries_;
};

TEST(FilterFlag, IsParsedOrRefused) {
  EXPECT_FALSE(parse_filter("").value());
  EXPECT_EQ((*parse_filter("uniform:0.08"))->selectivity, 0.08);
  EXPECT_EQ((*parse_filter("near:1"))->attributes, Attributes::kNear);
  EXPECT_EQ((*parse_filter("far:.5"))->attributes, Attributes::kFar);
  for (const char* bad : {"uniform", "uniform:", "uniform:0", "uniform:1.1", "uniform:x",
                          "uniform:0.1x", "other:0.1", ":0.1", "uniform:nan", "rows:"}) {
    const auto parsed = parse_filter(bad);
    ASSERT_FALSE(parsed) << bad;
    EXPECT_THAT(parsed.error().message(), testing::HasSubstr(bad));
  }
}

TEST_F(FilterTest, AllowTheShareOfRowsThatIsAskedFor) {
  EXPECT_NEAR(share("uniform:0.08"), 0.08, 0.015);
  EXPECT_NEAR(share("uniform:0.5"), 0.5, 0.05);
  EXPECT_EQ(share("uniform:1"), 1);
  EXPECT_GT(share("near:0.08"), 0.02);
  EXPECT_GT(share("far:0.08"), 0.02);
}

TEST_F(FilterTest, FollowTheVectorsOrNot) {
  const double random = n_best_allowed("uniform:0.2");
  EXPECT_NEAR(random, 2, 0.7);
  EXPECT_GT(n_best_allowed("near:0.2"), 2 * random);
  EXPECT_LT(n_best_allowed("far:0.2"), random / 2);
}

/// The queries of the test ask for rows 3, 5 and none in turn; query 7 of the file is the first.
TEST_F(FilterTest, ListsOfRowsAreReadFromAFile) {
  const auto write = [&](std::uint32_t first, std::size_t n_queries) {
    std::vector<std::uint64_t> offsets{0};
    std::vector<std::uint32_t> rows;
    for (std::size_t q = 0; q < n_queries; ++q) {
      if (q % 3 != 2) rows.insert(rows.end(), {first + static_cast<std::uint32_t>(q % 3) * 2});
      offsets.push_back(rows.size());
    }
    write_npy("rows.indptr.npy", dataset::ValueType::kU64, {offsets.size()}, offsets);
    write_npy("rows.indices.npy", dataset::ValueType::kU32, {rows.size()}, rows);
    write_npy("rows.values.npy", dataset::ValueType::kF32, {rows.size()},
              std::vector<float>(rows.size(), 1));
  };
  const std::string flag = "rows:" + path("rows");
  write(3, 57);
  queries_.emplace(QuerySet::load(path("queries.npy"), column_.schema, {7, 50}).value());
  const auto allowed = filters(flag);
  ASSERT_EQ(allowed.size(), 43);
  for (std::size_t q = 0; q < allowed.size(); ++q) {
    const bool has_row = (q + 7) % 3 != 2;
    EXPECT_EQ(allowed[q].count(), has_row ? 1 : 0);
    EXPECT_EQ(allowed[q].test(3 + 2 * static_cast<std::uint32_t>((q + 7) % 3)), has_row);
  }
  const auto refusal = [&] {
    return make_filters(**parse_filter(flag), column_, *queries_, kFilterSeed).error().message();
  };
  write(3, 49);
  EXPECT_THAT(refusal(), testing::HasSubstr("found 49 rows"));
  write(3999, 57);
  EXPECT_THAT(refusal(), testing::HasSubstr("allows row 4001, and the base has 4000 rows"));
}

TEST_F(FilterTest, AreTheSameForTheSameSeed) {
  EXPECT_EQ(filters("near:0.3"), filters("near:0.3"));
  EXPECT_EQ(Allowed(column_, filters("uniform:0.3")).digest(),
            Allowed(column_, filters("uniform:0.3")).digest());
  EXPECT_NE(Allowed(column_, filters("uniform:0.3")).digest(),
            Allowed(column_, filters("uniform:0.4")).digest());
}

TEST_F(FilterTest, TheTruthIsAmongTheAllowedRows) {
  Executor executor(2, "test");
  const auto cache = *open_real_directory(path("cache"));
  const Allowed allowed(column_, filters("uniform:0.1"));
  const auto truth = exact_truth(column_, *queries_, allowed, 5, executor, *cache).value();
  const auto again = exact_truth(column_, *queries_, allowed, 5, executor, *cache).value();
  EXPECT_TRUE(again.cached);
  EXPECT_FALSE(exact_truth(column_, *queries_, Allowed(column_), 5, executor, *cache)->cached);
  for (std::size_t q = 0; q < queries_->size(); ++q) {
    std::vector<float> scores;
    allowed.view(q).for_each(0, [&](std::uint32_t row) {
      scores.push_back(*index::score_row(queries_->prepare(q), column_, row));
    });
    std::sort(scores.rbegin(), scores.rend());
    EXPECT_EQ(truth.perfect[q].n, std::min<std::size_t>(5, scores.size()));
    EXPECT_EQ(truth.perfect[q].kth_score, scores[truth.perfect[q].n - 1]);
    EXPECT_EQ(again.perfect[q].kth_score, truth.perfect[q].kth_score);
  }
}

}  // namespace
}  // namespace quiver::bench
