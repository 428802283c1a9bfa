#include "payload/filter/few_rows.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>

#include "payload/column/kinds.h"
#include "payload/filter/column_terms.h"
#include "payload/filter/evaluation.h"

namespace quiver::payload {
namespace {

using RowSpan = std::span<const std::uint32_t>;
/// Lists of rows whose union has all that match.
struct UnionOfRows {
  std::vector<RowSpan> lists;
  bool is_exact = true;  ///< the union has no others
};
/// nullopt: columns do not tell.
using RowLists = std::optional<UnionOfRows>;

RowLists postings_of(const ColumnView& column, const std::vector<std::uint32_t>& terms) {
  UnionOfRows rows;
  rows.lists.reserve(terms.size());
  for (const std::uint32_t term : terms) rows.lists.push_back(column.postings(term));
  return rows;
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
  UnionOfRows rows;
  for (const std::int64_t value : condition.integers) {
    const auto range = find_sorted(column.sorted_integers.span(), value, value);
    rows.lists.push_back(sorted_rows(column, range));
  }
  return rows;
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
  return UnionOfRows{{sorted_rows(column, range), column.irregular.span()},
                     column.irregular.empty()};
}

RowLists lists_of(const ColumnView& column, const DatetimeCondition& condition) {
  if (!traits_of(column.index->kind).decides(Decidable::kDatetimeRange)) return std::nullopt;
  const auto range =
      find_sorted(column.sorted_integers.span(), condition.micros.low, condition.micros.high);
  return UnionOfRows{{sorted_rows(column, range)}};
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
    if (term == ColumnView::kNoTerm) return UnionOfRows();
    const RowSpan rows = column.postings(term);
    const bool is_rarer = !rarest || rows.size() < rarest->lists.front().size();
    if (is_rarer) rarest = UnionOfRows{{rows}, condition.words.size() == 1};
  }
  return rarest;
}

template <class Prepared>
RowLists lists_of(const ColumnView& /*column*/, const Prepared& /*condition*/) {
  return std::nullopt;
}

/// Values that a condition lists. Nearly each has a row: so many are not looked up in vain.
std::size_t n_listed(const PreparedCondition& condition) {
  const auto* membership = std::get_if<MembershipCondition>(&condition);
  return membership == nullptr ? 0 : membership->strings.size() + membership->integers.size();
}

using Rows = std::optional<FewRows>;

/// Sorts by the digits of numbers below `n_rows`, from the last on: `std::sort` mispredicts a
/// branch for each comparison.
void sort_rows(std::vector<std::uint32_t>& rows, std::uint32_t n_rows) {
  constexpr std::size_t kLeastForDigits = 64;
  constexpr unsigned kDigitBits = 11;
  if (std::is_sorted(rows.begin(), rows.end())) return;
  if (rows.size() < kLeastForDigits) return std::sort(rows.begin(), rows.end());
  std::vector<std::uint32_t> sorted(rows.size());
  for (unsigned shift = 0; shift < 32 && n_rows >> shift != 0; shift += kDigitBits) {
    std::array<std::uint32_t, (1U << kDigitBits) + 1> starts{};
    const auto digit = [&](std::uint32_t row) { return row >> shift & ((1U << kDigitBits) - 1); };
    for (const std::uint32_t row : rows) ++starts[digit(row) + 1];
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    for (const std::uint32_t row : rows) sorted[starts[digit(row)]++] = row;
    rows.swap(sorted);
  }
}

/// Finds rows of one node or tree, unsorted and with repetitions.
class Finder {
 public:
  Finder(const RowsView& rows, std::size_t most) : rows_(rows), most_(most) {}

  [[nodiscard]] Rows find(const FilterTree& tree) const {
    Rows best;
    for (const Node& node : tree.must) {
      Rows found = of_node(node, best ? best->rows.size() : most_);
      if (found) best = std::move(found);
      if (best && best->rows.empty()) return best;
    }
    if (!best && !tree.should.empty()) best = of_any(tree.should);
    const bool is_alone = tree.must.size() + (tree.should.empty() ? 0U : 1U) == 1 &&
                          tree.must_not.empty() && !tree.min_count;
    if (best) best->is_exact = best->is_exact && is_alone;
    return best;
  }

 private:
  [[nodiscard]] Rows of_any(const std::vector<Node>& nodes) const {
    FewRows all{{}, true};
    for (const Node& node : nodes) {
      const Rows found = of_node(node, most_ - all.rows.size());
      if (!found) return std::nullopt;
      all.rows.insert(all.rows.end(), found->rows.begin(), found->rows.end());
      all.is_exact = all.is_exact && found->is_exact;
    }
    return all;
  }

  [[nodiscard]] Rows of_node(const Node& node, std::size_t most) const {
    return std::visit([&](const auto& n) { return of(n, most); }, node);
  }
  [[nodiscard]] Rows of(const FieldNode& field, std::size_t most) const {
    const ColumnView* column = find_column(rows_, field);
    if (column == nullptr || !column->sealed) return std::nullopt;
    if (n_listed(field.condition) > most) return std::nullopt;
    const auto all =
        std::visit([&](const auto& c) { return lists_of(*column, c); }, field.condition);
    if (!all) return std::nullopt;
    std::size_t n = 0;
    for (const RowSpan& list : all->lists) n += list.size();
    if (n > most) return std::nullopt;
    FewRows found{{}, all->is_exact};
    found.rows.reserve(n);
    for (const RowSpan& list : all->lists) {
      found.rows.insert(found.rows.end(), list.begin(), list.end());
    }
    return found;
  }
  [[nodiscard]] Rows of(const HasIdNode& node, std::size_t most) const {
    const bool has_order = rows_.sorted_ids() || !rows_.id_order().empty();
    if (!has_order || node.ids.size() > most) return std::nullopt;
    const auto ids = rows_.ids();
    FewRows found{{}, true};
    for (const PointId& id : node.ids) {
      const std::size_t row = row_of_id(rows_, id);
      if (row < ids.size() && ids[row] == id) found.rows.push_back(static_cast<std::uint32_t>(row));
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

std::optional<FewRows> few_rows(const FilterTree& tree, const RowsView& rows, std::size_t most) {
  Rows found = Finder(rows, most).find(tree);
  if (!found) return found;
  std::erase_if(found->rows, [&](std::uint32_t row) { return row >= rows.n_rows(); });  // damaged
  sort_rows(found->rows, rows.n_rows());
  found->rows.erase(std::unique(found->rows.begin(), found->rows.end()), found->rows.end());
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
