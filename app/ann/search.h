// Putting queries to a searcher: the one way of calling it, for truth and for measurement.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "app/ann/vectors.h"
#include "index/index.h"

namespace quiver::app {

/// Which rows may be found: those that are present. Borrows nothing.
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

/// Everything borrowed. Any number of threads.
struct SearchSetup {
  const index::Searcher& searcher;
  const QuerySet& queries;
  const Allowed& allowed;
  index::AnyParams params;
  std::size_t k = 10;
};

/// One call for the queries `which`, alone or as a batch: prepared, searched and sorted on this
/// thread. `hits[i]` are those of query `which[i]`, best first.
[[nodiscard]] Result<> search_call(const SearchSetup& setup, std::span<const std::uint32_t> which,
                                   std::span<std::vector<index::Hit>> hits,
                                   index::WorkCounters& work);

}  // namespace quiver::app
