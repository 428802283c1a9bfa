#include "index/exact/device_search.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/bitset.h"
#include "base/threads/parallel.h"
#include "index/exact/searcher.h"
#include "index/parallel.h"
#include "index/stored_rows.h"

namespace quiver::index {
namespace {

using Queries = std::span<const FilteredQuery>;

/// Scores the rows that a device named.
Result<> offer_lists(Queries queries, const FieldColumn& column, const gpu::RowLists& lists,
                     const SearchContext& context) {
  Executor* const helper = lists.size() > kFewPieces ? context.executor : nullptr;
  return try_each(helper, lists.size(), [&](std::size_t i) -> Result<> {
    if (!lists[i]) return {};
    return offer_exactly(*queries[i].query, column, *lists[i], context.cancel, *queries[i].out);
  });
}

template <class Asked>
std::vector<Asked> asked_of(Queries queries) {
  std::vector<Asked> asked;
  for (const auto& [query, filter, out] : queries) {
    asked.push_back({query->values(), out->k(), filter->words()});
  }
  return asked;
}

gpu::DenseRows rows_of(const FieldColumn& column) {
  const auto& values = column.dense();
  return {values.bytes, values.rows(), similarity_of(column.schema.metric)};
}

gpu::Documents documents_of(const FieldColumn& column) {
  const auto& values = column.multi();
  return {values.tokens.bytes, values.tokens.rows(), values.offsets};
}

Result<gpu::RowLists> find_rows(Queries queries, const FieldColumn& column, gpu::Slot& slot,
                                const SearchContext& context) {
  return context.devices->find_best(slot, rows_of(column), asked_of<gpu::DenseQuery>(queries),
                                    context.cancel, context.executor);
}

Result<gpu::RowLists> find_documents(Queries queries, const FieldColumn& column, gpu::Slot& slot,
                                     const SearchContext& context) {
  return context.devices->find_best(slot, documents_of(column),
                                    asked_of<gpu::DocumentQuery>(queries), context.cancel,
                                    context.executor);
}

std::size_t bytes_of_row(const FieldColumn& column, std::uint32_t row) {
  if (column.schema.kind == FieldKind::kDense) return column.dense().stride();
  const MatrixView tokens = column.multi().row(row);
  return tokens.n_rows * tokens.stride_bytes;
}

/// Whether the list holds the best rows, as the CPU finds them.
Result<bool> holds_best(const FieldColumn& column, const PreparedQuery& query, std::uint64_t k,
                        const Bitset& allowed, const std::vector<std::uint32_t>& list,
                        const Cancel& cancel) {
  TopK best(k);
  WorkCounters work;
  QV_TRY(FlatSearcher(column).search(query, {}, RowFilter::of(allowed), {cancel}, best, work));
  return std::ranges::all_of(best.take_sorted(), [&](const Hit& hit) {
    return std::ranges::binary_search(list, hit.row);
  });
}

/// Now and then the CPU looks for itself. It has copies of all that it needs, as the search does
/// not wait for it.
void check_sometimes(Queries queries, const FieldColumn& column, gpu::Slot& slot,
                     const gpu::RowLists& lists, gpu::Devices& devices) {
  const auto i = devices.answer_to_check(lists);
  if (!i) return;
  try {
    const auto& [query, filter, out] = queries[*i];
    Bitset allowed(filter->n_rows());
    filter->for_each(0, [&](std::uint32_t row) { allowed.set(row); });
    devices.post_check(slot, [column, own = *query, k = out->k(), allowed = std::move(allowed),
                              list = *lists[*i]](const Cancel& cancel) {
      return holds_best(column, own, k, allowed, list, cancel);
    });
  } catch (const std::bad_alloc&) {
    // The search has its answer; another job is checked.
  }
}

}  // namespace

bool has_device_form(const FieldSchema& schema) {
  if (is_compared_converted(schema)) return false;
  switch (schema.kind) {
    case FieldKind::kDense:
      return schema.metric != Metric::kManhattan;
    case FieldKind::kMulti:
      return similarity_of(schema.metric) == Similarity::kDot;
    case FieldKind::kSparse:
      break;
  }
  return false;
}

bool place_on_device(const FieldColumn& column, gpu::Slot& slot, gpu::Devices& devices,
                     gpu::Placing placing) {
  return column.schema.kind == FieldKind::kDense
             ? devices.place(slot, rows_of(column), placing)
             : devices.place(slot, documents_of(column), placing);
}

void want_on_device(const FieldColumn& column, gpu::Slot& slot, gpu::Devices& devices) {
  if (column.schema.kind == FieldKind::kDense) return devices.want(slot, rows_of(column));
  devices.want(slot, documents_of(column));
}

Result<std::vector<FilteredQuery>> search_on_device(std::vector<FilteredQuery> queries,
                                                    const FieldColumn& column, gpu::Slot& slot,
                                                    const SearchContext& context,
                                                    WorkCounters& work) {
  if (queries.empty()) return queries;
  const auto find = column.schema.kind == FieldKind::kMulti ? find_documents : find_rows;
  QV_TRY(const auto lists, find(queries, column, slot, context));
  check_sometimes(queries, column, slot, lists, *context.devices);
  QV_TRY(offer_lists(queries, column, lists, context));
  std::vector<FilteredQuery> rest;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    if (!lists[i]) {
      rest.push_back(queries[i]);
      continue;
    }
    work.n_rows_scored += lists[i]->size();
    for (const std::uint32_t row : *lists[i]) work.n_bytes += bytes_of_row(column, row);
  }
  return rest;
}

}  // namespace quiver::index
