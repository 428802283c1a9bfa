#include "index/index.h"

#include <cassert>

namespace quiver::index {

Result<> Searcher::search_batch(std::span<const PreparedQuery* const> queries,
                                const AnyParams& params, const RowFilter& filter,
                                const SearchContext& context, std::span<TopK* const> results,
                                WorkCounters& work) const {
  assert(queries.size() == results.size());
  for (std::size_t i = 0; i < queries.size(); ++i) {
    QV_TRY(search(*queries[i], params, filter, context, *results[i], work));
  }
  return {};
}

Result<> Searcher::count_terms(std::span<const std::uint32_t>, const RowFilter&,
                               std::span<std::uint64_t>, const Cancel&) const {
  return fail(Code::kUnimplemented, "this index has no terms to count");
}

WorkCounters& WorkCounters::operator+=(const WorkCounters& other) {
  n_lists += other.n_lists;
  n_blocks += other.n_blocks;
  n_codes_scored += other.n_codes_scored;
  n_rows_scored += other.n_rows_scored;
  n_bytes += other.n_bytes;
  return *this;
}

}  // namespace quiver::index
