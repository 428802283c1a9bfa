#include "cluster/cluster_database.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "base/clock.h"
#include "cluster/identity.h"
#include "engine/lookups.h"

namespace quiver::cluster {
namespace {

using engine::AliasAction;
using AliasTable = std::map<std::string, std::string>;

bool has_name(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

tl::unexpected<Error> exists_already(const std::string& name) {
  return fail(Code::kAlreadyExists, Subject::kCollection, name,
              fmt::format("collection `{}` exists already", name));
}

tl::unexpected<Error> is_an_alias(const std::string& name) {
  return fail(Code::kInvalidArgument, Subject::kAlias, name,
              fmt::format("a collection cannot be called `{}`: an alias has that name", name));
}

tl::unexpected<Error> no_alias(const std::string& name) {
  return fail(Code::kNotFound, Subject::kAlias, name,
              fmt::format("alias `{}` does not exist", name));
}

/// As the catalog of one node does it.
Result<> apply_action(const ClusterState& state, const AliasAction& action, AliasTable& table) {
  if (const auto* deletion = std::get_if<engine::DeleteAlias>(&action)) {
    if (table.erase(deletion->alias) == 0) return no_alias(deletion->alias);
    return {};
  }
  if (const auto* rename = std::get_if<engine::RenameAlias>(&action)) {
    if (!table.contains(rename->old_alias)) return no_alias(rename->old_alias);
    if (state.has_collection(rename->new_alias)) return exists_already(rename->new_alias);
    auto node = table.extract(rename->old_alias);
    table[rename->new_alias] = std::move(node.mapped());
    return {};
  }
  const auto& create = std::get<engine::CreateAlias>(action);
  if (parse_part_name(create.collection) || !state.has_collection(create.collection)) {
    return fail(Code::kNotFound, Subject::kCollection, create.collection,
                fmt::format("collection `{}` does not exist", create.collection));
  }
  if (state.has_collection(create.alias)) return exists_already(create.alias);
  table[create.alias] = create.collection;
  return {};
}

/// "http://a:6333, http://b:6333".
std::string nodes_of(const ClusterState& state, std::string_view name_or_alias) {
  std::string nodes;
  const auto* found = state.find(name_or_alias);
  for (const auto& [id, member] : state.group_of(found->second.config.cluster_id).set->members) {
    nodes += (nodes.empty() ? "" : ", ") + member.address.http;
  }
  return nodes;
}

}  // namespace

// What is on other nodes.

std::shared_ptr<const ClusterState> ClusterDatabase::state_with_remote(
    const std::string& name_or_alias) const {
  auto state = ledger_.last_state();
  if (state == nullptr || state->placed.empty() || local_.exists(name_or_alias)) return nullptr;
  const auto* found = state->find(name_or_alias);
  if (found == nullptr || !state->is_placed(found->second.config.cluster_id)) return nullptr;
  return state;
}

std::vector<std::string> ClusterDatabase::collection_names() const {
  auto names = local_.collection_names();
  const auto state = ledger_.last_state();
  if (state == nullptr || state->placed.empty()) return names;
  for (const auto& [name, record] : state->collections) {
    if (state->is_placed(record.config.cluster_id)) names.push_back(name);
  }
  for (auto& name : names) {
    if (auto part = parse_part_name(name)) name = std::move(part->collection);
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

bool ClusterDatabase::exists(const std::string& name_or_alias) const {
  if (parse_part_name(name_or_alias)) return false;
  return local_.exists(name_or_alias) || state_with_remote(name_or_alias) != nullptr ||
         ledger_.spread_collection(name_or_alias) != nullptr;
}

Result<std::shared_ptr<engine::Collection>> ClusterDatabase::collection(const std::string& name) {
  if (auto spread = ledger_.spread_collection(name)) return spread;
  if (parse_part_name(name)) {
    return fail(Code::kNotFound, Subject::kCollection, name,
                fmt::format("collection `{}` does not exist", name));
  }
  auto found = local_.collection(name);
  if (found || found.error().code() != Code::kNotFound) return found;
  if (const auto remote = state_with_remote(name)) {
    return fail(Code::kUnavailable, fmt::format("collection `{}` is not on this node, but on {}",
                                                name, nodes_of(*remote, name)));
  }
  const auto state = ledger_.last_state();
  if (state != nullptr && state->find(name) != nullptr) {
    return fail(Code::kUnavailable,
                fmt::format("collection `{}` is not on this node yet, which gets a copy", name));
  }
  if (state != nullptr) return found;
  return fail(
      Code::kUnavailable,
      fmt::format("collection `{}` is not on this node, which has not reached the ledger of "
                  "its cluster yet",
                  name));
}

std::vector<engine::Alias> ClusterDatabase::aliases() const {
  auto aliases = local_.aliases();
  const auto state = ledger_.last_state();
  if (state == nullptr || state->placed.empty()) return aliases;
  for (const auto& [alias, name] : state->aliases) {
    const bool is_here = std::ranges::any_of(
        aliases, [&alias = alias](const auto& one) { return one.alias == alias; });
    const bool is_elsewhere = state_with_remote(name) != nullptr || state->n_parts(name) > 0;
    if (!is_here && is_elsewhere) aliases.push_back({alias, name});
  }
  std::ranges::sort(aliases, {}, &engine::Alias::alias);
  return aliases;
}

Result<ClusterDatabase::Aliases> ClusterDatabase::all_aliases() const {
  const auto state = ledger_.last_state();
  if (state == nullptr || state->placed.empty()) return ledger_.local_aliases();
  QV_TRY(auto now, ledger_.fetch_state());
  return std::move(now.aliases);
}

Result<> ClusterDatabase::check_lookups(const engine::Query& query) const {
  for (const auto& prefetch : query.prefetch) QV_TRY(check_lookups(prefetch));
  if (!query.lookup_from) return {};
  const std::string& name = query.lookup_from->collection;
  const auto state = state_with_remote(name);
  if (state == nullptr) return {};
  return fail(Code::kFailedPrecondition,
              fmt::format("collection `{}` of `lookup_from` is not on this node, but on {}; a "
                          "lookup wants both collections on one node",
                          name, nodes_of(*state, name)));
}

Result<> ClusterDatabase::resolve_lookups(const std::string& name, engine::Query& query) {
  QV_TRY(check_lookups(query));
  return engine::resolve_lookups_in(*this, name, query);
}

// Changes.

Result<> ClusterDatabase::create_collection(const std::string& name,
                                            engine::CollectionConfig config) {
  QV_TRY(ledger_.check_leads());
  QV_TRY(const auto sets, ledger_.place(config));
  if (!sets.empty()) {
    QV_TRY(create_placed(name, std::move(config), sets));
  } else {
    QV_TRY(create_here(name, std::move(config)));
  }
  ledger_.tell_nodes();
  if (!sets.empty()) (void)ledger_.refresh();  // this node adopts it as the others do
  return {};
}

Result<> ClusterDatabase::create_here(const std::string& name, engine::CollectionConfig config) {
  MutexLock lock(catalog_mutex_);
  QV_TRY(ledger_.check_leads());
  // The local database has the words for a name that is taken.
  if (local_.exists(name)) return local_.create_collection(name, std::move(config));
  QV_TRY(const auto aliases, all_aliases());
  if (aliases.contains(name)) {
    return is_an_alias(name);
  }
  config.cluster_id = random_cluster_id();
  config.created_at_ms = static_cast<std::uint64_t>(unix_time_ms());
  const std::string key = keys_.collection(name);
  Transaction change;
  change.conditions = {{key, Condition::What::kVersion, 0},
                       {keys_.collection(part_name(name, 0)), Condition::What::kVersion, 0}};
  change.writes = {{key, engine::to_json(config)}};
  QV_TRY(const bool is_new, ledger_.write(std::move(change)));
  if (!is_new) return exists_already(name);
  return local_.create_collection(name, std::move(config));
}

/// Its nodes make it when they see it in the ledger, this one among them.
Result<> ClusterDatabase::create_placed(const std::string& name, engine::CollectionConfig config,
                                        const std::vector<MemberSet>& sets) {
  MutexLock lock(catalog_mutex_);
  QV_TRY(ledger_.check_leads());
  if (local_.exists(name)) return local_.create_collection(name, std::move(config));
  QV_TRY(const auto state, ledger_.fetch_state());
  if (state.aliases.contains(name)) {
    return is_an_alias(name);
  }
  config.created_at_ms = static_cast<std::uint64_t>(unix_time_ms());
  const bool is_spread = sets.size() > 1;
  if (is_spread) config.shard_number = 1;
  Transaction change;
  change.conditions = {{keys_.collection(name), Condition::What::kVersion, 0},
                       {keys_.collection(part_name(name, 0)), Condition::What::kVersion, 0}};
  for (std::uint32_t i = 0; i < sets.size(); ++i) {
    config.cluster_id = random_cluster_id();
    if (is_spread) config.part = engine::PartOf{i, static_cast<std::uint32_t>(sets.size())};
    const std::string key = keys_.collection(is_spread ? part_name(name, i) : name);
    change.writes.push_back({key, engine::to_json(config)});
    change.writes.push_back({keys_.set(config.cluster_id), encode_set(sets[i])});
  }
  QV_TRY(const bool is_new, ledger_.write(std::move(change)));
  return is_new ? Result<>() : exists_already(name);
}

Result<> ClusterDatabase::update_config(
    const std::string& name, const std::function<Result<>(engine::CollectionConfig&)>& change) {
  if (ledger_.spread_collection(name) == nullptr) return local_.update_config(name, change);
  QV_TRY(ledger_.change_spread_config(name, change));
  (void)ledger_.refresh();  // the next request may need what has changed
  return {};
}

Result<std::map<std::string, engine::CollectionConfig>> ClusterDatabase::records_of(
    const std::string& name) {
  std::map<std::string, engine::CollectionConfig> records;
  if (parse_part_name(name)) return records;
  if (has_name(local_.collection_names(), name)) {
    QV_TRY(const auto collection, local_.collection(name));
    records[name] = *collection->config();
  }
  const auto last = ledger_.last_state();
  if (last == nullptr || last->placed.empty()) return records;
  QV_TRY(const auto state, ledger_.fetch_state());
  const auto found = state.collections.find(name);
  if (found != state.collections.end()) records[name] = found->second.config;
  for (std::uint32_t i = 0; state.collections.contains(part_name(name, i)); ++i) {
    records[part_name(name, i)] = state.collections.at(part_name(name, i)).config;
  }
  return records;
}

void ClusterDatabase::add_drop(const std::string& name, const engine::CollectionConfig& config,
                               Transaction& change) const {
  const std::string& id = config.cluster_id;
  change.writes.push_back({keys_.collection(name)});
  // Without a set of its own, these two are not there. With one, its leader can commit no more.
  if (!id.empty()) {
    change.writes.push_back({keys_.set(id)});
    change.writes.push_back({keys_.leader(id)});
  }
  for (const auto& prefix : {keys_.tails_of(id), keys_.bases_of(id), keys_.headers_of(id)}) {
    change.writes.push_back({prefix, std::nullopt, prefix_end(prefix)});
  }
}

Result<bool> ClusterDatabase::drop_collection(const std::string& name) {
  {
    MutexLock lock(catalog_mutex_);
    QV_TRY(ledger_.check_leads());
    QV_TRY(const auto records, records_of(name));
    if (records.empty()) {
      QV_TRY(ledger_.confirm_leads_now());
      return false;
    }
    QV_TRY(auto aliases, all_aliases());
    std::erase_if(aliases, [&](const auto& alias) { return alias.second == name; });
    Transaction change;
    change.writes = {{keys_.aliases(), encode_aliases(aliases)}};
    std::set<engine::ShardName> shards;
    for (const auto& [record, config] : records) {
      add_drop(record, config, change);
      for (const auto shard : engine::shard_numbers(config)) {
        shards.insert({config.cluster_id, shard});
      }
    }
    QV_TRY(ledger_.write(std::move(change)));
    ledger_.forget(shards);
    for (const auto& [record, config] : records) {
      QV_TRY(local_.drop_collection(record));
    }
  }
  ledger_.tell_nodes();
  (void)ledger_.refresh();  // so that this node, too, knows it at once
  return true;
}

Result<> ClusterDatabase::update_aliases(const std::vector<AliasAction>& actions) {
  {
    MutexLock lock(catalog_mutex_);
    QV_TRY(ledger_.check_leads());
    Aliases table;
    const auto last = ledger_.last_state();
    const bool is_all_here = last == nullptr || last->placed.empty();
    if (is_all_here) {
      QV_TRY(const auto planned, local_.plan_aliases(actions));
      for (const auto& [alias, collection] : planned) table[alias] = collection;
    } else {
      QV_TRY(const auto state, ledger_.fetch_state());
      table = state.aliases;
      for (const auto& action : actions) QV_TRY(apply_action(state, action, table));
    }
    Transaction change;
    change.writes = {{keys_.aliases(), encode_aliases(table)}};
    QV_TRY(ledger_.write(std::move(change)));
    if (is_all_here) {
      QV_TRY(local_.update_aliases(actions));
    }
  }
  ledger_.tell_nodes();
  (void)ledger_.refresh();  // so that this node, too, knows it at once
  return {};
}

}  // namespace quiver::cluster
