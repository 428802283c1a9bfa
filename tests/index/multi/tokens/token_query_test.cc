#include "index/multi/tokens/token_query.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/index/multi/multi_support.h"

namespace quiver::index::testing {
namespace {

using multi::TokenCodec;
using multi::TokenQuery;

/// A codec that was fitted to tokens of the given dimension.
TokenCodec fitted_codec(std::uint32_t dim, std::uint32_t bits, Random& random) {
  Words words(dim, random);
  const auto column = words.column(multi_schema(dim, Metric::kDot), some_sizes(40, 6, random));
  return TokenCodec::fit(multi::TokenSource(column), bits, kMultiSeed);
}

TEST(TokenQuery, AScoreOfNoCodesIsThatOfTheMeanToken) {
  SCOPED_TRACE("seed " + std::to_string(kMultiSeed));
  Random random(kMultiSeed);
  for (const std::uint32_t dim : {5U, 64U, 100U}) {
    const TokenCodec codec = fitted_codec(dim, 8, random);
    const auto tokens = Words(dim, random).tokens(7).values;
    TokenQuery query;
    query.set(codec, tokens);
    double wanted = 0;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      wanted += double{tokens[i]} * codec.mean()[i % dim];
    }
    EXPECT_EQ(query.n_tokens(), 7U);
    EXPECT_NEAR(query.score_of(0), wanted, 1e-5);
    const float step = query.score_of(1'000'000) - query.score_of(0);
    EXPECT_GT(step, 0);
    EXPECT_NEAR(query.score_of(-1'000'000) - query.score_of(0), -step, step * 1e-4F);
  }
}

TEST(TokenQuery, OfTwiceTheLengthErrsByTwiceAsMuch) {
  Random random(kMultiSeed);
  for (const std::uint32_t bits : {8U, 4U, 2U}) {
    SCOPED_TRACE(std::to_string(bits) + " bits");
    const TokenCodec codec = fitted_codec(48, bits, random);
    auto tokens = Words(48, random).tokens(5).values;
    TokenQuery one;
    one.set(codec, tokens);
    for (float& value : tokens) value *= 2;
    TokenQuery two;
    two.set(codec, tokens);
    EXPECT_GT(one.deviation(), 0);
    EXPECT_NEAR(two.deviation(), 2 * one.deviation(), one.deviation() * 1e-4F);
    EXPECT_FLOAT_EQ(two.sign_deviation(), one.sign_deviation()) << "lengths are relative";
    EXPECT_NEAR(two.score_of(100), 2 * one.score_of(100), 1e-4);
  }
}

TEST(TokenQuery, LengthsAreSharesOfTheLongestToken) {
  Random random(kMultiSeed);
  const TokenCodec codec = fitted_codec(32, 8, random);
  std::vector<float> tokens(3 * 32, 0.0F);
  tokens[0] = 3;  // |t| = 5
  tokens[1] = 4;
  tokens[64 + 7] = -2;  // and a token of zeros between
  TokenQuery query;
  query.set(codec, tokens);
  ASSERT_EQ(query.lengths().size(), 3U);
  EXPECT_NEAR(query.lengths()[0], 1, 1e-5);
  EXPECT_EQ(query.lengths()[1], 0);
  EXPECT_NEAR(query.lengths()[2], 0.4, 1e-5);
  const double padded_dim = codec.facts().padded_dim;
  EXPECT_NEAR(query.sign_deviation(), std::sqrt(1.16 * padded_dim) / 2, 1e-3);
}

TEST(TokenQuery, IsSetAgainFromNoneToManyTokens) {
  Random random(kMultiSeed);
  const TokenCodec codec = fitted_codec(16, 4, random);
  Words words(16, random);
  TokenQuery again;
  for (const std::size_t n : {3U, 40U, 0U, 1U}) {
    const auto tokens = words.tokens(n).values;
    again.set(codec, tokens);
    TokenQuery fresh;
    fresh.set(codec, tokens);
    EXPECT_EQ(again.n_tokens(), n);
    EXPECT_EQ(again.lengths().size(), n);
    EXPECT_EQ(again.deviation(), fresh.deviation());
    EXPECT_EQ(again.sign_deviation(), fresh.sign_deviation());
    EXPECT_EQ(again.score_of(12345), fresh.score_of(12345));
    if (n == 0) {
      EXPECT_EQ(again.score_of(0), 0);
    }
  }
}

TEST(TokenQuery, CarvingMakesFewerTokensOfTheSameSum) {
  Random random(kMultiSeed);
  const TokenCodec codec = fitted_codec(24, 8, random);
  const auto tokens = Words(24, random, 3).tokens(20).values;
  TokenQuery whole;
  whole.set(codec, tokens);
  TokenQuery carved;
  carved.set(codec, tokens, -1);
  EXPECT_EQ(whole.n_tokens(), 20U);
  EXPECT_EQ(carved.n_tokens(), 1U);
  EXPECT_NEAR(carved.score_of(0), whole.score_of(0), 1e-4);
}

}  // namespace
}  // namespace quiver::index::testing
