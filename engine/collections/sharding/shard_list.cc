#include "engine/collections/sharding/shard_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace quiver::engine {
namespace {

using Positions = std::vector<std::size_t>;  ///< in a list of shards

Positions every_position(const Shards& shards) {
  Positions all(shards.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  return all;
}

Positions shards_of_key(const Shards& shards, const ShardKey& key) {
  Positions found;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    if (shards[i].key == key) found.push_back(i);
  }
  return found;
}

/// Clients of Qdrant know both codes: that of a read and that of a change.
Result<Positions> shards_of_keys(const Shards& shards, const std::vector<ShardKey>& keys,
                                 Code if_unknown) {
  Positions chosen;
  for (const auto& key : keys) {
    const auto some = shards_of_key(shards, key);
    if (some.empty()) {
      return fail(if_unknown, fmt::format("Shard key {} not found", to_string(key)));
    }
    chosen.insert(chosen.end(), some.begin(), some.end());
  }
  std::ranges::sort(chosen);
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

Result<Positions> shards_with_fallback(const Shards& shards, const ShardKey& key,
                                       const ShardKey& fallback) {
  auto found = shards_of_key(shards, key);
  if (found.empty()) found = shards_of_key(shards, fallback);
  if (!found.empty()) return found;
  return fail(Code::kNotFound,
              fmt::format("Neither target shard key {} nor fallback shard key {} exist",
                          to_string(key), to_string(fallback)));
}

/// `selector` names keys.
Result<Positions> named_shards(const Shards& shards, const ShardSelector& selector,
                               Code if_unknown) {
  const auto& keys = *selector.keys;
  if (selector.fallback && keys.size() == 1) {
    return shards_with_fallback(shards, keys.front(), *selector.fallback);
  }
  return shards_of_keys(shards, keys, if_unknown);
}

}  // namespace

Shards places_of(const CollectionConfig& config) {
  Shards places;
  if (config.sharding == ShardingMethod::kAuto) {
    for (std::uint32_t i = 0; i < config.shard_number; ++i) {
      places.push_back({nullptr, i, i, config.shard_number});
    }
  }
  for (const auto& [key, numbers] : config.shard_keys) {
    const auto n = static_cast<std::uint32_t>(numbers.size());
    for (std::uint32_t i = 0; i < n; ++i) places.push_back({nullptr, numbers[i], i, n, key});
  }
  return places;
}

Result<Positions> shards_to_read(const Shards& shards, const ShardSelector& selector) {
  if (!selector.keys) return every_position(shards);
  return named_shards(shards, selector, Code::kFailedPrecondition);
}

Result<Positions> shards_to_change(const Shards& shards, ShardingMethod method,
                                   const ShardSelector& selector) {
  if (selector.keys && selector.keys->empty()) {
    return fail(Code::kInvalidArgument, "Empty shard keys selection");
  }
  if (selector.keys) return named_shards(shards, selector, Code::kInvalidArgument);
  if (method == ShardingMethod::kAuto || selector.is_everywhere) return every_position(shards);
  return fail(Code::kInvalidArgument, "Shard key not specified");
}

Result<std::vector<UpdatePart>> split_by_key(std::vector<PreparedOperation> operations,
                                             const std::vector<Operation>& sources,
                                             const Shards& shards, ShardingMethod method) {
  std::vector<UpdatePart> by_shard(shards.size());
  for (std::size_t i = 0; i < operations.size(); ++i) {
    QV_TRY(const auto chosen, shards_to_change(shards, method, shards_of(sources[i])));
    for (const std::size_t at : chosen) {
      auto piece = chosen.size() == 1 && shards[at].n_of_key == 1
                       ? std::move(operations[i])
                       : part_for_shard(operations[i], shards[at].position, shards[at].n_of_key);
      if (is_empty(piece)) continue;
      by_shard[at].numbers.push_back(i);
      by_shard[at].operations.push_back(std::move(piece));
    }
  }
  std::vector<UpdatePart> parts;
  for (std::size_t at = 0; at < shards.size(); ++at) {
    if (by_shard[at].operations.empty()) continue;
    by_shard[at].shard = at;
    parts.push_back(std::move(by_shard[at]));
  }
  return parts;
}

}  // namespace quiver::engine
