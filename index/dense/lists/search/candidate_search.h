// Rows that may be the best, by the codes of an IVF index: the lists nearest to the query, the best
// rows of those by their codes, the best of these by second codes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/threads/cancel.h"
#include "encoders/transforms/rotation.h"
#include "index/dense/lists/byte_rows.h"
#include "index/dense/lists/params.h"
#include "index/dense/lists/partition.h"
#include "index/dense/lists/search/code_scan.h"
#include "index/dense/lists/search/list_router.h"
#include "index/index.h"

namespace quiver::index::dense {

/// One search.
struct CandidateRequest {
  std::span<const float> vector;  ///< `[dim]`, of unit length under Cosine
  std::size_t k = 0;              ///< rows that are wanted in the end, at least one
  ListsSearchParams params;       ///< nothing left to k, as `CandidateSearch::settled` has them
  const RowFilter& filter;
  std::size_t n_allowed = 0;  ///< by the filter, at least one row
  /// What comparing all allowed rows exactly would take, in bytes of codes scanned meanwhile.
  double exact_bytes = 0;
  const Cancel& cancel;
  WorkCounters& work;
};

/// Distinct rows in no order, valid until the same thread searches again.
struct ListCandidates {
  std::span<const std::uint32_t> rows;
  std::span<const float> scores;  ///< estimates, one for each row
  /// False if the best rows may be others: compare all that are allowed.
  bool is_telling = true;
};

/// A list that is scanned.
inline void count(const CodeBlocks& blocks, WorkCounters& work) {
  ++work.n_lists;
  work.n_blocks += blocks.n;
  work.n_codes_scored += blocks.n * CodeBlocks::kRows;
  work.n_bytes += blocks.n * blocks.block_bytes();
}

/// A list that was read for another search and is in a cache.
inline void count_again(const CodeBlocks& blocks, WorkCounters& work) {
  ++work.n_lists;
  work.n_codes_scored += blocks.n * CodeBlocks::kRows;
}

/// Immutable; any number of threads.
class CandidateSearch {
 public:
  /// `n_rows`: of the column, `n_present` of which have a vector.
  CandidateSearch(Partition lists, std::optional<ByteRows> second, Similarity similarity,
                  std::uint32_t n_rows, std::uint32_t n_present);

  /// `params` with everything that depends on k and `effort` in place.
  [[nodiscard]] ListsSearchParams settled(ListsSearchParams params, std::size_t k) const;
  /// Some more than k rows, if there are as many.
  [[nodiscard]] Result<ListCandidates> find(const CandidateRequest& request) const;
  /// Gets the candidates of `requests[i]`, valid while it runs.
  using TakeCandidates = std::function<Result<>(std::size_t i, const ListCandidates& found)>;
  /// Finds for each of `requests`, none of which has a row of the lists filtered out, the same rows
  /// as `find`. A list that several of them scan is read once.
  Result<> find_each(std::span<const CandidateRequest> requests, const TakeCandidates& take) const;

  /// A query as the lists are searched with it; valid as long as `lines` is left as it is.
  [[nodiscard]] RotatedQuery rotate(std::span<const float> vector, QueryLines& lines) const;
  /// The share of rows that a filter allows.
  [[nodiscard]] double selectivity(std::size_t n_allowed) const;
  /// About the bytes that `find` reads.
  [[nodiscard]] double find_bytes(double selectivity, const ListsSearchParams& params) const;
  /// With default parameters and without a filter.
  [[nodiscard]] std::uint64_t bytes_per_search() const;
  [[nodiscard]] const Partition& lists() const { return lists_; }
  [[nodiscard]] const ByteRows* second() const { return second_ ? &*second_ : nullptr; }
  [[nodiscard]] const encoders::Rotation& rotation() const { return rotation_; }
  [[nodiscard]] Similarity similarity() const { return similarity_; }
  [[nodiscard]] Description describe() const;

 private:
  struct Search;
  struct Scratch;
  struct SharedScratch;
  struct SharedSearch;
  struct Visit;
  /// How far below its k-th best row a search looks.
  struct Reach {
    float lists = 0;  ///< to the last centroid
    float rows = 0;   ///< to the last row that is looked at again
  };

  [[nodiscard]] std::span<const Probe> route(const Search& search,
                                             const ListsSearchParams& params) const;
  Result<std::vector<SharedSearch>> route_each(std::span<const CandidateRequest> requests,
                                               Scratch& scratch, SharedScratch& shared) const;
  void sort_by_list(SharedScratch& shared) const;
  void visit_later(std::span<const SharedSearch> searches, SharedScratch& shared) const;
  Result<> scan_each(std::span<SharedSearch> searches, SharedScratch& shared) const;
  Result<> scan_unfiltered(const Search& search) const;
  Result<bool> scan_filtered(const Search& search) const;
  [[nodiscard]] bool tells_best(const Search& search, float usual, float depth) const;
  Result<> scan_beyond(const Search& search, float end, float reach, CodeScan& scan) const;
  Result<Reach> reach_of(const Search& search, std::span<const Probe> probes, CodeScan& scan) const;
  [[nodiscard]] float least_key(const Search& search, float reach, const CodeScan& scan) const;
  Result<bool> scan_lists(const Search& search, std::span<const Probe> probes, float reach,
                          CodeScan& scan) const;
  [[nodiscard]] std::span<const Probe> near(const Search& search, const Probe& first,
                                            std::span<const Probe> probes,
                                            const CodeScan& scan) const;
  void scan_list(const Search& search, const Probe& probe, const std::byte* next,
                 CodeScan& scan) const;
  void collect_rows(const CodeHits& hits, Scratch& scratch) const;
  void refine(const Search& search) const;
  void drop_hopeless(const Search& search, CodeHits& hits) const;

  Partition lists_;
  std::optional<ByteRows> second_;
  encoders::Rotation rotation_;
  Similarity similarity_;
  std::uint32_t n_rows_;
  std::uint32_t n_present_;
};

}  // namespace quiver::index::dense
