#include "tests/kernels/support.h"

namespace quiver::testing {
namespace {

constexpr unsigned kSeed = 20241125;

using TextsTest = KernelTest;
QV_EVERY_LEVEL(TextsTest);

float gain_of(std::uint8_t count, std::uint32_t length, const TokenGain& gain) {
  if (count == TextKernels::kManyTimes) return gain.weight;
  const auto tf = static_cast<float>(count);
  const float per_length = gain.per_token * static_cast<float>(length);
  return gain.weight * tf / (tf + (gain.at_length_0 + per_length));
}

TEST_P(TextsTest, AddGainsEqualsTheSlowLoop) {
  std::mt19937 random(kSeed);
  const std::uint32_t first_row = 3 * TextKernels::kWindow;
  std::vector<std::uint32_t> lengths(first_row + TextKernels::kWindow);
  for (auto& length : lengths) length = random() % 1000;
  for (const unsigned one_in : {1U, 2U, 7U, 400U}) {
    std::vector<std::uint32_t> rows;
    std::vector<std::uint8_t> counts;
    std::vector<float> sums(TextKernels::kWindow, 0.25F);
    std::vector<float> wanted = sums;
    const TokenGain gain{3.5F, 0.3F, 0.009F};
    const std::uint32_t end_row = first_row + 1 + random() % TextKernels::kWindow;
    std::size_t n_below = 0;
    for (std::uint32_t row = first_row; row < lengths.size(); ++row) {
      if (random() % one_in != 0) continue;
      rows.push_back(row);
      counts.push_back(static_cast<std::uint8_t>(random() % 9 == 0 ? 255 : 1 + random() % 6));
      if (row >= end_row) continue;
      wanted[row - first_row] += gain_of(counts.back(), lengths[row], gain);
      ++n_below;
    }
    EXPECT_EQ(k().texts.add_gains(rows.data(), counts.data(), rows.size(), first_row, end_row,
                                  lengths.data(), gain, sums.data()),
              n_below);
    EXPECT_EQ(sums, wanted) << "one in " << one_in << ", seed " << kSeed;
  }
}

TEST_P(TextsTest, LargestGainEqualsTheSlowLoop) {
  std::mt19937 random(kSeed);
  const TokenGain gain{3.5F, 0.3F, 0.009F};
  for (const std::size_t n : {0, 1, 7, 8, 15, 16, 17, 64, 129, 1000}) {
    std::vector<std::uint8_t> counts;
    std::vector<std::uint32_t> lengths;
    float largest = 0;
    for (std::size_t i = 0; i < n; ++i) {
      counts.push_back(static_cast<std::uint8_t>(random() % 500 == 0 ? 255 : 1 + random() % 6));
      lengths.push_back(random() % 1000);
      largest = std::max(largest, gain_of(counts[i], lengths[i], gain));
    }
    EXPECT_EQ(k().texts.largest_gain(counts.data(), lengths.data(), n, gain), largest)
        << n << " pairs, seed " << kSeed;
  }
}

/// Damaged rows: those before the first one that is too large count.
TEST_P(TextsTest, RowsThatDoNotAscendEndTheWindow) {
  constexpr std::uint32_t kEnd = 50;
  const std::vector<std::uint32_t> lengths(kEnd, 5);
  for (std::size_t wrong = 0; wrong < 150; ++wrong) {
    std::vector<std::uint32_t> rows(150, 7);
    rows[wrong] = wrong % 2 == 0 ? kEnd : 0xFFFFFFFF;
    const std::vector<std::uint8_t> counts(rows.size(), 1);
    std::vector<float> sums(TextKernels::kWindow, 0);
    EXPECT_EQ(k().texts.add_gains(rows.data(), counts.data(), rows.size(), 0, kEnd, lengths.data(),
                                  TokenGain{1, 1, 1}, sums.data()),
              wrong);
  }
}

TEST_P(TextsTest, RowsOutsideOfTheWindowStayInBounds) {
  const std::vector<std::uint32_t> rows(40, 0);
  const std::vector<std::uint8_t> counts(40, 1);
  const std::vector<std::uint32_t> lengths(1, 5);
  std::vector<float> sums(TextKernels::kWindow, 0);
  k().texts.add_gains(rows.data(), counts.data(), rows.size(), 12345, 99999, lengths.data(),
                      TokenGain{1, 1, 1}, sums.data());
}

}  // namespace
}  // namespace quiver::testing
