// Search of a sparse field through posting lists and blocks.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "index/exact/searcher.h"
#include "index/index.h"
#include "index/sparse/blocks/blocks.h"
#include "index/sparse/lists/device_sums.h"
#include "index/sparse/lists/impact_lists.h"
#include "index/sparse/params.h"
#include "index/sparse/rows/best_rows.h"
#include "index/sparse/rows/records.h"
#include "index/sparse/rows/terms.h"

namespace quiver::index::sparse {

/// The opened parts of an index file.
struct SparseParts {
  TermMap terms;
  ImpactLists lists;
  Records records;
  std::optional<Blocks> blocks;
  std::uint64_t mapped_bytes = 0;
};

class SparseSearcher final : public Searcher {
 public:
  SparseSearcher(FieldColumn column, SparseParts parts)
      : column_(std::move(column)),
        flat_(column_),
        parts_(std::move(parts)),
        on_device_(parts_.lists) {}

  Result<> search(const PreparedQuery& query, const AnyParams& params, const RowFilter& filter,
                  const SearchContext& context, TopK& out, WorkCounters& work) const override;
  Result<> search_batch(std::span<const PreparedQuery* const> queries, const AnyParams& params,
                        const RowFilter& filter, const SearchContext& context,
                        std::span<TopK* const> results, WorkCounters& work) const override;
  Result<> search_filtered(std::span<const FilteredQuery> queries, const AnyParams& params,
                           const SearchContext& context, WorkCounters& work) const override;
  Result<> count_terms(std::span<const std::uint32_t> terms, const RowFilter& filter,
                       std::span<std::uint64_t> counts, const Cancel& cancel) const override;
  [[nodiscard]] std::uint64_t bytes_per_search() const override;
  [[nodiscard]] std::uint64_t bytes_per_exact_search() const override {
    return flat_.bytes_per_search();
  }
  [[nodiscard]] bool is_on_device(std::size_t n_allowed) const override {
    return on_device_.do_pay(bytes_per_search() * n_allowed / std::max(1U, column_.n_rows));
  }
  /// Blocks are searched on the CPU.
  [[nodiscard]] bool is_index_on_device(std::size_t n_allowed) const override {
    return !parts_.blocks && is_on_device(n_allowed);
  }
  bool place(gpu::Devices& devices, gpu::Placing placing) const override {
    return on_device_.place(devices, placing);
  }
  Result<> hold(gpu::Devices& devices, const gpu::Held& wanted,
                const Cancel& cancel) const override {
    if (wanted.rows || (wanted.usual && !parts_.blocks)) on_device_.want(devices);
    return on_device_.wait(devices, cancel);
  }
  [[nodiscard]] MemoryUse memory() const override { return {sizeof(*this), parts_.mapped_bytes}; }
  [[nodiscard]] Description describe() const override;

 private:
  struct Request;
  /// How a request is answered: not at all, by scoring its allowed rows, by whole lists, by
  /// truncated lists, or by blocks.
  enum class Way : std::uint8_t { kNone, kRows, kLists, kTruncated, kBlocks };

  [[nodiscard]] Request prepare(const PreparedQuery& query, const SparseSearchOptions& options,
                                const RowFilter& filter, const SearchContext& context, TopK& out,
                                WorkCounters& work) const;
  struct Costs;
  [[nodiscard]] Costs costs_of(const Request& request) const;
  [[nodiscard]] Way way_of(const Request& request) const;
  void note(const Request& request) const;
  Result<> search_on_cpu(const Request& request) const;
  struct Scan;
  [[nodiscard]] Scan scan_of(const Request& request, Way way) const;
  [[nodiscard]] static std::size_t n_from_device(std::size_t k, const Scan& scan);
  Result<> search_lists(const Request& request, const Scan& scan) const;
  [[nodiscard]] bool asks_device(const Request& request) const;
  Result<> search_on_device(std::span<const Request> requests) const;
  template <class F>
  Result<> search_each(std::span<const Request> requests, F&& fn) const;
  Result<> finish(const Request& request, const Scan& scan,
                  const std::vector<gpu::SummedRow>& found) const;
  [[nodiscard]] bool offer_certain(const Request& request, const Scan& scan,
                                   std::vector<gpu::SummedRow> found) const;
  Result<> search_exactly(const Request& request) const;
  Result<> rescore(const Request& request, std::vector<ScoredRow>& candidates) const;
  /// At most `kQueriesAtOnce` requests.
  Result<> search_blocks(std::span<const Request> requests) const;
  [[nodiscard]] BlockSearchParams widened(const Request& request) const;
  [[nodiscard]] bool prefers_blocks(const Request& request, const Costs& costs) const;
  /// Factor by which more of the lists is read because of the filter.
  [[nodiscard]] double share_of(const Request& request) const;
  /// Replaces sums of impacts by the scores of records.
  void score_records(const Request& request, std::vector<ScoredRow>& candidates) const;
  /// Offers exact scores of the best candidates, with spares for the error of codes.
  void offer_best(const Request& request, std::vector<ScoredRow>& candidates) const;

  FieldColumn column_;
  FlatSearcher flat_;
  SparseParts parts_;
  DeviceSums on_device_;
};

}  // namespace quiver::index::sparse
