// Evaluates a filter tree on columns in three-valued logic: each node gives the rows that surely
// match and those that may. A condition of a conjunction sees only the rows left by the conditions
// before it. Those that codes of attributes decide come first, together in one pass.
#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "payload/column/kinds.h"
#include "payload/filter/attribute_match.h"
#include "payload/filter/code_match.h"
#include "payload/filter/evaluation.h"
#include "payload/filter/slice.h"

namespace quiver::payload {
namespace {

/// Finding a row by a column takes as long as comparing about so many codes. Measured with ten
/// ranges of a million rows by bench/aggregates.py, AVX-512: 1.2 ms by codes, 18 ms by columns.
constexpr std::uint32_t kCodesPerColumnRow = 64;

class ColumnEvaluator {
 public:
  ColumnEvaluator(const RowsView& rows, const Cancel& cancel) : rows_(rows), cancel_(cancel) {}

  Result<Verdict> run(const FilterTree& tree, const Bitset& within) {
    QV_TRY(cancel_.check());
    std::vector<CodeCondition> codes;
    const auto must = split(tree.must, Wanted::kTrue, codes);
    const auto must_not = split(tree.must_not, Wanted::kFalse, codes);
    auto [yes, possible] = match_codes(codes, within);
    QV_TRY(all_of(must, yes, possible));
    if (!tree.should.empty()) QV_TRY(some_of(tree.should, yes, possible));
    if (tree.min_count) QV_TRY(at_least(*tree.min_count, tree.min_should, yes, possible));
    QV_TRY(none_of(must_not, yes, possible));
    possible.subtract(yes);
    return Verdict{std::move(yes), std::move(possible)};
  }

 private:
  enum class Wanted : std::uint8_t { kFalse, kTrue };

  /// Appends the conditions that codes of rows decide to `codes`; returns the other nodes.
  std::vector<const Node*> split(const std::vector<Node>& nodes, Wanted wanted,
                                 std::vector<CodeCondition>& codes) {
    std::vector<const Node*> others;
    for (const Node& node : nodes) {
      auto condition = code_condition(node);
      if (!condition) {
        others.push_back(&node);
        continue;
      }
      if (wanted == Wanted::kFalse) condition->negate();
      codes.push_back(*std::move(condition));
    }
    return others;
  }

  /// nullopt unless one attribute has a code for each row, and no column is better.
  [[nodiscard]] std::optional<CodeCondition> code_condition(const Node& node) const {
    const auto* field = std::get_if<FieldNode>(&node);
    if (field == nullptr) return std::nullopt;
    const auto parts = attributes_of(rows_, *field);
    if (parts.size() != 1 || parts[0].view == nullptr || parts[0].first_row != 0 ||
        parts[0].n_rows < rows_.n_rows()) {
      return std::nullopt;
    }
    auto condition = CodeCondition::make(*parts[0].view, field->condition);
    const ColumnView* column = find_column(rows_, *field);
    if (!condition || column == nullptr) return condition;
    const auto n_found = estimate_column(*column, field->condition, rows_.n_rows()).expected;
    const bool is_better = condition->is_exact() && n_found > rows_.n_rows() / kCodesPerColumnRow;
    return is_better ? std::move(condition) : std::nullopt;
  }

  Result<> all_of(const std::vector<const Node*>& nodes, Bitset& yes, Bitset& possible) {
    for (const Node* node : nodes) {
      if (possible.none()) break;
      QV_TRY(Verdict verdict, run_node(*node, possible));
      yes &= verdict.yes;
      possible = std::move(verdict.yes |= verdict.maybe);
    }
    return {};
  }

  Result<> some_of(const std::vector<Node>& nodes, Bitset& yes, Bitset& possible) {
    Bitset some_yes(possible.size());
    Bitset some_possible(possible.size());
    Bitset open = possible;  // not decided yet
    for (const Node& node : nodes) {
      if (open.none()) break;
      QV_TRY(const Verdict verdict, run_node(node, open));
      some_yes |= verdict.yes;
      some_possible |= verdict.yes;
      some_possible |= verdict.maybe;
      open.subtract(verdict.yes);
    }
    yes &= some_yes;
    possible &= some_possible;
    return {};
  }

  Result<> none_of(const std::vector<const Node*>& nodes, Bitset& yes, Bitset& possible) {
    for (const Node* node : nodes) {
      if (possible.none()) break;
      QV_TRY(const Verdict verdict, run_node(*node, possible));
      possible.subtract(verdict.yes);
      yes.subtract(verdict.yes);
      yes.subtract(verdict.maybe);
    }
    return {};
  }

  Result<> at_least(std::uint64_t min_count, const std::vector<Node>& nodes, Bitset& yes,
                    Bitset& possible) {
    std::vector<std::uint32_t> n_yes(possible.size(), 0);
    std::vector<std::uint32_t> n_possible(possible.size(), 0);
    for (const Node& node : nodes) {
      QV_TRY(const Verdict verdict, run_node(node, possible));
      verdict.yes.for_each([&](std::size_t row) { ++n_yes[row], ++n_possible[row]; });
      verdict.maybe.for_each([&](std::size_t row) { ++n_possible[row]; });
    }
    const Bitset before = possible;
    before.for_each([&](std::size_t row) {
      if (n_yes[row] < min_count) yes.reset(row);
      if (n_possible[row] < min_count) possible.reset(row);
    });
    return {};
  }

  Result<Verdict> run_node(const Node& node, const Bitset& within) {
    QV_TRY(cancel_.check());
    return std::visit([&](const auto& n) { return match(n, within); }, node);
  }

  Result<Verdict> match(const FieldNode& field, const Bitset& within) {
    const ColumnView* column = find_column(rows_, field);
    if (column != nullptr) return match_column(*column, field.condition, within);
    return match_attributes(attributes_of(rows_, field), field.condition, within);
  }

  /// The only row that may have this id, of rows whose id order is known; their number if none may.
  [[nodiscard]] std::size_t row_of(const PointId& id) const {
    const auto ids = rows_.ids();
    const auto order = rows_.id_order();
    if (order.empty()) {
      return static_cast<std::size_t>(std::lower_bound(ids.begin(), ids.end(), id) - ids.begin());
    }
    const auto is_below = [&](std::uint32_t row, const PointId& wanted) {
      return ids[row] < wanted;
    };
    const auto found = std::lower_bound(order.begin(), order.end(), id, is_below);
    return found == order.end() ? ids.size() : *found;
  }

  Result<Verdict> match(const HasIdNode& node, const Bitset& within) {
    Verdict verdict{Bitset(within.size()), Bitset(within.size())};
    const auto ids = rows_.ids();
    if (rows_.sorted_ids() || !rows_.id_order().empty()) {
      for (const PointId& id : node.ids) {
        const auto row = row_of(id);
        if (row < ids.size() && ids[row] == id && within.test(row)) verdict.yes.set(row);
      }
      return verdict;
    }
    const std::unordered_set<PointId> wanted(node.ids.begin(), node.ids.end());
    within.for_each([&](std::size_t row) {
      if (wanted.contains(ids[row])) verdict.yes.set(row);
    });
    return verdict;
  }

  Result<Verdict> match(const HasVectorNode& node, const Bitset& within) {
    Verdict verdict{Bitset(within.size()), Bitset(within.size())};
    const std::uint8_t* present = rows_.present(node.name);
    if (present == nullptr) return verdict;
    within.for_each([&](std::size_t row) {
      if (present[row] != 0) verdict.yes.set(row);
    });
    return verdict;
  }

  /// Of several conditions, columns can rule rows out; but only the document tells whether they
  /// meet in one element.
  Result<Verdict> match(const NestedNode& node, const Bitset& within) {
    if (!node.sufficient.empty()) return match_any(node.sufficient, within);
    Bitset possible = within;
    for (const FieldNode& field : node.necessary) {
      QV_TRY(Verdict verdict, match(field, possible));
      possible = std::move(verdict.yes |= verdict.maybe);
    }
    return Verdict{Bitset(within.size()), std::move(possible)};
  }

  Result<Verdict> match_any(const std::vector<FieldNode>& fields, const Bitset& within) {
    Verdict any{Bitset(within.size()), Bitset(within.size())};
    for (const FieldNode& field : fields) {
      QV_TRY(const Verdict verdict, match(field, within));
      any.yes |= verdict.yes;
      any.maybe |= verdict.maybe;
    }
    any.maybe.subtract(any.yes);
    return any;
  }

  Result<Verdict> match(const std::shared_ptr<const FilterTree>& tree, const Bitset& within) {
    return run(*tree, within);
  }

  Result<Verdict> match(const Slice& slice, const Bitset& within) {
    Verdict verdict{Bitset(within.size()), Bitset(within.size())};
    const auto ids = rows_.ids();
    within.for_each([&](std::size_t row) {
      if (is_in_slice(slice, ids[row])) verdict.yes.set(row);
    });
    return verdict;
  }

  const RowsView& rows_;
  const Cancel& cancel_;
};

}  // namespace

const ColumnView* find_column(const RowsView& rows, const FieldNode& field) {
  if (!field.index) return nullptr;
  const ColumnView* column = rows.column(field.index->key);
  if (column == nullptr || column->n_rows < rows.n_rows()) return nullptr;
  if (column->index->kind != field.index->kind) return nullptr;
  const bool has_tokens = traits_of(field.index->kind).decides(Decidable::kTokens);
  return !has_tokens || column->index->text == field.index->text ? column : nullptr;
}

std::vector<AttributePart> attributes_of(const RowsView& rows, const FieldNode& field) {
  if (field.attribute_path.empty()) return {};
  return rows.attributes(field.attribute_path);
}

Result<Verdict> match_columns(const FilterTree& tree, const RowsView& rows, const Bitset& within,
                              const Cancel& cancel) {
  return ColumnEvaluator(rows, cancel).run(tree, within);
}

}  // namespace quiver::payload
