#include <algorithm>

#include "tests/kernels/support.h"

namespace quiver::testing {
namespace {

constexpr unsigned kSeed = 20261130;

using ProductsTest = KernelTest;
QV_EVERY_LEVEL(ProductsTest);

std::vector<double> random_values(std::mt19937& random, std::size_t n) {
  std::normal_distribution<double> normal;
  std::vector<double> values(n);
  std::generate(values.begin(), values.end(), [&] { return normal(random); });
  return values;
}

/// Neighbours of the product in memory must not change.
TEST_P(ProductsTest, EqualTheSlowLoopBitForBit) {
  std::mt19937 random(kSeed);
  for (int round = 0; round < 300; ++round) {
    const std::size_t n_a = random() % 20;
    const std::size_t n_b = random() % 60;
    const std::size_t depth = random() % 40;
    const std::size_t a_stride = n_a + random() % 3;
    const std::size_t b_stride = n_b + random() % 3;
    const std::size_t out_stride = n_b + random() % 3;
    const double factor = random() % 2 == 0 ? 1 : -1;
    const auto a = random_values(random, depth == 0 ? 0 : (depth - 1) * a_stride + n_a);
    const auto b = random_values(random, depth == 0 ? 0 : (depth - 1) * b_stride + n_b);
    auto out = random_values(random, n_a == 0 ? 0 : (n_a - 1) * out_stride + n_b);
    auto wanted = out;
    for (std::size_t i = 0; i < n_a; ++i) {
      for (std::size_t j = 0; j < n_b; ++j) {
        volatile double sum = 0;  // no product and sum are fused here
        for (std::size_t d = 0; d < depth; ++d) {
          const volatile double product = a[d * a_stride + i] * b[d * b_stride + j];
          sum = sum + product;
        }
        wanted[i * out_stride + j] += factor * sum;
      }
    }
    k().products.add({a.data(), a_stride, n_a}, {b.data(), b_stride, n_b}, depth, factor,
                     out.data(), out_stride);
    ASSERT_EQ(out, wanted) << n_a << " x " << n_b << ", depth " << depth << ", round " << round;
  }
}

}  // namespace
}  // namespace quiver::testing
