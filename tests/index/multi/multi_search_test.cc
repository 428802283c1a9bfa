// Searches of the index of multi-vectors against brute force: all candidates miss nothing, some
// find most, filters and deletes hold, and whatever is found has its exact score.
#include <gtest/gtest.h>

#include <cmath>

#include "base/threads/executor.h"
#include "index/multi/params.h"
#include "index/multi/stages/probe_sample.h"
#include "tests/index/documented.h"
#include "tests/index/multi/multi_index.h"
#include "tests/index/multi/multi_support.h"

namespace quiver::index::testing {
namespace {

constexpr std::uint64_t kSeed = 20261122;
constexpr std::size_t kRows = 1500;
const KeyValues kEveryCandidate = {{"candidates", std::int64_t{1'000'000}}};

FieldSchema tokens_of(std::uint32_t dim, Metric metric = Metric::kCosine,
                      DType dtype = DType::kF32) {
  return {"", FieldKind::kMulti, dim, dtype, metric, SparseModifier::kNone};
}

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

double recall_of_default(const MultiIndex& index, const Corpus& corpus, const Bitset& allowed,
                         const KeyValues& search = {}) {
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

std::int64_t fact_of(const MultiIndex& index, const std::string& name) {
  for (const auto& [key, value] : index.searcher->describe().facts) {
    if (key == name) return std::get<std::int64_t>(value);
  }
  ADD_FAILURE() << "no fact " << name;
  return -1;
}

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

TEST(MultiBuildParams, EncodingsOfTokensAreProjectedAsAskedFor) {
  Random random(kSeed);
  const Corpus corpus(tokens_of(48), kRows, random);
  const auto dims = [&](KeyValues values) {
    values.insert(
        {{"stage", "fde"}, {"repetitions", std::int64_t{3}}, {"planes", std::int64_t{2}}});
    const MultiIndex index(corpus.column, values);
    EXPECT_GT(recall_of_default(index, corpus, Bitset(kRows, true)), 0.8);
    return fact_of(index, "vector_dim");
  };
  EXPECT_EQ(dims({{"projection", std::int64_t{8}}}), 3 * 4 * 8);
  EXPECT_EQ(dims({{"projection", std::int64_t{64}}}), 3 * 4 * 48) << "as tokens are";
  EXPECT_EQ(dims({{"projection", std::int64_t{64}}, {"final_dim", std::int64_t{160}}}), 160);
}

TEST(MultiBuildParams, RefusesWhatNoEncodingHas) {
  const auto refused = [](const KeyValues& values, const std::string& text) {
    const auto parsed = multi_type().parse_build(values);
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error().message(), text);
  };
  refused({{"projection", std::int64_t{12}}},
          "projection is 12, must be 1, 2, 4, 8 or a multiple of 16");
  refused({{"final_dim", std::int64_t{40}}}, "final_dim is 40, must be a multiple of 16");
  refused({{"repetitions", std::int64_t{64}}, {"planes", std::int64_t{10}}},
          "repetitions * 2^planes * projection is 1048576, must be at most 131072; final_dim makes "
          "vectors shorter");
  EXPECT_TRUE(multi_type().parse_build({{"repetitions", std::int64_t{64}},
                                        {"planes", std::int64_t{10}},
                                        {"final_dim", std::int64_t{4096}}}));
}

TEST(MultiProbe, SaysWhatStagesWereTriedOn) {
  Random random(kSeed);
  const Corpus corpus(tokens_of(64), kRows, random);
  const auto told = [](const MultiIndex& index, const std::string& name) {
    for (const auto& [key, value] : index.searcher->describe().facts) {
      if (key == name) return to_string(value);
    }
    return std::string("nothing");
  };
  const MultiIndex unasked(corpus.column);
  EXPECT_EQ(told(unasked, "probe_queries_are"), R"("parts of documents")");
  EXPECT_EQ(told(unasked, "probe_documents"), std::to_string(kRows));

  QuerySample sample{64, {}};
  for (std::size_t i = 0; i < 80; ++i) {
    sample.queries.push_back(corpus.queries[i % corpus.queries.size()].values);
  }
  const MultiIndex asked(corpus.column, {}, &sample);
  EXPECT_EQ(told(asked, "probe_queries_are"), R"("recorded")");
  EXPECT_EQ(told(asked, "probe_queries"), "40") << "the others are for the fit";
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

TEST(MultiProbe, PlacesAreThoseBehindEqualOnes) {
  Random random(kSeed);
  const Corpus corpus(tokens_of(16), 300, random);
  const auto asked = std::vector<std::vector<float>>{corpus.queries[0].values};
  multi::ProbeSample sample(corpus.column, asked, 1);
  EXPECT_TRUE(sample.is_telling());
  ASSERT_EQ(sample.rows().size(), 300U);
  const CodesFile file(corpus.column, 8);
  const Cancel cancel;
  ASSERT_TRUE(sample.find_best(file.open(), {nullptr, cancel, 1, nullptr}));
  const auto exact = exact_scores(corpus.column, corpus.queries[0]);
  const auto perfect = sample.places({exact});
  ASSERT_EQ(perfect.size(), 10U);
  EXPECT_LE(perfect.back(), 12U) << "but for what codes err";
  const std::vector<std::uint32_t> last(10, 300);
  EXPECT_EQ(sample.places({std::vector<float>(300, 1.0F)}), last);
  EXPECT_EQ(sample.places({std::vector<float>(300, std::nanf(""))}), last);
}

TEST(MultiProbe, QueriesOfDocumentsLeaveTheseOut) {
  Random random(kSeed);
  const Corpus corpus(tokens_of(16), 300, random);
  const multi::ProbeSample sample(corpus.column, {}, 1);
  EXPECT_EQ(sample.queries().size(), multi::ProbeSample::kMaxQueries);
  EXPECT_EQ(sample.share(), 1);
  for (const auto& query : sample.queries()) {
    EXPECT_LE(query.tokens.size(), multi::ProbeSample::kQueryTokens * 16);
    EXPECT_LT(query.row, 300U);
  }
}

TEST(MultiParams, WhatIsWrongIsNamed) {
  const auto build_error = [](const char* name, ParamValue value) {
    return multi_type().parse_build({{name, std::move(value)}}).error().message();
  };
  EXPECT_EQ(build_error("stage", "best"), "stage is \"best\", must be auto, mean, fde or features");
  EXPECT_EQ(build_error("token_bits", std::int64_t{3}), "token_bits is 3, must be 8, 4 or 2");
  EXPECT_EQ(build_error("features", std::int64_t{100}),
            "features is 100, must be a multiple of 32 from 64 on, or 0");
  EXPECT_EQ(multi_type().parse_search({{"rerank", "some"}}).error().message(),
            "rerank is \"some\", must be full, codes or none");
}

TEST(MultiParams, AreDocumented) {
  const std::string page = "docs/late-interaction.md";
  expect_documented<multi::MultiBuildParams>(page);
  expect_documented<multi::MultiSearchParams>(page);
}

TEST(MultiParams, OnlyProductsAreSupported) {
  EXPECT_TRUE(multi_type().supports(tokens_of(8, Metric::kDot)));
  EXPECT_FALSE(multi_type().supports(tokens_of(8, Metric::kEuclid)));
  EXPECT_FALSE(multi_type().supports(tokens_of(8, Metric::kManhattan)));
}

}  // namespace
}  // namespace quiver::index::testing
