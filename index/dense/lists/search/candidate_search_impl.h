// Private parts of CandidateSearch, shared by its source files.
#pragma once

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "index/cost.h"
#include "index/dense/lists/search/candidate_search.h"

namespace quiver::index::dense {

/// Lists scanned before `stop` may end the scan. With 16 a search took as long, with 64 longer.
inline constexpr std::size_t kListsBeforeStop = 32;
/// Lists scanned between two polls of `cancel`.
inline constexpr std::size_t kListsPerPoll = 32;
/// A reach without limit.
inline constexpr float kWholeReach = std::numeric_limits<float>::infinity();

/// The lists of `probes`, sorted, whose keys are below `end`.
inline std::span<const Probe> below(std::span<const Probe> probes, float end) {
  const auto is_above = [end](const Probe& probe) { return probe.key >= end; };
  return {std::partition_point(probes.begin(), probes.end(), is_above), probes.end()};
}

/// Memory of one thread's searches, reused.
struct CandidateSearch::Scratch {
  QueryLines lines;
  ScanScratch scan;
  ScanScratch centroids;
  RouteScratch route;
  ByteQuery byte_query;
  SignQuery sign_query;
  std::vector<std::uint16_t> allowed;  ///< masks of the blocks of a list
  std::vector<std::uint64_t> seen;     ///< one bit per row; zero between searches
  std::vector<std::uint32_t> rows;
  std::vector<float> scores;  ///< score of each of `rows`
};

/// One prepared search.
struct CandidateSearch::Search {
  const CandidateRequest& request;
  RotatedQuery query;
  double selectivity = 1;
  Scratch& scratch;
  std::uint64_t first_bytes = request.work.n_bytes;

  /// True if another way would have been cheaper.
  [[nodiscard]] bool takes_too_long() const {
    return static_cast<double>(request.work.n_bytes - first_bytes) > request.most_bytes;
  }
};

}  // namespace quiver::index::dense
