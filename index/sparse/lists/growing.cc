#include "index/sparse/lists/growing.h"

#include <algorithm>

#include "index/cost.h"
#include "index/exact/searcher.h"
#include "index/sparse/lists/scan.h"

namespace quiver::index::sparse {
namespace {

constexpr std::uint32_t kSmallGroup = GrowingLists::kStep;
constexpr std::uint32_t kGroupsPerJoin = 8;
constexpr std::uint32_t kLargeGroup = kSmallGroup * kGroupsPerJoin;
static_assert(kLargeGroup <= kRangeRows);

class GrowingSearcher final : public Searcher {
 public:
  GrowingSearcher(FieldColumn column, std::vector<std::shared_ptr<const RowGroup>> groups)
      : column_(std::move(column)), flat_(column_), groups_(std::move(groups)) {}

  Result<> search(const PreparedQuery& query, const AnyParams& params, const RowFilter& filter,
                  const SearchContext& context, TopK& out, WorkCounters& work) const override {
    const SparseQuery sparse = query.sparse();
    if (groups_.empty() || sparse.n > ScanPlan::kMaxTerms) {
      return flat_.search(query, params, filter, context, out, work);
    }
    if (out.k() == 0) return {};
    const SparseView vector{{sparse.indices, sparse.n}, {sparse.values, sparse.n}};
    for (const auto& group : groups_) {
      const auto terms = group->terms.terms_of(vector);
      if (terms.empty()) continue;
      const ScanPlan plan(group->lists, terms, ScanPlan::Value::kUpper);
      QV_TRY(scan_exactly(group->lists, plan, query, column_.sparse(), filter, group->first,
                          context.cancel, out, work));
    }
    score_uncovered(query, filter, out, work);
    return {};
  }

  Result<> count_terms(std::span<const std::uint32_t> terms, const RowFilter& filter,
                       std::span<std::uint64_t> counts, const Cancel& cancel) const override {
    if (groups_.empty() || filter.n_allowed() != column_.n_rows) {
      return flat_.count_terms(terms, filter, counts, cancel);
    }
    for (const auto& group : groups_) {
      for (std::size_t i = 0; i < terms.size(); ++i) {
        counts[i] += n_rows_with(terms[i], group->terms, group->lists);
      }
    }
    Bitset uncovered(column_.n_rows);
    for (std::uint32_t row = first_uncovered(); row < column_.n_rows; ++row) uncovered.set(row);
    return flat_.count_terms(terms, RowFilter::of(uncovered), counts, cancel);
  }

  [[nodiscard]] std::uint64_t bytes_per_search() const override {
    if (groups_.empty()) return flat_.bytes_per_search();
    std::uint64_t bytes = 0;
    for (const auto& group : groups_) bytes += group->lists.bytes() / cost::kListBytesPerQueryByte;
    return bytes + 8 * (column_.sparse().offsets[column_.n_rows] -
                        column_.sparse().offsets[first_uncovered()]);
  }
  [[nodiscard]] MemoryUse memory() const override {
    std::uint64_t bytes = sizeof(*this);
    for (const auto& group : groups_) {
      bytes += group->lists.bytes() + group->terms.keys().size() * sizeof(TermMap::Key);
    }
    return {bytes, 0};
  }
  [[nodiscard]] Description describe() const override {
    if (groups_.empty()) return {};
    Description description;
    description.facts = {{"rows_in_lists", std::int64_t{first_uncovered()}},
                         {"groups", static_cast<std::int64_t>(groups_.size())}};
    return description;
  }

 private:
  [[nodiscard]] std::uint32_t first_uncovered() const {
    return groups_.back()->first + groups_.back()->lists.n_rows();
  }
  void score_uncovered(const PreparedQuery& query, const RowFilter& filter, TopK& out,
                       WorkCounters& work) const {
    std::vector<std::uint32_t> rows;
    filter.for_each(first_uncovered(), [&](std::uint32_t row) { rows.push_back(row); });
    score_exactly(query, column_.sparse(), rows, out, work);
  }

  FieldColumn column_;
  FlatSearcher flat_;
  std::vector<std::shared_ptr<const RowGroup>> groups_;
};

}  // namespace

std::uint32_t GrowingLists::n_covered() const {
  return groups_.empty() ? 0 : groups_.back()->first + groups_.back()->lists.n_rows();
}

void GrowingLists::extend(const FieldColumn& column) {
  while (column.n_rows - n_covered() >= kSmallGroup) {
    // Many new rows at once skip the small groups.
    const std::uint32_t first = n_covered();
    const bool large = first % kLargeGroup == 0 && column.n_rows - first >= kLargeGroup;
    cover(column.sparse(), first, large ? kLargeGroup : kSmallGroup);
    if (!large && n_covered() % kLargeGroup == 0) join_last(column.sparse());
  }
}

void GrowingLists::cover(const SparseColumn& column, std::uint32_t first, std::uint32_t n) {
  auto terms = TermMap::of(column, first, n);
  auto lists = ImpactLists::of_rows(column, first, n, terms);
  groups_.push_back(
      std::make_shared<const RowGroup>(RowGroup{first, std::move(terms), std::move(lists)}));
}

void GrowingLists::join_last(const SparseColumn& column) {
  groups_.resize(groups_.size() - kGroupsPerJoin);
  cover(column, n_covered(), kLargeGroup);
}

std::shared_ptr<const Searcher> GrowingLists::searcher(FieldColumn column) const {
  return std::make_shared<const GrowingSearcher>(std::move(column), groups_);
}

}  // namespace quiver::index::sparse
