// Search of posting lists for candidates: scan the lists nearest to the query, keep the best rows
// by their codes, then the best of those by second codes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/threads/cancel.h"
#include "index/dense/lists/byte_rows.h"
#include "index/dense/lists/params.h"
#include "index/dense/lists/partition.h"
#include "index/dense/lists/search/code_scan.h"
#include "index/dense/lists/search/device_lists.h"
#include "index/dense/lists/search/list_router.h"
#include "index/dense/lists/sign_rows.h"
#include "index/index.h"

namespace quiver::index::dense {

/// Arguments of one search.
struct CandidateRequest {
  std::span<const float> vector;  ///< `[dim]`, of unit length under Cosine
  std::size_t k = 0;              ///< wanted hits, >= 1
  ListsSearchParams params;       ///< from `CandidateSearch::settled`
  const RowFilter& filter;
  std::size_t n_allowed = 0;  ///< rows that the filter allows, >= 1
  /// A scan of lists with a filter gives up after so many bytes: another way is then cheaper.
  double most_bytes = std::numeric_limits<double>::infinity();
  const Cancel& cancel;
  WorkCounters& work;
  const DeviceHelp* device = nullptr;  ///< for searches that scan as of all rows; nullptr: none
};

/// Distinct rows, unordered. Valid until the same thread searches again.
struct ListCandidates {
  std::span<const std::uint32_t> rows;
  std::span<const float> scores;  ///< estimated score of each row
  /// False if other rows may be better: compare all allowed rows.
  bool is_conclusive = true;
};

/// Counts a list of which `n_scanned` blocks were scanned. Of the others only the numbers of the
/// rows were read.
inline void count(const CodeBlocks& blocks, std::size_t n_scanned, WorkCounters& work) {
  ++work.n_lists;
  work.n_blocks += n_scanned;
  work.n_codes_scored += n_scanned * CodeBlocks::kRows;
  work.n_bytes += n_scanned * blocks.block_bytes() +
                  (blocks.n - n_scanned) * CodeBlocks::kRows * sizeof(std::uint32_t);
}

/// Counts a scan of a list that another search of the batch read into the cache.
inline void count_again(const CodeBlocks& blocks, WorkCounters& work) {
  ++work.n_lists;
  work.n_codes_scored += blocks.n * CodeBlocks::kRows;
}

/// What candidates are found by.
struct CandidateCodes {
  Partition lists;
  std::optional<ByteRows> second;
  std::optional<SignRows> signs;
};

/// Immutable; any number of threads.
class CandidateSearch {
 public:
  /// `n_rows`: rows of the column; `n_present` of them have a vector.
  CandidateSearch(CandidateCodes codes, Similarity similarity, std::uint32_t n_rows,
                  std::uint32_t n_present);

  /// `params` with all defaults filled in for `k` hits and `effort` applied.
  [[nodiscard]] ListsSearchParams settled(ListsSearchParams params, std::size_t k) const;
  /// Finds a few more than k rows, if there are as many.
  [[nodiscard]] Result<ListCandidates> find(const CandidateRequest& request) const;
  /// The same by the sign codes of all allowed rows, which the index must have; always conclusive.
  [[nodiscard]] Result<ListCandidates> find_by_signs(const CandidateRequest& request) const;
  /// Receives the candidates of `requests[i]`, valid during the call, and the counters to use.
  using TakeCandidates =
      std::function<Result<>(std::size_t i, const ListCandidates& found, WorkCounters& work)>;
  /// True if a filter of this selectivity allows so many rows that a search scans as one of all
  /// rows does, for a few more of them, and then drops those that are denied.
  [[nodiscard]] bool scans_as_all(double selectivity) const;
  /// Finds the same rows as `find` for each of `requests`, all of which scan as searches of all
  /// rows do. A list that several requests scan is read once.
  Result<> find_each(std::span<const CandidateRequest> requests, const TakeCandidates& take) const;
  /// The same, each on its own, on all threads. Without an executor lists are shared.
  Result<> find_each_alone(std::span<const CandidateRequest> requests, Executor* executor,
                           const TakeCandidates& take) const;
  /// The same with devices. Several threads may call `take` at a time.
  Result<> find_each_assisted(std::span<const CandidateRequest> requests, const DeviceHelp& help,
                              const TakeCandidates& take) const;

  /// The transformed query with its look-up tables. Valid until `lines` change.
  [[nodiscard]] RotatedQuery rotate(std::span<const float> vector, QueryLines& lines) const;
  /// Share of the rows with a vector that a filter allows, at most 1.
  [[nodiscard]] double selectivity(std::size_t n_allowed) const;
  /// Estimated time of `find`, in bytes of codes.
  [[nodiscard]] double find_bytes(double selectivity, const ListsSearchParams& params) const;
  /// The same of `find_by_signs`.
  [[nodiscard]] double signs_bytes(std::size_t n_allowed, const ListsSearchParams& params) const;
  /// Estimated bytes that `find` reads with default parameters and no filter.
  [[nodiscard]] std::uint64_t bytes_per_search() const;
  [[nodiscard]] const Partition& lists() const { return lists_; }
  /// Of the column.
  [[nodiscard]] std::uint32_t n_rows() const { return n_rows_; }
  [[nodiscard]] const ByteRows* second() const { return second_ ? &*second_ : nullptr; }
  [[nodiscard]] bool has_signs() const { return signs_.has_value(); }
  [[nodiscard]] const RowTransform& transform() const { return lists_.transform(); }
  [[nodiscard]] Similarity similarity() const { return similarity_; }
  [[nodiscard]] Description describe() const;

 private:
  struct AssistedSearch;
  struct Progress;
  struct Search;
  struct Scratch;
  struct SharedScratch;
  struct SharedSearch;
  struct Visit;

  [[nodiscard]] std::size_t least_codes(std::size_t k) const;
  [[nodiscard]] CandidateRequest of_all_rows(const CandidateRequest& asked) const;
  [[nodiscard]] bool are_near(const CandidateRequest& asked, const CodeHits& found,
                              Scratch& scratch) const;
  [[nodiscard]] bool drop_denied(const CandidateRequest& asked, const CodeHits& found,
                                 Scratch& scratch) const;
  Result<ListCandidates> find_filtered(const CandidateRequest& asked, const RotatedQuery& query,
                                       Scratch& scratch) const;
  Result<ListCandidates> settle(const CandidateRequest& asked, const RotatedQuery& query,
                                const CodeHits& best, Scratch& scratch) const;
  [[nodiscard]] std::span<const Probe> route(const Search& search,
                                             const ListsSearchParams& params) const;
  Result<std::vector<SharedSearch>> route_each(std::span<const CandidateRequest> requests,
                                               Scratch& scratch, SharedScratch& shared) const;
  void sort_by_list(SharedScratch& shared) const;
  void visit_later(std::span<const SharedSearch> searches, SharedScratch& shared) const;
  Result<> scan_each(std::span<SharedSearch> searches, SharedScratch& shared) const;
  [[nodiscard]] static Scratch& own_scratch();
  Result<> find_together(std::span<const std::unique_ptr<AssistedSearch>> searches,
                         const DeviceHelp& help, const TakeCandidates& take) const;
  Result<> begin(AssistedSearch& assisted) const;
  void choose_later(AssistedSearch& assisted) const;
  Result<> scan_next(std::span<const std::unique_ptr<AssistedSearch>> searches,
                     const DeviceHelp& help) const;
  void offer_found(const gpu::ScoredCodes& found, std::span<const Probe> probes, CodeScan& scan,
                   WorkCounters& work) const;
  Result<> collect(AssistedSearch& assisted) const;
  [[nodiscard]] Result<gpu::Products> multiply_each(
      std::span<const std::unique_ptr<AssistedSearch>> searches, const DeviceHelp& help) const;
  Result<bool> scan_on_device(const Search& search, std::span<const Probe> probes,
                              CodeScan& scan) const;
  Result<> scan_near_lists(const Search& search, std::span<const Probe> probes,
                           CodeScan& scan) const;
  Result<> scan_as_all(const Search& search, CodeScan& scan) const;
  Result<> scan_farther(const Search& search, Probe first, std::size_t n_near, float end,
                        CodeScan& scan) const;
  [[nodiscard]] std::size_t rows_of_depth(const Search& search) const;
  [[nodiscard]] float least_key(const Search& search, const Probe& first,
                                const CodeScan& scan) const;
  [[nodiscard]] float usual_loss(const RotatedQuery& query) const;
  template <class Take>
  Result<> score_allowed(const Search& search, Take&& take) const;
  template <class Take>
  Result<> score_listed(const Search& search, std::span<const std::uint32_t> rows,
                        Take& take) const;
  Result<bool> scan_filtered(const Search& search) const;
  Result<> scan_allowed(const Search& search, CodeScan& scan) const;
  Result<bool> scan_near(const Search& search, double stop, std::span<const Probe> probes,
                         float unit, Progress& progress, CodeScan& scan) const;
  void look(const Search& search, double stop, float unit, Progress& progress,
            CodeScan& scan) const;
  [[nodiscard]] bool is_misled(const Search& search, const CodeScan& scan) const;
  [[nodiscard]] bool prefers_all_signs(const Search& search, const CodeScan& scan) const;
  void keep_near(const Search& search, float unit, CodeScan& scan) const;
  Result<> scan_lists(const Search& search, std::span<const Probe> probes, CodeScan& scan) const;
  [[nodiscard]] std::span<const Probe> near(const Search& search, const Probe& first,
                                            std::span<const Probe> probes,
                                            const CodeScan& scan) const;
  std::size_t scan_list(const Search& search, const Probe& probe, const std::byte* next,
                        CodeScan& scan) const;
  void prefetch_rows(std::uint32_t list) const;
  [[nodiscard]] std::size_t n_rescored(const CandidateRequest& request) const;
  void collect_rows(const CodeHits& hits, Scratch& scratch) const;
  void refine(const Search& search, const std::int32_t* products = nullptr) const;
  void drop_hopeless(const Search& search, float kth, CodeHits& hits) const;

  Partition lists_;
  std::optional<ByteRows> second_;
  std::optional<SignRows> signs_;
  Similarity similarity_;
  std::uint32_t n_rows_;
  std::uint32_t n_present_;
  RowFilter all_rows_;
};

}  // namespace quiver::index::dense
