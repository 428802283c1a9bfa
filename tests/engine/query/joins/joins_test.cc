// Joins agree with comparing all pairs, one by one.
#include "engine/query/joins/join.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "engine/query/joins/scores.h"
#include "engine/query/stages/field_query.h"
#include "index/exact/searcher.h"
#include "tests/engine/query/support.h"
#include "tests/engine/support.h"

namespace quiver::engine::testing {
namespace {

/// Two segments with deleted rows; a quarter of the points lack each field.
struct JoinWorld {
  explicit JoinWorld(std::uint64_t seed, std::size_t n = 90) : random(seed), config(make_config()) {
    const auto rows = random_rows(n, config.fields, random);
    const auto middle = rows.begin() + static_cast<std::ptrdiff_t>(n / 3);
    snapshot =
        snapshot_of({with_deleted(segment_of({rows.begin(), middle}, config.fields, 1), {2, 5}),
                     with_deleted(segment_of({middle, rows.end()}, config.fields, 2), {0, 7, 8})});
  }
  static CollectionConfig make_config() {
    CollectionConfig config;
    config.fields = mixed_fields();
    return config;
  }
  [[nodiscard]] SearchEnvironment environment() const { return {snapshot, config, cancel}; }
  /// Live points with the vector that match.
  [[nodiscard]] std::vector<PointId> points(const std::string& field,
                                            const std::optional<payload::Filter>& filter) const {
    Query query;
    query.filter = filter ? *filter : payload::Filter();
    query.filter->must.emplace_back(payload::HasVector{field});
    query.limit = 1000;
    std::vector<PointId> ids;
    const auto records = Plan(query).run(environment()).value();
    for (const auto& record : records) ids.push_back(record.id);
    std::sort(ids.begin(), ids.end());
    return ids;
  }
  /// The score that users see; nullopt: nothing in common.
  [[nodiscard]] std::optional<float> score(const std::string& field, const PointId& a,
                                           const PointId& b) const {
    const auto query = field_query(environment(), field, Nearest{a}, {}).value();
    const auto place = snapshot.find(b).value();
    const auto found =
        index::score_row(query.prepared, place.segment->data->fields[query.field], place.row);
    if (!found) return std::nullopt;
    return shown_score(query.prepared.schema().metric, *found);
  }
  [[nodiscard]] bool is_distance(const std::string& field) const {
    return quiver::is_distance(config.fields[config.field(field).value()].metric);
  }

  Random random;
  CollectionConfig config;
  Cancel cancel;
  Snapshot snapshot{{}};
};

constexpr const char* kFields[] = {"", "half", "bytes", "words", "tokens"};

std::optional<payload::Filter> some_filter(bool has_one) {
  if (!has_one) return std::nullopt;
  payload::Filter filter;
  for (std::int64_t n = 0; n < 5; ++n) {
    filter.should.emplace_back(
        payload::FieldCondition{"n", payload::MatchValue{payload::MatchScalar(n)}});
  }
  return filter;
}

JoinTable joined(const JoinWorld& world, const JoinRequest& request) {
  JoinProgress progress;
  auto table = run_join(world.environment(), request, progress);
  EXPECT_TRUE(table) << table.error().message();
  EXPECT_EQ(progress.n_done, progress.n_total);
  return table ? *table : JoinTable();
}

using Scored = std::vector<std::pair<PointId, float>>;

Scored neighbours(const JoinTable& table, std::size_t i) {
  Scored found;
  for (std::uint64_t e = table.offsets[i]; e < table.offsets[i + 1]; ++e) {
    found.emplace_back(table.ids[table.neighbours[e]], table.scores[e]);
  }
  return found;
}

Scored sorted(Scored all, bool is_distance) {
  std::sort(all.begin(), all.end(), [&](const auto& a, const auto& b) {
    if (a.second != b.second) return is_distance ? a.second < b.second : a.second > b.second;
    return a.first < b.first;
  });
  return all;
}

TEST(Joins, KnnIsThatOfAllPairs) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const JoinWorld world(seed);
    for (const std::string field : kFields) {
      for (const bool has_filter : {false, true}) {
        SCOPED_TRACE("seed " + std::to_string(seed) + " field " + field);
        JoinRequest request;
        request.kind = KnnJoin{5, std::nullopt};
        request.using_field = field;
        request.filter = some_filter(has_filter);
        const auto table = joined(world, request);
        const auto ids = world.points(field, request.filter);
        ASSERT_EQ(std::vector(table.ids.begin(), table.ids.end()), ids);
        for (std::size_t i = 0; i < ids.size(); ++i) {
          Scored all;
          for (const auto& id : ids) {
            const auto score = id == ids[i] ? std::nullopt : world.score(field, ids[i], id);
            if (score) all.emplace_back(id, *score);
          }
          all = sorted(all, world.is_distance(field));
          if (all.size() > 5) all.resize(5);
          EXPECT_EQ(neighbours(table, i), all);
        }
      }
    }
  }
}

TEST(Joins, ThresholdsLeaveWorseNeighboursOut) {
  const JoinWorld world(4);
  for (const std::string field : {"half", "bytes"}) {
    JoinRequest request;
    request.using_field = field;
    request.kind = KnnJoin{20, std::nullopt};
    const auto all = joined(world, request);
    const float least = field == "half" ? 0.5F : 120.0F;
    request.kind = KnnJoin{20, least};
    const auto some = joined(world, request);
    for (std::size_t i = 0; i < all.ids.size(); ++i) {
      auto wanted = neighbours(all, i);
      std::erase_if(wanted, [&](const auto& entry) {
        return world.is_distance(field) ? entry.second > least : entry.second < least;
      });
      EXPECT_EQ(neighbours(some, i), wanted);
    }
  }
}

TEST(Joins, DuplicatesAreAllPairs) {
  const std::pair<const char*, float> cases[] = {
      {"", 0.7F}, {"half", 1.5F}, {"bytes", 90.0F}, {"words", 1.0F}, {"tokens", 4.0F}};
  for (const std::uint64_t seed : {5, 6, 7}) {
    const JoinWorld world(seed, 150);
    for (const auto& [field, least] : cases) {
      SCOPED_TRACE("seed " + std::to_string(seed) + " field " + field);
      const auto ids = world.points(field, std::nullopt);
      std::set<std::pair<PointId, PointId>> pairs;
      std::map<PointId, PointId> kept;
      for (const auto& a : ids) {
        for (const auto& b : ids) {
          const auto score = a == b ? std::nullopt : world.score(field, a, b);
          const bool is_distance = world.is_distance(field);
          if (!score || (is_distance ? *score > least : *score < least)) continue;
          for (const auto& [x, y] : {std::pair(a, b), std::pair(b, a)}) {
            pairs.emplace(x, y);
            kept.emplace(x, x);
          }
        }
      }
      ASSERT_GT(pairs.size(), 20U);
      for (bool changes = true; changes;) {
        changes = false;
        for (const auto& [a, b] : pairs) {
          changes |= kept[a] != kept[b];
          kept[a] = kept[b] = std::min(kept[a], kept[b]);
        }
      }
      JoinRequest request;
      request.using_field = field;
      request.kind = DuplicatesJoin{least, KeptDuplicate::kSmallestId};
      const auto table = joined(world, request);
      std::set<std::pair<PointId, PointId>> found;
      std::map<PointId, PointId> found_kept;
      for (std::size_t i = 0; i < table.ids.size(); ++i) {
        found_kept.emplace(table.ids[i], table.ids[table.groups[i]]);
        for (const auto& [id, score] : neighbours(table, i)) found.emplace(table.ids[i], id);
      }
      EXPECT_EQ(found, pairs);
      EXPECT_EQ(found_kept, kept);
      request.kind = DuplicatesJoin{least, KeptDuplicate::kLargestId};
      const auto largest = joined(world, request);
      for (std::size_t i = 0; i < largest.ids.size(); ++i) {
        PointId last = largest.ids[i];
        for (const auto& [id, of] : kept) {
          if (of == kept[largest.ids[i]]) last = std::max(last, id);
        }
        EXPECT_EQ(largest.ids[largest.groups[i]], last);
      }
    }
  }
}

TEST(Joins, FewPointsAreNoError) {
  const NumbersWorld world;
  for (const std::vector<PointId>& ids : {std::vector<PointId>{}, std::vector{PointId::number(4)},
                                          std::vector{PointId::number(4), PointId::number(9)}}) {
    JoinRequest request;
    request.using_field = "dot";
    request.filter.emplace();
    request.filter->must = {payload::HasId{ids}};
    const std::size_t n = ids.empty() ? 0 : 1;  // 9 has no vectors
    for (const auto& kind : std::vector<decltype(request.kind)>{
             KnnJoin{}, DuplicatesJoin{}, ClustersJoin{}, NodeVectorsJoin{}}) {
      request.kind = kind;
      JoinProgress progress;
      const auto table = run_join(world.environment(), request, progress);
      ASSERT_TRUE(table);
      EXPECT_EQ(table->ids.size(), std::holds_alternative<DuplicatesJoin>(kind) ? 0 : n);
    }
  }
}

TEST(Joins, RefuseWhatTheyCannotDoAndStop) {
  const NumbersWorld world;
  const auto code_of = [&](const JoinRequest& request) {
    JoinProgress progress;
    return run_join(world.environment(), request, progress).error().code();
  };
  JoinRequest request;
  request.using_field = "no";
  EXPECT_EQ(code_of(request), Code::kInvalidArgument);
  EXPECT_EQ(check_join(world.environment(), request).error().code(), Code::kInvalidArgument);
  request.using_field = "words";  // with IDF
  EXPECT_EQ(code_of(request), Code::kUnimplemented);
  request.using_field = "dot";
  EXPECT_TRUE(check_join(world.environment(), request));
  request.kind = NodeVectorsJoin{};
  request.into = "dot";
  EXPECT_EQ(check_join(world.environment(), request).error().code(), Code::kInvalidArgument);
  world.cancel.cancel();
  EXPECT_EQ(code_of(request), Code::kCancelled);
}

}  // namespace
}  // namespace quiver::engine::testing
