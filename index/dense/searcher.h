// Search of a dense index: candidates in the cheapest way (ways.h), then exact scores.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "index/dense/files.h"
#include "index/dense/params.h"
#include "index/dense/ways.h"
#include "index/exact/searcher.h"
#include "index/index.h"

namespace quiver::index::dense {

class DenseSearcher final : public Searcher {
 public:
  DenseSearcher(FieldColumn column, OpenFiles files)
      : column_(column),
        flat_(std::move(column)),
        files_(std::move(files)),
        on_device_(files_.lists.lists(), files_.lists.second()) {}

  Result<> search(const PreparedQuery& query, const AnyParams& params, const RowFilter& filter,
                  const SearchContext& context, TopK& out, WorkCounters& work) const override;
  /// Exact searches share a pass over the rows. Searches of the lists read each list
  /// once if the filter allows most rows.
  Result<> search_batch(std::span<const PreparedQuery* const> queries, const AnyParams& params,
                        const RowFilter& filter, const SearchContext& context,
                        std::span<TopK* const> results, WorkCounters& work) const override;
  /// Searches with different filters that allow most rows are a batch, too.
  Result<> search_filtered(std::span<const FilteredQuery> queries, const AnyParams& params,
                           const SearchContext& context, WorkCounters& work) const override;
  /// List by list.
  [[nodiscard]] std::vector<std::uint32_t> rows_by_nearness() const override;
  [[nodiscard]] std::uint64_t bytes_per_search() const override;
  [[nodiscard]] std::uint64_t bytes_per_exact_search() const override {
    return flat_.bytes_per_search();
  }
  [[nodiscard]] bool is_on_device(std::size_t n_allowed) const override {
    return flat_.is_on_device(n_allowed);
  }
  [[nodiscard]] bool is_index_on_device(std::size_t n_allowed) const override;
  bool place(gpu::Devices& devices, gpu::Placing placing) const override;
  Result<> hold(gpu::Devices& devices, const gpu::Held& wanted,
                const Cancel& cancel) const override;
  [[nodiscard]] MemoryUse memory() const override { return {sizeof(*this), files_.n_bytes}; }
  [[nodiscard]] Description describe() const override;
  [[nodiscard]] const Partition& lists() const { return files_.lists.lists(); }

 private:
  /// Rows that may be among the best; nullopt: unknown, so another way must be taken.
  using Found = std::optional<std::span<const std::uint32_t>>;

  /// What all queries of one filter share.
  struct Call;
  struct Asked;

  [[nodiscard]] CandidateRequest request_of(const Call& call, const PreparedQuery& query,
                                            std::size_t k) const;
  [[nodiscard]] bool is_hopeless(const DenseSearchParams& asked) const;
  /// True if usual searches read the codes of lists.
  [[nodiscard]] bool do_scan_lists() const { return !files_.graph && files_.trial.effort != 0; }
  [[nodiscard]] bool walks(const Call& call) const;
  [[nodiscard]] bool scans_as_all(const Call& call) const;
  [[nodiscard]] std::optional<DeviceHelp> help_of(const Call& call) const;
  [[nodiscard]] Ways ways_of(const Call& call, const CandidateRequest& request) const;
  Result<> search_alone(const Call& call, const PreparedQuery& query, TopK& out) const;
  Result<> search_by(const Ways& ways, const Call& call, const PreparedQuery& query,
                     CandidateRequest& request, TopK& out) const;
  Result<> search_together(std::span<const Asked> asked) const;
  Result<> search_exactly(const Call& call, const PreparedQuery& query, TopK& out) const;
  Result<> offer(const Call& call, const PreparedQuery& query, std::span<const std::uint32_t> rows,
                 TopK& out) const;
  Result<Found> find(Way way, const Call& call, const CandidateRequest& request) const;
  Result<Found> by_graph(const DenseSearchParams& params, const CandidateRequest& request) const;
  Result<Found> by_lists(const CandidateRequest& request) const;
  Result<Found> by_signs(const CandidateRequest& request) const;
  [[nodiscard]] double exact_bytes(std::size_t n_allowed) const;

  FieldColumn column_;
  FlatSearcher flat_;
  OpenFiles files_;
  DeviceLists on_device_;
};

}  // namespace quiver::index::dense
