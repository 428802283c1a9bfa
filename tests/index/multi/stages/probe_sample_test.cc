#include <gtest/gtest.h>

#include <cmath>

#include "base/threads/executor.h"
#include "index/multi/stages/params.h"
#include "index/multi/stages/probe_sample.h"
#include "tests/index/documented.h"
#include "tests/index/multi/multi_index.h"
#include "tests/index/multi/multi_support.h"
#include "tests/index/multi/searcher_support.h"

namespace quiver::index::testing {
namespace {

TEST(MultiProbe, PlacesAreThoseBehindEqualOnes) {
  Random random(kSeed);
  const Corpus corpus(tokens_of(16), 300, random);
  const auto asked = std::vector<std::vector<float>>{corpus.queries[0].values};
  multi::ProbeSample sample(corpus.column, asked, 1);
  EXPECT_TRUE(sample.is_conclusive());
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

}  // namespace
}  // namespace quiver::index::testing
