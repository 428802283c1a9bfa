// Segments whose rows lie by tenant answer as any others do.
#include "engine/segment/tenants.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "engine/segment/columns.h"
#include "engine/segment/ordering.h"
#include "engine/segment/segment_rows.h"
#include "payload/filter/predicate.h"
#include "payload/json/document.h"
#include "tests/engine/query/support.h"
#include "tests/engine/support.h"

namespace quiver::engine::testing {
namespace {

payload::FieldIndex index_of(payload::IndexKind kind, const std::string& settings) {
  payload::FieldIndex index;
  index.key = "t";
  index.kind = kind;
  index.client_settings = settings;
  return index;
}

const std::string kTenant = R"({"type":"keyword","is_tenant":true})";

TEST(TenantIndex, IsTheFirstThatWasMadeAsOne) {
  const auto plain = index_of(payload::IndexKind::kKeyword, R"("keyword")");
  const auto off =
      index_of(payload::IndexKind::kKeyword, R"({"type":"keyword","is_tenant":false})");
  const auto text = index_of(payload::IndexKind::kText, R"({"type":"text","is_tenant":true})");
  const auto on = index_of(payload::IndexKind::kUuid, R"({"type":"uuid","is_tenant":true})");
  const std::vector<payload::FieldIndex> none = {plain, off, text};
  const std::vector<payload::FieldIndex> one = {plain, off, text, on};
  EXPECT_EQ(tenant_index(none), nullptr);
  EXPECT_EQ(tenant_index(one), &one[3]);
}

TEST(TenantFilter, HoldsTheConditionsOnTheTenantAlone) {
  using payload::FieldCondition;
  using payload::Filter;
  const std::vector<payload::FieldIndex> indexes = {
      index_of(payload::IndexKind::kKeyword, kTenant)};
  const FieldCondition of_tenant{"t", payload::MatchValue{std::string("a")}};
  const FieldCondition of_two{"t", payload::MatchAny{{std::string("a"), std::string("b")}}};
  const FieldCondition other{"n", payload::MatchValue{std::int64_t{1}}};
  Filter filter;
  filter.must = {other};
  filter.should = {of_tenant};
  filter.must_not = {of_tenant};
  EXPECT_EQ(tenant_filter(filter, indexes), nullptr);
  filter.must = {other, of_two};
  ASSERT_NE(tenant_filter(filter, indexes), nullptr);
  EXPECT_EQ(tenant_filter(filter, indexes)->must.size(), 1U);
  EXPECT_EQ(tenant_filter(filter, {}), nullptr);
  Filter outer;
  outer.must = {std::make_shared<const Filter>(filter), of_tenant};
  EXPECT_EQ(tenant_filter(outer, indexes)->must.size(), 2U);
}

/// Random rows of 13 tenants; some have none, some several.
class Tenants : public ::testing::TestWithParam<bool> {
 protected:
  static std::string payload_of(Random& random, bool has_terms) {
    const auto value = [&] {
      const auto n = static_cast<std::int64_t>(random() % 13) - 6;
      return has_terms ? "\"t" + std::to_string(n) + "\"" : std::to_string(n);
    };
    switch (random() % 8) {
      case 0:
        return "{}";
      case 1:
        return "{\"t\":[" + value() + "," + value() + "]}";
      default:
        return "{\"n\":" + std::to_string(random() % 5) + ",\"t\":" + value() + "}";
    }
  }
  void make(std::uint64_t seed) {
    Random random(seed);
    config_.fields = {mixed_fields()[0], mixed_fields()[3]};
    config_.indexes = {index_of(
        GetParam() ? payload::IndexKind::kKeyword : payload::IndexKind::kInteger, kTenant)};
    auto rows = random_rows(3000, config_.fields, random);
    for (Row& row : rows) row.payload = payload_of(random, GetParam());
    inputs_.clear();
    for (std::size_t part = 0; part < 3; ++part) {
      const std::vector<Row> some(rows.begin() + part * 1000, rows.begin() + part * 1000 + 1000);
      std::vector<std::uint32_t> dead;
      for (std::uint32_t row = 0; row < 1000; ++row) {
        if (random() % 6 == 0) dead.push_back(row);
      }
      auto config = config_;
      if (part == 2) config.indexes.clear();  // its column is not built yet
      inputs_.push_back(with_deleted(segment_of_rows(some, config, part + 1), dead));
    }
  }
  [[nodiscard]] Segment write(const std::vector<RowRef>& rows) {
    directories_.push_back(make_memory_directory());
    auto& directory = *directories_.back();
    EXPECT_TRUE(write_segment_file(directory, inputs_, rows, Cancel(), nullptr));
    auto opened = open_segment_file(directory, 9, config_.fields);
    EXPECT_TRUE(opened) << opened.error().to_string();
    EXPECT_TRUE(merge_columns(*opened, inputs_, rows, directory, config_.indexes));
    return {std::make_shared<SegmentData>(*std::move(opened)), nullptr, 0};
  }
  /// The slow, obvious order: the least of a row's tenants.
  [[nodiscard]] std::string least_tenant(const RowRef& ref) const {
    const auto document =
        payload::parse_json(inputs_[ref.segment].data->documents[ref.row]).value();
    const auto* member = document.find("t");
    if (member == nullptr) return "~";
    std::string least = "~";
    const auto add = [&](const payload::Value& value) {
      const auto* number = value.as_i64();
      least =
          std::min(least, number == nullptr ? *value.as_string()
                                            : std::string(1, static_cast<char>('a' + *number + 6)));
    };
    if (const auto* values = member->as_array()) {
      for (const auto& value : *values) add(value);
    } else {
      add(*member);
    }
    return least;
  }

  CollectionConfig config_;
  std::vector<Segment> inputs_;
  std::vector<std::unique_ptr<Directory>> directories_;
};

TEST_P(Tenants, RowsLieByTenantAndWithinATenantById) {
  for (const std::uint64_t seed : {31, 32, 33}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    make(seed);
    auto rows = live_rows_by_id(inputs_);
    auto wanted = rows;
    std::stable_sort(wanted.begin(), wanted.end(), [&](const RowRef& a, const RowRef& b) {
      return least_tenant(a) < least_tenant(b);
    });
    ASSERT_TRUE(group_by_tenant(rows, inputs_, config_.indexes));
    ASSERT_EQ(rows.size(), wanted.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      ASSERT_EQ(rows[i].segment, wanted[i].segment) << i;
      ASSERT_EQ(rows[i].row, wanted[i].row) << i;
    }
    auto again = live_rows_by_id(inputs_);
    ASSERT_TRUE(group_by_tenant(again, inputs_, {}));
    EXPECT_EQ(again.front().row, live_rows_by_id(inputs_).front().row) << "no tenants, no change";
  }
}

TEST_P(Tenants, AGroupedSegmentHoldsTheSamePoints) {
  make(41);
  auto rows = live_rows_by_id(inputs_);
  const Segment sorted = write(rows);
  ASSERT_TRUE(group_by_tenant(rows, inputs_, config_.indexes));
  const Segment grouped = write(rows);
  EXPECT_TRUE(sorted.data->has_sorted_ids());
  EXPECT_FALSE(grouped.data->has_sorted_ids());
  ASSERT_EQ(grouped.n_rows(), sorted.n_rows());
  for (std::uint32_t row = 0; row < sorted.n_rows(); ++row) {
    const auto place = grouped.find(sorted.data->ids[row]);
    ASSERT_TRUE(place);
    ASSERT_EQ(grouped.row(*place), sorted.row(row));
    ASSERT_EQ(grouped.data->row_of_rank(row), *place);
    ASSERT_EQ(grouped.data->rank_of(sorted.data->ids[row]), row);
  }
  EXPECT_FALSE(grouped.find(PointId::number(1'000'000)));
  EXPECT_FALSE(grouped.find(PointId::uuid(~0ULL, ~0ULL)));
  std::vector<std::uint32_t> dead = {*grouped.find(sorted.data->ids[5])};
  EXPECT_FALSE(with_deleted(grouped, dead).find(sorted.data->ids[5]));
}

TEST_P(Tenants, PagesAndFiltersAreTheSame) {
  make(42);
  auto rows = live_rows_by_id(inputs_);
  const Segment sorted = write(rows);
  ASSERT_TRUE(group_by_tenant(rows, inputs_, config_.indexes));
  const Snapshot snapshots[] = {snapshot_of({sorted}), snapshot_of({write(rows)})};
  Random random(42);
  for (int round = 0; round < 60; ++round) {
    payload::Filter filter;
    payload::HasId has_id;
    for (int i = 0; i < 200; ++i) has_id.ids.push_back(random_id(30'000, random));
    for (int i = 0; i < 20; ++i) has_id.ids.push_back(sorted.data->ids[random() % sorted.n_rows()]);
    if (round % 2 == 0) filter.must.emplace_back(std::move(has_id));
    if (round % 2 == 1) filter.must_not.emplace_back(std::move(has_id));
    const auto predicate = payload::compile(filter, config_.indexes).value();
    std::optional<PointId> from;
    if (round % 3 != 0) from = sorted.data->ids[random() % sorted.n_rows()];
    std::vector<PointId> pages[2];
    for (int i = 0; i < 2; ++i) {
      const auto page =
          first_points_by_id(snapshots[i], from, 1 + random() % 50, predicate.get(), Cancel());
      ASSERT_TRUE(page);
      for (const auto& [segment, row] : *page) pages[i].push_back(segment->data->ids[row]);
    }
    const std::size_t n = std::min(pages[0].size(), pages[1].size());
    pages[0].resize(n), pages[1].resize(n);
    EXPECT_EQ(pages[0], pages[1]) << "round " << round;
    EXPECT_TRUE(std::is_sorted(pages[1].begin(), pages[1].end()));
  }
}

TEST_P(Tenants, ADamagedOrderOfIdsIsFound) {
  make(43);
  auto rows = live_rows_by_id(inputs_);
  ASSERT_TRUE(group_by_tenant(rows, inputs_, config_.indexes));
  (void)write(rows);
  auto& directory = *directories_.back();
  auto bytes = directory.read_file(kSegmentFile).value();
  Random random(43);
  for (int i = 0; i < 40; ++i) {
    auto changed = bytes;
    changed[random() % changed.size()] ^= std::byte{0x10};
    ASSERT_TRUE(directory.remove_file(kSegmentFile));
    ASSERT_TRUE(directory.write_file(kSegmentFile, changed));
    const auto opened = open_segment_file(directory, 9, config_.fields);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code(), Code::kDataLoss);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Tenants, ::testing::Bool(),
                         [](const auto& kind) { return kind.param ? "keyword" : "integer"; });

}  // namespace
}  // namespace quiver::engine::testing
