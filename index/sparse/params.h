// Parameters of the index type `seismic`: rows, posting lists, and blocks (blocks/block_params.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/params.h"
#include "index/sparse/blocks/block_params.h"

namespace quiver::index::sparse {

struct SparseBuildParams : BlockParams {
  static constexpr std::string_view kWhat = "build parameters of `seismic`";
  std::string codec = "u8";  ///< values of forward records: u8, gaps, f16 or f32; `gaps` is u8 in
                             ///< 3/4 of the memory, slower
  /// Smallest number of rows for which blocks are built. Below about 300,000 truncated scans are
  /// faster; blocks take several times the memory of the lists.
  std::uint32_t blocks_from = 500'000;

  template <class V>
  static constexpr void fields(V&& v) {
    v(field("codec", &SparseBuildParams::codec));
    v(field("blocks_from", &SparseBuildParams::blocks_from));
    BlockParams::fields(v);
  }
};

struct SparseSearchParams : BlockSearchParams {
  /// How candidates are found: `scan` (truncated lists), `blocks`, `exact` (no candidates: all hits
  /// are exact), or `auto` (the fastest of these).
  std::string method = "auto";
  /// Scan: share of the query's postings that is read, largest contributions first. Higher: better
  /// recall, slower. 1: all.
  double postings = 0.2;
  /// Scan: rows whose records are scored. Higher: better recall, slower. 0: 4 k + 10.
  std::uint32_t candidates = 0;
  /// Sets `postings` = effort / 512 (at most 1), `query_cut` = effort / 12 (2 to 64) and
  /// `heap_factor` = 1.1 - effort / 640 (.6 to 1.1) together, as `hnsw_ef`. About 128 equals their
  /// defaults; 0 leaves them.
  std::uint32_t effort = 0;
  /// Segments with fewer rows are searched exactly.
  std::uint32_t exact_below = 4096;
  /// True: hits have exact scores. False: hits of truncated scans and blocks keep the scores of
  /// their records, which is faster.
  bool rescore = true;

  template <class V>
  static constexpr void fields(V&& v) {
    v(field("method", &SparseSearchParams::method));
    v(field("postings", &SparseSearchParams::postings, {.min = 0.001, .max = 1}));
    v(field("candidates", &SparseSearchParams::candidates, {.min = 0, .max = 1e6}));
    v(field("effort", &SparseSearchParams::effort, {.min = 0, .max = 1e6}));
    v(field("exact_below", &SparseSearchParams::exact_below));
    v(field("rescore", &SparseSearchParams::rescore));
    BlockSearchParams::fields(v);
  }
};

/// `SparseSearchParams::method`.
enum class Method : std::uint8_t { kAuto, kScan, kBlocks, kExact };

/// SparseSearchParams with `method` parsed and `effort` applied.
struct SparseSearchOptions {
  static constexpr std::string_view kWhat = "search parameters of `seismic`";
  BlockSearchParams blocks;
  Method method = Method::kAuto;
  double postings = SparseSearchParams().postings;
  std::uint32_t candidates = 0;
  std::uint32_t exact_below = SparseSearchParams().exact_below;
  bool rescore = true;
};

}  // namespace quiver::index::sparse
