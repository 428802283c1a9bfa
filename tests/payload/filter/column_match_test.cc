// What one column knows of one condition. filter/predicate_test.cc compares whole filters with
// their evaluation on documents.
#include "payload/filter/column_match.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/io/file.h"

namespace quiver::payload {
namespace {

using RowNumbers = std::vector<std::size_t>;

RowNumbers rows_of(const RowSet& bits) {
  RowNumbers rows;
  bits.for_each([&](std::size_t row) { rows.push_back(row); });
  return rows;
}

ColumnView sealed_from(const FieldIndex& index, const std::vector<std::string>& documents) {
  auto column = *MutableColumn::create(index);
  for (const auto& document : documents) column->add_row(*parse_json(document));
  const auto directory = make_memory_directory();
  EXPECT_TRUE(write_column(column->view(), *directory, "c"));
  return *open_column(*directory, "c", index);
}

class ColumnMatchTest : public testing::Test {
 protected:
  ColumnMatchTest() {
    index_.key = "k";
    index_.kind = IndexKind::kInteger;
    column_ = sealed_from(
        index_, {R"({"k":1})", R"({"k":5})", R"({"k":2.5})", R"({})", R"({"k":[1,"x"]})"});
  }
  [[nodiscard]] Verdict match(const ValueCondition& condition) const {
    return match_column(column_, *prepare(condition, &index_), RowSet(Bitset(5, true)));
  }

  FieldIndex index_;
  ColumnView column_;
};

TEST_F(ColumnMatchTest, ValuesOfTheColumnsTypeDecide) {
  const Verdict verdict = match(MatchValue{std::int64_t{1}});
  EXPECT_EQ(rows_of(verdict.yes), (RowNumbers{0, 4}));
  EXPECT_TRUE(verdict.maybe.none());
}

TEST_F(ColumnMatchTest, RowsWithOtherTypesAreLeftToTheirDocuments) {
  const Verdict range = match(Range{{}, Number(2.0), {}, {}});
  EXPECT_EQ(rows_of(range.yes), (RowNumbers{1}));
  EXPECT_EQ(rows_of(range.maybe), (RowNumbers{2, 4}));
  const Verdict text = match(MatchValue{std::string("x")});
  EXPECT_TRUE(text.yes.none());
  EXPECT_EQ(rows_of(text.maybe), (RowNumbers{2, 4}));
}

TEST_F(ColumnMatchTest, OnlyRowsWithinAreConsidered) {
  Bitset within(5);
  within.set(0);
  const auto prepared = *prepare(MatchValue{std::int64_t{1}}, &index_);
  EXPECT_EQ(rows_of(match_column(column_, prepared, RowSet(within)).yes), (RowNumbers{0}));
}

TEST_F(ColumnMatchTest, EstimatesBoundTheNumberOfRows) {
  const Estimate estimate =
      estimate_column(column_, *prepare(MatchValue{std::int64_t{1}}, &index_), 5);
  EXPECT_LE(estimate.min, 2U);
  EXPECT_GE(estimate.max, 2U);
  EXPECT_LE(estimate.max, 5U);
}

}  // namespace
}  // namespace quiver::payload
