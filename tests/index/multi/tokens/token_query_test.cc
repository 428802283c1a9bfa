#include <gtest/gtest.h>

#include "index/multi/tokens/token_query.h"
#include "tests/index/multi/multi_support.h"

namespace quiver::index::testing {
namespace {

TEST(TokenQuery, LengthsAreRelativeAndCarvingJoinsTokens) {
  Random random(32);
  Words words(64, random);
  const FieldColumn column = words.column(multi_schema(64), some_sizes(50, 20, random));
  const auto codec = multi::TokenCodec::fit(multi::TokenSource(column), 8, 1);
  PlainVector tokens = words.tokens(6);
  for (std::size_t d = 0; d < 64; ++d) tokens.values[d] *= 2;
  multi::TokenQuery query;
  query.set(codec, tokens.values);
  ASSERT_EQ(query.n_tokens(), 6U);
  EXPECT_FLOAT_EQ(query.lengths()[0], 1);
  EXPECT_NEAR(query.lengths()[3], 0.5, 1e-3);
  EXPECT_GT(query.deviation(), 0);
  EXPECT_GT(query.sign_deviation(), 0);
  query.set(codec, tokens.values, -1);
  EXPECT_EQ(query.n_tokens(), 1U) << "all tokens are joined";
  query.set(codec, {});
  EXPECT_EQ(query.n_tokens(), 0U);
}

}  // namespace
}  // namespace quiver::index::testing
