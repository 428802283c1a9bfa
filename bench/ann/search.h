// Calls a searcher, for ground truth and for measurement alike.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "bench/ann/vectors.h"
#include "index/index.h"

namespace quiver::bench {

/// The filter of all present rows. Owns its bits.
class Allowed {
 public:
  explicit Allowed(const index::FieldColumn& column);
  [[nodiscard]] index::RowFilter view() const {
    return all_ ? index::RowFilter::all(n_rows_) : index::RowFilter::of(bits_);
  }

 private:
  std::uint32_t n_rows_;
  bool all_;
  Bitset bits_;
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
/// form a batch. `hits[i]` receives the hits of query `which[i]`, best first.
[[nodiscard]] Result<> search_call(const SearchSetup& setup, std::span<const std::uint32_t> which,
                                   std::span<std::vector<index::Hit>> hits,
                                   index::WorkCounters& work);

}  // namespace quiver::bench
