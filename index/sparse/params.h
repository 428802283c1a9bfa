// Parameters of the sparse index.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/params.h"
#include "index/sparse/blocks/block_params.h"

namespace quiver::index::sparse {

struct SparseBuildParams : BlockParams {
  static constexpr std::string_view kWhat = "build parameters of `seismic`";
  std::string codec = "u8";  ///< of forward records: u8, gaps, f16 or f32
  /// Blocks are built for this many rows and more. Below about 300,000 truncated scans are faster;
  /// blocks take several times the memory of the lists, so that they must win clearly.
  std::uint32_t blocks_from = 500'000;

  template <class V>
  static constexpr void fields(V&& v) {
    v(field("codec", &SparseBuildParams::codec));
    v(field("blocks_from", &SparseBuildParams::blocks_from));
    BlockParams::fields(v);
  }
};

struct SparseSearchParams : BlockSearchParams {
  /// How candidates are found: auto, scan, blocks, or exact for none of them.
  std::string method = "auto";
  /// Scan: the share of the query's postings that is read, those that add most; 1: all.
  double postings = 0.2;
  /// Rows whose records' scores are compared; 0: 4 k + 10.
  std::uint32_t candidates = 0;
  /// One number for `postings`, `query_cut` and `heap_factor`, as `hnsw_ef`; 0 leaves them as they
  /// are, 512 reads all.
  std::uint32_t effort = 0;
  /// Segments with fewer rows are searched exactly.
  std::uint32_t exact_below = 4096;
  /// False: hits of truncated scans and of blocks have the scores of their records, not exact ones.
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

/// How candidates are found.
enum class Method : std::uint8_t { kAuto, kScan, kBlocks, kExact };

/// SearchParams, with `method` read.
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
