// A shard whose rows lie by tenant: seals, merges, deletes and restarts, against a map.
#include <map>
#include <random>
#include <set>

#include "engine/segment/tenants.h"
#include "tests/engine/shard/shard_rig.h"

namespace quiver::engine::testing {
namespace {

class TenantRewrites : public ShardRig {
 protected:
  void SetUp() override {
    payload::FieldIndex index;
    index.key = "t";
    index.client_settings = R"({"type":"keyword","is_tenant":true})";
    config_->indexes = {index};
    config_->optimizer.seal_rows = 40;
    config_->optimizer.max_segments = 3;
    config_->optimizer.vacuum_min_rows = 10;
    ShardRig::SetUp();
  }
  void put(std::uint64_t id, const std::string& tenant) {
    PreparedPoints points;
    points.rows = {dense_row(id, 0)};
    if (!tenant.empty()) points.rows[0].payload = "{\"t\":\"" + tenant + "\"}";
    ShardRequest request;
    request.operations.emplace_back(std::move(points));
    ASSERT_TRUE(send(std::move(request)));
    points_[id] = tenant;
  }
  void erase(std::uint64_t id) {
    ASSERT_TRUE(send(delete_request(id)));
    points_.erase(id);
  }
  [[nodiscard]] static std::string tenant_of(const Segment& segment, std::uint32_t row) {
    const std::string_view text = segment.data->documents[row];
    return text == "{}" ? "" : std::string(text.substr(6, text.size() - 8));
  }
  void expect_same_points() const {
    const auto set = shard_->snapshot();
    ASSERT_EQ(set->n_live(), points_.size());
    for (const auto& [id, tenant] : points_) {
      const auto place = set->find(PointId::number(id));
      ASSERT_TRUE(place) << id;
      const Segment& segment = set->segments[place->segment];
      ASSERT_EQ(segment.data->ids[place->row], PointId::number(id));
      ASSERT_EQ(tenant_of(segment, place->row), tenant);
    }
  }
  /// In sealed segments, the rows of a tenant follow each other.
  void expect_grouped() const {
    const auto set = shard_->snapshot();
    for (const Segment& segment : set->segments) {
      if (!segment.data->sealed) continue;
      std::set<std::string> ended;
      for (std::uint32_t row = 1; row < segment.n_rows(); ++row) {
        const std::string before = tenant_of(segment, row - 1);
        if (tenant_of(segment, row) == before) continue;
        ended.insert(before);
        ASSERT_FALSE(ended.contains(tenant_of(segment, row))) << "row " << row;
      }
    }
  }

  std::map<std::uint64_t, std::string> points_;
};

TEST_F(TenantRewrites, HoldTheSamePointsAsAMap) {
  constexpr std::uint64_t kSeed = 55;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  for (int round = 0; round < 1500; ++round) {
    const std::uint64_t id = random() % 300;
    const std::uint64_t tenant = random() % 9;
    if (random() % 4 == 0) {
      erase(id);
    } else {
      put(id, tenant == 0 ? "" : "t" + std::to_string(tenant));
    }
    if (round % 300 != 299) continue;
    expect_same_points();
    expect_grouped();
    if (round % 600 == 599) open();
    expect_same_points();
  }
  ASSERT_TRUE(comes_true([&] { return !shard_->status().optimizing; }));
  expect_same_points();
  expect_grouped();
  EXPECT_GE(n_sealed(), 1U);
}

TEST_F(TenantRewrites, SegmentsOfBeforeAreGroupedWhenTheyAreMerged) {
  const auto indexes = std::exchange(config_->indexes, {});
  open();
  for (std::uint64_t id = 0; id < 40; ++id) put(id, "t" + std::to_string(id % 3));
  ASSERT_TRUE(comes_true([&] { return n_done(JobKind::kSeal) == 1; }));
  EXPECT_TRUE(shard_->snapshot()->segments.front().data->has_sorted_ids());
  config_ = std::make_shared<CollectionConfig>(*config_);
  config_->indexes = indexes;
  set_config();
  for (std::uint64_t id = 0; id < 10; ++id) erase(id);
  ASSERT_TRUE(comes_true([&] { return n_done(JobKind::kVacuum) == 1; }));
  EXPECT_FALSE(shard_->snapshot()->segments.front().data->has_sorted_ids());
  expect_same_points();
  expect_grouped();
}

}  // namespace
}  // namespace quiver::engine::testing
