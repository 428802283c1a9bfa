#include "index/multi/tokens/ball_carving.h"
#include "base/threads/executor.h"
#include "index/multi/tokens/sections.h"
#include "tests/index/multi/multi_support.h"

namespace quiver::index::testing {
namespace {

using multi::BallCarving;
using multi::TokenCodes;

std::vector<double> sum_of_tokens(std::span<const float> tokens, std::size_t dim) {
  std::vector<double> sum(dim);
  for (std::size_t i = 0; i < tokens.size(); ++i) sum[i % dim] += tokens[i];
  return sum;
}

TEST(BallCarving, KeepsTheSum) {
  Random random(kMultiSeed);
  Words words(48, random, 5);
  BallCarving carver;
  for (const std::size_t n : {1, 2, 15, 100, 30}) {
    const auto tokens = words.tokens(n).values;
    std::size_t fewest = n;
    for (const float threshold : {0.99F, 0.8F, 0.5F, 0.0F, -0.5F}) {
      const auto carved = carver.carve(tokens, 48, threshold);
      const auto got = sum_of_tokens(carved, 48);
      const auto want = sum_of_tokens(tokens, 48);
      for (std::size_t d = 0; d < 48; ++d) EXPECT_NEAR(got[d], want[d], 1e-4);
      EXPECT_GE(carved.size() / 48, 1U);
      EXPECT_LE(carved.size() / 48, fewest);
    }
    EXPECT_EQ(carver.carve(tokens, 48, 1).data(), tokens.data());
    EXPECT_EQ(carver.carve(tokens, 48, 1.5F).size(), tokens.size());
    EXPECT_EQ(carver.carve(tokens, 48, -1).size(), 48U);
    EXPECT_EQ(carver.carve(tokens, 48, -3).size(), 48U);
  }
  EXPECT_TRUE(carver.carve({}, 48, 0.5F).empty());
}

/// By the definition: the lowest token that is left takes all that are close to it.
TEST(BallCarving, TakesWhatIsClose) {
  const std::vector<float> tokens = {1, 0, 0, 2, 5, 0.1F, 0, 0, 0.1F, 3, -1, 0};
  BallCarving carver;
  const auto carved = carver.carve(tokens, 2, 0.7F);
  // (0, 0) is as close as can be to whatever comes first.
  const std::vector<float> want = {6, 0.1F, 0.1F, 5, -1, 0};
  ASSERT_EQ(carved.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_FLOAT_EQ(carved[i], want[i]);
}

TEST(BallCarving, MakesScoresSmallerAtMost) {
  Random random(kMultiSeed);
  Words words(64, random, 30);
  const FieldColumn column = words.column(multi_schema(64), some_sizes(80, 40, random));
  const TokenCodes codes = CodesFile(column, 8).open();
  for (int q = 0; q < 5; ++q) {
    const PlainVector query = words.tokens(32);
    const auto whole = scores_of(codes, query, 1);
    const auto exact = exact_scores(column, query);
    for (const float threshold : {0.9F, 0.7F, 0.3F, -1.0F}) {
      const auto carved = scores_of(codes, query, threshold);
      for (std::uint32_t row = 0; row < column.n_rows; ++row) {
        EXPECT_LE(carved[row], exact[row] + 32 * 0.0057);
        EXPECT_LE(carved[row], whole[row] + 32 * 0.0057);
      }
    }
  }
}

}  // namespace
}  // namespace quiver::index::testing
