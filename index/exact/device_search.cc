#include "index/exact/device_search.h"

#include <utility>

#include "base/threads/parallel.h"
#include "index/exact/searcher.h"
#include "index/stored_rows.h"

namespace quiver::index {
namespace {

/// Scores the rows that a device named.
Result<> offer_lists(const Batch& batch, const FieldColumn& column, const gpu::RowLists& lists,
                     const SearchContext& context) {
  std::vector<Result<>> done(lists.size());
  parallel_if_many(context.executor, lists.size(), [&](std::size_t i) {
    if (!lists[i]) return;
    done[i] =
        offer_exactly(*batch.queries[i], column, *lists[i], context.cancel, *batch.results[i]);
  });
  for (auto& one : done) QV_TRY(std::move(one));
  return {};
}

}  // namespace

bool has_device_form(const FieldSchema& schema) {
  return schema.kind == FieldKind::kDense && schema.metric != Metric::kManhattan &&
         !is_compared_converted(schema);
}

Result<Batch> search_on_device(Batch batch, const FieldColumn& column, gpu::Slot& slot,
                               const RowFilter& filter, const SearchContext& context,
                               WorkCounters& work) {
  if (batch.queries.empty()) return batch;
  std::vector<gpu::DenseQuery> asked;
  for (std::size_t i = 0; i < batch.queries.size(); ++i) {
    asked.push_back({batch.queries[i]->values(), batch.results[i]->k()});
  }
  const auto& values = column.dense();
  const gpu::DenseRows rows{values.bytes, values.rows(), similarity_of(column.schema.metric)};
  QV_TRY(const auto lists, context.devices->find_best(slot, rows, asked, filter.words(),
                                                      context.cancel, context.executor));
  QV_TRY(offer_lists(batch, column, lists, context));
  Batch rest;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    if (!lists[i]) {
      rest.add(batch.queries[i], batch.results[i]);
      continue;
    }
    work.n_rows_scored += lists[i]->size();
    work.n_bytes += lists[i]->size() * values.stride();
  }
  return rest;
}

}  // namespace quiver::index
