#include "cluster/cluster_database.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "base/clock.h"
#include "cluster/identity.h"

namespace quiver::cluster {
namespace {

using engine::AliasAction;
using Aliases = std::map<std::string, std::string>;

}  // namespace

Result<> ClusterDatabase::create_collection(const std::string& name,
                                            engine::CollectionConfig config) {
  {
    MutexLock lock(catalog_mutex_);
    QV_TRY(ledger_.check_leads());
    // The local database has the words for a name that is taken.
    if (local_.exists(name)) return local_.create_collection(name, std::move(config));
    config.cluster_id = random_cluster_id();
    config.created_at_ms = static_cast<std::uint64_t>(unix_time_ms());
    const std::string key = keys_.collection(name);
    QV_TRY(const bool is_new, ledger_.write({{{key, Condition::What::kVersion, 0}},
                                             {{key, engine::to_json(config)}}}));
    if (!is_new) {
      return fail(Code::kAlreadyExists, Subject::kCollection, name,
                  fmt::format("collection `{}` exists already", name));
    }
    QV_TRY(local_.create_collection(name, std::move(config)));
  }
  ledger_.tell_nodes();
  return {};
}

Result<bool> ClusterDatabase::drop_collection(const std::string& name) {
  {
    MutexLock lock(catalog_mutex_);
    QV_TRY(ledger_.check_leads());
    const auto names = local_.collection_names();
    if (std::ranges::find(names, name) == names.end()) {
      QV_TRY(ledger_.confirm_leads_now());
      return false;
    }
    QV_TRY(const auto collection, local_.collection(name));
    const auto config = collection->config();
    const std::string id = config->cluster_id;
    std::set<engine::ShardName> shards;
    for (const auto shard : engine::shard_numbers(*config)) shards.insert({id, shard});
    Aliases aliases = ledger_.aliases();
    std::erase_if(aliases, [&](const auto& alias) { return alias.second == name; });
    Transaction change;
    change.writes = {{keys_.collection(name)}, {keys_.aliases(), encode_aliases(aliases)}};
    for (const auto& prefix : {keys_.tails_of(id), keys_.bases_of(id), keys_.headers_of(id)}) {
      change.writes.push_back({prefix, std::nullopt, prefix_end(prefix)});
    }
    QV_TRY(ledger_.write(std::move(change)));
    ledger_.forget(shards);
    QV_TRY(local_.drop_collection(name));
  }
  ledger_.tell_nodes();
  return true;
}

Result<> ClusterDatabase::update_aliases(const std::vector<AliasAction>& actions) {
  {
    MutexLock lock(catalog_mutex_);
    QV_TRY(ledger_.check_leads());
    QV_TRY(const auto planned, local_.plan_aliases(actions));
    Aliases table;
    for (const auto& [alias, collection] : planned) table[alias] = collection;
    Transaction change;
    change.writes = {{keys_.aliases(), encode_aliases(table)}};
    QV_TRY(ledger_.write(std::move(change)));
    QV_TRY(local_.update_aliases(actions));
  }
  ledger_.tell_nodes();
  return {};
}

}  // namespace quiver::cluster
