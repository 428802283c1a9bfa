// Aliases of collections, and changes of them.
#pragma once

#include <cstdint>
#include <string>

namespace quiver::storage {

/// Another name of a collection.
struct AliasEntry {
  std::string name;
  std::string collection;
  bool operator==(const AliasEntry&) const = default;
};

/// One step of `Catalog::apply_aliases`.
struct AliasChange {
  enum class Kind : std::uint8_t { kCreate, kDelete, kRename };
  Kind kind = Kind::kCreate;
  std::string alias;
  std::string target;  ///< kCreate: the collection; kRename: the alias's new name
};

}  // namespace quiver::storage
