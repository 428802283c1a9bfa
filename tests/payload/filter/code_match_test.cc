#include "payload/filter/code_match.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "payload/attribute/builder.h"
#include "tests/payload/filter/row_set_support.h"

namespace quiver::payload {
namespace {

constexpr std::uint64_t kCodeSeed = 8;
constexpr std::uint32_t kCodeRows = 5000;  // the last block of rows is not full

PreparedCondition at_least(const Number& number) {
  Range range;
  range.gte = number;
  return *prepare(range, nullptr);
}
PreparedCondition below(const Number& number) {
  Range range;
  range.lt = number;
  return *prepare(range, nullptr);
}

/// `few` has 20 values and gaps, `many` 3,000 values, `all` a different one in each row, `sorted`
/// ascends.
struct CodedRows {
  CodedRows() {
    AttributeLimits limits;
    limits.max_bytes = 1 << 24;
    AttributeBuilder builder(limits);
    std::mt19937_64 random(kCodeSeed);
    for (std::uint32_t row = 0; row < kCodeRows; ++row) {
      std::string json = "{\"sorted\":" + std::to_string(row / 100);
      if (random() % 4 != 0) json += ",\"few\":" + std::to_string(random() % 20);
      json += ",\"many\":" + std::to_string(random() % 3000);
      json += ",\"all\":" + std::to_string(random() % 1000) + "." + std::to_string(row) + "}";
      documents.push_back(*parse_json(json));
      builder.add(documents.back());
    }
    set = builder.finish();
  }

  std::vector<Value> documents;
  AttributeSet set;
};

struct Wanted {
  std::string key;
  PreparedCondition condition;
  bool is_negated = false;
};

void expect_bounds(const CodedRows& rows, const std::vector<Wanted>& all, const Bitset& within,
                   const RowSet& set) {
  std::vector<CodeCondition> conditions;
  bool is_exact = true;
  for (const auto& wanted : all) {
    conditions.push_back(*CodeCondition::make(*rows.set.find(wanted.key), wanted.condition));
    if (wanted.is_negated) conditions.back().negate();
    is_exact = is_exact && wanted.key != "all";
  }
  const Verdict verdict = match_codes(conditions, set);
  const Bitset yes = bits_of(verdict.yes);
  const Bitset maybe = bits_of(verdict.maybe);
  Bitset expected(within.size());
  within.for_each([&](std::size_t row) {
    for (const auto& wanted : all) {
      const JsonPath path = *JsonPath::parse(wanted.key);
      if (passes(wanted.condition, path, rows.documents[row]) == wanted.is_negated) return;
    }
    expected.set(row);
  });
  Bitset not_expected = yes;
  not_expected.subtract(expected);
  EXPECT_TRUE(not_expected.none());
  Bitset not_found = expected;
  not_found.subtract(yes).subtract(maybe);
  EXPECT_TRUE(not_found.none());
  Bitset both = yes;
  EXPECT_TRUE((both &= maybe).none());
  if (is_exact) {
    EXPECT_EQ(yes, expected);
  }
  EXPECT_LE(maybe.count(), 64U) << "only rows of ranges at a bound";
}

void expect_both(const CodedRows& rows, const std::vector<Wanted>& all, const Bitset& within) {
  expect_bounds(rows, all, within, RowSet(within));
  expect_bounds(rows, all, within, listed_set(within));
}

TEST(CodeMatch, ConditionsTogetherBoundTheRowsThatMatch) {
  const CodedRows rows;
  const auto is = [](std::int64_t value) { return *prepare(MatchValue{value}, nullptr); };
  const auto is_empty = *prepare(IsEmpty{}, nullptr);
  const std::vector<std::vector<Wanted>> cases = {
      {},
      {{"few", at_least(std::int64_t{7})}},
      {{"few", at_least(std::int64_t{7})}, {"few", below(std::int64_t{12})}},
      {{"many", at_least(std::int64_t{700})}, {"many", below(std::int64_t{2100}), true}},
      {{"all", at_least(100.5)}, {"many", below(std::int64_t{1500})}, {"few", is(3), true}},
      {{"all", at_least(100.5), true}, {"few", is_empty}},
      {{"sorted", is(7)}, {"many", at_least(std::int64_t{100})}},
      {{"sorted", at_least(std::int64_t{20}), true}, {"few", is_empty, true}},
      {{"sorted", is(99)}},
      {{"sorted", is(99), true}, {"few", is(99), true}},
  };
  Bitset some(kCodeRows);
  for (std::uint32_t row = 0; row < kCodeRows; row += 1 + row % 3) some.set(row);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    expect_both(rows, cases[i], Bitset(kCodeRows, true));
    expect_both(rows, cases[i], some);
    expect_both(rows, cases[i], Bitset(1030, true));
    expect_both(rows, cases[i], Bitset(kCodeRows));
  }
}

TEST(CodeMatch, IsNotForRowsWithLists) {
  AttributeLimits limits;
  limits.max_bytes = 1 << 20;
  AttributeBuilder builder(limits);
  builder.add(*parse_json(R"({"a":[1,2]})"));
  const AttributeSet set = builder.finish();
  EXPECT_FALSE(CodeCondition::make(*set.find("a"), at_least(std::int64_t{1})));
}

}  // namespace
}  // namespace quiver::payload
