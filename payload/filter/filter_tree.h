// A filter whose paths are parsed, tests prepared and indexes looked up.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "payload/filter.h"
#include "payload/filter/field_test.h"
#include "payload/json/path.h"
#include "payload/schema.h"

namespace quiver::payload {

struct FieldNode {
  Path path;
  PreparedTest test;
  std::optional<FieldIndex> index;  ///< declared for this path
};
struct HasIdNode {
  std::vector<PointId> ids;  ///< ascending, distinct
};
struct HasVectorNode {
  std::string name;
};

struct FilterTree;

struct NestedNode {
  Path elements;  ///< ends in `[]`
  std::shared_ptr<const FilterTree> filter;
  /// What the document must pass as a whole if one of its elements passes `filter`: tests of
  /// `elements` + inner path that have an index.
  std::vector<FieldNode> necessary;
};

using Node = std::variant<FieldNode, HasIdNode, HasVectorNode, NestedNode,
                          std::shared_ptr<const FilterTree>>;

struct FilterTree {
  std::vector<Node> must;
  std::vector<Node> should;
  std::vector<Node> must_not;
  std::vector<Node> min_should;
  std::optional<std::uint64_t> min_count;  ///< of `min_should`

  [[nodiscard]] bool empty() const {
    return must.empty() && should.empty() && must_not.empty() && !min_count;
  }
};

/// Errors as `compile` in predicate.h.
[[nodiscard]] Result<std::shared_ptr<const FilterTree>> build_tree(
    const Filter& filter, std::span<const FieldIndex> indexes);

}  // namespace quiver::payload
