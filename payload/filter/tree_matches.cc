#include <algorithm>

#include "payload/filter/evaluation.h"
#include "payload/filter/slice.h"

namespace quiver::payload {
namespace {

bool node_matches(const Node& node, const OnePoint& point);

bool matches(const FieldNode& field, const OnePoint& point) {
  return passes(field.condition, field.path, point.document);
}
bool matches(const HasIdNode& node, const OnePoint& point) {
  return point.id != nullptr && std::binary_search(node.ids.begin(), node.ids.end(), *point.id);
}
bool matches(const HasVectorNode& node, const OnePoint& point) {
  return point.has_vector != nullptr && *point.has_vector && (*point.has_vector)(node.name);
}
bool matches(const NestedNode& node, const OnePoint& point) {
  bool found = false;
  for_each_value(point.document, node.elements, [&](const Value& element) {
    if (found || element.as_object() == nullptr) return;
    found = tree_matches(*node.filter, {element});
  });
  return found;
}
bool matches(const std::shared_ptr<const FilterTree>& tree, const OnePoint& point) {
  return tree_matches(*tree, point);
}
bool matches(const Slice& slice, const OnePoint& point) {
  return point.id != nullptr && is_in_slice(slice, *point.id);
}

bool node_matches(const Node& node, const OnePoint& point) {
  return std::visit([&](const auto& n) { return matches(n, point); }, node);
}

}  // namespace

bool tree_matches(const FilterTree& tree, const OnePoint& point) {
  const auto holds = [&](const Node& node) { return node_matches(node, point); };
  const auto& [must, should, must_not, min_should, min_count] = tree;
  if (!std::all_of(must.begin(), must.end(), holds)) return false;
  if (!should.empty() && std::none_of(should.begin(), should.end(), holds)) return false;
  if (std::any_of(must_not.begin(), must_not.end(), holds)) return false;
  if (!min_count) return true;
  const auto n = std::count_if(min_should.begin(), min_should.end(), holds);
  return static_cast<std::uint64_t>(n) >= *min_count;
}

}  // namespace quiver::payload
