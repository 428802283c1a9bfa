// Documents are read only where attributes and columns leave something open.
#include "payload/aggregate/collect.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/observe/memory_budget.h"
#include "payload/aggregate/buckets.h"
#include "payload/aggregate/stats.h"
#include "payload/aggregate/terms.h"
#include "payload/attribute/builder.h"

namespace quiver::payload {
namespace {

constexpr std::uint32_t kCollectedRows = 1000;

FieldIndex float_index(const std::string& key) {
  FieldIndex index;
  index.key = key;
  index.kind = IndexKind::kFloat;
  return index;
}

/// `n` has five values, `x` a different one in each row, `[n, n]` is under `twice`.
class CollectRows final : public RowsView {
 public:
  CollectRows() {
    AttributeLimits limits;
    limits.max_bytes = 1 << 20;
    AttributeBuilder builder(limits);
    auto column = *MutableColumn::create(float_index("x"));
    for (std::uint32_t row = 0; row < kCollectedRows; ++row) {
      const std::string n = std::to_string(row % 5);
      documents_.push_back(R"({"n":)" + n + R"(,"twice":[)" + n + "," + n + R"(],"x":)" +
                           std::to_string(row) + ".5}");
      ids_.push_back(PointId::number(row));
      const Value document = *parse_json(documents_.back());
      builder.add(document);
      column->add_row(document);
    }
    set_ = builder.finish();
    column_ = column->view();
  }

  [[nodiscard]] std::uint32_t n_rows() const override { return kCollectedRows; }
  [[nodiscard]] std::span<const PointId> ids() const override { return ids_; }
  [[nodiscard]] bool sorted_ids() const override { return true; }
  [[nodiscard]] Result<std::string_view> document(std::uint32_t row) const override {
    ++n_read;
    return std::string_view(documents_[row]);
  }
  [[nodiscard]] const ColumnView* column(std::string_view key) const override {
    return key == "x" ? &column_ : nullptr;
  }
  [[nodiscard]] std::vector<AttributePart> attributes(std::string_view path) const override {
    const AttributeView* view = set_.find(path);
    return {{0, kCollectedRows, view}};
  }
  [[nodiscard]] const std::uint8_t* present(std::string_view) const override { return nullptr; }

  std::vector<std::string> documents_;
  mutable std::size_t n_read = 0;

 private:
  std::vector<PointId> ids_;
  AttributeSet set_;
  ColumnView column_;
};

JsonPath path(const std::string& text) { return *JsonPath::parse(text); }

TEST(Collect, CodesOfSingleValuesNeedNoDocument) {
  const CollectRows rows;
  TermCollector terms(path("n"));
  StatsCollector stats(path("twice"));
  StatsCollector nowhere(path("nowhere"));
  Collector* collectors[] = {&terms, &stats, &nowhere};
  Bitset even(kCollectedRows);
  for (std::uint32_t row = 0; row < kCollectedRows; row += 2) even.set(row);
  ASSERT_TRUE(collect(collectors, rows, nullptr, {}, Cancel()));
  EXPECT_EQ(terms.n_distinct(), 5U);
  EXPECT_EQ(terms.most_frequent(1).front().n_rows, 200U);
  EXPECT_EQ(stats.stats().count, 2000U);
  EXPECT_EQ(nowhere.n_missing(), kCollectedRows);
  ASSERT_TRUE(collect(collectors, rows, &even, {}, Cancel()));
  EXPECT_EQ(terms.most_frequent(1).front().n_rows, 300U);
  EXPECT_EQ(stats.stats().count, 3000U);
  EXPECT_EQ(nowhere.n_missing(), kCollectedRows + kCollectedRows / 2);
  EXPECT_EQ(rows.n_read, 0U);
}

TEST(Collect, ADocumentIsReadOnceForAllCollectors) {
  const CollectRows rows;
  StatsCollector first(path("x"));
  StatsCollector second(path("x"));
  Collector* collectors[] = {&first, &second};
  ASSERT_TRUE(collect(collectors, rows, nullptr, {}, Cancel()));
  EXPECT_EQ(rows.n_read, kCollectedRows) << "all numbers differ, so entries are ranges";
  EXPECT_EQ(first.stats().sum, Number(std::int64_t{500'000}));
  EXPECT_EQ(second.stats().count, kCollectedRows);
}

TEST(Collect, AColumnTellsWhatRangesLeaveOpen) {
  const CollectRows rows;
  StatsCollector stats(path("x"));
  Collector* collectors[] = {&stats};
  const std::vector<FieldIndex> indexes = {float_index("x")};
  ASSERT_TRUE(collect(collectors, rows, nullptr, indexes, Cancel()));
  EXPECT_EQ(stats.stats().sum, Number(std::int64_t{500'000}));
  EXPECT_EQ(rows.n_read, 0U);
}

TEST(Collect, OnlyRangesAcrossABoundNeedTheirDocuments) {
  const CollectRows rows;
  BucketCollector buckets(path("x"), NumberBuckets{500, 0});
  Collector* collectors[] = {&buckets};
  ASSERT_TRUE(collect(collectors, rows, nullptr, {}, Cancel()));
  const std::vector<std::pair<double, std::uint64_t>> expected = {{0, 500}, {500, 500}};
  EXPECT_EQ(buckets.number_buckets(), expected);
  EXPECT_LE(rows.n_read, 8U);
}

/// A process that uses more than it may, until this is destroyed.
struct FullMemory {
  FullMemory() { process_memory().set_limit(1); }
  ~FullMemory() { process_memory().set_limit(0); }
  FullMemory(const FullMemory&) = delete;
  FullMemory& operator=(const FullMemory&) = delete;
};

TEST(Collect, TermsAskForTheirMemory) {
  TermCollector terms(path("t"));
  const FullMemory full;
  Result<> room;
  std::uint64_t n_texts = 0;
  for (; room && n_texts < 5000; ++n_texts) {
    const std::string text = std::to_string(n_texts) + std::string(1000, 'x');
    terms.add(*parse_json(R"({"t":")" + text + R"("})"));
    room = terms.check();
  }
  ASSERT_FALSE(room);
  EXPECT_NE(room.error().message().find("an aggregation"), std::string::npos);
  EXPECT_LT(n_texts, 1000U) << "a MiB at a time";
}

TEST(Collect, TermsOfAColumnAskBeforeTheyAreCounted) {
  auto column = *MutableColumn::create({.key = "t", .kind = IndexKind::kKeyword});
  column->add_row(*parse_json(R"({"t":"a"})"));
  TermCollector terms(path("t"));
  EXPECT_TRUE(terms.check_room(column->view(), 1));
  const FullMemory full;
  EXPECT_FALSE(terms.check_room(column->view(), 1));
}

TEST(Collect, NamesADocumentThatIsNoJson) {
  CollectRows rows;
  rows.documents_[7] = "{";
  StatsCollector stats(path("x"));
  Collector* collectors[] = {&stats};
  const auto lost = collect(collectors, rows, nullptr, {}, Cancel());
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code(), Code::kDataLoss);
  EXPECT_NE(lost.error().message().find("point 7"), std::string::npos);
}

}  // namespace
}  // namespace quiver::payload
