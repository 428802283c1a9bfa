// Calls a searcher, for ground truth and for measurement alike.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/bitset.h"
#include "bench/ann/vectors.h"
#include "index/index.h"
#include "index/listed_rows.h"

namespace quiver::bench {

/// The rows that each query may find: those that are present and, if there are filters, allowed.
/// Owns its bits. Few rows are listed, as the engine does.
class Allowed {
 public:
  /// `of_queries`: present rows that the filter of each query allows; empty: there are no filters.
  explicit Allowed(const index::FieldColumn& column, std::vector<Bitset> of_queries = {});
  [[nodiscard]] index::RowFilter view(std::size_t query) const {
    if (!of_queries_.empty() && lists_[query]) return index::RowFilter::of(*lists_[query]);
    if (!of_queries_.empty()) return index::RowFilter::of(of_queries_[query]);
    return all_ ? index::RowFilter::all(n_rows_) : index::RowFilter::of(bits_);
  }
  /// True if queries have filters of their own and cannot share a call.
  [[nodiscard]] bool is_filtered() const { return !of_queries_.empty(); }
  /// Share of the present rows that filters allow, on average over queries.
  [[nodiscard]] double selectivity(const index::FieldColumn& column) const;
  /// Digest of all filters; 0 without.
  [[nodiscard]] std::uint64_t digest() const;

 private:
  std::uint32_t n_rows_;
  bool all_;
  Bitset bits_;
  std::vector<Bitset> of_queries_;
  std::vector<std::optional<index::ListedRows>> lists_;  ///< of queries that allow few rows
};

/// Borrows everything. Thread-safe.
struct SearchSetup {
  const index::Searcher& searcher;
  const QuerySet& queries;
  const Allowed& allowed;
  index::AnyParams params;
  std::size_t k = 10;
};

/// One call for the queries `which`: prepares, searches and sorts on this thread. Several queries
/// form a batch and have no filters. `hits[i]` receives the hits of query `which[i]`, best first.
[[nodiscard]] Result<> search_call(const SearchSetup& setup, std::span<const std::uint32_t> which,
                                   std::span<std::vector<index::Hit>> hits,
                                   index::WorkCounters& work);

}  // namespace quiver::bench
