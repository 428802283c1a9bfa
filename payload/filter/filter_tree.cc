#include "payload/filter/filter_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "payload/attribute/attribute.h"

namespace quiver::payload {
namespace {

class TreeBuilder {
 public:
  /// Skips indexes whose key is not a valid path; no condition can use them.
  explicit TreeBuilder(std::span<const FieldIndex> indexes) {
    for (const FieldIndex& index : indexes) {
      if (auto path = JsonPath::parse(index.key)) indexes_.emplace_back(std::move(*path), index);
    }
  }

  /// Builds the tree of `filter`. For a nested filter, `base` is the path of its elements.
  Result<std::shared_ptr<const FilterTree>> build(const Filter& filter,
                                                  const std::optional<JsonPath>& base, int depth) {
    if (depth > kMaxFilterDepth) {
      return fail(Code::kInvalidArgument,
                  fmt::format("filter nests deeper than {} levels", kMaxFilterDepth));
    }
    auto tree = std::make_shared<FilterTree>();
    QV_TRY(tree->must, build_all(filter.must, base, depth));
    QV_TRY(tree->should, build_all(filter.should, base, depth));
    QV_TRY(tree->must_not, build_all(filter.must_not, base, depth));
    if (filter.min_should) {
      QV_TRY(tree->min_should, build_all(filter.min_should->conditions, base, depth));
      tree->min_count = filter.min_should->min_count;
    }
    return std::shared_ptr<const FilterTree>(std::move(tree));
  }

 private:
  Result<std::vector<Node>> build_all(const std::vector<Condition>& conditions,
                                      const std::optional<JsonPath>& base, int depth) {
    std::vector<Node> nodes;
    nodes.reserve(conditions.size());
    for (const Condition& condition : conditions) {
      QV_TRY(auto node,
             std::visit([&](const auto& c) { return build_node(c, base, depth); }, condition));
      nodes.push_back(std::move(node));
    }
    return nodes;
  }

  Result<Node> build_node(const FieldCondition& condition, const std::optional<JsonPath>& base,
                          int) {
    QV_TRY(JsonPath path, JsonPath::parse(condition.key));
    const JsonPath from_root = base ? base->join(path) : path;
    const FieldIndex* index = find_index(from_root);
    QV_TRY(PreparedCondition prepared, prepare(condition.condition, index));
    auto declared = index == nullptr ? std::nullopt : std::optional(*index);
    return Node(FieldNode{std::move(path), std::move(prepared), std::move(declared),
                          attribute_path(from_root)});
  }
  static Result<Node> build_node(const HasId& condition, const std::optional<JsonPath>&, int) {
    auto ids = condition.ids;
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    return Node(HasIdNode{std::move(ids)});
  }
  static Result<Node> build_node(const HasVector& condition, const std::optional<JsonPath>&, int) {
    return Node(HasVectorNode{condition.name});
  }
  Result<Node> build_node(const Nested& condition, const std::optional<JsonPath>& base, int depth) {
    QV_TRY(const JsonPath path, JsonPath::parse(condition.key));
    JsonPath elements = path.each();
    const JsonPath from_root = base ? base->join(elements) : elements;
    static const Filter kEmpty;
    const Filter& inner = condition.filter ? *condition.filter : kEmpty;
    QV_TRY(auto tree, build(inner, from_root, depth + 1));
    NestedNode node{std::move(elements), tree, objects_path(from_root), {}};
    for (const Node& part : tree->must) add_if_existential(part, node.elements, node.necessary);
    node.sufficient = sufficient_of(*tree, node.elements);
    return Node(std::move(node));
  }
  Result<Node> build_node(const std::shared_ptr<const Filter>& condition,
                          const std::optional<JsonPath>& base, int depth) {
    static const Filter kEmpty;
    QV_TRY(auto tree, build(condition ? *condition : kEmpty, base, depth + 1));
    return Node(std::move(tree));
  }

  static Result<Node> build_node(const Slice& condition, const std::optional<JsonPath>&, int) {
    if (condition.index < condition.total) return Node(condition);
    return fail(Code::kInvalidArgument,
                fmt::format("slice index is {}, must be less than the total of {} slices",
                            condition.index, condition.total));
  }

  /// Adds the condition on whole documents, if `part` asks whether some value satisfies something.
  static void add_if_existential(const Node& part, const JsonPath& elements,
                                 std::vector<FieldNode>& out) {
    const auto* field = std::get_if<FieldNode>(&part);
    if (field == nullptr || !is_existential(field->condition)) return;
    out.push_back(
        {elements.join(field->path), field->condition, field->index, field->attribute_path});
  }

  /// "Some element satisfies A or B" is "some element satisfies A, or some element B".
  static std::vector<FieldNode> sufficient_of(const FilterTree& tree, const JsonPath& elements) {
    if (!tree.must_not.empty() || tree.min_count) return {};
    const bool is_one = tree.must.size() == 1 && tree.should.empty();
    if (!is_one && !tree.must.empty()) return {};
    const auto& parts = is_one ? tree.must : tree.should;
    std::vector<FieldNode> fields;
    for (const Node& part : parts) add_if_existential(part, elements, fields);
    return fields.size() == parts.size() ? fields : std::vector<FieldNode>();
  }

  [[nodiscard]] const FieldIndex* find_index(const JsonPath& path) const {
    for (const auto& [index_path, index] : indexes_) {
      if (index_path == path) return &index;
    }
    return nullptr;
  }

  std::vector<std::pair<JsonPath, FieldIndex>> indexes_;
};

}  // namespace

Result<std::shared_ptr<const FilterTree>> build_tree(const Filter& filter,
                                                     std::span<const FieldIndex> indexes) {
  return TreeBuilder(indexes).build(filter, std::nullopt, 0);
}

}  // namespace quiver::payload
