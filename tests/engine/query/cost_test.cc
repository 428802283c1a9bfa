#include "engine/query/cost.h"

#include <limits>

#include "index/exact/type.h"
#include "tests/engine/query/support.h"

namespace quiver::engine::testing {
namespace {

/// What the searchers of a field say themselves.
std::uint64_t searcher_bytes(const Snapshot& snapshot, std::size_t field) {
  std::uint64_t bytes = 0;
  for (const Segment* segment : snapshot.segments()) {
    bytes += segment->data->searchers[field]->bytes_per_search();
  }
  return bytes;
}

std::uint64_t payload_bytes(const Snapshot& snapshot) {
  std::uint64_t bytes = 0;
  for (const Segment* segment : snapshot.segments()) {
    bytes += segment->data->documents.bytes.size();
  }
  return bytes;
}

TEST(EstimateCost, SumsWhatSearchersAndFiltersRead) {
  const NumbersWorld world;
  Query query = nearest_number("dot", 1, 3);
  const std::uint64_t dot = searcher_bytes(world.snapshot, 0);
  ASSERT_GT(dot, 0U);
  EXPECT_EQ(estimate_cost(world.snapshot, query, {}).read_bytes, dot);
  query.filter = only_odd();
  const std::uint64_t filtered = dot + payload_bytes(world.snapshot);
  EXPECT_EQ(estimate_cost(world.snapshot, query, {}).read_bytes, filtered);
  Query outer = nearest_number("tokens", 1, 3);
  outer.prefetch = {query, nearest_number("nosuch", 1, 3)};
  EXPECT_EQ(estimate_cost(world.snapshot, outer, {}).read_bytes,
            filtered + searcher_bytes(world.snapshot, 3));
  EXPECT_EQ(estimate_cost(world.snapshot, Query{}, {}).read_bytes, 0U);
}

TEST(EstimateCost, AFormulaReadsThePayloadsOfWhatItScores) {
  const NumbersWorld world;
  Query query;
  query.kind = Formula{};
  query.prefetch = {nearest_number("dot", 1, 3), nearest_number("dot", 2, 1)};
  const std::uint64_t searched = 2 * searcher_bytes(world.snapshot, 0);
  const auto scored = [&] {
    return estimate_cost(world.snapshot, query, {}).read_bytes - searched;
  };
  EXPECT_EQ(scored(), payload_bytes(world.snapshot) * 4 / 9) << "of 4 of 9 points";
  query.prefetch[0].limit = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(scored(), payload_bytes(world.snapshot));
}

TEST(EstimateCost, HighlightsReadThePayloadsOfTheAnswer) {
  const NumbersWorld world;
  Query query = nearest_number("dot", 1, 3);
  const std::uint64_t searched = estimate_cost(world.snapshot, query, {}).read_bytes;
  query.highlight.emplace();
  const auto more = [&] { return estimate_cost(world.snapshot, query, {}).read_bytes - searched; };
  EXPECT_GE(more(), payload_bytes(world.snapshot) / 3) << "3 of 9 points";
  const std::uint64_t of_three = more();
  query.limit = std::numeric_limits<std::uint64_t>::max();
  EXPECT_GE(more(), 3 * of_three);
}

TEST(EstimateCost, ExactScansOfDenseVectorsCanBeShared) {
  const NumbersWorld world;
  const auto shares = [&](const Query& query) {
    return estimate_cost(world.snapshot, query, {}).can_share_pass;
  };
  const Query plain = nearest_number("dot", 1, 3);
  EXPECT_TRUE(shares(plain));
  Query filtered = plain;
  filtered.filter = only_odd();
  EXPECT_FALSE(shares(filtered));
  EXPECT_FALSE(shares(nearest_number("tokens", 1, 3)));
  EXPECT_FALSE(shares(nearest_number("nosuch", 1, 3)));
}

TEST(EstimateCost, APassIsSharedIfMostOfItIsWithoutAnIndex) {
  const CollectionConfig config = numbers_config();
  auto segments = NumbersWorld::segments(config);
  const index::IndexType other{};  // any type but exact search
  const auto with_index = [&](Segment segment) {
    auto data = std::make_shared<SegmentData>(*segment.data);
    data->indexes[0].type = &other;
    segment.data = std::move(data);
    return segment;
  };
  Query query = nearest_number("dot", 1, 3);
  const auto small = with_index(segments[0]);
  EXPECT_TRUE(estimate_cost(snapshot_of({small, segments[1]}), query, {}).can_share_pass)
      << "4 rows with an index, 5 without";
  const auto large = with_index(segments[1]);
  EXPECT_FALSE(estimate_cost(snapshot_of({segments[0], large}), query, {}).can_share_pass);
  query.params.exact = true;
  EXPECT_TRUE(estimate_cost(snapshot_of({segments[0], large}), query, {}).can_share_pass);
}

/// An exact search reads all rows, whatever the index would read.
TEST(EstimateCost, ExactSearchesOfIndexedFieldsReadAllRows) {
  class Indexed final : public index::Searcher {
   public:
    Result<> search(const index::PreparedQuery&, const index::AnyParams&, const index::RowFilter&,
                    const index::SearchContext&, index::TopK&,
                    index::WorkCounters&) const override {
      return {};
    }
    std::uint64_t bytes_per_search() const override { return 10; }
    std::uint64_t bytes_per_exact_search() const override { return 1000; }
    index::MemoryUse memory() const override { return {}; }
  };
  const CollectionConfig config = numbers_config();
  auto segments = NumbersWorld::segments(config);
  auto data = std::make_shared<SegmentData>(*segments[0].data);
  data->searchers[0] = std::make_shared<Indexed>();
  segments[0].data = std::move(data);
  const Snapshot snapshot = snapshot_of({segments[0]});
  Query query = nearest_number("dot", 1, 3);
  EXPECT_EQ(estimate_cost(snapshot, query, {}).read_bytes, 10U);
  query.params.exact = true;
  EXPECT_EQ(estimate_cost(snapshot, query, {}).read_bytes, 1000U);
}

/// Finds nothing; its rows are on a device.
class DeviceSearcher final : public index::Searcher {
 public:
  DeviceSearcher(std::uint64_t n_bytes, std::size_t n_rows) : n_bytes_(n_bytes), n_rows_(n_rows) {}
  Result<> search(const index::PreparedQuery&, const index::AnyParams&, const index::RowFilter&,
                  const index::SearchContext&, index::TopK&, index::WorkCounters&) const override {
    return {};
  }
  std::uint64_t bytes_per_search() const override { return n_bytes_; }
  bool is_on_device(std::size_t n_allowed) const override { return n_allowed > 1; }
  bool is_index_on_device(std::size_t n_allowed) const override { return n_allowed == n_rows_; }
  index::MemoryUse memory() const override { return {}; }

 private:
  const std::uint64_t n_bytes_;
  const std::size_t n_rows_;
};

Segment on_device(const Segment& segment, std::uint64_t n_bytes, std::size_t field = 0) {
  auto data = std::make_shared<SegmentData>(*segment.data);
  data->searchers[field] = std::make_shared<DeviceSearcher>(n_bytes, data->fields[field].n_present);
  Segment moved = segment;
  moved.data = std::move(data);
  return moved;
}

TEST(EstimateCost, MoreShareAPassIfNearlyAllRowsAreOnADevice) {
  CollectionConfig config = numbers_config();
  const auto segments = NumbersWorld::segments(config);
  Query query = nearest_number("dot", 1, 3);
  const auto most = [&](std::vector<Segment> of) {
    return estimate_cost(snapshot_of(std::move(of)), query, config).most_together;
  };
  EXPECT_EQ(most(segments), QueryCost::kMostOnCpu);
  EXPECT_EQ(most({on_device(segments[0], 1), segments[1]}), QueryCost::kMostOnCpu);
  EXPECT_EQ(most({on_device(segments[0], 1 << 20), segments[1]}), QueryCost::kMostOnDevice);
  query.params.device = DeviceChoice::kCpu;
  EXPECT_EQ(most({on_device(segments[0], 1 << 20), segments[1]}), QueryCost::kMostOnCpu);
  query.params.device = DeviceChoice::kGpu;
  const std::vector both = {on_device(segments[0], 1), on_device(segments[1], 1)};
  EXPECT_EQ(most(both), QueryCost::kMostOnDevice);
  config.vector_indexes["dot"].on_gpu = gpu::Placing::kNever;
  EXPECT_EQ(most(both), QueryCost::kMostOnCpu);
}

/// The device takes different filters at a time, if they allow enough rows.
TEST(EstimateCost, SearchesWithAFilterShareAPassOnADeviceOnly) {
  const CollectionConfig config = numbers_config();
  const auto segments = NumbersWorld::segments(config);
  Query query = nearest_number("dot", 1, 3);
  query.filter = only_odd();
  const auto cost = [&](std::vector<Segment> of) {
    return estimate_cost(snapshot_of(std::move(of)), query, config);
  };
  EXPECT_FALSE(cost(segments).can_share_pass);
  const std::vector<Segment> moved = {on_device(segments[0], 1 << 20), segments[1]};
  EXPECT_EQ(cost(moved).most_together, QueryCost::kMostOnDevice);
  query.params.target.mean = 0.9;
  EXPECT_FALSE(cost(moved).can_share_pass);
  query.params.target = {};
  query.filter->must = {payload::HasId{{PointId::number(12345)}}};  // no row
  EXPECT_FALSE(cost(moved).can_share_pass);
  query.filter->must = {
      payload::FieldCondition{"a[[", payload::MatchValue{payload::MatchScalar(std::int64_t{1})}}};
  EXPECT_FALSE(cost(moved).can_share_pass);
}

/// Searches by an index share a job if a device has the index and ranks as many rows as they want.
TEST(EstimateCost, SearchesByAnIndexShareAJobOnADeviceOnly) {
  const CollectionConfig config = numbers_config();
  const auto segments = NumbersWorld::segments(config);
  const auto indexed = [&](bool has_all_rows) {
    Segment segment = on_device(segments[0], 1 << 20);
    auto data = std::make_shared<SegmentData>(*segment.data);
    data->indexes[0].type = index::find_index_type("ivf");
    segment.data = std::move(data);
    if (!has_all_rows) segment.n_deleted = 1;
    return segment;
  };
  Query query = nearest_number("dot", 1, 3);
  const auto shares = [&](bool has_all_rows) {
    return estimate_cost(snapshot_of({indexed(has_all_rows)}), query, {}).can_share_pass;
  };
  EXPECT_TRUE(shares(true));
  EXPECT_FALSE(shares(false));
  query.params.hnsw_ef = 100;
  EXPECT_TRUE(shares(true));
  query.params.oversampling = 3;
  EXPECT_FALSE(shares(true));
  query.params.oversampling.reset();
  query.params.index["dense"] = {{"rerank", std::int64_t{5000}}};
  EXPECT_FALSE(shares(true));
  query.params.index.clear();
  query.limit = 1000;
  EXPECT_FALSE(shares(true));
}

/// On the CPU each document is compared with one query at a time: a group would only wait.
TEST(EstimateCost, DocumentsOfTokensShareAPassOnADeviceOnly) {
  const CollectionConfig config = numbers_config();
  const auto segments = NumbersWorld::segments(config);
  Query query = nearest_number("tokens", 1, 3);
  const auto cost = [&](std::uint64_t on_first) {
    return estimate_cost(snapshot_of({on_device(segments[0], on_first, 3), segments[1]}), query,
                         {});
  };
  const std::uint64_t on_second = segments[1].data->searchers[3]->bytes_per_search();
  EXPECT_FALSE(cost(20 * on_second).can_share_pass);
  EXPECT_TRUE(cost(64 * on_second).can_share_pass);
  EXPECT_EQ(cost(64 * on_second).most_together, QueryCost::kMostOnDevice);
  query.limit = 5000;  // more than a device looks for
  EXPECT_FALSE(cost(64 * on_second).can_share_pass);
}

}  // namespace
}  // namespace quiver::engine::testing
