// A filter with parsed paths, prepared conditions and resolved indexes.
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
#include "payload/filter/condition.h"
#include "payload/json/path.h"
#include "payload/schema.h"

namespace quiver::payload {

struct FieldNode {
  JsonPath path;
  PreparedCondition condition;
  std::optional<FieldIndex> index;  ///< declared for this path; nullopt if there is none
  /// Canonical, from the root of the document; empty if attributes never have such a path.
  std::string attribute_path;
};
struct HasIdNode {
  std::vector<PointId> ids;  ///< ascending, distinct
};
struct HasVectorNode {
  std::string name;
};

struct FilterTree;

struct NestedNode {
  JsonPath elements;  ///< ends in `[]`
  std::shared_ptr<const FilterTree> filter;
  /// `payload::objects_path` of `elements` from the root of the document.
  std::string objects_path;
  /// Conditions that the whole document satisfies if one of its elements satisfies `filter`, on
  /// `elements` + inner path.
  std::vector<FieldNode> necessary;
  /// If not empty: the document satisfies the node exactly if it satisfies one of these, likewise
  /// on `elements` + inner path. So it is with one condition, or one of several: then it does not
  /// matter whether conditions meet in one element.
  std::vector<FieldNode> sufficient = {};
};

using Node = std::variant<FieldNode, HasIdNode, HasVectorNode, NestedNode,
                          std::shared_ptr<const FilterTree>, Slice>;

struct FilterTree {
  std::vector<Node> must;
  std::vector<Node> should;
  std::vector<Node> must_not;
  std::vector<Node> min_should;
  std::optional<std::uint64_t> min_count;  ///< for `min_should`

  [[nodiscard]] bool empty() const {
    return must.empty() && should.empty() && must_not.empty() && !min_count;
  }
};

/// Maximum nesting depth of a filter.
inline constexpr int kMaxFilterDepth = 64;

/// Errors are those of `compile` in predicate.h.
[[nodiscard]] Result<std::shared_ptr<const FilterTree>> build_tree(
    const Filter& filter, std::span<const FieldIndex> indexes);

}  // namespace quiver::payload
