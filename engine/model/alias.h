// Aliases, other names of collections, and what changes them.
#pragma once

#include <string>
#include <variant>

namespace quiver::engine {

struct Alias {
  std::string alias;
  std::string collection;
};
struct CreateAlias {
  std::string collection, alias;
};
struct DeleteAlias {
  std::string alias;
};
struct RenameAlias {
  std::string old_alias, new_alias;
};
using AliasAction = std::variant<CreateAlias, DeleteAlias, RenameAlias>;

}  // namespace quiver::engine
