// The values that kernels are timed with.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "bench/micro/random_values.h"

namespace quiver {
namespace {

constexpr std::size_t kBytes = 1 << 16;

std::vector<float> floats_of(Values values) {
  const Memory memory = random_memory(kBytes, values);
  std::vector<float> floats(kBytes / bytes_per_value(values));
  const auto* halves = reinterpret_cast<const std::uint16_t*>(memory.get());
  if (values == Values::kF16) kernels().convert.f16_to_f32(halves, floats.size(), floats.data());
  if (values == Values::kBf16) kernels().convert.bf16_to_f32(halves, floats.size(), floats.data());
  if (values == Values::kF32) {
    const auto* whole = reinterpret_cast<const float*>(memory.get());
    floats.assign(whole, whole + floats.size());
  }
  return floats;
}

TEST(BenchValues, NeitherTheyNorTheirProductsAreSubnormal) {
  const std::vector<float> queries = floats_of(Values::kF32);
  for (const Values values : {Values::kF32, Values::kF16, Values::kBf16}) {
    const std::vector<float> rows = floats_of(values);
    double sum = 0;
    double squares = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const float query = queries[(i * 7 + 3) % queries.size()];
      ASSERT_NE(std::fpclassify(rows[i]), FP_SUBNORMAL);
      ASSERT_NE(std::fpclassify(rows[i] * query), FP_SUBNORMAL);
      ASSERT_LE(std::abs(rows[i]), 1);
      sum += rows[i];
      squares += double{rows[i]} * rows[i];
    }
    const auto n = static_cast<double>(rows.size());
    EXPECT_NEAR(sum / n, 0, 0.02);
    EXPECT_NEAR(squares / n, 1.0 / 3, 0.02);
  }
}

}  // namespace
}  // namespace quiver
