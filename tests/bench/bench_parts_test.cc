// Values and processor limits with which kernels are timed.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "bench/micro/peaks.h"
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

TEST(BenchLimits, EveryWidthReadsAllBytes) {
  const Memory memory = random_memory(kBytes, Values::kF32);
  auto* floats = reinterpret_cast<float*>(memory.get());
  std::fill(floats, floats + kBytes / 4, 0.5F);
  const auto sum_of = [&](auto read) {
    g_sink = 0;
    read(memory.get(), kBytes);
    return g_sink;
  };
  EXPECT_EQ(sum_of(read_by_16), kBytes / 8);
  EXPECT_EQ(sum_of(read_all), kBytes / 8);
  if (__builtin_cpu_supports("avx2")) {
    EXPECT_EQ(sum_of(read_by_32), kBytes / 8);
  }
  if (__builtin_cpu_supports("avx512f")) {
    EXPECT_EQ(sum_of(read_by_64), kBytes / 8);
  }
}

TEST(BenchLimits, AreNotMeasuredWithoutTheirInstruction) {
  const Peak missing;
  missing.run(1000);
  EXPECT_TRUE(std::isnan(missing.rate(1000, 1)));
  EXPECT_EQ((Peak{[](std::size_t) {}, 384}).rate(1000, 0.5), 768'000);
  const std::vector<float> table(16, 1);
  const std::vector<std::uint32_t> indices(64, 3);
  load_each(table.data(), indices.data(), indices.size());
  if (__builtin_cpu_supports("fma")) multiply_add_floats_by_8(10);
}

}  // namespace
}  // namespace quiver
