// Exact search over the rows of a field, for every kind of field.
#pragma once

#include <optional>
#include <span>

#include "gpu/slot.h"
#include "index/index.h"

namespace quiver::index {

/// Ignores parameters: it also answers for segments whose index of another type is not built yet.
class FlatSearcher final : public Searcher {
 public:
  explicit FlatSearcher(FieldColumn column) : column_(std::move(column)) {}

  Result<> search(const PreparedQuery& query, const AnyParams& params, const RowFilter& filter,
                  const SearchContext& context, TopK& out, WorkCounters& work) const override;
  /// Dense fields: a tile of queries shares a pass over the rows.
  Result<> search_batch(std::span<const PreparedQuery* const> queries, const AnyParams& params,
                        const RowFilter& filter, const SearchContext& context,
                        std::span<TopK* const> results, WorkCounters& work) const override;
  Result<> search_filtered(std::span<const FilteredQuery> queries, const AnyParams& params,
                           const SearchContext& context, WorkCounters& work) const override;
  /// Reads the indices of all allowed rows.
  Result<> count_terms(std::span<const std::uint32_t> terms, const RowFilter& filter,
                       std::span<std::uint64_t> counts, const Cancel& cancel) const override;
  [[nodiscard]] std::uint64_t bytes_per_search() const override;
  [[nodiscard]] bool is_on_device(std::size_t n_allowed) const override;
  bool place(gpu::Devices& devices, gpu::Placing placing) const override;
  Result<> hold(gpu::Devices& devices, const gpu::Held& wanted,
                const Cancel& cancel) const override;
  [[nodiscard]] MemoryUse memory() const override { return {sizeof(*this), 0}; }

 private:
  FieldColumn column_;
  mutable gpu::Slot on_device_;  ///< what a device holds of the rows
};

/// Exact score of `query` and row `row` of `column`, the same bits as in a search. nullopt if the
/// row has no such vector or, sparse, shares no index with the query.
[[nodiscard]] std::optional<float> score_row(const PreparedQuery& query, const FieldColumn& column,
                                             std::uint32_t row);

/// Exact scores of several queries: that of query j and row `rows[i]` goes to
/// `scores[j * rows.size() + i]`, NaN where `score_row` has none. `rows` ascend and have a vector.
/// Dense queries share a pass over the rows. Polls `cancel`.
[[nodiscard]] Result<> score_rows(std::span<const PreparedQuery* const> queries,
                                  const FieldColumn& column, std::span<const std::uint32_t> rows,
                                  const Cancel& cancel, std::span<float> scores);

/// Scores `rows` exactly and offers the hits. Polls `cancel`.
Result<> offer_exactly(const PreparedQuery& query, const FieldColumn& column,
                       std::span<const std::uint32_t> rows, const Cancel& cancel, TopK& out);

/// Sparse: adds to `counts[i]` the number of allowed rows that hold index `terms[i]`. `terms`
/// ascend. Polls `cancel`.
[[nodiscard]] Result<> count_terms(const SparseColumn& column, const RowFilter& filter,
                                   std::span<const std::uint32_t> terms,
                                   std::span<std::uint64_t> counts, const Cancel& cancel);

}  // namespace quiver::index
