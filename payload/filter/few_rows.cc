#include "payload/filter/few_rows.h"

#include <algorithm>
#include <span>

#include "payload/column/kinds.h"
#include "payload/filter/column_terms.h"
#include "payload/filter/evaluation.h"

namespace quiver::payload {
namespace {

using RowSpan = std::span<const std::uint32_t>;
/// Lists of rows whose union has all that match; nullopt: columns do not tell.
using RowLists = std::optional<std::vector<RowSpan>>;

RowLists postings_of(const ColumnView& column, const std::vector<std::uint32_t>& terms) {
  std::vector<RowSpan> lists;
  lists.reserve(terms.size());
  for (const std::uint32_t term : terms) lists.push_back(column.postings(term));
  return lists;
}

RowSpan sorted_rows(const ColumnView& column, SortedRange range) {
  return column.sorted_rows.span().subspan(range.first, range.size());
}

RowLists lists_of(const ColumnView& column, const MembershipCondition& condition) {
  if (condition.mode == MembershipCondition::Mode::kNoneOf ||
      !holds(column.index->kind, condition.type)) {
    return std::nullopt;
  }
  if (condition.type != ScalarType::kInteger) {
    return postings_of(column, wanted_terms(column, condition));
  }
  std::vector<RowSpan> lists;
  for (const std::int64_t value : condition.integers) {
    const auto range = find_sorted(column.sorted_integers.span(), value, value);
    lists.push_back(sorted_rows(column, range));
  }
  return lists;
}

RowLists lists_of(const ColumnView& column, const RangeCondition& condition) {
  const IndexTraits& traits = traits_of(column.index->kind);
  if (!traits.decides(Decidable::kRange)) return std::nullopt;
  const bool is_integer = traits.storage == ValueStorage::kIntegers;
  const auto range = is_integer ? find_sorted(column.sorted_integers.span(), condition.integers.low,
                                              condition.integers.high)
                                : find_sorted(column.sorted_doubles.span(), condition.doubles.low,
                                              condition.doubles.high);
  // Numbers that the column does not hold exactly are decided by documents.
  return std::vector<RowSpan>{sorted_rows(column, range), column.irregular.span()};
}

RowLists lists_of(const ColumnView& column, const DatetimeCondition& condition) {
  if (!traits_of(column.index->kind).decides(Decidable::kDatetimeRange)) return std::nullopt;
  const auto range =
      find_sorted(column.sorted_integers.span(), condition.micros.low, condition.micros.high);
  return std::vector<RowSpan>{sorted_rows(column, range)};
}

RowLists lists_of(const ColumnView& column, const TextCondition& condition) {
  const bool has_tokens = traits_of(column.index->kind).decides(Decidable::kTokens);
  if (condition.words.empty() || !condition.tokens || !has_tokens || !condition.patterns.empty()) {
    return std::nullopt;
  }
  if (condition.mode == TextCondition::Mode::kAny) {
    return postings_of(column, find_terms(column, condition.words));
  }
  RowLists rarest;
  for (const auto& word : condition.words) {
    const std::uint32_t term = column.find_term(word);
    if (term == ColumnView::kNoTerm) return std::vector<RowSpan>();
    const RowSpan rows = column.postings(term);
    if (!rarest || rows.size() < rarest->front().size()) rarest = {rows};
  }
  return rarest;
}

template <class Prepared>
RowLists lists_of(const ColumnView& /*column*/, const Prepared& /*condition*/) {
  return std::nullopt;
}

using Rows = std::optional<std::vector<std::uint32_t>>;

/// Finds rows of one node or tree, unsorted and with repetitions.
class Finder {
 public:
  Finder(const RowsView& rows, std::size_t most) : rows_(rows), most_(most) {}

  [[nodiscard]] Rows find(const FilterTree& tree) const {
    Rows best;
    for (const Node& node : tree.must) {
      Rows found = of_node(node, best ? best->size() : most_);
      if (found) best = std::move(found);
      if (best && best->empty()) return best;
    }
    if (best || tree.should.empty()) return best;
    return of_any(tree.should);
  }

 private:
  [[nodiscard]] Rows of_any(const std::vector<Node>& nodes) const {
    std::vector<std::uint32_t> all;
    for (const Node& node : nodes) {
      const Rows found = of_node(node, most_ - all.size());
      if (!found) return std::nullopt;
      all.insert(all.end(), found->begin(), found->end());
    }
    return all;
  }

  [[nodiscard]] Rows of_node(const Node& node, std::size_t most) const {
    return std::visit([&](const auto& n) { return of(n, most); }, node);
  }
  [[nodiscard]] Rows of(const FieldNode& field, std::size_t most) const {
    const ColumnView* column = find_column(rows_, field);
    if (column == nullptr || !column->sealed) return std::nullopt;
    const auto lists =
        std::visit([&](const auto& c) { return lists_of(*column, c); }, field.condition);
    if (!lists) return std::nullopt;
    std::size_t n = 0;
    for (const RowSpan& list : *lists) n += list.size();
    if (n > most) return std::nullopt;
    std::vector<std::uint32_t> found;
    found.reserve(n);
    for (const RowSpan& list : *lists) found.insert(found.end(), list.begin(), list.end());
    return found;
  }
  [[nodiscard]] Rows of(const HasIdNode& node, std::size_t most) const {
    const bool has_order = rows_.sorted_ids() || !rows_.id_order().empty();
    if (!has_order || node.ids.size() > most) return std::nullopt;
    std::vector<std::uint32_t> found;
    for (const PointId& id : node.ids) {
      const std::size_t row = row_of_id(rows_, id);
      if (row < rows_.n_rows()) found.push_back(static_cast<std::uint32_t>(row));
    }
    return found;
  }
  [[nodiscard]] Rows of(const std::shared_ptr<const FilterTree>& tree, std::size_t most) const {
    return Finder(rows_, most).find(*tree);
  }
  template <class Other>
  [[nodiscard]] Rows of(const Other& /*node*/, std::size_t /*most*/) const {
    return std::nullopt;
  }

  const RowsView& rows_;
  std::size_t most_;
};

}  // namespace

Rows few_rows(const FilterTree& tree, const RowsView& rows, std::size_t most) {
  Rows found = Finder(rows, most).find(tree);
  if (!found) return found;
  std::sort(found->begin(), found->end());
  found->erase(std::unique(found->begin(), found->end()), found->end());
  // A column may have more rows than the view.
  while (!found->empty() && found->back() >= rows.n_rows()) found->pop_back();
  return found;
}

std::size_t row_of_id(const RowsView& rows, const PointId& id) {
  const auto ids = rows.ids();
  const auto order = rows.id_order();
  if (order.empty()) {
    return static_cast<std::size_t>(std::lower_bound(ids.begin(), ids.end(), id) - ids.begin());
  }
  const auto is_below = [&](std::uint32_t row, const PointId& wanted) { return ids[row] < wanted; };
  const auto found = std::lower_bound(order.begin(), order.end(), id, is_below);
  return found == order.end() ? ids.size() : *found;
}

}  // namespace quiver::payload
