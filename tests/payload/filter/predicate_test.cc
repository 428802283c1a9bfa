#include "payload/filter/predicate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <numeric>
#include <random>

#include "base/io/file.h"
#include "payload/filter/evaluation.h"
#include "tests/payload/filter/row_set_support.h"
#include "tests/payload/random_payload.h"

namespace quiver::payload {
namespace {

/// Rows in memory. `documents_read` counts the documents that evaluation parsed.
class TestRows : public RowsView {
 public:
  void add(std::uint64_t id, const Value& document, bool has_v) {
    ids_.push_back(PointId::number(id));
    documents_.push_back(to_json(document));
    present_.push_back(has_v ? 1 : 0);
  }
  void set_sorted(bool sorted) { sorted_ = sorted; }
  void set_column(ColumnView column) {
    std::string key = column.index->key;
    columns_.insert_or_assign(std::move(key), std::move(column));
  }
  void drop_columns() { columns_.clear(); }

  [[nodiscard]] std::uint32_t n_rows() const override {
    return static_cast<std::uint32_t>(ids_.size());
  }
  [[nodiscard]] std::span<const PointId> ids() const override { return ids_; }
  [[nodiscard]] bool sorted_ids() const override { return sorted_; }
  [[nodiscard]] Result<std::string_view> document(std::uint32_t row) const override {
    ++documents_read;
    return std::string_view(documents_[row]);
  }
  [[nodiscard]] const ColumnView* column(std::string_view key) const override {
    const auto it = columns_.find(std::string(key));
    return it == columns_.end() ? nullptr : &it->second;
  }
  [[nodiscard]] const std::uint8_t* present(std::string_view name) const override {
    return name == "v" ? present_.data() : nullptr;
  }

  std::vector<std::string> documents_;
  mutable std::size_t documents_read = 0;

 private:
  std::vector<PointId> ids_;
  std::vector<std::uint8_t> present_;
  std::map<std::string, ColumnView> columns_;
  bool sorted_ = true;
};

struct Data {
  std::vector<Value> documents;
  std::vector<std::uint64_t> ids;
  TestRows rows;

  [[nodiscard]] bool has_v(std::size_t row) const { return row % 3 != 0; }
};

Data make_data(RandomPayload& random, std::size_t n, bool sorted) {
  Data data;
  data.ids.resize(n);
  std::iota(data.ids.begin(), data.ids.end(), 1);
  if (!sorted) std::shuffle(data.ids.begin(), data.ids.end(), std::mt19937_64(n));
  for (std::size_t row = 0; row < n; ++row) {
    data.documents.push_back(random.document());
    data.rows.add(data.ids[row], data.documents[row], data.has_v(row));
  }
  data.rows.set_sorted(sorted);
  return data;
}

ColumnView mutable_column(const FieldIndex& index, const std::vector<Value>& documents) {
  auto column = *MutableColumn::create(index);
  for (const Value& document : documents) column->add_row(document);
  return column->view();
}

ColumnView sealed_column(const FieldIndex& index, const std::vector<Value>& documents) {
  auto directory = make_memory_directory();
  EXPECT_TRUE(write_column(mutable_column(index, documents), *directory, "c"));
  return *open_column(*directory, "c", index);
}

/// Every index as a growing and as a sealed column.
class Columns {
 public:
  Columns(const std::vector<FieldIndex>& indexes, const std::vector<Value>& documents) {
    for (const auto& index : indexes) {
      mutable_.push_back(mutable_column(index, documents));
      sealed_.push_back(sealed_column(index, documents));
    }
  }
  /// 0 none, 1 all mutable, 2 all sealed, 3 some of each.
  void put_into(TestRows& rows, int mixture) const {
    rows.drop_columns();
    for (std::size_t i = 0; i < sealed_.size(); ++i) {
      const int how = mixture == 3 ? static_cast<int>(i % 3) : mixture;
      if (how == 1) rows.set_column(mutable_[i]);
      if (how == 2) rows.set_column(sealed_[i]);
    }
  }

 private:
  std::vector<ColumnView> mutable_, sealed_;
};

Bitset slow_matches(const Predicate& predicate, const Data& data, const Bitset& candidates) {
  Bitset out(data.documents.size());
  candidates.for_each([&](std::size_t row) {
    const HasVectorFn has_vector = [&](std::string_view name) {
      return name == "v" && data.has_v(row);
    };
    if (predicate.matches(data.documents[row], PointId::number(data.ids[row]), has_vector)) {
      out.set(row);
    }
  });
  return out;
}

/// Numbers of the rows that match.
std::vector<int> matching(const Filter& filter, const std::vector<std::string>& documents,
                          const std::vector<FieldIndex>& indexes = {}) {
  const auto predicate = *compile(filter, indexes);
  std::vector<int> out;
  for (std::size_t row = 0; row < documents.size(); ++row) {
    if (predicate->matches(*parse_json(documents[row]), PointId::number(row), {})) {
      out.push_back(static_cast<int>(row));
    }
  }
  return out;
}

Filter must(const std::string& key, ValueCondition condition) {
  Filter filter;
  filter.must.push_back(FieldCondition{key, std::move(condition)});
  return filter;
}

using Rows = std::vector<int>;

/// The same rows by the evaluation of few rows, and by `evaluate_few`. Returns 1 if columns showed
/// that there are few.
std::size_t expect_same_by_list(const Filter& filter, const std::vector<FieldIndex>& indexes,
                                const Data& data, const Bitset& candidates, const Bitset& wanted) {
  const auto predicate = *compile(filter, indexes);
  const auto verdict =
      match_columns(**build_tree(filter, indexes), data.rows, listed_set(candidates), Cancel());
  EXPECT_TRUE(verdict);
  Bitset by_list = slow_matches(*predicate, data, bits_of(verdict->maybe));
  EXPECT_TRUE((by_list |= bits_of(verdict->yes)) == wanted);

  Bitset dead(candidates.size(), true);
  dead.subtract(candidates);
  const auto nothing = [] { return std::shared_ptr<const Bitset>(); };
  const auto few = *predicate->evaluate_few(data.rows, &dead, candidates.size(), nothing, Cancel());
  if (!few) return 0;
  EXPECT_EQ(*few, rows_of(wanted));
  const auto all = std::make_shared<const Bitset>(
      slow_matches(*predicate, data, Bitset(candidates.size(), true)));
  const std::size_t n_read = data.rows.documents_read;
  const auto known = *predicate->evaluate_few(
      data.rows, &dead, candidates.size(), [&] { return all; }, Cancel());
  EXPECT_EQ(*known, rows_of(wanted));
  EXPECT_EQ(data.rows.documents_read, n_read) << "they are known";
  return 1;
}

TEST(Predicate, EvaluateEqualsMatchesWhateverColumnsThereAre) {
  std::size_t n_matching = 0;
  std::size_t n_listed = 0;
  // The long form tries 102,000 filters.
  const std::uint64_t n_seeds = std::getenv("QUIVER_LONG_TESTS") != nullptr ? 1700 : 60;
  for (std::uint64_t seed = 1; seed <= n_seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomPayload random(seed);
    Data data = make_data(random, 300, seed % 2 == 0);
    std::map<std::string, FieldIndex> by_key;
    for (int i = random.below(9); i > 0; --i) {
      const FieldIndex index = random.index();
      by_key.insert_or_assign(index.key, index);
    }
    std::vector<FieldIndex> indexes;
    for (const auto& [key, index] : by_key) indexes.push_back(index);
    const Columns columns(indexes, data.documents);
    for (int round = 0; round < 60; ++round) {
      const Filter filter = random.filter();
      const auto predicate = *compile(filter, indexes);
      Bitset candidates(300);
      for (std::size_t row = 0; row < 300; ++row) {
        if (random.chance(0.8)) candidates.set(row);
      }
      const Bitset wanted = slow_matches(*predicate, data, candidates);
      const std::size_t n_all = slow_matches(*predicate, data, Bitset(300, true)).count();
      n_matching += wanted.count();
      for (int mixture = 0; mixture < 4; ++mixture) {
        columns.put_into(data.rows, mixture);
        const auto got = predicate->evaluate(data.rows, candidates, Cancel());
        ASSERT_TRUE(got);
        ASSERT_EQ(got->count(), wanted.count()) << "mixture " << mixture << " round " << round;
        ASSERT_TRUE(*got == wanted);
        n_listed += expect_same_by_list(filter, indexes, data, candidates, wanted);
        const Estimate estimate = predicate->estimate(data.rows);
        EXPECT_LE(estimate.min, n_all);
        EXPECT_GE(estimate.max, n_all);
        EXPECT_LE(estimate.min, estimate.expected);
        EXPECT_LE(estimate.expected, estimate.max);
      }
    }
  }
  EXPECT_GT(n_matching, 10000U);
  EXPECT_GT(n_listed, 500U);
}

TEST(Predicate, EveryKindOfColumnAnswersEveryCondition) {
  RandomPayload random(71);
  Data data = make_data(random, 400, true);
  std::map<std::size_t, std::size_t>
      n_decided;  // by condition: rows that matched without documents
  std::size_t n_listed = 0;
  for (std::size_t kind = 0; kind < kIndexKindNames.size(); ++kind) {
    for (const char* key : {"a", "a[]", "r[].a", "o"}) {
      FieldIndex index = random.index();
      index.key = key;
      index.kind = static_cast<IndexKind>(kind);
      const std::vector<FieldIndex> indexes{index};
      const Columns columns(indexes, data.documents);
      for (int round = 0; round < 150; ++round) {
        const ValueCondition condition = random.condition();
        const auto predicate = *compile(must(key, condition), indexes);
        Bitset candidates(400);
        for (std::size_t row = 0; row < 400; ++row) {
          if (random.chance(round % 2 == 0 ? 0.9 : 0.05)) candidates.set(row);
        }
        const Bitset wanted = slow_matches(*predicate, data, candidates);
        for (const int mixture : {1, 2}) {
          columns.put_into(data.rows, mixture);
          data.rows.documents_read = 0;
          ASSERT_TRUE(*predicate->evaluate(data.rows, candidates, Cancel()) == wanted)
              << "kind " << kind << " key " << key << " condition " << condition.index()
              << " mixture " << mixture;
          if (data.rows.documents_read == 0) n_decided[condition.index()] += wanted.count();
          n_listed += expect_same_by_list(must(key, condition), indexes, data, candidates, wanted);
        }
      }
    }
  }
  for (std::size_t i = 0; i < std::variant_size_v<ValueCondition>; ++i) {
    EXPECT_GT(n_decided[i], 0U) << "condition " << i << " was never answered by a column alone";
  }
  EXPECT_GT(n_listed, 100U);
}

TEST(Predicate, EmptyMatchesAll) {
  const auto predicate = *compile(Filter(), {});
  EXPECT_TRUE(predicate->always_true());
  EXPECT_TRUE(predicate->matches(Value(Object()), PointId::number(1), {}));
}

TEST(Predicate, MatchesAreTyped) {
  const std::vector<std::string> documents{R"({"x":3})",     R"({"x":3.0})",  R"({"x":"3"})",
                                           R"({"x":[1,3]})", R"({"x":true})", R"({"x":[[3]]})"};
  EXPECT_EQ(matching(must("x", MatchValue{std::int64_t{3}}), documents), (Rows{0, 3}));
  EXPECT_EQ(matching(must("x", MatchValue{std::string("3")}), documents), (Rows{2}));
  EXPECT_EQ(matching(must("x", MatchValue{true}), documents), (Rows{4}));
  EXPECT_EQ(matching(must("x", Range{{}, Number(3.0), {}, {}}), documents), (Rows{0, 1, 3}));
}

TEST(Predicate, AnyAndExceptOfLists) {
  const std::vector<std::string> documents{R"({"x":"a"})",     R"({"x":"b"})", R"({"x":["a","b"]})",
                                           R"({"x":null})",    R"({"x":[]})",  R"({})",
                                           R"({"x":[null,7]})"};
  EXPECT_EQ(matching(must("x", MatchAny{{std::string("a"), std::string("c")}}), documents),
            (Rows{0, 2}));
  EXPECT_EQ(matching(must("x", MatchAny{}), documents), Rows{});
  EXPECT_EQ(matching(must("x", MatchExcept{{std::string("a")}}), documents), (Rows{1, 2, 6}));
  EXPECT_EQ(matching(must("x", MatchExcept{}), documents), (Rows{0, 1, 2, 6}));
}

TEST(Predicate, EmptyAndNull) {
  const std::vector<std::string> documents{R"({})",           R"({"x":null})",    R"({"x":[]})",
                                           R"({"x":[null]})", R"({"x":[1]})",     R"({"x":0})",
                                           R"({"x":""})",     R"({"x":[1,null]})"};
  EXPECT_EQ(matching(must("x", IsEmpty{true}), documents), (Rows{0, 1, 2}));
  EXPECT_EQ(matching(must("x", IsEmpty{false}), documents), (Rows{3, 4, 5, 6, 7}));
  EXPECT_EQ(matching(must("x", IsNull{true}), documents), (Rows{1, 3, 7}));
  EXPECT_EQ(matching(must("x", IsNull{false}), documents), (Rows{0, 2, 4, 5, 6}));
  EXPECT_EQ(matching(must("x", IsNull{true, false}), documents), (Rows{1}));
  EXPECT_EQ(matching(must("x", IsNull{false, false}), documents), (Rows{0, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(matching(must("x[]", IsNull{true, false}), documents), (Rows{3, 7}));
  EXPECT_EQ(matching(must("x", ValuesCount{{}, 1, {}, {}}), documents), (Rows{3, 4, 5, 6, 7}));
  EXPECT_EQ(matching(must("x", ValuesCount{{}, {}, 1, {}}), documents), (Rows{0, 1, 2}));
}

TEST(Predicate, PrefixOfAStringAsItIsWritten) {
  const std::vector<std::string> documents{
      R"({"x":"/a/b"})",          R"({"x":"/a"})", R"({"x":"/b"})", R"({"x":["/c","/a/c"]})",
      R"({"x":["/A", 1, null]})", R"({"x":7})",    R"({})",         R"({"x":""})"};
  EXPECT_EQ(matching(must("x", MatchPrefix{"/a"}), documents), (Rows{0, 1, 3}));
  EXPECT_EQ(matching(must("x", MatchPrefix{"/a/"}), documents), (Rows{0, 3}));
  EXPECT_EQ(matching(must("x", MatchPrefix{"b"}), documents), (Rows{}));
  EXPECT_EQ(matching(must("x", MatchPrefix{""}), documents), (Rows{0, 1, 2, 3, 4, 7}));
}

TEST(Predicate, TextIsTokensUnderATextIndexAndSubstringElsewhere) {
  const std::vector<std::string> documents{R"({"t":"The deep blue Sea"})", R"({"t":"seaside"})",
                                           R"({"t":["deep","sea"]})", R"({"t":"blue deep sea"})"};
  const FieldIndex index{
      .key = "t", .kind = IndexKind::kText, .text = {}, .range = true, .client_settings = ""};
  EXPECT_EQ(matching(must("t", MatchText{"sea"}), documents), (Rows{1, 2, 3}));
  EXPECT_EQ(matching(must("t", MatchText{"sea"}), documents, {index}), (Rows{0, 2, 3}));
  EXPECT_EQ(matching(must("t", MatchText{"SEA deep"}), documents, {index}), (Rows{0, 3}));
  EXPECT_EQ(matching(must("t", MatchTextAny{"sea nothing"}), documents, {index}), (Rows{0, 2, 3}));
  EXPECT_EQ(matching(must("t", MatchPhrase{"deep sea"}), documents, {index}), (Rows{3}));
  EXPECT_EQ(matching(must("t", MatchPhrase{"deep blue"}), documents), (Rows{0}));
}

TEST(Predicate, NestedConditionsMeetInOneElement) {
  const std::vector<std::string> documents{R"({"r":[{"a":1,"b":2},{"a":3,"b":4}]})",
                                           R"({"r":[{"a":1,"b":4},{"a":3,"b":2}]})",
                                           R"({"r":{"a":1,"b":2}})", R"({"r":[1,2]})"};
  Filter inner;
  inner.must.push_back(FieldCondition{"a", MatchValue{std::int64_t{1}}});
  inner.must.push_back(FieldCondition{"b", MatchValue{std::int64_t{2}}});
  Filter filter;
  filter.must.push_back(Nested{"r", std::make_shared<const Filter>(inner)});
  EXPECT_EQ(matching(filter, documents), (Rows{0}));
  filter.must.front() = Nested{"r[]", std::make_shared<const Filter>(inner)};
  EXPECT_EQ(matching(filter, documents), (Rows{0}));
  Filter flat;
  flat.must.push_back(FieldCondition{"r[].a", MatchValue{std::int64_t{1}}});
  flat.must.push_back(FieldCondition{"r[].b", MatchValue{std::int64_t{2}}});
  EXPECT_EQ(matching(flat, documents), (Rows{0, 1}));
  EXPECT_EQ(matching(must("r.a", MatchValue{std::int64_t{1}}), documents), (Rows{2}));
}

TEST(Predicate, UuidIndexComparesUuids) {
  const std::vector<std::string> documents{R"({"u":"5C56C79369F34FBF87E6C4BF54C28C26"})",
                                           R"({"u":"other"})"};
  const FieldIndex index{
      .key = "u", .kind = IndexKind::kUuid, .text = {}, .range = true, .client_settings = ""};
  const Filter filter = must("u", MatchValue{std::string("5c56c793-69f3-4fbf-87e6-c4bf54c28c26")});
  EXPECT_EQ(matching(filter, documents), Rows{});
  EXPECT_EQ(matching(filter, documents, {index}), (Rows{0}));
  EXPECT_EQ(matching(must("u", MatchValue{std::string("other")}), documents, {index}), (Rows{1}));
}

TEST(Predicate, RefusesWhatMakesNoSense) {
  const auto message = [](const Filter& filter) {
    const auto predicate = compile(filter, {});
    EXPECT_FALSE(predicate);
    return predicate ? std::string() : predicate.error().to_string();
  };
  EXPECT_EQ(message(must("a..b", IsNull{})), "invalid_argument: Invalid json path: 'a..b'");
  EXPECT_NE(message(must("a", MatchAny{{std::string("x"), std::int64_t{1}}})).find("mixes types"),
            std::string::npos);
  EXPECT_NE(message(must("a", GeoRadius{{0, 91}, 1})).find("lat 91"), std::string::npos);
  EXPECT_NE(message(must("a", GeoPolygon{{{0, 0}, {1, 0}, {0, 0}}, {}})).find("at least 4"),
            std::string::npos);
  EXPECT_NE(message(must("a", GeoPolygon{{{0, 0}, {1, 0}, {1, 1}, {2, 2}}, {}})).find("the same"),
            std::string::npos);
  Filter deep;
  for (int i = 0; i < 100; ++i) {
    Filter outer;
    outer.must.emplace_back(std::make_shared<const Filter>(deep));
    deep = outer;
  }
  EXPECT_NE(message(deep).find("deeper than 64"), std::string::npos);
}

TEST(Predicate, CancelledAndDamagedAreErrors) {
  TestRows rows;
  rows.add(1, Value(Object()), true);
  const auto predicate = *compile(must("a", IsNull{}), {});
  const Cancel cancel;
  cancel.cancel();
  const auto cancelled = predicate->evaluate(rows, Bitset(1, true), cancel);
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code(), Code::kCancelled);
  rows.documents_[0] = "{";
  const auto damaged = predicate->evaluate(rows, Bitset(1, true), Cancel());
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code(), Code::kDataLoss);
  EXPECT_NE(damaged.error().message().find("point 1"), std::string::npos);
}

TEST(Predicate, IndexedConditionsReadNoDocuments) {
  TestRows rows;
  std::vector<Value> documents;
  for (std::uint64_t row = 0; row < 100000; ++row) {
    documents.push_back(*parse_json("{\"k\":\"word" + std::to_string(row % 50) +
                                    "\",\"n\":" + std::to_string(row % 1000) + "}"));
    rows.add(row, documents.back(), true);
  }
  FieldIndex k;
  k.key = "k";
  FieldIndex n;
  n.key = "n";
  n.kind = IndexKind::kInteger;
  const Filter keyword = must("k", MatchValue{std::string("word7")});
  const Filter range =
      must("n", Range{{}, Number(std::int64_t{100}), Number(std::int64_t{120}), {}});
  const Bitset all(100000, true);
  for (const bool sealed : {false, true}) {
    for (const auto& index : {k, n}) {
      rows.set_column(sealed ? sealed_column(index, documents) : mutable_column(index, documents));
    }
    for (const auto* filter : {&keyword, &range}) {
      const auto predicate = *compile(*filter, std::vector{k, n});
      double best_us = 1e9;
      for (int i = 0; i < 20; ++i) {
        const auto start = std::chrono::steady_clock::now();
        const auto got = *predicate->evaluate(rows, all, Cancel());
        const std::chrono::duration<double, std::micro> took =
            std::chrono::steady_clock::now() - start;
        best_us = std::min(best_us, took.count());
        ASSERT_EQ(got.count(), 2000U);
      }
      std::cout << (sealed ? "sealed " : "mutable ") << (filter == &keyword ? "keyword" : "range")
                << ", 100k rows: " << best_us << " us\n";
      if (sealed) {
        EXPECT_EQ(predicate->estimate(rows).expected, 2000U);
      }
    }
  }
  EXPECT_EQ(rows.documents_read, 0U);
}

TEST(Predicate, ParsesOnlyWhatColumnsLeaveOpen) {
  TestRows rows;
  std::vector<Value> documents;
  for (std::uint64_t row = 0; row < 1000; ++row) {
    documents.push_back(*parse_json("{\"k\":\"word" + std::to_string(row % 50) +
                                    "\",\"free\":" + std::to_string(row) + "}"));
    rows.add(row, documents.back(), true);
  }
  FieldIndex k;
  k.key = "k";
  rows.set_column(sealed_column(k, documents));
  Filter filter = must("free", Range{Number(std::int64_t{500}), {}, {}, {}});
  filter.must.push_back(FieldCondition{"k", MatchValue{std::string("word7")}});
  filter.must_not.push_back(FieldCondition{"free", MatchValue{std::int64_t{507}}});
  const auto got =
      *(*compile(filter, std::vector{k}))->evaluate(rows, Bitset(1000, true), Cancel());
  EXPECT_EQ(got.count(), 9U);
  EXPECT_EQ(rows.documents_read, 20U);
}

}  // namespace
}  // namespace quiver::payload
