#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "index/dense/lists/kmeans/centre_router.h"
#include "tests/index/dense/lists/kmeans/kmeans_support.h"

namespace quiver::index::dense::testing {
namespace {

TEST(CentreRouter, FindsTheNearestOfFewAndOfMany) {
  const Cancel cancel;
  for (const std::uint32_t n : {100U, 700U}) {
    const ByteMatrix codes = clumped_codes(3000, 64, n, 12);
    std::vector<float> means(std::size_t{n} * 64);
    for (std::uint32_t c = 0; c < n; ++c) {
      mean_of(codes.view(), std::span(&c, 1), means.data() + std::size_t{c} * 64);
    }
    const Centres centres(means, 64);
    const CentreRouter router(centres, {nullptr, cancel, 0, nullptr});
    std::vector<std::uint32_t> list_of(3000);
    route_all(codes, router, {nullptr, cancel, 0, nullptr}, list_of.data());
    std::size_t n_right = 0;
    for (std::size_t i = 0; i < 3000; ++i) n_right += list_of[i] == i % n ? 1 : 0;
    EXPECT_GE(n_right, n <= CentreRouter::kMaxFlatCentres ? 3000U : 2900U);
  }
}

}  // namespace
}  // namespace quiver::index::dense::testing
