#include "engine/collections/sharding/shard_list.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace quiver::engine {
namespace {

using Positions = std::vector<std::size_t>;

CollectionConfig with_keys() {
  CollectionConfig config;
  config.sharding = ShardingMethod::kCustom;
  EXPECT_TRUE(add_shard_key(config, {"a", 2}));
  EXPECT_TRUE(add_shard_key(config, {std::uint64_t{7}, 1}));
  EXPECT_TRUE(add_shard_key(config, {"7", 3}));
  return config;
}

ShardSelector keys(std::vector<ShardKey> some) { return {std::move(some), {}, false}; }

Operation deletion_of(std::vector<PointId> ids, ShardSelector selector = {}) {
  return DeletePoints{std::move(ids), std::move(selector)};
}

std::vector<UpdatePart> parts_of(const std::vector<Operation>& operations,
                                 const CollectionConfig& config) {
  std::vector<PreparedOperation> prepared;
  for (const auto& operation : operations) {
    prepared.push_back(prepare(operation, config).value());
  }
  return split_by_key(std::move(prepared), operations, places_of(config), config.sharding).value();
}

TEST(ShardList, PlacesFollowTheConfiguration) {
  CollectionConfig config;
  config.shard_number = 2;
  const auto hashed = places_of(config);
  ASSERT_EQ(hashed.size(), 2U);
  EXPECT_EQ(hashed[1].number, 1U);
  EXPECT_EQ(hashed[1].n_of_key, 2U);
  EXPECT_FALSE(hashed[1].key);
  const auto custom = places_of(with_keys());
  ASSERT_EQ(custom.size(), 6U);
  EXPECT_EQ(custom[4].key, ShardKey("7"));
  EXPECT_EQ(custom[4].number, 4U);
  EXPECT_EQ(custom[4].position, 1U);
  EXPECT_EQ(custom[4].n_of_key, 3U);
}

TEST(ShardList, ReadsWithoutKeysCoverAll) {
  const auto shards = places_of(with_keys());
  EXPECT_EQ(shards_to_read(shards, {}).value(), (Positions{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(shards_to_read(shards, keys({})).value(), Positions());
  EXPECT_EQ(shards_to_read(shards, keys({"7", "a", "7"})).value(), (Positions{0, 1, 3, 4, 5}));
  EXPECT_EQ(shards_to_read(shards, keys({std::uint64_t{7}})).value(), Positions{2});
  const auto unknown = shards_to_read(shards, keys({"a", "b"}));
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code(), Code::kFailedPrecondition);
  EXPECT_EQ(unknown.error().message(), "Shard key \"b\" not found");
}

TEST(ShardList, AFallbackStandsInForAMissingKey) {
  const auto shards = places_of(with_keys());
  ShardSelector selector = keys({"a"});
  selector.fallback = std::uint64_t{7};
  EXPECT_EQ(shards_to_read(shards, selector).value(), (Positions{0, 1}));
  selector.keys = {"b"};
  EXPECT_EQ(shards_to_read(shards, selector).value(), Positions{2});
  EXPECT_EQ(shards_to_change(shards, ShardingMethod::kCustom, selector).value(), Positions{2});
  selector.fallback = std::uint64_t{8};
  const auto neither = shards_to_read(shards, selector);
  ASSERT_FALSE(neither);
  EXPECT_EQ(neither.error().code(), Code::kNotFound);
  EXPECT_EQ(neither.error().message(),
            "Neither target shard key \"b\" nor fallback shard key 8 exist");
}

TEST(ShardList, ChangesNeedAKey) {
  const auto shards = places_of(with_keys());
  for (const auto& [selector, text] :
       {std::pair(ShardSelector(), "Shard key not specified"),
        std::pair(keys({}), "Empty shard keys selection"),
        std::pair(keys({std::uint64_t{9}}), "Shard key 9 not found")}) {
    const auto refused = shards_to_change(shards, ShardingMethod::kCustom, selector);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Code::kInvalidArgument);
    EXPECT_EQ(refused.error().message(), text);
  }
  ShardSelector everywhere;
  everywhere.is_everywhere = true;
  EXPECT_EQ(shards_to_change(shards, ShardingMethod::kCustom, everywhere)->size(), 6U);
  EXPECT_EQ(shards_to_change(shards, ShardingMethod::kAuto, {})->size(), 6U);
}

TEST(SplitByKey, ShardsWithoutPointsGetNothing) {
  CollectionConfig config;
  config.shard_number = 8;
  const auto parts = parts_of({deletion_of({PointId::number(1)}), deletion_of({})}, config);
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].shard, shard_of(PointId::number(1), 8));
  EXPECT_EQ(parts[0].numbers, std::vector<std::size_t>{0});
}

TEST(SplitByKey, OneShardGetsAllInOrder) {
  const auto parts = parts_of(
      {deletion_of({PointId::number(1), PointId::number(2)}), deletion_of({PointId::number(3)})},
      CollectionConfig());
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].numbers, (std::vector<std::size_t>{0, 1}));
}

TEST(SplitByKey, EachIdGoesToOneShardOfEachKey) {
  constexpr unsigned kSplitSeed = 11;
  std::mt19937_64 random(kSplitSeed);
  const auto config = with_keys();
  const auto shards = places_of(config);
  const std::vector<std::vector<ShardKey>> choices = {
      {"a"}, {"7"}, {std::uint64_t{7}}, {"a", std::uint64_t{7}}, {"7", "a"}};
  for (int round = 0; round < 50; ++round) {
    std::vector<Operation> operations;
    std::set<std::tuple<std::size_t, PointId, ShardKey>> wanted;
    for (std::size_t i = 0; i < 3; ++i) {
      const auto& chosen = choices[random() % choices.size()];
      std::vector<PointId> ids;
      for (int n = 0; n < 20; ++n) ids.push_back(PointId::number(random() % 1000));
      for (const auto& id : ids) {
        for (const auto& key : chosen) wanted.emplace(i, id, key);
      }
      operations.push_back(deletion_of(ids, keys(chosen)));
    }
    std::set<std::tuple<std::size_t, PointId, ShardKey>> found;
    for (const auto& part : parts_of(operations, config)) {
      const auto& place = shards[part.shard];
      for (std::size_t i = 0; i < part.numbers.size(); ++i) {
        const auto& change = std::get<PreparedChange>(part.operations[i]);
        for (const auto& id : std::get<std::vector<PointId>>(change.points)) {
          EXPECT_EQ(shard_of(id, place.n_of_key), place.position);
          found.emplace(part.numbers[i], id, *place.key);
        }
      }
    }
    EXPECT_EQ(found, wanted) << "seed " << kSplitSeed << ", round " << round;
  }
}

TEST(SplitByKey, AFilterGoesToTheShardsOfItsKeys) {
  const auto config = with_keys();
  const auto parts =
      parts_of({DeletePoints{payload::Filter(), keys({"a", std::uint64_t{7}})}}, config);
  std::vector<std::size_t> shards;
  for (const auto& part : parts) shards.push_back(part.shard);
  EXPECT_EQ(shards, (std::vector<std::size_t>{0, 1, 2}));
}

}  // namespace
}  // namespace quiver::engine
