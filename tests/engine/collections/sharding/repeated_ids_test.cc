#include "engine/collections/sharding/repeated_ids.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace quiver::engine {
namespace {

constexpr unsigned kRankingSeed = 5;

std::vector<Record> records_of(const std::vector<std::uint64_t>& ids) {
  std::vector<Record> records;
  for (const std::uint64_t id : ids) records.emplace_back().id = PointId::number(id);
  return records;
}

std::vector<std::uint64_t> ids_of(const std::vector<Record>& records) {
  std::vector<std::uint64_t> ids;
  for (const auto& record : records) ids.push_back(record.id.low());
  return ids;
}

/// The first of each, the slow way.
std::vector<std::uint64_t> once(const std::vector<std::uint64_t>& ids) {
  std::vector<std::uint64_t> first;
  for (const std::uint64_t id : ids) {
    if (std::find(first.begin(), first.end(), id) == first.end()) first.push_back(id);
  }
  return first;
}

template <class T>
std::vector<T> slice(const std::vector<T>& all, std::uint64_t offset, std::uint64_t limit) {
  std::vector<T> some;
  for (std::uint64_t i = offset; i < all.size() && some.size() < limit; ++i) some.push_back(all[i]);
  return some;
}

TEST(DistinctHits, AreTheFirstOfEachId) {
  std::mt19937_64 random(kRankingSeed);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::uint64_t> ranking;
    for (std::uint64_t i = random() % 60; i > 0; --i) ranking.push_back(random() % 20);
    Query query;
    query.limit = 1 + random() % 25;
    query.offset = random() % 10;
    const auto found = distinct_hits(query, [&](const Query& wide) -> Result<std::vector<Record>> {
      return records_of(slice(ranking, wide.offset, wide.limit));
    });
    ASSERT_TRUE(found);
    EXPECT_EQ(ids_of(*found), slice(once(ranking), query.offset, query.limit))
        << "seed " << kRankingSeed << ", round " << round;
  }
}

TEST(DistinctHits, AnErrorEndsTheSearch) {
  EXPECT_FALSE(distinct_hits(Query(), [](const Query&) -> Result<std::vector<Record>> {
    return fail(Code::kUnavailable, "no");
  }));
}

TEST(DistinctHits, TakeTheLargestLimit) {
  Query query;
  query.limit = UINT64_MAX;
  query.offset = 1;
  const auto found = distinct_hits(query, [](const Query&) -> Result<std::vector<Record>> {
    return records_of({1, 1, 2, 3});
  });
  EXPECT_EQ(ids_of(*found), (std::vector<std::uint64_t>{2, 3}));
}

TEST(DistinctPages, CoverEachIdOnce) {
  std::mt19937_64 random(kRankingSeed);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::uint64_t> rows;
    for (std::uint64_t i = random() % 60; i > 0; --i) rows.push_back(random() % 20);
    std::sort(rows.begin(), rows.end());
    const auto read = [&](const ScrollRequest& wide) -> Result<ScrollPage> {
      const auto from = wide.offset ? wide.offset->low() : 0;
      std::vector<std::uint64_t> rest;
      for (const std::uint64_t row : rows) {
        if (row >= from) rest.push_back(row);
      }
      ScrollPage page;
      page.points = records_of(slice(rest, 0, wide.limit));
      if (rest.size() > wide.limit) page.next = PointId::number(rest[wide.limit]);
      return page;
    };
    ScrollRequest request;
    request.limit = 1 + random() % 7;
    std::vector<std::uint64_t> seen;
    do {
      const auto page = distinct_page(request, read);
      ASSERT_TRUE(page);
      ASSERT_LE(page->points.size(), request.limit);
      for (const std::uint64_t id : ids_of(page->points)) seen.push_back(id);
      request.offset = page->next;
    } while (request.offset);
    EXPECT_EQ(seen, once(rows)) << "seed " << kRankingSeed << ", round " << round;
  }
}

TEST(DropRepeated, KeepsTheValuesOfAnOrder) {
  auto records = records_of({1, 1, 1, 2});
  records[0].order_value = std::int64_t{5};
  records[1].order_value = std::int64_t{6};
  records[2].order_value = std::int64_t{5};
  drop_repeated(records);
  EXPECT_EQ(ids_of(records), (std::vector<std::uint64_t>{1, 1, 2}));
}

}  // namespace
}  // namespace quiver::engine
