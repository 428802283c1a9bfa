// Search of an OSQ index (SQUASH, arXiv 2502.01528): partitions near the query, rows by 1-bit
// codes, then by bounds from variable-bit codes, exact scores of the best.
#pragma once

#include <cstdint>
#include <span>

#include "gpu/placing.h"
#include "index/dense/osq/files.h"
#include "index/dense/osq/params.h"
#include "index/dense/osq/partition_choice.h"
#include "index/exact/searcher.h"
#include "index/index.h"

namespace quiver::index::dense::osq {

/// A search for k hits returns k, or all allowed rows if there are fewer: rows are counted exactly
/// before partitions are chosen, only allowed rows are compared, and every step keeps at least k of
/// them.
class OsqSearcher final : public Searcher {
 public:
  OsqSearcher(FieldColumn column, OpenFile file)
      : column_(column), flat_(std::move(column)), file_(std::move(file)) {}

  Result<> search(const PreparedQuery& query, const AnyParams& params, const RowFilter& filter,
                  const SearchContext& context, TopK& out, WorkCounters& work) const override;
  /// Allowed rows are counted once, and each partition is searched for all queries that visit it.
  Result<> search_batch(std::span<const PreparedQuery* const> queries, const AnyParams& params,
                        const RowFilter& filter, const SearchContext& context,
                        std::span<TopK* const> results, WorkCounters& work) const override;
  Result<> search_filtered(std::span<const FilteredQuery> queries, const AnyParams& params,
                           const SearchContext& context, WorkCounters& work) const override;
  [[nodiscard]] std::uint64_t bytes_per_search() const override;
  [[nodiscard]] std::uint64_t bytes_per_exact_search() const override {
    return flat_.bytes_per_search();
  }
  [[nodiscard]] bool is_on_device(std::size_t n_allowed) const override {
    return flat_.is_on_device(n_allowed);
  }
  bool place(gpu::Devices& devices, gpu::Placing placing) const override {
    return flat_.place(devices, placing);
  }
  Result<> hold(gpu::Devices& devices, const gpu::Held& wanted,
                const Cancel& cancel) const override {
    return flat_.hold(devices, {.rows = wanted.rows}, cancel);
  }
  [[nodiscard]] MemoryUse memory() const override;
  [[nodiscard]] Description describe() const override;

 private:
  struct Shared;
  struct Call;
  struct Visits;
  struct Scratch;

  [[nodiscard]] static Scratch& scratch_of_thread();
  [[nodiscard]] Call call_of(const PreparedQuery& query, const Shared& shared, TopK& out) const;
  Result<> visit(std::span<const Call> calls, const Visits& visits, Scratch& scratch) const;

  Result<> search_partition(const Call& call, const Partition& partition, Scratch& scratch) const;
  [[nodiscard]] std::span<const float> sign_values(const Call& call, const Partition& partition,
                                                   Scratch& scratch) const;
  Result<> choose_by_signs(const Call& call, const Partition& partition, std::size_t n,
                           Scratch& scratch) const;
  Result<> choose_by_bounds(const Call& call, const Partition& partition, Scratch& scratch) const;
  Result<> search_exactly(const Call& call, Scratch& scratch) const;
  Result<> bound_all(const Call& call, const Partition& partition, Scratch& scratch) const;
  Result<> offer(const Call& call, std::span<const std::uint32_t> rows) const;

  FieldColumn column_;
  FlatSearcher flat_;
  OpenFile file_;
};

}  // namespace quiver::index::dense::osq
