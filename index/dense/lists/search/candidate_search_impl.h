// What the files of `CandidateSearch` share.
#pragma once

#include <limits>
#include <vector>

#include "index/cost.h"
#include "index/dense/lists/search/candidate_search.h"

namespace quiver::index::dense {

/// Lists that are scanned before it is known how good their rows are. Half as many took as long,
/// twice as many longer.
inline constexpr std::size_t kListsBeforeStop = 32;
/// Lists that are scanned between two looks at the clock.
inline constexpr std::size_t kListsPerPoll = 32;
/// No list is out of reach.
inline constexpr float kWholeReach = std::numeric_limits<float>::infinity();

/// What one thread's searches write to; kept from one to the next.
struct CandidateSearch::Scratch {
  QueryLines lines;
  ScanScratch scan;
  ScanScratch centroids;
  RouteScratch route;
  ByteQuery byte_query;
  std::vector<std::uint16_t> allowed;
  std::vector<std::uint64_t> seen;  ///< a bit for each row; zero between searches
  std::vector<std::uint32_t> rows;
  std::vector<float> scores;  ///< of the rows
  std::vector<float> ordered;
};

/// One search, prepared.
struct CandidateSearch::Search {
  const CandidateRequest& request;
  RotatedQuery query;
  double selectivity = 1;
  std::uint64_t n_bytes_before = 0;  ///< of the request's `work`
  Scratch& scratch;
};

}  // namespace quiver::index::dense
