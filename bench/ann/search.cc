#include "bench/ann/search.h"

#include <algorithm>

#include "base/hash.h"

namespace quiver::bench {
namespace {

template <class T, class Range>
std::vector<T*> pointers(Range& values) {
  std::vector<T*> all;
  all.reserve(values.size());
  for (auto& value : values) all.push_back(&value);
  return all;
}

}  // namespace

Allowed::Allowed(const index::FieldColumn& column, std::vector<Bitset> of_queries)
    : n_rows_(column.n_rows), all_(column.all_present()), of_queries_(std::move(of_queries)) {
  for (const Bitset& bits : of_queries_) {
    lists_.emplace_back();
    if (bits.count() > n_rows_ / index::ListedRows::kRowsPerListed) continue;
    std::vector<std::uint32_t> rows;
    bits.for_each([&](std::size_t row) { rows.push_back(static_cast<std::uint32_t>(row)); });
    lists_.back().emplace(n_rows_, std::move(rows));
  }
  if (all_) return;
  bits_.resize(n_rows_);
  for (std::uint32_t row = 0; row < n_rows_; ++row) {
    if (column.present[row] != 0) bits_.set(row);
  }
}

double Allowed::selectivity(const index::FieldColumn& column) const {
  if (!is_filtered() || column.n_present == 0) return 1;
  double sum = 0;
  for (const Bitset& bits : of_queries_) sum += static_cast<double>(bits.count());
  return sum / static_cast<double>(of_queries_.size()) / column.n_present;
}

std::uint64_t Allowed::digest() const {
  if (!is_filtered()) return 0;
  std::vector<std::uint64_t> digests;
  for (const Bitset& bits : of_queries_) digests.push_back(hash_bytes(std::as_bytes(bits.words())));
  return hash_bytes(std::as_bytes(std::span(digests)));
}

Result<> search_call(const SearchSetup& setup, std::span<const std::uint32_t> which,
                     std::span<std::vector<index::Hit>> hits, index::WorkCounters& work) {
  const Cancel cancel;
  const index::SearchContext context{cancel};
  const auto filter = setup.allowed.view(which[0]);
  if (which.size() == 1) {
    const auto query = setup.queries.prepare(which[0]);
    index::TopK top(setup.k);
    QV_TRY(setup.searcher.search(query, setup.params, filter, context, top, work));
    hits[0] = top.take_sorted();
    return {};
  }
  std::vector<index::PreparedQuery> queries;
  std::vector<index::TopK> tops(which.size(), index::TopK(setup.k));
  queries.reserve(which.size());
  for (const std::uint32_t i : which) queries.push_back(setup.queries.prepare(i));
  QV_TRY(setup.searcher.search_batch(pointers<const index::PreparedQuery>(queries), setup.params,
                                     filter, context, pointers<index::TopK>(tops), work));
  std::transform(tops.begin(), tops.end(), hits.begin(),
                 [](index::TopK& top) { return top.take_sorted(); });
  return {};
}

}  // namespace quiver::bench
