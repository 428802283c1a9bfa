// Pages of points by id or by value: against sorted lists of all points.
#include "engine/segment/ordering.h"

#include <algorithm>

#include "engine/segment/segment_rows.h"
#include "tests/engine/query/support.h"

namespace quiver::engine::testing {
namespace {

constexpr std::uint64_t kOrderedPoints = 20'000;  // several windows of a sealed segment

/// Even numbers in a growing segment, in no order; odd ones in a sealed one. Every seventh is
/// deleted, `m` is the number modulo 10.
class OrderingTest : public ::testing::Test {
 protected:
  static CollectionConfig config_with_modulus() {
    CollectionConfig config;
    payload::FieldIndex index;
    index.key = "m";
    index.kind = payload::IndexKind::kInteger;
    config.indexes = {index};
    return config;
  }
  OrderingTest() : snapshot_(snapshot_of({segment(0, 1), segment(1, 2)})) {
    for (std::uint64_t n = 0; n < kOrderedPoints; ++n) {
      if (n % 7 != 0) live_.push_back(n);
    }
  }
  [[nodiscard]] Segment segment(std::uint64_t parity, std::uint64_t id) const {
    std::vector<Row> rows;
    for (std::uint64_t i = parity; i < kOrderedPoints; i += 2) {
      const bool is_sealed = parity == 1;
      const std::uint64_t n = is_sealed ? i : (i * 7919) % kOrderedPoints;
      rows.push_back({PointId::number(n), Seq{1}, "{\"m\":" + std::to_string(n % 10) + "}", {}});
    }
    Segment segment = segment_of_rows(rows, config_, id);
    auto data = std::make_shared<SegmentData>(*segment.data);
    data->sealed = parity == 1;
    auto deleted = std::make_shared<Bitset>(rows.size());
    for (std::size_t row = 0; row < rows.size(); ++row) {
      if (rows[row].id.low() % 7 == 0) deleted->set(row);
    }
    segment.n_deleted = static_cast<std::uint32_t>(deleted->count());
    segment.deleted = std::move(deleted);
    segment.data = std::move(data);
    return segment;
  }
  [[nodiscard]] Numbers by_id(std::optional<std::uint64_t> from, std::uint64_t n,
                              const payload::Predicate* predicate = nullptr) const {
    std::optional<PointId> first;
    if (from) first = PointId::number(*from);
    const auto places = first_points_by_id(snapshot_, first, n, predicate, cancel_).value();
    Numbers numbers;
    for (const auto& place : places) numbers.push_back(place.segment->data->ids[place.row].low());
    return numbers;
  }
  template <class Keep>
  [[nodiscard]] Numbers expected(std::uint64_t from, std::size_t n, Keep keep) const {
    Numbers numbers;
    for (const std::uint64_t number : live_) {
      if (numbers.size() < n && number >= from && keep(number)) numbers.push_back(number);
    }
    return numbers;
  }
  [[nodiscard]] Result<std::vector<OrderedPoint>> by_value(const OrderBy& order,
                                                           std::uint64_t n) const {
    return first_points_in_order(snapshot_, config_, order, n, [&](const Segment& segment) {
      return matching_rows(segment, nullptr, cancel_);
    });
  }

  const CollectionConfig config_ = config_with_modulus();
  const Cancel cancel_;
  const Snapshot snapshot_;
  Numbers live_;
};

TEST_F(OrderingTest, PagesById) {
  const auto all = [](std::uint64_t) { return true; };
  EXPECT_EQ(by_id({}, 5), (Numbers{1, 2, 3, 4, 5}));
  EXPECT_EQ(by_id(5, 3), (Numbers{5, 6, 8})) << "inclusive; 7 is deleted";
  EXPECT_EQ(by_id(7, 2), (Numbers{8, 9}));
  EXPECT_EQ(by_id({}, UINT64_MAX), live_);
  EXPECT_EQ(by_id(kOrderedPoints - 4, 100), expected(kOrderedPoints - 4, 100, all));
  EXPECT_EQ(by_id(kOrderedPoints, 5), Numbers{});
  EXPECT_EQ(by_id({}, 0), Numbers{});
}

TEST_F(OrderingTest, FilteredPagesLookAtAsManyWindowsAsTheyNeed) {
  payload::Filter filter;
  payload::HasId rare;
  for (std::uint64_t n = 0; n < kOrderedPoints; n += 1999) rare.ids.push_back(PointId::number(n));
  filter.must = {rare};
  const auto predicate = payload::compile(filter, {}).value();
  const auto is_rare = [](std::uint64_t n) { return n % 1999 == 0; };
  EXPECT_EQ(by_id({}, 3, predicate.get()), expected(0, 3, is_rare));
  EXPECT_EQ(by_id(4000, 100, predicate.get()), expected(4000, 100, is_rare));
}

TEST_F(OrderingTest, ByValueThenById) {
  OrderBy order;
  order.key = "m";
  order.start_from = std::int64_t{8};
  auto points = by_value(order, 3).value();
  ASSERT_EQ(points.size(), 3U);
  const auto number = [](const OrderedPoint& point) {
    return point.segment->data->ids[point.row].low();
  };
  EXPECT_EQ(number(points[0]), 8U);
  EXPECT_EQ(number(points[1]), 18U);
  EXPECT_EQ(number(points[2]), 38U) << "28 is deleted";
  EXPECT_EQ(points[0].value, OrderValue(std::int64_t{8}));
  order.descending = true;
  order.start_from.reset();
  points = by_value(order, 2).value();
  EXPECT_EQ(number(points[0]), 9U);
  EXPECT_EQ(number(points[1]), 19U);
}

TEST_F(OrderingTest, NeedsAnIndexThatIsBuilt) {
  OrderBy order;
  order.key = "nosuch";
  const auto unknown = by_value(order, 1);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code(), Code::kInvalidArgument);

  CollectionConfig config = config_;
  config.indexes.push_back(config.indexes[0]);
  config.indexes.back().key = "new";
  order.key = "new";
  const auto early = first_points_in_order(snapshot_, config, order, 1, [](const Segment& segment) {
    return Result<Bitset>(segment.live());
  });
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().code(), Code::kUnavailable);
}

}  // namespace
}  // namespace quiver::engine::testing
