#include "index/index.h"

#include <cassert>
#include <map>

#include "index/parallel.h"

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

Result<> Searcher::search_filtered(std::span<const FilteredQuery> queries, const AnyParams& params,
                                   const SearchContext& context, WorkCounters& work) const {
  struct Batch {
    const RowFilter* filter;
    std::vector<const PreparedQuery*> queries = {};
    std::vector<TopK*> results = {};
    WorkCounters work = {};
  };
  std::vector<Batch> batches;
  std::map<const RowFilter*, std::size_t> number_of;
  for (const FilteredQuery& query : queries) {
    const auto [number, is_new] = number_of.try_emplace(query.filter, batches.size());
    if (is_new) batches.push_back({query.filter});
    Batch& batch = batches[number->second];
    batch.queries.push_back(query.query);
    batch.results.push_back(query.out);
  }
  const SearchContext own{context.cancel, context.executor, context.prefer, context.devices};
  auto done = try_each(context.executor, batches.size(), [&](std::size_t i) {
    Batch& batch = batches[i];
    return search_batch(batch.queries, params, *batch.filter, own, batch.results, batch.work);
  });
  for (const Batch& batch : batches) work += batch.work;
  return done;
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
