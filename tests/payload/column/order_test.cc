#include "payload/column/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <tuple>

#include "base/io/file.h"
#include "tests/payload/random_payload.h"

namespace quiver::payload {
namespace {

TEST(Order, OnlySomeIndexesHaveAnOrder) {
  FieldIndex index;
  for (const auto& [kind, wanted] :
       {std::pair(IndexKind::kInteger, true), std::pair(IndexKind::kFloat, true),
        std::pair(IndexKind::kDatetime, true), std::pair(IndexKind::kKeyword, false),
        std::pair(IndexKind::kText, false), std::pair(IndexKind::kGeo, false)}) {
    index.kind = kind;
    EXPECT_EQ(is_orderable(index), wanted);
  }
  index.kind = IndexKind::kInteger;
  index.range = false;
  EXPECT_FALSE(is_orderable(index));
}

TEST(Order, KeysOfTwoTypesCompareAsNumbers) {
  EXPECT_TRUE(compare_keys(OrderKey(std::int64_t{2}), OrderKey(2.5)) < 0);
  EXPECT_TRUE(compare_keys(OrderKey(2.0), OrderKey(std::int64_t{2})) == 0);
  EXPECT_TRUE(comes_before(OrderKey(3.0), OrderKey(2.0), Direction::kDescending));
}

using Listed = std::vector<std::tuple<double, std::uint64_t>>;  // key, id

Listed listed(const std::vector<OrderedRow>& rows, std::span<const PointId> ids) {
  Listed out;
  for (const auto& [key, row] : rows) {
    out.emplace_back(std::visit([](auto v) { return static_cast<double>(v); }, key),
                     ids[row].low());
  }
  return out;
}

TEST(Order, AgreesWithSortingEverything) {
  for (const IndexKind kind : {IndexKind::kInteger, IndexKind::kFloat, IndexKind::kDatetime}) {
    RandomPayload random(61);
    FieldIndex index;
    index.key = "a";
    index.kind = kind;
    auto column = *MutableColumn::create(index);
    for (int i = 0; i < 400; ++i) column->add_row(random.document());
    auto directory = make_memory_directory();
    ASSERT_TRUE(write_column(column->view(), *directory, "c"));
    const ColumnView growing = column->view();
    const ColumnView sealed = *open_column(*directory, "c", index);

    std::vector<std::uint64_t> numbers(400);
    std::iota(numbers.begin(), numbers.end(), 0);
    std::shuffle(numbers.begin(), numbers.end(), std::mt19937_64(62));
    std::vector<PointId> ids;
    for (const auto number : numbers) ids.push_back(PointId::number(number));

    for (int round = 0; round < 200; ++round) {
      Bitset candidates(400);
      for (std::size_t row = 0; row < 400; ++row) {
        if (random.chance(0.6)) candidates.set(row);
      }
      const auto direction = random.chance(0.5) ? Direction::kAscending : Direction::kDescending;
      const bool up = direction == Direction::kAscending;
      std::optional<Number> start;
      if (random.chance(0.5)) {
        start = kind == IndexKind::kDatetime ? Number(std::int64_t{1704067200000000}) : Number(1.0);
      }
      const auto limit = static_cast<std::size_t>(random.below(60));

      Listed wanted;
      candidates.for_each([&](std::size_t row) {
        std::vector<OrderKey> keys;
        append_order_keys(growing, static_cast<std::uint32_t>(row), keys);
        for (const auto& key : keys) {
          const double value = std::visit([](auto v) { return static_cast<double>(v); }, key);
          const double bound =
              start ? std::visit([](auto v) { return static_cast<double>(v); }, *start)
                    : (up ? -1e300 : 1e300);
          if (up ? value >= bound : value <= bound) wanted.emplace_back(value, numbers[row]);
        }
      });
      std::sort(wanted.begin(), wanted.end(), [&](const auto& a, const auto& b) {
        const auto& [key_a, id_a] = a;
        const auto& [key_b, id_b] = b;
        if (key_a != key_b) return up ? key_a < key_b : key_a > key_b;
        return id_a < id_b;
      });
      if (kind != IndexKind::kInteger) {  // 2^53 and its neighbour are one double here
        wanted.resize(std::min(limit, wanted.size()));
        ASSERT_EQ(listed(first_in_order(growing, ids, candidates, direction, start, limit), ids),
                  wanted);
      }
      ASSERT_EQ(listed(first_in_order(sealed, ids, candidates, direction, start, limit), ids),
                listed(first_in_order(growing, ids, candidates, direction, start, limit), ids));
    }
  }
}

TEST(Order, AValueIsListedOncePerPoint) {
  FieldIndex index;
  index.key = "n";
  index.kind = IndexKind::kInteger;
  auto column = *MutableColumn::create(index);
  column->add_row(*parse_json(R"({"n":[3,1,3]})"));
  column->add_row(*parse_json(R"({"n":2})"));
  column->add_row(*parse_json(R"({})"));
  const std::vector<PointId> ids{PointId::number(1), PointId::number(2), PointId::number(3)};
  const auto rows =
      first_in_order(column->view(), ids, Bitset(3, true), Direction::kAscending, std::nullopt, 10);
  EXPECT_EQ(listed(rows, ids), (Listed{{1, 1}, {2, 2}, {3, 1}}));
}

}  // namespace
}  // namespace quiver::payload
