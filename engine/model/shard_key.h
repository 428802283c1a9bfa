// Names of groups of shards, and which of them a request concerns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/variant.h"

namespace quiver::engine {

/// The name of a group of shards, chosen by the user. A number differs from its text.
using ShardKey = Variant<std::string, std::uint64_t>;

/// Longest text of a key, bytes.
inline constexpr std::size_t kMaxShardKeyBytes = 1024;

/// As errors name it: a text in quotes, or the number.
[[nodiscard]] inline std::string to_string(const ShardKey& key) {
  if (const auto* text = std::get_if<std::string>(&key)) return '"' + *text + '"';
  return std::to_string(std::get<std::uint64_t>(key));
}

/// The keys that a request concerns.
struct ShardSelector {
  /// nullopt: none is named. Then a read concerns all shards; a change needs a key if the
  /// collection has custom sharding.
  std::optional<std::vector<ShardKey>> keys;
  std::optional<ShardKey> fallback;  ///< stands in for the only key while that does not exist
  bool is_everywhere = false;        ///< a change of all shards, whatever their keys

  bool operator==(const ShardSelector&) const = default;
};

/// A key to be created.
/// The position of a point's shard among `n_shards`.
[[nodiscard]] inline std::uint32_t shard_of(const PointId& id, std::uint32_t n_shards) {
  return n_shards == 1 ? 0 : static_cast<std::uint32_t>(id.hash() % n_shards);
}

struct ShardKeyCreation {
  ShardKey key;
  /// Number of its shards; nullopt: the `shard_number` of the collection.
  std::optional<std::uint32_t> n_shards;
};

}  // namespace quiver::engine
