// Groups agree with those of the complete ranking, whatever the searches that find them.
#include "engine/query/groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "payload/json/path.h"
#include "tests/engine/query/support.h"
#include "tests/engine/support.h"

namespace quiver::engine::testing {
namespace {

/// A group's value as JSON and the numbers of its hits.
using Shown = std::vector<std::pair<std::string, Numbers>>;

std::string shown_id(const GroupId& id) {
  if (const auto* text = std::get_if<std::string>(&id)) return "\"" + *text + "\"";
  if (const auto* number = std::get_if<std::uint64_t>(&id)) return std::to_string(*number);
  return std::to_string(std::get<std::int64_t>(id));
}

Shown shown(const std::vector<PointGroup>& groups) {
  Shown out;
  for (const auto& group : groups) out.emplace_back(shown_id(group.id), numbers_of(group.hits));
  return out;
}

bool is_group_value(const payload::Value& value) {
  return value.as_string() != nullptr || value.as_i64() != nullptr || value.as_u64() != nullptr;
}

/// The groups of the complete ranking of `query`.
Shown grouped_slowly(const SearchEnvironment& environment, GroupsQuery query) {
  const std::uint64_t limit = std::exchange(query.query.limit, 1'000'000);
  const std::function<void(Query&)> deepen = [&](Query& prefetch) {
    prefetch.limit *= query.group_size;
    for (auto& inner : prefetch.prefetch) deepen(inner);
  };
  for (auto& prefetch : query.query.prefetch) deepen(prefetch);
  query.query.with_payload = payload::Selector::all();
  const auto path = payload::JsonPath::parse(query.group_by).value();
  Shown groups;
  const auto records = Plan(query.query).run(environment).value();
  for (const auto& record : records) {
    const auto document = payload::parse_json(*record.payload).value();
    payload::for_each_element(document, path, [&](const payload::Value& value) {
      if (!is_group_value(value)) return;
      const std::string id = payload::to_json(value);
      auto group = std::find_if(groups.begin(), groups.end(),
                                [&](const auto& other) { return other.first == id; });
      if (group == groups.end()) group = groups.insert(groups.end(), {id, {}});
      auto& hits = group->second;
      const bool has = std::find(hits.begin(), hits.end(), record.id.low()) != hits.end();
      if (!has && hits.size() < query.group_size) hits.push_back(record.id.low());
    });
  }
  if (groups.size() > limit) groups.resize(limit);
  return groups;
}

/// Points 0 to n - 1 with the vector (number), in two segments. `group_of(number)` is JSON.
struct GroupedWorld {
  using Kind = std::optional<payload::IndexKind>;

  /// `kind`: of the index on the key; nullopt: none.
  GroupedWorld(std::uint64_t n, Kind kind,
               const std::function<std::string(std::uint64_t)>& group_of)
      : config(config_of(kind)), snapshot(snapshot_of(segments(n, group_of))) {}

  static CollectionConfig config_of(Kind kind) {
    CollectionConfig config;
    config.fields = {
        {"dot", FieldKind::kDense, 1, DType::kF32, Metric::kDot, SparseModifier::kNone},
        {"far", FieldKind::kDense, 1, DType::kF32, Metric::kEuclid, SparseModifier::kNone}};
    payload::FieldIndex index;
    index.key = "n";
    index.kind = payload::IndexKind::kInteger;
    config.indexes = {index};
    if (kind) {
      index.key = "g";
      index.kind = *kind;
      config.indexes.push_back(index);
    }
    return config;
  }

  [[nodiscard]] std::vector<Segment> segments(
      std::uint64_t n, const std::function<std::string(std::uint64_t)>& group_of) const {
    std::vector<std::vector<Row>> rows(2);
    for (std::uint64_t number = 0; number < n; ++number) {
      const VectorValue value = DenseVector{static_cast<float>(number)};
      Row row{PointId::number(number), Seq{number + 1}, "{}", {}};
      row.payload = "{\"n\":[" + std::to_string(number / 3) + "," + std::to_string(number / 7) +
                    "],\"odd\":" + std::to_string(number % 2);
      const std::string group = group_of(number);
      row.payload += group.empty() ? "}" : ",\"g\":" + group + "}";
      for (const auto& field : config.fields) {
        row.vectors.push_back(to_stored(field, value).value());
      }
      rows[number % 3 == 0 ? 0 : 1].push_back(std::move(row));
    }
    return {segment_of_rows(rows[0], config, 1), segment_of_rows(rows[1], config, 2)};
  }
  [[nodiscard]] SearchEnvironment environment() const { return {snapshot, config, cancel}; }

  CollectionConfig config;
  Cancel cancel;
  Snapshot snapshot;
};

const std::vector<GroupedWorld::Kind> kKinds = {std::nullopt, payload::IndexKind::kKeyword,
                                                payload::IndexKind::kInteger};

std::string shown(const GroupedWorld::Kind& kind) {
  return kind ? std::to_string(static_cast<int>(*kind)) : "none";
}

GroupsQuery groups_of(Query query, std::uint64_t limit, std::uint64_t group_size) {
  query.limit = limit;
  return {std::move(query), "g", group_size, {}};
}

Query order_by_n() {
  Query query;
  query.kind = OrderBy{"n", true, {}};
  return query;
}

Query fused(std::uint64_t limit) {
  Query query;
  query.kind = Rrf{};
  query.prefetch = {nearest_number("dot", 1, limit), nearest_number("far", 17, limit)};
  return query;
}

Query rescored(std::uint64_t limit) {
  Query query = nearest_number("dot", -1, 0);
  query.prefetch = {fused(limit)};
  query.prefetch[0].limit = limit;
  return query;
}

std::vector<Query> queries() {
  std::vector<Query> all = {nearest_number("dot", 1, 0),
                            nearest_number("dot", -1, 0),
                            nearest_number("far", 150, 0),
                            Query{},
                            order_by_n(),
                            fused(20)};
  Query thresholded = nearest_number("dot", 1, 0);
  thresholded.score_threshold = 200.0F;
  all.push_back(thresholded);
  const std::size_t n = all.size();
  for (std::size_t i = 0; i < n; ++i) {
    all.push_back(all[i]);
    all.back().filter = only_odd();
  }
  return all;
}

std::string random_group(Random& random, std::uint64_t n_groups) {
  const auto one = [&] {
    const auto number = static_cast<std::int64_t>(random() % n_groups);
    switch (random() % 8) {
      case 0:
        return std::to_string(number);
      case 1:
        return std::to_string(-number - 1);
      case 2:
        return std::string("18446744073709551615");
      default:
        return "\"g" + std::to_string(number) + "\"";
    }
  };
  switch (random() % 10) {
    case 0:
      return "";
    case 1:
      return "[" + one() + "," + one() + ",2.5,true,null,[1]]";
    case 2:
      return random() % 2 == 0 ? "null" : R"({"a":"g1"})";
    default:
      return one();
  }
}

TEST(Groups, AreThoseOfTheCompleteRanking) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    for (const auto& kind : kKinds) {
      Random random(seed);
      const std::uint64_t n_groups = seed == 1 ? 2 : seed == 2 ? 12 : 150;
      const GroupedWorld world(300, kind,
                               [&](std::uint64_t) { return random_group(random, n_groups); });
      const auto all = queries();
      for (std::size_t q = 0; q < all.size(); ++q) {
        for (const auto& [limit, group_size] :
             {std::pair(1, 1), std::pair(3, 2), std::pair(10, 3), std::pair(2, 40)}) {
          const auto query = groups_of(all[q], static_cast<std::uint64_t>(limit),
                                       static_cast<std::uint64_t>(group_size));
          const auto groups = find_groups(world.environment(), query);
          ASSERT_TRUE(groups) << groups.error().to_string();
          EXPECT_EQ(shown(*groups), grouped_slowly(world.environment(), query))
              << "seed " << seed << " index " << shown(kind) << " query " << q << " limit " << limit
              << " size " << group_size;
        }
      }
    }
  }
}

/// How many of the hits of `query`'s complete ranking each value has.
std::map<std::string, std::size_t> sizes_of_groups(const SearchEnvironment& environment,
                                                   const Query& query) {
  auto all = groups_of(query, 1'000'000, 1'000'000);
  for (auto& prefetch : all.query.prefetch) prefetch = nearest_number("far", 17, 1'000);
  std::map<std::string, std::size_t> sizes;
  for (const auto& [id, hits] : grouped_slowly(environment, all)) sizes[id] = hits.size();
  return sizes;
}

/// Prefetches that only choose points are asked for more of them.
TEST(Groups, OfRescoredPointsAreFull) {
  for (const auto& kind : kKinds) {
    Random random(5);
    const GroupedWorld world(300, kind, [&](std::uint64_t) { return random_group(random, 12); });
    for (const bool is_filtered : {false, true}) {
      Query query = rescored(9);
      if (is_filtered) query.filter = only_odd();
      const auto sizes = sizes_of_groups(world.environment(), query);
      for (const auto& [limit, size] :
           {std::pair(3U, 2U), std::pair(10U, 3U), std::pair(40U, 40U)}) {
        const auto groups = find_groups(world.environment(), groups_of(query, limit, size)).value();
        EXPECT_EQ(groups.size(), std::min<std::size_t>(limit, sizes.size()));
        for (const auto& group : groups) {
          EXPECT_EQ(group.hits.size(), std::min<std::size_t>(size, sizes.at(shown_id(group.id))))
              << "index " << shown(kind) << " limit " << limit << " size " << size;
          for (std::size_t i = 0; i < group.hits.size(); ++i) {
            EXPECT_EQ(group.hits[i].score, -static_cast<float>(group.hits[i].id.low()));
            if (i == 0) continue;
            EXPECT_LE(group.hits[i].score, group.hits[i - 1].score);
          }
        }
      }
    }
  }
}

/// If the prefetches find everything at once, the answer is that of the complete ranking.
TEST(Groups, OfRescoredPointsAreThoseOfTheCompleteRanking) {
  Random random(6);
  const GroupedWorld world(300, std::nullopt,
                           [&](std::uint64_t) { return random_group(random, 40); });
  for (const auto& [limit, size] : {std::pair(3U, 2U), std::pair(60U, 3U)}) {
    const auto query = groups_of(rescored(300), limit, size);
    EXPECT_EQ(shown(find_groups(world.environment(), query).value()),
              grouped_slowly(world.environment(), query));
  }
}

/// One group fills the first thousands of hits, and others lie far behind them.
TEST(Groups, AreFoundBehindThoseThatAreFull) {
  constexpr std::uint64_t kPoints = 6000;
  for (const auto& kind : kKinds) {
    const GroupedWorld world(kPoints, kind, [](std::uint64_t number) -> std::string {
      if (number > 900) return number % 50 == 0 ? R"(["big","big too"])" : "\"big\"";
      if (number > 400) return number % 2 == 0 ? "7" : "";
      return "\"small" + std::to_string(number % 9) + "\"";
    });
    for (const auto& query : {nearest_number("dot", 1, 0), Query{}}) {
      for (const auto& [limit, size] :
           {std::pair(3U, 2U), std::pair(12U, 3U), std::pair(20U, 1U)}) {
        const auto wanted = groups_of(query, limit, size);
        EXPECT_EQ(shown(find_groups(world.environment(), wanted).value()),
                  grouped_slowly(world.environment(), wanted))
            << "index " << shown(kind) << " limit " << limit << " size " << size;
      }
    }
  }
}

TEST(Groups, ShowWhatTheQuerySelects) {
  const GroupedWorld world(20, payload::IndexKind::kInteger,
                           [](std::uint64_t number) { return std::to_string(number / 10); });
  auto query = groups_of(nearest_number("far", 0, 0), 2, 2);
  query.query.offset = 5;
  query.query.with_payload = payload::Selector::all();
  query.query.with_vector.all = true;
  const auto groups = find_groups(world.environment(), query).value();
  EXPECT_EQ(shown(groups), (Shown{{"0", {0, 1}}, {"1", {10, 11}}})) << "the offset has no effect";
  EXPECT_EQ(groups[1].hits[0].score, 10.0F);
  EXPECT_EQ(groups[1].hits[0].payload, R"({"n":[3,1],"odd":0,"g":1})");
  EXPECT_EQ(groups[1].hits[0].vectors->size(), 2U);
  EXPECT_FALSE(groups[1].lookup);
}

TEST(Groups, OfARandomSampleAreFull) {
  const GroupedWorld world(500, payload::IndexKind::kInteger,
                           [](std::uint64_t number) { return std::to_string(number % 5); });
  Query query;
  query.kind = Sample{};
  const auto groups = find_groups(world.environment(), groups_of(query, 10, 7)).value();
  ASSERT_EQ(groups.size(), 5U);
  for (const auto& group : groups) {
    EXPECT_EQ(group.hits.size(), 7U);
    for (const auto& hit : group.hits) {
      EXPECT_EQ(GroupId(std::uint64_t{hit.id.low() % 5}), group.id);
    }
  }
}

TEST(Groups, UnderMmrTakeTheHitsThatItChooses) {
  const GroupedWorld world(50, payload::IndexKind::kInteger,
                           [](std::uint64_t number) { return std::to_string(number % 2); });
  Query query = nearest_number("far", 3, 0);
  std::get<Nearest>(query.kind).mmr = Mmr{0.3F, 20};
  const auto groups = find_groups(world.environment(), groups_of(query, 2, 3)).value();
  query.limit = 6;
  const auto hits = Plan(query).run(world.environment()).value();
  Shown expected = {{std::to_string(hits[0].id.low() % 2), {}},
                    {std::to_string(1 - hits[0].id.low() % 2), {}}};
  for (const auto& hit : hits) {
    auto& group = std::to_string(hit.id.low() % 2) == expected[0].first ? expected[0] : expected[1];
    if (group.second.size() < 3) group.second.push_back(hit.id.low());
  }
  EXPECT_EQ(shown(groups), expected);
}

TEST(Groups, RefuseWhatTheQueryRefusesAndStop) {
  const GroupedWorld world(10, payload::IndexKind::kInteger, [](std::uint64_t) { return "1"; });
  auto query = groups_of(nearest_number("no", 1, 0), 2, 2);
  EXPECT_EQ(find_groups(world.environment(), query).error().code(), Code::kInvalidArgument);
  query = groups_of(nearest_number("dot", 1, 0), 2, 2);
  query.group_by = "a..b";
  EXPECT_EQ(find_groups(world.environment(), query).error().code(), Code::kInvalidArgument);
  query.group_by = "g";
  world.cancel.cancel();
  EXPECT_EQ(find_groups(world.environment(), query).error().code(), Code::kCancelled);
}

/// Absurd sizes cost no memory.
TEST(Groups, MayBeAskedForInAbsurdNumbers) {
  const GroupedWorld world(10, payload::IndexKind::kInteger,
                           [](std::uint64_t number) { return std::to_string(number % 3); });
  const auto query = groups_of(nearest_number("dot", 1, 0), UINT64_MAX, UINT64_MAX);
  EXPECT_EQ(find_groups(world.environment(), query).value().size(), 3U);
}

}  // namespace
}  // namespace quiver::engine::testing
