#include "cluster/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "cluster/parts/part_calls.h"
#include "payload/json/document.h"

namespace quiver::cluster {
namespace {

using payload::Array;
using payload::Object;
using payload::Value;

constexpr std::uint64_t kVersion = 1;

tl::unexpected<Error> bad_value(std::string_view key, std::string_view value) {
  constexpr std::size_t kShown = 80;
  return fail(Code::kDataLoss,
              fmt::format("the ledger's key `{}` has a value that is not known: `{}`", key,
                          value.substr(0, kShown)));
}

std::optional<std::uint64_t> number_of(std::string_view text, int base = 10) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string to_hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

std::optional<std::string> from_hex(std::string_view text) {
  if (text.size() != 2 * engine::kEntryHashBytes) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const auto byte = number_of(text.substr(i, 2), 16);
    if (!byte) return std::nullopt;
    bytes.push_back(static_cast<char>(*byte));
  }
  return bytes;
}

const std::string* text_of(const Value& value, std::string_view key) {
  const Value* member = value.find(key);
  return member == nullptr ? nullptr : member->as_string();
}

Value to_value(const NodeAddress& address) {
  return Value(Object{{"peer", Value(address.peer)}, {"http", Value(address.http)}});
}

std::optional<NodeAddress> address_of(const Value& value) {
  const auto* peer = text_of(value, "peer");
  const auto* http = text_of(value, "http");
  if (peer == nullptr || http == nullptr) return std::nullopt;
  return NodeAddress{*peer, *http};
}

/// A JSON object of the version that this server writes.
std::optional<Value> object_of(std::string_view text) {
  auto value = payload::parse_json(text);
  if (!value || value->as_object() == nullptr || value->find_unsigned("v") != kVersion) {
    return std::nullopt;
  }
  return *std::move(value);
}

std::string_view to_text(MemberState state) {
  switch (state) {
    case MemberState::kActive:
      return "active";
    case MemberState::kLeaving:
      return "leaving";
    case MemberState::kJoining:
      break;
  }
  return "joining";
}

std::optional<MemberState> state_of(std::string_view text) {
  for (const auto state : {MemberState::kJoining, MemberState::kActive, MemberState::kLeaving}) {
    if (text == to_text(state)) return state;
  }
  return std::nullopt;
}

std::optional<MemberSet> decode_set(std::string_view text) {
  const auto value = object_of(text);
  if (!value) return std::nullopt;
  MemberSet set;
  const auto n_nodes = value->find_unsigned("n");
  const Value* members = value->find("members");
  if (!n_nodes || members == nullptr || members->as_object() == nullptr) return std::nullopt;
  const auto* cluster = text_of(*value, "id");
  if (cluster == nullptr || cluster->empty()) return std::nullopt;
  set.cluster = *cluster;
  set.n_nodes = static_cast<std::uint32_t>(*n_nodes);
  for (const auto& [key, member] : *members->as_object()) {
    const auto id = number_of(key);
    const auto address = address_of(member);
    const auto* word = text_of(member, "state");
    const auto state = word == nullptr ? std::nullopt : state_of(*word);
    if (!id || !address || !state) return std::nullopt;
    set.members[*id] = {*address, *state, member.find_unsigned("replaces").value_or(0)};
  }
  return set;
}

std::optional<engine::EntryId> decode_tail(std::string_view text) {
  const auto value = object_of(text);
  if (!value) return std::nullopt;
  const auto number = value->find_unsigned("n");
  const auto* hash = text_of(*value, "h");
  if (!number || hash == nullptr) return std::nullopt;
  const auto bytes = from_hex(*hash);
  if (!bytes) return std::nullopt;
  return engine::EntryId{*number, *bytes};
}

/// "<cluster id>/<shard>".
std::optional<engine::ShardName> shard_of(std::string_view text) {
  const auto slash = text.rfind('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto shard = number_of(text.substr(slash + 1));
  if (!shard) return std::nullopt;
  return engine::ShardName{std::string(text.substr(0, slash)), static_cast<std::uint32_t>(*shard)};
}

std::string place_of(const engine::ShardName& shard) {
  return fmt::format("{}/{}", shard.collection, shard.shard);
}

std::optional<std::map<std::string, std::string>> decode_aliases(std::string_view text) {
  const auto value = object_of(text);
  if (!value) return std::nullopt;
  const Value* table = value->find("aliases");
  if (table == nullptr || table->as_object() == nullptr) return std::nullopt;
  std::map<std::string, std::string> aliases;
  for (const auto& [alias, name] : *table->as_object()) {
    if (name.as_string() == nullptr) return std::nullopt;
    aliases[alias] = *name.as_string();
  }
  return aliases;
}

bool read_set(const KeyValue& item, GroupState& group) {
  group.set = decode_set(item.value);
  group.set_revision = item.mod_revision;
  return group.set.has_value();
}

bool read_leader(const KeyValue& item, GroupState& group) {
  const auto id = number_of(item.value);
  group.leader = id.value_or(0);
  group.leader_lease = item.lease;
  group.epoch = item.create_revision;
  return id.has_value();
}

bool read_node(std::string_view id, std::set<NodeId>& nodes) {
  const auto number = number_of(id);
  if (number) nodes.insert(*number);
  return number.has_value();
}

/// Fills `state` from one key, given without the prefix.
bool read_key(std::string_view key, const KeyValue& item, ClusterState& state) {
  const auto after = [&](std::string_view prefix) { return key.substr(prefix.size()); };
  if (key == "set") return read_set(item, state);
  if (key == "leader") return read_leader(item, state);
  if (key.starts_with("set/")) return read_set(item, state.placed[std::string(after("set/"))]);
  if (key.starts_with("leader/")) {
    return read_leader(item, state.placed[std::string(after("leader/"))]);
  }
  if (key == "aliases") {
    auto aliases = decode_aliases(item.value);
    state.aliases_revision = item.mod_revision;
    if (aliases) state.aliases = *std::move(aliases);
    return aliases.has_value();
  }
  if (key.starts_with("alive/")) {
    const auto id = number_of(after("alive/"));
    const auto value = object_of(item.value);
    const auto address = value ? address_of(*value) : std::nullopt;
    if (id && address) state.alive[*id] = *address;
    if (id) state.alive_leases[*id] = item.lease;
    if (id && value && value->find_unsigned("placing") == kVersion) state.can_place.insert(*id);
    if (id && value) state.part_calls[*id] = value->find_unsigned("parts").value_or(0);
    return id && address;
  }
  if (key.starts_with("draining/")) return read_node(after("draining/"), state.draining);
  if (key.starts_with("removed/")) return read_node(after("removed/"), state.removed);
  if (key.starts_with("collections/")) {
    auto config = engine::parse_config(item.value);
    if (!config) return false;
    state.collections[std::string(after("collections/"))] = {*std::move(config), item.mod_revision};
    return true;
  }
  if (key.starts_with("tail/")) {
    const auto shard = shard_of(after("tail/"));
    auto tail = decode_tail(item.value);
    if (shard && tail) state.tails[*shard] = *std::move(tail);
    return shard && tail;
  }
  if (key.starts_with("restore/")) {
    state.restores[std::string(after("restore/"))] = item.value;
    return true;
  }
  if (key.starts_with("base/")) {
    const auto shard = shard_of(after("base/"));
    const auto number = number_of(item.value);
    if (shard && number) state.bases[*shard] = *number;
    return shard && number;
  }
  return true;  // of a newer version
}

void set_dropped_apart(ClusterState& state) {
  std::set<engine::ShardName> existing;
  for (const auto& [name, record] : state.collections) {
    for (const auto shard : engine::shard_numbers(record.config)) {
      existing.insert({record.config.cluster_id, shard});
    }
  }
  std::erase_if(state.tails, [&](const auto& tail) {
    if (existing.contains(tail.first)) return false;
    state.dropped.insert(tail.first);
    return true;
  });
}

}  // namespace

Keys::Keys(std::string_view cluster_name)
    : state_(fmt::format("/quiver/{}/state/", cluster_name)),
      log_(fmt::format("/quiver/{}/log/", cluster_name)) {}

std::string Keys::set(std::string_view cluster_id) const {
  return cluster_id.empty() ? set() : fmt::format("{}set/{}", state_, cluster_id);
}
std::string Keys::leader(std::string_view cluster_id) const {
  return cluster_id.empty() ? leader() : fmt::format("{}leader/{}", state_, cluster_id);
}
std::string Keys::alive(NodeId node) const { return fmt::format("{}alive/{}", state_, node); }
std::string Keys::draining(NodeId node) const { return fmt::format("{}draining/{}", state_, node); }
std::string Keys::removed(NodeId node) const { return fmt::format("{}removed/{}", state_, node); }
std::string Keys::collection(std::string_view name) const {
  return fmt::format("{}collections/{}", state_, name);
}
std::string Keys::restore(std::string_view cluster_id) const {
  return fmt::format("{}restore/{}", state_, cluster_id);
}
std::string Keys::tail(const engine::ShardName& shard) const {
  return fmt::format("{}tail/{}", state_, place_of(shard));
}
std::string Keys::base(const engine::ShardName& shard) const {
  return fmt::format("{}base/{}", state_, place_of(shard));
}
std::string Keys::tails_of(std::string_view cluster_id) const {
  return fmt::format("{}tail/{}/", state_, cluster_id);
}
std::string Keys::bases_of(std::string_view cluster_id) const {
  return fmt::format("{}base/{}/", state_, cluster_id);
}
std::string Keys::header(const engine::ShardName& shard, engine::EntryNumber number) const {
  return fmt::format("{}{}/{:016x}", log_, place_of(shard), number);
}
std::string Keys::headers_of(std::string_view cluster_id) const {
  return fmt::format("{}{}/", log_, cluster_id);
}

std::string Keys::headers_of(const engine::ShardName& shard) const {
  return fmt::format("{}{}/", log_, place_of(shard));
}

bool MemberSet::is_active(NodeId node) const {
  const auto found = members.find(node);
  return found != members.end() && found->second.state != MemberState::kJoining;
}

bool MemberSet::answers_reads(NodeId node) const {
  const auto found = members.find(node);
  return found != members.end() && found->second.state == MemberState::kActive;
}

std::uint32_t MemberSet::n_active() const {
  return static_cast<std::uint32_t>(
      std::ranges::count_if(members, [&](const auto& member) { return is_active(member.first); }));
}

std::uint32_t MemberSet::quorum() const { return std::max(n_nodes, n_active()) / 2 + 1; }

NodeId MemberSet::find(MemberState state) const {
  const auto found = std::ranges::find_if(
      members, [&](const auto& member) { return member.second.state == state; });
  return found == members.end() ? 0 : found->first;
}

const GroupState& ClusterState::group_of(std::string_view cluster_id) const {
  const auto found = placed.find(cluster_id);
  return found == placed.end() ? *this : found->second;
}

const std::pair<const std::string, CollectionRecord>* ClusterState::find(
    std::string_view name_or_alias) const {
  const std::string name(name_or_alias);
  const auto alias = aliases.find(name);
  const auto found = collections.find(alias == aliases.end() ? name : alias->second);
  return found == collections.end() ? nullptr : &*found;
}

Revision ClusterState::catalog_revision() const {
  Revision newest = aliases_revision;
  for (const auto& [name, record] : collections) newest = std::max(newest, record.revision);
  return newest;
}

bool ClusterState::needs_copy(const engine::CollectionConfig& config) const {
  return std::ranges::any_of(engine::shard_numbers(config), [&](std::uint32_t shard) {
    const auto base = bases.find({config.cluster_id, shard});
    return base != bases.end() && base->second > 1;
  });
}

const std::string* ClusterState::name_of(std::string_view cluster_id) const {
  const auto found = std::ranges::find_if(
      collections, [&](const auto& item) { return item.second.config.cluster_id == cluster_id; });
  return found == collections.end() ? nullptr : &found->first;
}

Result<ClusterState> parse_state(const Keys& keys, const RangeAnswer& answer) {
  ClusterState state;
  state.revision = answer.revision;
  for (const auto& item : answer.items) {
    const auto key = std::string_view(item.key).substr(keys.state().size());
    if (!read_key(key, item, state)) return bad_value(item.key, item.value);
  }
  std::erase_if(state.placed, [](const auto& group) { return !group.second.set; });
  set_dropped_apart(state);
  return state;
}

std::string ClusterState::resolve(std::string_view name_or_alias) const {
  std::string name(name_or_alias);
  const auto alias = aliases.find(name);
  return alias == aliases.end() ? name : alias->second;
}

std::uint32_t ClusterState::n_parts(std::string_view name_or_alias) const {
  const std::string name = resolve(name_or_alias);
  std::uint32_t n = 0;
  while (collections.contains(part_name(name, n))) ++n;
  return n;
}

std::optional<engine::PartOf> ClusterState::part_of(std::string_view name) const {
  const auto part = parse_part_name(name);
  if (!part) return std::nullopt;
  return engine::PartOf{part->part, n_parts(part->collection)};
}

std::string encode_set(const MemberSet& set) {
  Object members;
  for (const auto& [id, member] : set.members) {
    Value value = to_value(member.address);
    value.as_object()->push_back({"state", Value(std::string(to_text(member.state)))});
    if (member.replaces != 0) value.as_object()->push_back({"replaces", Value(member.replaces)});
    members.push_back({std::to_string(id), std::move(value)});
  }
  return payload::to_json(Value(Object{{"v", Value(kVersion)},
                                       {"id", Value(set.cluster)},
                                       {"n", Value(std::uint64_t{set.n_nodes})},
                                       {"members", Value(std::move(members))}}));
}

std::string encode_address(const NodeAddress& address) {
  Value value = to_value(address);
  value.as_object()->push_back({"v", Value(kVersion)});
  value.as_object()->push_back({"placing", Value(kVersion)});
  value.as_object()->push_back({"parts", Value(std::uint64_t{kPartCallsVersion})});
  return payload::to_json(value);
}

std::optional<NodeAddress> decode_address(std::string_view text) {
  const auto value = object_of(text);
  return value ? address_of(*value) : std::nullopt;
}

std::string encode_header(const Header& header) {
  Array holders;
  for (const NodeId id : header.holders) holders.emplace_back(id);
  return payload::to_json(Value(Object{{"v", Value(kVersion)},
                                       {"h", Value(to_hex(header.id.hash))},
                                       {"e", Value(header.epoch)},
                                       {"l", Value(header.last_seq)},
                                       {"b", Value(header.n_bytes)},
                                       {"n", Value(std::move(holders))}}));
}

Result<Header> decode_header(std::string_view key, std::string_view text) {
  const auto number = number_of(key.substr(key.rfind('/') + 1), 16);
  const auto value = object_of(text);
  if (!number || !value) return bad_value(key, text);
  const auto* hash = text_of(*value, "h");
  const auto bytes = hash == nullptr ? std::nullopt : from_hex(*hash);
  const Value* holders = value->find("n");
  if (!bytes || holders == nullptr || holders->as_array() == nullptr) return bad_value(key, text);
  Header header;
  header.id = {*number, *bytes};
  header.epoch = static_cast<std::int64_t>(value->find_unsigned("e").value_or(0));
  header.last_seq = value->find_unsigned("l").value_or(0);
  header.n_bytes = value->find_unsigned("b").value_or(0);
  for (const Value& id : *holders->as_array())
    header.holders.push_back(id.as_unsigned().value_or(0));
  return header;
}

std::string encode_tail(const engine::EntryId& id) {
  return payload::to_json(Value(
      Object{{"v", Value(kVersion)}, {"n", Value(id.number)}, {"h", Value(to_hex(id.hash))}}));
}

std::string encode_aliases(const std::map<std::string, std::string>& aliases) {
  Object table;
  for (const auto& [alias, name] : aliases) table.push_back({alias, Value(name)});
  return payload::to_json(
      Value(Object{{"v", Value(kVersion)}, {"aliases", Value(std::move(table))}}));
}

}  // namespace quiver::cluster
