// Names of the shards of a collection whose shards have nodes of their own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quiver::engine {

/// Each shard of `docs` is a collection on its nodes, `docs/0`, `docs/1` and so on: names that no
/// client can give. docs/decisions/0076.
struct PartName {
  std::string collection;
  std::uint32_t part = 0;
};
[[nodiscard]] std::string part_name(std::string_view collection, std::uint32_t part);
/// nullopt: it is the name of a whole collection.
[[nodiscard]] std::optional<PartName> parse_part_name(std::string_view name);

}  // namespace quiver::engine
