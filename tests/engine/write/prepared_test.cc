#include "engine/write/prepared.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/engine/support.h"

namespace quiver::engine::testing {
namespace {

CollectionConfig mixed_config() {
  CollectionConfig config;
  config.fields = mixed_fields();
  return config;
}

TEST(Prepare, VectorsBecomeStoredOnes) {
  Upsert upsert;
  upsert.points.push_back({PointId::number(1), {{"half", DenseVector{1, 2, 3}}}, R"({"n":1})"});
  const auto prepared = prepare(upsert, mixed_config());
  ASSERT_TRUE(prepared) << prepared.error().to_string();
  const auto& rows = std::get<PreparedPoints>(*prepared).rows;
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].payload, R"({"n":1})");
  EXPECT_TRUE(is_present(rows[0].vectors[1]));
  EXPECT_FALSE(is_present(rows[0].vectors[0]));
}

TEST(Prepare, TakesPayloadsAndNothingElse) {
  Upsert upsert;
  upsert.points.push_back({PointId::number(1), {{"half", DenseVector{1, 2, 3}}}, R"({"n":1})"});
  upsert.points.push_back({PointId::number(2), {}, ""});
  upsert.mode = UpsertMode::kInsertOnly;
  const auto copied = prepare(upsert, mixed_config()).value();
  Operation operation = upsert;
  const auto taken = prepare_and_take(operation, mixed_config()).value();
  EXPECT_EQ(std::get<PreparedPoints>(taken).rows, std::get<PreparedPoints>(copied).rows);
  EXPECT_EQ(std::get<PreparedPoints>(taken).mode, UpsertMode::kInsertOnly);
  const auto& left = std::get<Upsert>(operation).points;
  ASSERT_EQ(left.size(), 2U);
  EXPECT_EQ(left[0].payload, "");
  EXPECT_EQ(left[0].id, PointId::number(1));
  EXPECT_EQ(left[0].vectors.size(), 1U);
  Operation other = ClearPayload{std::vector<PointId>{PointId::number(1)}};
  EXPECT_TRUE(prepare_and_take(other, mixed_config()));
}

TEST(Prepare, ErrorsThatTheCallerCouldKnow) {
  Upsert upsert;
  upsert.points.push_back({PointId::number(1), {{"no", DenseVector{1}}}, "{}"});
  const auto unknown = prepare(upsert, mixed_config());
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().message(), "vector field `no` does not exist");
  upsert.points[0].vectors[0] = {"half", DenseVector{1}};
  EXPECT_FALSE(prepare(upsert, mixed_config())) << "wrong dimension";
  EXPECT_FALSE(prepare(DeleteVectors{{"no"}, std::vector<PointId>()}, mixed_config()));
  EXPECT_FALSE(prepare(DeletePayload{{"a[["}, std::vector<PointId>()}, mixed_config()));
}

TEST(Prepare, UpdatesOfVectorsNeedTheirPoints) {
  UpdateVectors update;
  update.points.push_back({PointId::number(1), {{"half", DenseVector{1, 2, 3}}}, "{}"});
  const auto prepared = prepare(update, mixed_config());
  ASSERT_TRUE(prepared);
  EXPECT_TRUE(std::get<PreparedPoints>(*prepared).vectors_only);
}

TEST(PartForShard, EachPointHasOneShard) {
  constexpr std::uint32_t kShards = 3;
  DeletePoints operation;
  std::vector<PointId> ids;
  for (std::uint64_t i = 0; i < 100; ++i) ids.push_back(PointId::number(i));
  operation.points = ids;
  const auto prepared = prepare(operation, mixed_config()).value();
  std::multiset<PointId> seen;
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    const auto part = part_for_shard(prepared, shard, kShards);
    for (const auto& id : std::get<std::vector<PointId>>(std::get<PreparedChange>(part).points)) {
      EXPECT_EQ(shard_of(id, kShards), shard);
      seen.insert(id);
    }
  }
  EXPECT_EQ(seen, std::multiset<PointId>(ids.begin(), ids.end()));
}

TEST(PartForShard, AFilterConcernsAllShards) {
  const auto prepared = prepare(DeletePoints{payload::Filter()}, mixed_config()).value();
  EXPECT_FALSE(is_empty(part_for_shard(prepared, 1, 2)));
  const auto nothing = prepare(DeletePoints{std::vector<PointId>()}, mixed_config()).value();
  EXPECT_TRUE(is_empty(nothing));
  EXPECT_GT(size_bytes(prepared), 0U);
}

}  // namespace
}  // namespace quiver::engine::testing
