#include "payload/filter/row_set.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/payload/filter/row_set_support.h"

namespace quiver::payload {
namespace {

constexpr std::uint64_t kSetSeed = 17;

Bitset random_part(const Bitset& of, unsigned one_in, std::mt19937_64& random) {
  Bitset part(of.size());
  of.for_each([&](std::size_t row) {
    if (random() % one_in == 0) part.set(row);
  });
  return part;
}

/// A set like `like` with these rows.
RowSet set_like(const RowSet& like, const Bitset& rows) {
  RowSet set = RowSet::none_like(like);
  rows.for_each([&](std::size_t row) { set.set(row); });
  return set;
}

void expect_rows(const RowSet& set, const Bitset& wanted) {
  EXPECT_EQ(bits_of(set), wanted);
  EXPECT_EQ(set.count(), wanted.count());
  EXPECT_EQ(set.none(), wanted.none());
  EXPECT_EQ(set.size(), wanted.size());
  for (std::size_t row = 0; row < wanted.size(); ++row) {
    ASSERT_EQ(set.test(row), wanted.test(row)) << row;
  }
}

TEST(RowSet, FlaggedKeepsTheRowsWhoseByteIsNotZero) {
  std::mt19937_64 random(kSetSeed);
  for (const std::size_t n : {0U, 1U, 63U, 64U, 65U, 200U, 1000U}) {
    std::vector<std::uint8_t> flags(n);
    for (auto& flag : flags) flag = static_cast<std::uint8_t>(random() % 3 == 0 ? random() : 0);
    const Bitset rows = random_part(Bitset(n, true), 2, random);
    Bitset wanted(n);
    std::vector<std::uint32_t> listed;
    rows.for_each([&](std::size_t row) {
      listed.push_back(static_cast<std::uint32_t>(row));
      if (flags[row] != 0) wanted.set(row);
    });
    expect_rows(RowSet::flagged(RowSet(rows), flags.data()), wanted);
    EXPECT_EQ(bits_of(RowSet::flagged(RowSet::listed(n, listed), flags.data())), wanted);
    EXPECT_TRUE(RowSet::flagged(RowSet::none_like(RowSet(rows)), flags.data()).none());
  }
}

/// Sets of few rows, of a growing number, and of none, in both forms.
TEST(RowSet, OperationsAreThoseOfBitmaps) {
  SCOPED_TRACE("seed " + std::to_string(kSetSeed));
  std::mt19937_64 random(kSetSeed);
  for (int round = 0; round < 300 && !::testing::Test::HasFailure(); ++round) {
    const std::size_t n = 1 + random() % 2000;
    const Bitset all = random_part(Bitset(n, true), 1 + random() % 200, random);
    for (const RowSet& like : {RowSet(all), listed_set(all)}) {
      SCOPED_TRACE(like.is_listed() ? "listed" : "all words");
      const Bitset a = random_part(all, 1 + random() % 3, random);
      const Bitset b = random() % 4 == 0 ? Bitset(n) : random_part(all, 2, random);
      const RowSet set_a = set_like(like, a);
      const RowSet set_b = set_like(like, b);
      expect_rows(set_a, a);
      expect_rows(RowSet(set_a) &= set_b, Bitset(a) &= b);
      expect_rows(RowSet(set_a) |= set_b, Bitset(a) |= b);
      expect_rows(RowSet(set_a).subtract(set_b), Bitset(a).subtract(b));
      RowSet less = set_a;
      b.for_each([&](std::size_t row) { less.reset(row); });
      expect_rows(less, Bitset(a).subtract(b));
      a.for_each([&](std::size_t row) { EXPECT_LT(set_a.bit_of(row), set_a.n_bits()); });
      if (like.is_listed()) continue;
      EXPECT_EQ(RowSet(set_a).take_bits(), a);
    }
  }
}

TEST(RowSet, ListedSetsIgnoreRowsOfOtherWords) {
  RowSet set = RowSet::listed(1000, std::vector<std::uint32_t>{70, 900});
  set.set(0);
  set.set(500);
  set.set(71);
  EXPECT_FALSE(set.test(0));
  EXPECT_FALSE(set.test(500));
  EXPECT_TRUE(set.test(71));
  EXPECT_EQ(set.n_bits(), 128U);
  EXPECT_EQ(set.count(), 3U);
}

}  // namespace
}  // namespace quiver::payload
