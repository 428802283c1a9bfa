// Estimates the number of rows that match a filter tree. Bounds combine exactly; expected values
// combine as if conditions were independent.
#include <algorithm>
#include <cmath>
#include <vector>

#include "payload/filter/attribute_match.h"
#include "payload/filter/evaluation.h"

namespace quiver::payload {
namespace {

class Estimator {
 public:
  explicit Estimator(const RowsView& rows) : rows_(rows), n_(rows.n_rows()) {}

  Estimate run(const FilterTree& tree) const {
    std::vector<Estimate> parts;
    for (const Node& node : tree.must) parts.push_back(run_node(node));
    if (!tree.should.empty()) parts.push_back(some_of(tree.should));
    if (tree.min_count) parts.push_back(at_least(*tree.min_count, tree.min_should));
    for (const Node& node : tree.must_not) parts.push_back(complement(run_node(node)));
    return all_of(parts);
  }

 private:
  [[nodiscard]] double share(std::uint64_t count) const {
    return n_ == 0 ? 0 : static_cast<double>(count) / static_cast<double>(n_);
  }
  [[nodiscard]] Estimate with_share(std::uint64_t min, double expected_share,
                                    std::uint64_t max) const {
    const auto expected =
        static_cast<std::uint64_t>(std::llround(expected_share * static_cast<double>(n_)));
    return {min, std::clamp(expected, min, std::max(min, max)), max};
  }
  [[nodiscard]] Estimate complement(const Estimate& e) const {
    return {n_ - e.max, n_ - e.expected, n_ - e.min};
  }

  [[nodiscard]] Estimate all_of(const std::vector<Estimate>& parts) const {
    std::uint64_t lost = 0;  // upper bound of the rows that fail some part
    std::uint64_t max = n_;
    double expected = 1;
    for (const Estimate& part : parts) {
      lost += n_ - part.min;
      max = std::min(max, part.max);
      expected *= share(part.expected);
    }
    return with_share(lost >= n_ ? 0 : n_ - lost, expected, max);
  }

  template <class Nodes>
  [[nodiscard]] Estimate some_of(const Nodes& nodes) const {
    std::uint64_t min = 0;
    std::uint64_t sum = 0;
    double none = 1;
    for (const auto& node : nodes) {
      const Estimate part = run_node(node);
      min = std::max(min, part.min);
      sum = std::min(n_, sum + part.max);
      none *= 1 - share(part.expected);
    }
    return with_share(min, 1 - none, sum);
  }

  /// A row that satisfies `min_count` conditions is counted by that many of them.
  [[nodiscard]] Estimate at_least(std::uint64_t min_count, const std::vector<Node>& nodes) const {
    if (min_count == 0) return {n_, n_, n_};
    if (min_count > nodes.size()) return {};
    if (min_count == 1) return some_of(nodes);
    std::uint64_t sum_max = 0;
    std::uint64_t sum_expected = 0;
    for (const Node& node : nodes) {
      const Estimate part = run_node(node);
      sum_max += part.max;
      sum_expected += part.expected;
    }
    return with_share(0, share(sum_expected / min_count / 2), std::min(n_, sum_max / min_count));
  }

  [[nodiscard]] Estimate run_node(const FieldNode& field) const { return estimate(field); }
  [[nodiscard]] Estimate run_node(const Node& node) const {
    return std::visit([&](const auto& n) { return estimate(n); }, node);
  }
  [[nodiscard]] Estimate estimate(const FieldNode& field) const {
    const ColumnView* column = find_column(rows_, field);
    const auto attributes = attributes_of(rows_, field);
    if (column == nullptr) return estimate_attributes(attributes, field.condition, n_);
    const AttributeView* codes = one_code_a_row(attributes, rows_.n_rows());
    return estimate_column(*column, field.condition, n_, codes != nullptr);
  }
  [[nodiscard]] Estimate estimate(const HasIdNode& node) const {
    const std::uint64_t most = std::min<std::uint64_t>(n_, node.ids.size());
    return {0, most, most};
  }
  [[nodiscard]] Estimate estimate(const HasVectorNode& node) const {
    if (rows_.present(node.name) == nullptr) return {};
    return {0, n_, n_};
  }
  [[nodiscard]] Estimate estimate(const NestedNode& node) const {
    if (!node.sufficient.empty()) return some_of(node.sufficient);
    std::vector<Estimate> parts{{0, n_ / 2, n_}};
    for (const FieldNode& field : node.necessary) {
      const Estimate part = estimate(field);
      parts.push_back({0, part.expected, part.max});
    }
    return all_of(parts);
  }
  [[nodiscard]] Estimate estimate(const std::shared_ptr<const FilterTree>& tree) const {
    return run(*tree);
  }
  [[nodiscard]] Estimate estimate(const Slice& slice) const { return {0, n_ / slice.total, n_}; }

  const RowsView& rows_;
  const std::uint64_t n_;
};

}  // namespace

Estimate estimate_tree(const FilterTree& tree, const RowsView& rows) {
  return Estimator(rows).run(tree);
}

}  // namespace quiver::payload
