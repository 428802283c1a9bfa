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
