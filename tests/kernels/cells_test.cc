#include <random>
#include <vector>

#include "tests/kernels/support.h"

namespace quiver::testing {
namespace {

constexpr unsigned kSeed = 20261125;

using CellsTest = KernelTest;
QV_EVERY_LEVEL(CellsTest);

/// `kind`: 0 an interval with open ends, 1 sets, 2 nothing.
CellClasses random_classes(int kind, std::mt19937& random) {
  CellClasses classes;
  const unsigned low = random() % 256;
  const unsigned high = low + random() % (256 - low);
  for (unsigned cell = 0; cell < 256 && kind != 2; ++cell) {
    const auto byte = static_cast<std::uint8_t>(cell);
    if (kind == 0 ? cell == low || cell == high : random() % 7 == 0) {
      classes.add_open(byte);
    } else if (kind == 0 ? cell > low && cell < high : random() % 3 == 0) {
      classes.add_yes(byte);
    }
  }
  return classes;
}

bool has(const CellSet& set, std::uint8_t cell) { return (set[cell / 64] >> cell % 64 & 1) != 0; }

TEST_P(CellsTest, ClassifiesAsTheSlowLoop) {
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937 random(kSeed);
  for (int round = 0; round < 300; ++round) {
    const CellClasses classes = random_classes(round % 3, random);
    const std::size_t n = random() % 400;
    std::vector<std::uint8_t> cells(n);
    for (auto& cell : cells) cell = static_cast<std::uint8_t>(random());
    std::vector<std::uint64_t> yes((n + 63) / 64, ~std::uint64_t{0});
    auto open = yes;
    auto wanted_yes = std::vector<std::uint64_t>(yes.size(), 0);
    auto wanted_open = wanted_yes;
    for (std::size_t i = 0; i < n; ++i) {
      wanted_yes[i / 64] |= std::uint64_t{has(classes.yes, cells[i])} << i % 64;
      wanted_open[i / 64] |= std::uint64_t{has(classes.open, cells[i])} << i % 64;
    }
    k().cells.classify(cells.data(), n, classes, yes.data(), open.data());
    EXPECT_EQ(yes, wanted_yes) << "round " << round;
    EXPECT_EQ(open, wanted_open) << "round " << round;
  }
}

/// Few different bytes, so that codes at both ends of an interval occur.
TEST_P(CellsTest, FindsCodesBetweenTwo) {
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937 random(kSeed);
  for (int round = 0; round < 500; ++round) {
    const unsigned n_bytes = round % 2 == 0 ? 256 : 3;
    const unsigned first_byte = round % 4 < 2 ? 0 : 256 - n_bytes;
    const auto byte = [&] { return static_cast<std::uint8_t>(first_byte + random() % n_bytes); };
    const std::size_t n = random() % 400;
    std::vector<std::uint8_t> cells(n), rests(n);
    for (auto& cell : cells) cell = byte();
    for (auto& rest : rests) rest = byte();
    const auto code = [&] { return static_cast<std::uint16_t>(byte() << 8 | byte()); };
    const CodeInterval interval{code(), code()};
    std::vector<std::uint64_t> yes((n + 63) / 64, ~std::uint64_t{0});
    std::vector<std::uint64_t> wanted(yes.size(), 0);
    for (std::size_t i = 0; i < n; ++i) {
      const unsigned at = cells[i] << 8U | rests[i];
      wanted[i / 64] |= std::uint64_t{at >= interval.low && at <= interval.high} << i % 64;
    }
    k().cells.between(cells.data(), rests.data(), n, interval, yes.data());
    EXPECT_EQ(yes, wanted) << "round " << round;
  }
}

TEST_P(CellsTest, RangesOfCellsAreAskedAsOne) {
  std::mt19937 random(kSeed);
  for (int round = 0; round < 300; ++round) {
    const CellClasses classes = random_classes(round % 3, random);
    const auto low = static_cast<std::uint8_t>(random());
    const auto high = static_cast<std::uint8_t>(low + random() % (256U - low));
    bool wanted = false;
    for (unsigned cell = low; cell <= high; ++cell) {
      const auto byte = static_cast<std::uint8_t>(cell);
      wanted = wanted || has(classes.yes, byte) || has(classes.open, byte);
    }
    EXPECT_EQ(classes.has_any(low, high), wanted) << "round " << round;
  }
}

}  // namespace
}  // namespace quiver::testing
