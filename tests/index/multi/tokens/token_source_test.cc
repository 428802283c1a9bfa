#include <gtest/gtest.h>

#include <vector>

#include "index/multi/tokens/token_source.h"
#include "tests/index/multi/multi_support.h"

namespace quiver::index::testing {
namespace {

TEST(TokenSource, ReadsTokensAndCutsRows) {
  Random random(31);
  Words words(32, random);
  const FieldColumn column = words.column(multi_schema(32), {3, 0, 5, 2});
  const multi::TokenSource tokens(column);
  EXPECT_EQ(tokens.n_tokens(), 10U);
  EXPECT_EQ(tokens.n_tokens(1), 0U);
  EXPECT_DOUBLE_EQ(tokens.tokens_per_row(), 10.0 / 3);
  std::vector<float> token(32);
  tokens.read(4, token.data());
  EXPECT_NEAR(kernels().convert.norm(token.data(), 32), 1, 1e-5);
  const std::vector<std::uint32_t> rows = {0, 2, 3};
  EXPECT_EQ(multi::first_rows(tokens, rows, 8).size(), 2U);
  EXPECT_EQ(multi::first_rows(tokens, rows, 1).size(), 1U) << "at least one";
  const multi::TokenSets sets(tokens, rows);
  ASSERT_EQ(sets.sets().size(), 3U);
  EXPECT_EQ(sets.sets()[1].n, 5U);
  std::size_t n_rows = 0;
  multi::for_some_rows(tokens, rows, [&](auto some) { n_rows += some.size(); });
  EXPECT_EQ(n_rows, 3U);
}

}  // namespace
}  // namespace quiver::index::testing
