// Searches of the index of multi-vectors against brute force: all candidates miss nothing, some
// find most, filters and deletes hold, and whatever is found has its exact score.
#include <gtest/gtest.h>

#include "base/threads/executor.h"
#include "index/multi/stages/params.h"
#include "index/multi/stages/probe_sample.h"
#include "tests/index/documented.h"
#include "tests/index/multi/multi_index.h"
#include "tests/index/multi/multi_support.h"
#include "tests/index/multi/searcher_support.h"

namespace quiver::index::testing {
namespace {

class MultiSearch : public ::testing::TestWithParam<FieldSchema> {};

std::vector<FieldSchema> supported() {
  std::vector<FieldSchema> schemas;
  for (const FieldSchema& schema : all_schemas(48)) {
    if (multi_type().supports(schema)) schemas.push_back(schema);
  }
  return schemas;
}

INSTANTIATE_TEST_SUITE_P(, MultiSearch, ::testing::ValuesIn(supported()),
                         [](const auto& one) { return describe(one.param); });

/// Tokens of u8 all point nearly one way, so that a query in bytes hardly tells them apart.
TEST_P(MultiSearch, AllCandidatesGiveTheBitsOfBruteForce) {
  Random random(kSeed);
  double found_of_bytes = 0;
  const Corpus corpus(GetParam(), 600, random, 0.9);
  const MultiIndex index(corpus.column, {{"stage", "mean"}});
  for (const double share : {1.0, 0.6, 0.1}) {
    Bitset allowed(600);
    for (std::size_t row = 0; row < 600; ++row) {
      if (static_cast<double>(random() % 1000) < share * 1000) allowed.set(row);
    }
    allowed &= present_rows(corpus.column);
    for (std::size_t q = 0; q < 5; ++q) {
      const PreparedQuery query = make_query(GetParam(), corpus.queries[q]);
      const auto found = index.find(query, kEveryCandidate, allowed, 10);
      const auto exact = expected_hits(query, corpus.column, allowed, 10);
      if (GetParam().dtype != DType::kU8) expect_same_hits(found.hits, exact);
      found_of_bytes += recall_of(found.hits, exact) / 15;
    }
  }
  EXPECT_GE(found_of_bytes, 0.95);
}

class MultiStages : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(, MultiStages, ::testing::Values("auto", "mean", "fde", "features"),
                         [](const auto& one) { return one.param; });

TEST_P(MultiStages, DefaultsFindMostWithExactScores) {
  Random random(kSeed);
  const Corpus corpus(tokens_of(64), kRows, random);
  const MultiIndex index(corpus.column, {{"stage", GetParam()}});
  EXPECT_GE(recall_of_default(index, corpus, Bitset(kRows, true)), 0.95);
}

TEST_P(MultiStages, FiltersCostNoRecall) {
  Random random(kSeed);
  const Corpus corpus(tokens_of(64), kRows, random);
  const MultiIndex index(corpus.column, {{"stage", GetParam()}});
  const double unfiltered = recall_of_default(index, corpus, Bitset(kRows, true));
  for (const std::size_t one_in : {2, 10, 100, 1000}) {
    Bitset allowed(kRows);
    for (std::size_t row = 0; row < kRows; ++row) {
      if (random() % one_in == 0) allowed.set(row);
    }
    EXPECT_GE(recall_of_default(index, corpus, allowed), unfiltered - 0.01) << "one in " << one_in;
  }
}

TEST_P(MultiStages, SameBytesWhateverTheThreads) {
  Random random(kSeed);
  const Corpus corpus(tokens_of(32), 700, random, 0.95);
  const auto alone = make_memory_directory();
  const auto together = make_memory_directory();
  Executor executor(3, "test");
  build_multi(corpus.column, {{"stage", GetParam()}}, *alone);
  build_multi(corpus.column, {{"stage", GetParam()}}, *together, &executor);
  const auto files = *alone->list();
  EXPECT_EQ(files, *together->list());
  for (const auto& file : files) {
    EXPECT_EQ(*alone->read_file(file.name), *together->read_file(file.name)) << file.name;
  }
}

TEST(MultiSearchParams, MoreCandidatesFindMore) {
  Random random(kSeed);
  const Corpus corpus(tokens_of(64), kRows, random);
  const MultiIndex index(corpus.column, {{"stage", "mean"}});
  const Bitset all(kRows, true);
  const auto recall = [&](std::int64_t n) {
    return recall_of_default(index, corpus, all, {{"candidates", n}});
  };
  const double few = recall(15);
  EXPECT_LT(few, 0.99);
  EXPECT_GT(recall(400), few);
}

/// Whether the index keeps signs is its probe's to say; both ways must find as much.
TEST(MultiSearchParams, SignsCostNoRecall) {
  Random random(kSeed);
  const Corpus corpus(tokens_of(128), kRows, random);
  const MultiIndex with(corpus.column, {{"stage", "mean"}});
  const MultiIndex without(corpus.column, {{"stage", "mean"}, {"signs", false}});
  ASSERT_GT(fact_of(with, "usual_pool"), fact_of(with, "usual_candidates"));
  ASSERT_EQ(fact_of(without, "usual_pool"), 0);
  const Bitset all(kRows, true);
  EXPECT_GE(recall_of_default(with, corpus, all), recall_of_default(without, corpus, all) - 0.01);
}

bool has_signs(const MultiIndex& index) {
  return fact_of(index, "usual_pool") > fact_of(index, "usual_candidates");
}

TEST(MultiSigns, FiltersAndAbsentRowsAreRespected) {
  Random random(kSeed);
  const Corpus corpus(tokens_of(128), kRows, random, 0.9);
  const MultiIndex index(corpus.column, {{"stage", "mean"}});
  ASSERT_TRUE(has_signs(index));
  const double unfiltered = recall_of_default(index, corpus, present_rows(corpus.column));
  EXPECT_GE(unfiltered, 0.95);
  for (const double share : {0.9, 0.5, 0.1, 0.01}) {
    Bitset allowed(kRows);
    for (std::size_t row = 0; row < kRows; ++row) {
      if (static_cast<double>(random() % 1000) < share * 1000) allowed.set(row);
    }
    allowed &= present_rows(corpus.column);
    EXPECT_GE(recall_of_default(index, corpus, allowed), unfiltered - 0.01) << share;
  }
}

/// All that the query is about is filtered away: vectors and signs hardly tell what is left.
TEST(MultiSigns, FarRowsAreFoundToo) {
  Random random(kSeed);
  const Corpus corpus(tokens_of(128), kRows, random);
  const MultiIndex with(corpus.column, {{"stage", "mean"}});
  const MultiIndex without(corpus.column, {{"stage", "mean"}, {"signs", false}});
  ASSERT_TRUE(has_signs(with));
  double of_with = 0;
  double of_without = 0;
  for (const auto& tokens : corpus.queries) {
    const PreparedQuery query = make_query(corpus.column.schema, tokens);
    Bitset allowed(kRows, true);
    for (const Hit& hit : expected_hits(query, corpus.column, allowed, kRows / 3)) {
      allowed.reset(hit.row);
    }
    const auto exact = expected_hits(query, corpus.column, allowed, 10);
    of_with += recall_of(with.find(query, {}, allowed, 10).hits, exact) / 30;
    of_without += recall_of(without.find(query, {}, allowed, 10).hits, exact) / 30;
  }
  EXPECT_GE(of_with, of_without - 0.05);
}

TEST(MultiSigns, RowsOfTwoListsAreTakenOnce) {
  Random random(kSeed);
  const Corpus corpus(tokens_of(128), kRows, random);
  const MultiIndex index(corpus.column, {{"stage", "mean"}, {"n_lists", std::int64_t{12}}});
  ASSERT_TRUE(has_signs(index));
  EXPECT_GE(recall_of_default(index, corpus, Bitset(kRows, true)), 0.95);
}

TEST(MultiSearchParams, ALargerPoolFindsMore) {
  Random random(kSeed);
  const Corpus corpus(tokens_of(128), kRows, random);
  const MultiIndex index(corpus.column, {{"stage", "mean"}});
  const Bitset all(kRows, true);
  const auto recall = [&](std::int64_t pool) {
    return recall_of_default(index, corpus, all,
                             {{"candidates", std::int64_t{30}}, {"pool", pool}});
  };
  const double few = recall(30);
  EXPECT_LT(few, 0.95);
  EXPECT_GT(recall(600), few);
}

TEST(MultiSearchParams, RerankDecidesWhatIsCompared) {
  Random random(kSeed);
  const Corpus corpus(tokens_of(128), kRows, random);
  const MultiIndex index(corpus.column, {{"stage", "mean"}});
  ASSERT_TRUE(has_signs(index));
  const Bitset all(kRows, true);
  const PreparedQuery query = make_query(corpus.column.schema, corpus.queries[0]);
  const auto find = [&](const char* rerank) {
    return index.find(query, {{"candidates", std::int64_t{100}}, {"rerank", rerank}}, all, 10);
  };
  const auto none = find("none");
  const auto codes = find("codes");
  const auto full = find("full");
  EXPECT_EQ(none.work.n_rows_scored, 10U);
  EXPECT_EQ(codes.work.n_rows_scored, 10U);
  EXPECT_GE(full.work.n_rows_scored, 10U);
  EXPECT_LT(none.work.n_codes_scored, codes.work.n_codes_scored);
  EXPECT_GE(full.hits.back().score, none.hits.back().score);
}

TEST(MultiSearchParams, PatienceEndsEvenFixedCandidates) {
  Random random(kSeed);
  const Corpus corpus(tokens_of(64), kRows, random);
  const MultiIndex index(corpus.column, {{"stage", "features"}});
  const Bitset all(kRows, true);
  const PreparedQuery query = make_query(corpus.column.schema, corpus.queries[0]);
  KeyValues search = {{"candidates", std::int64_t{400}}};
  const auto n_codes = index.find(query, search, all, 10).work.n_codes_scored;
  search["patience"] = std::int64_t{20};
  EXPECT_LT(index.find(query, search, all, 10).work.n_codes_scored, n_codes - 200);
}

/// Sums of such values are no numbers: nothing but exact scores tells what a hit is.
TEST(MultiSearchParams, QueriesTooLongForCodesAreComparedExactly) {
  Random random(kSeed);
  const Corpus corpus(tokens_of(16, Metric::kDot), 400, random);
  const MultiIndex index(corpus.column, {{"stage", "mean"}});
  PlainVector tokens = corpus.queries[0];
  for (float& value : tokens.values) value = value < 0 ? -3e38F : 3e38F;
  const PreparedQuery query = make_query(corpus.column.schema, tokens);
  const Bitset all(400, true);
  const auto found = index.find(query, {}, all, 10);
  expect_same_hits(found.hits, expected_hits(query, corpus.column, all, 10));
  EXPECT_EQ(found.work.n_codes_scored, 0U);
}

TEST(MultiSearchParams, ExactIsExact) {
  Random random(kSeed);
  const Corpus corpus(tokens_of(32), kRows, random);
  const MultiIndex index(corpus.column);
  const PreparedQuery query = make_query(corpus.column.schema, corpus.queries[0]);
  const Bitset all(kRows, true);
  const auto found = index.find(query, {}, all, 10, Prefer::kExact);
  expect_same_hits(found.hits, expected_hits(query, corpus.column, all, 10));
  EXPECT_EQ(found.work.n_codes_scored, 0U);
}

TEST(MultiSearchParams, FewerBitsFindNearlyAsMuch) {
  Random random(kSeed);
  const Corpus corpus(tokens_of(64), kRows, random);
  for (const std::int64_t bits : {8, 4, 2}) {
    const MultiIndex index(corpus.column, {{"stage", "features"}, {"token_bits", bits}});
    EXPECT_GE(recall_of_default(index, corpus, Bitset(kRows, true)), 0.9) << bits << " bits";
  }
}

/// What a stage makes of tokens of any length must fit into f16.
TEST(MultiBuild, TokensMayBeOfAnyLength) {
  for (const float length : {1e-6F, 1.0F, 1e6F}) {
    for (const char* stage : {"mean", "fde", "features"}) {
      Random random(kSeed);
      Corpus corpus(tokens_of(32, Metric::kDot), 800, random, 1, length);
      const MultiIndex index(corpus.column, {{"stage", stage}});
      EXPECT_GE(recall_of_default(index, corpus, Bitset(800, true)), 0.9) << stage << ' ' << length;
    }
  }
}

/// Of more tokens than are in memory as f32 at one time.
TEST(MultiBuild, DocumentsMayBeLong) {
  Random random(kSeed);
  Topics topics(tokens_of(4), random);
  std::vector<std::optional<PlainVector>> rows;
  for (std::size_t row = 0; row < 260; ++row) {
    rows.emplace_back(topics.document(row == 100 ? 40'000 : 1 + row % 7));
  }
  const auto column = make_column(tokens_of(4), rows);
  for (const char* stage : {"fde", "features"}) {
    const MultiIndex index(column, {{"stage", stage}, {"features", std::int64_t{64}}});
    const PreparedQuery query = make_query(column.schema, topics.query_like(*rows[100], 4));
    const auto found = index.find(query, kEveryCandidate, Bitset(260, true), 1);
    ASSERT_EQ(found.hits.size(), 1U) << stage;
    EXPECT_EQ(found.hits[0].row, 100U) << stage;
  }
}

}  // namespace
}  // namespace quiver::index::testing
