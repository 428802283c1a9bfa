// Conditions on keys that have both a declared index and attributes.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/io/file.h"
#include "payload/filter/column_match.h"
#include "payload/filter/evaluation.h"
#include "payload/filter/predicate.h"
#include "tests/payload/attribute/attribute_support.h"

namespace quiver::payload {
namespace {

constexpr std::uint64_t kTreeSeed = 20261129;
constexpr std::size_t kTreeRows = 4000;

/// Every other document has a value of its own under `number`, `price`, `moment` and `name`, so
/// that entries of attributes are ranges; `year` has 60 values; `odd` has values of all types.
Value tree_document(std::mt19937_64& random) {
  Object object;
  const auto add = [&](const char* key, Value value) {
    if (random() % 20 != 0) object.push_back({key, std::move(value)});
  };
  add("number", Value(static_cast<std::int64_t>(random() % 1'000'000)));
  add("price", Value(static_cast<double>(random() % 1'000'000) / 1000));
  add("year", Value(static_cast<std::int64_t>(1970 + random() % 60)));
  const std::string minute = std::to_string(100 + random() % 60).substr(1);
  const std::string second = std::to_string(100 + random() % 60).substr(1);
  const std::string hour = std::to_string(100 + random() % 24).substr(1);
  const std::string day = std::to_string(101 + random() % 28).substr(1);
  add("moment", Value("2024-03-" + day + "T" + hour + ":" + minute + ":" + second + "Z"));
  add("name", Value("name " + std::to_string(random() % 100'000)));
  switch (random() % 8) {
    case 0:
      add("odd", Value(static_cast<double>(random() % 1000) / 8));
      break;
    case 1:
      add("odd", Value("name " + std::to_string(random() % 50)));
      break;
    case 2:
      add("odd", Value());
      break;
    default:
      add("odd", Value(static_cast<std::int64_t>(random() % 100'000)));
  }
  return Value(std::move(object));
}

constexpr std::array<std::pair<const char*, IndexKind>, 6> kTreeIndexes{
    {{"number", IndexKind::kInteger},
     {"price", IndexKind::kFloat},
     {"year", IndexKind::kInteger},
     {"moment", IndexKind::kDatetime},
     {"name", IndexKind::kKeyword},
     {"odd", IndexKind::kInteger}}};

Condition tree_condition(std::mt19937_64& random) {
  const auto integer = [&](std::int64_t below) {
    return static_cast<std::int64_t>(random()) % below;
  };
  const auto range = [&](std::int64_t below) {
    return Range{{}, Number(integer(below)), {}, Number(integer(below))};
  };
  constexpr std::int64_t kMarch = 1709251200'000000;
  constexpr std::int64_t kMonth = 31 * 86400;
  switch (random() % 9) {
    case 0:
      return FieldCondition{"number", range(1'000'000)};
    case 1:
      return FieldCondition{"price", range(1000)};
    case 2:
      return FieldCondition{"year", Range{{}, Number(1970 + integer(60)), {}, {}}};
    case 3:
      return FieldCondition{"moment",
                            DatetimeRange{{}, kMarch + integer(kMonth) * 1'000'000, {}, {}}};
    case 4:
      return FieldCondition{"name", MatchPrefix{"name " + std::to_string(integer(100))}};
    case 5:
      return FieldCondition{"odd", range(100'000)};
    case 6:
      return FieldCondition{"name", MatchExcept{{"name " + std::to_string(integer(1000))}}};
    case 7:
      return FieldCondition{"odd", IsNull{}};
    default:
      return FieldCondition{"year", MatchAny{{1970 + integer(60), 1970 + integer(60)}}};
  }
}

Filter tree_filter(std::mt19937_64& random, int depth) {
  Filter filter;
  const auto fill = [&](std::vector<Condition>& conditions, std::size_t most) {
    for (std::size_t i = random() % (most + 1); i > 0; --i) {
      conditions.push_back(tree_condition(random));
    }
  };
  fill(filter.must, 3);
  fill(filter.should, 3);
  fill(filter.must_not, 2);
  if (random() % 4 == 0) {
    filter.min_should.emplace();
    fill(filter.min_should->conditions, 4);
    filter.min_should->min_count = random() % 3;
  }
  if (depth > 0 && random() % 2 == 0) {
    filter.must.emplace_back(std::make_shared<const Filter>(tree_filter(random, depth - 1)));
  }
  return filter;
}

struct TreeData {
  TreeData() {
    std::mt19937_64 random(kTreeSeed);
    for (std::size_t i = 0; i < kTreeRows; ++i) documents.push_back(tree_document(random));
    set = attributes_of(documents, kPlenty);
    for (const auto& [key, kind] : kTreeIndexes) {
      FieldIndex index;
      index.key = key;
      index.kind = kind;
      indexes.push_back(index);
      auto growing = *MutableColumn::create(index);
      for (const Value& document : documents) growing->add_row(document);
      auto directory = make_memory_directory();
      EXPECT_TRUE(write_column(growing->view(), *directory, "c"));
      columns.push_back(*open_column(*directory, "c", index));
    }
  }
  [[nodiscard]] DocumentRows rows() const {
    DocumentRows all(documents, set);
    for (const ColumnView& column : columns) all.add_column(column);
    return all;
  }

  std::vector<Value> documents;
  AttributeSet set;
  std::vector<FieldIndex> indexes;
  std::vector<ColumnView> columns;
};

TEST(TreeColumns, AttributesAndDeclaredIndexesAgreeWithDocuments) {
  const TreeData data;
  const DocumentRows rows = data.rows();
  std::mt19937_64 random(kTreeSeed + 1);
  for (int i = 0; i < 600 && !HasFailure(); ++i) {
    SCOPED_TRACE("filter " + std::to_string(i));
    const Filter filter = tree_filter(random, 1);
    const auto predicate = *compile(filter, data.indexes);
    const Bitset candidates = random_rows(kTreeRows, random);
    const Bitset wanted = matching_documents(*predicate, data.documents, candidates);
    EXPECT_TRUE(*predicate->evaluate(rows, candidates, Cancel()) == wanted);
    const auto all =
        matching_documents(*predicate, data.documents, Bitset(kTreeRows, true)).count();
    const Estimate estimate = predicate->estimate(rows);
    EXPECT_LE(estimate.min, all);
    EXPECT_GE(estimate.max, all);
  }
}

TEST(TreeColumns, ColumnsDecideWhatCodesLeaveOpen) {
  const TreeData data;
  const DocumentRows rows = data.rows();
  std::mt19937_64 random(kTreeSeed + 2);
  std::size_t n_matching = 0;
  for (int i = 0; i < 100; ++i) {
    Filter filter;
    for (const char* key : {"number", "price"}) {
      const auto from = static_cast<double>(random() % 300);
      const double unit = *key == 'n' ? 1000 : 1;
      filter.must.emplace_back(
          FieldCondition{key, Range{{}, Number(from * unit), {}, Number((from + 500) * unit)}});
    }
    filter.must_not.emplace_back(
        FieldCondition{"number", Range{{}, Number(400'000.0), {}, Number(420'000.0)}});
    n_matching += (*compile(filter, data.indexes))
                      ->evaluate(rows, Bitset(kTreeRows, true), Cancel())
                      ->count();
  }
  EXPECT_GT(n_matching, 1000U);
  EXPECT_EQ(rows.n_read, 0U) << "the columns hold every number";
}

TEST(TreeColumns, ValuesCountRowsWhereEachHasOne) {
  const TreeData data;
  const DocumentRows rows = data.rows();
  std::mt19937_64 random(kTreeSeed + 3);
  for (int i = 0; i < 100; ++i) {
    Filter filter;
    const auto low = static_cast<std::int64_t>(random() % 1000);
    filter.must.emplace_back(
        FieldCondition{i % 2 == 0 ? "price" : "number", Range{{}, Number(low), {}, {}}});
    const auto predicate = *compile(filter, data.indexes);
    const Bitset all = matching_documents(*predicate, data.documents, Bitset(kTreeRows, true));
    const std::uint64_t n = all.count();
    EXPECT_EQ(predicate->estimate(rows), (Estimate{n, n, n}));
  }
}

}  // namespace
}  // namespace quiver::payload
