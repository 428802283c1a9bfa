#include "cluster/records.h"

#include <gtest/gtest.h>

#include "cluster/messages.h"

namespace quiver::cluster {
namespace {

const engine::EntryId kEntry{300, "0123456789abcdef"};

KeyValue item(std::string key, std::string value) {
  KeyValue item;
  item.key = std::move(key);
  item.value = std::move(value);
  item.create_revision = 5;
  item.mod_revision = 9;
  return item;
}

TEST(Records, TheStateIsReadAsItWasWritten) {
  const Keys keys("test");
  MemberSet set;
  set.cluster = "0f";
  set.n_nodes = 3;
  set.members[7] = {{"a:1", "http://a:2"}, MemberState::kActive};
  set.members[8] = {{"b:1", "http://b:2"}, MemberState::kJoining};
  engine::CollectionConfig config;
  config.cluster_id = "c0ffee";
  config.fields = {{"", FieldKind::kDense, 2, DType::kF32, Metric::kDot, SparseModifier::kNone}};
  config.shard_number = 2;
  const engine::ShardName shard{"c0ffee", 1};
  RangeAnswer answer;
  answer.revision = 11;
  answer.items = {item(keys.set(), encode_set(set)),
                  item(keys.leader(), "7"),
                  item(keys.alive(8), encode_address({"b:1", "http://b:2"})),
                  item(keys.collection("a/b ü"), engine::to_json(config)),
                  item(keys.aliases(), encode_aliases({{"x", "a/b ü"}})),
                  item(keys.tail(shard), encode_tail(kEntry)),
                  item(keys.tail({"c0ffee", 2}), encode_tail(kEntry)),
                  item(keys.tail({"dead", 0}), encode_tail(kEntry)),
                  item(keys.base(shard), "250"),
                  item(keys.state() + "of-a-later-version", "anything")};
  const auto state = parse_state(keys, answer);
  ASSERT_TRUE(state) << state.error().message();
  EXPECT_EQ(state->set, set);
  EXPECT_EQ(state->set->quorum(), 2U);
  EXPECT_TRUE(state->set->is_active(7) && !state->set->is_active(8) && !state->set->is_active(9));
  EXPECT_EQ(state->leader, 7U);
  EXPECT_EQ(state->epoch, 5);
  EXPECT_EQ(state->alive.at(8).peer, "b:1");
  EXPECT_EQ(engine::to_json(state->collections.at("a/b ü").config), engine::to_json(config));
  EXPECT_EQ(*state->name_of("c0ffee"), "a/b ü");
  EXPECT_EQ(state->name_of("other"), nullptr);
  EXPECT_EQ(state->aliases.at("x"), "a/b ü");
  EXPECT_EQ(state->tails.at(shard), kEntry);
  EXPECT_EQ(state->tails.size(), 1U);
  EXPECT_EQ(state->dropped, (std::set<engine::ShardName>{{"c0ffee", 2}, {"dead", 0}}));
  EXPECT_EQ(state->bases.at(shard), 250U);
}

TEST(Records, APlacedCollectionHasASetAndALeaderOfItsOwn) {
  const Keys keys("test");
  MemberSet all;
  all.cluster = "0f";
  all.n_nodes = 3;
  all.members[7] = {{"a:1", "http://a:2"}, MemberState::kActive};
  MemberSet own = all;
  own.n_nodes = 1;
  own.members[7].state = MemberState::kLeaving;
  own.members[8] = {{"b:1", "http://b:2"}, MemberState::kActive};
  own.members[9] = {{"c:1", "http://c:2"}, MemberState::kJoining, 7};
  engine::CollectionConfig config;
  config.cluster_id = "c0ffee";
  config.fields = {{"", FieldKind::kDense, 2, DType::kF32, Metric::kDot, SparseModifier::kNone}};
  RangeAnswer answer;
  answer.items = {item(keys.set(), encode_set(all)),
                  item(keys.collection("docs"), engine::to_json(config)),
                  item(keys.alive(8), encode_address({"b:1", "http://b:2"})),
                  item(keys.alive(9), R"({"v":1,"peer":"c:1","http":"http://c:2"})"),
                  item(keys.set("c0ffee"), encode_set(own)),
                  item(keys.leader("c0ffee"), "8"),
                  item(keys.leader("left-behind"), "8"),
                  item(keys.aliases(), encode_aliases({{"alias", "docs"}}))};
  const auto state = parse_state(keys, answer);
  ASSERT_TRUE(state) << state.error().message();
  EXPECT_EQ(state->set, all);
  EXPECT_EQ(state->leader, 0U);
  ASSERT_EQ(state->placed.size(), 1U);
  const GroupState& group = state->group_of("c0ffee");
  EXPECT_EQ(group.set, own);
  EXPECT_EQ(group.leader, 8U);
  EXPECT_EQ(group.epoch, 5);
  EXPECT_EQ(group.set->quorum(), 2U) << "while two count, both must have an entry";
  EXPECT_TRUE(group.set->is_active(7) && !group.set->answers_reads(7));
  EXPECT_EQ(group.set->find(MemberState::kJoining), 9U);
  EXPECT_EQ(state->group_of("other").set, all);
  EXPECT_EQ(state->can_place, std::set<NodeId>{8});
  EXPECT_EQ(state->find("alias")->first, "docs");
}

TEST(Records, ADamagedValueIsNamed) {
  const Keys keys("test");
  for (const auto& key : {keys.set(), keys.leader(), keys.aliases(), keys.alive(1),
                          keys.collection("c"), keys.tail({"c", 0}), keys.base({"c", 0})}) {
    for (const auto* value : {"", "{}", "[1]", R"({"v":2})", "x"}) {
      RangeAnswer answer;
      answer.items = {item(key, value)};
      const auto state = parse_state(keys, answer);
      ASSERT_FALSE(state) << key << " " << value;
      EXPECT_NE(state.error().message().find(key), std::string::npos);
    }
  }
}

TEST(Records, HeadersAreOrderedAsTheirNumbers) {
  const Keys keys("test");
  const engine::ShardName shard{"c", 0};
  EXPECT_LT(keys.header(shard, 9), keys.header(shard, 10));
  EXPECT_LT(keys.header(shard, 0xff), keys.header(shard, 0x100));
  const Header header{kEntry, 5, 77, 123, {7, 8}};
  const auto read = decode_header(keys.header(shard, kEntry.number), encode_header(header));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->id, kEntry);
  EXPECT_EQ(read->epoch, 5);
  EXPECT_EQ(read->last_seq, 77U);
  EXPECT_EQ(read->holders, (std::vector<NodeId>{7, 8}));
  EXPECT_FALSE(decode_header(keys.header(shard, 1), "{}"));
}

TEST(Messages, RoundTripAndEveryCut) {
  std::string message;
  append_entry({"c", 3}, kEntry, "body", message);
  append_entry({"d", 0}, {1, std::string(16, '\0')}, "", message);
  const auto entries = read_entries(message);
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 2U);
  EXPECT_EQ((*entries)[0].shard, (engine::ShardName{"c", 3}));
  EXPECT_EQ((*entries)[0].id, kEntry);
  EXPECT_EQ((*entries)[0].body, "body");
  for (std::size_t n = 1; n < message.size(); ++n) {
    const auto cut = read_entries(message.substr(0, n));
    EXPECT_TRUE(!cut || cut->size() == 1) << n;
  }
  EXPECT_FALSE(read_entries(std::string(100, '\xff')));
  EXPECT_FALSE(read_numbers("1234567"));
  EXPECT_EQ(read_numbers("").value(), std::vector<std::uint64_t>());
}

}  // namespace
}  // namespace quiver::cluster
