#include <gtest/gtest.h>

#include <numeric>

#include "index/sparse/blocks/blocking.h"
#include "index/sparse/blocks/blocks.h"
#include "index/sparse/blocks/pruning.h"
#include "index/sparse/blocks/summaries.h"
#include "index/sparse/rows/top_components.h"
#include "tests/index/sparse/blocks/blocks_build_support.h"
#include "tests/index/sparse/blocks/blocks_support.h"

namespace quiver::index::sparse {
namespace {

using namespace testing;

TEST(SeismicHeads, AreTheLargestComponents) {
  Random random(kSeed);
  const Rows rows(random_rows({.n_rows = 300, .n_nonzero = 100}, random));
  const TopComponents heads = TopComponents::build(rows.coded, 20);  // rounded up to 32
  EXPECT_TRUE(TopComponents::build(rows.coded, 0).empty());
  for (std::uint32_t row = 0; row < rows.n_rows; ++row) {
    const auto coded = rows.coded.row(row);
    std::vector<std::uint8_t> codes(coded.codes.begin(), coded.codes.end());
    std::sort(codes.begin(), codes.end(), std::greater<>());
    codes.resize(std::min<std::size_t>(codes.size(), 32));
    std::vector<float> ones(rows.terms.size() + 1, 1);
    ones.back() = 0;
    const double wanted =
        std::accumulate(codes.begin(), codes.end(), 0) * double{rows.coded.scale()};
    EXPECT_NEAR(heads.score(ones.data(), row), wanted, wanted * 1e-5);
  }
}

}  // namespace
}  // namespace quiver::index::sparse
