// How a query was answered: what a user sees under `explain`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "index/index.h"

namespace quiver::engine {

/// Rows that a filter allows, with a vector and alive.
struct AllowedRows {
  std::uint64_t least = 0, expected = 0, most = 0;  ///< estimated before the search
  std::uint64_t counted = 0;
};

/// The search of one field of one segment.
struct SegmentReport {
  std::uint64_t segment = 0;
  bool is_sealed = false;
  std::uint64_t n_rows = 0;
  std::string_view index;  ///< type of the index that is there
  AllowedRows allowed;
  double filter_us = 0;  ///< evaluating the filter
  double search_us = 0;  ///< searching and exact scores
  std::vector<index::WayReport> ways;
  index::WorkCounters work;
};

/// A query or a prefetch.
struct StageReport {
  std::string_view kind;
  std::string using_field;
  std::uint64_t limit = 0;
  std::uint64_t n_hits = 0;
  double us = 0;  ///< prefetches included
  std::vector<SegmentReport> segments;
  std::vector<StageReport> prefetch;
};

struct QueryReport {
  double us = 0;                      ///< stages and the records of the answer
  std::uint64_t estimated_bytes = 0;  ///< `QueryCost::read_bytes`
  bool is_parallel = false;           ///< several threads may have searched
  StageReport stage;
};

}  // namespace quiver::engine
