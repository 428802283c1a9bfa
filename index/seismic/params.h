// Parameters of the sparse index.
#pragma once

#include <cstdint>
#include <string>

#include "base/params.h"

namespace quiver::index::seismic {

struct BuildParams {
  std::string codec = "u8";  ///< of forward records: u8, f16 or f32

  template <class V>
  static constexpr void fields(V&& v) {
    v(field("codec", &BuildParams::codec));
  }
};

struct SearchParams {
  /// How candidates are found: auto, scan, blocks, or exact for none of them.
  std::string method = "auto";
  /// Scan: the share of the query's postings that is read, those that add most; 1: all.
  double postings = 0.2;
  /// Scan: rows that are re-scored; 0: 4 k + 10.
  std::uint32_t candidates = 0;
  /// One number for all of the above, as `hnsw_ef`: 0 leaves them as they are; 512 reads all.
  std::uint32_t effort = 0;
  /// Segments with fewer rows are searched exactly.
  std::uint32_t exact_below = 4096;

  template <class V>
  static constexpr void fields(V&& v) {
    v(field("method", &SearchParams::method));
    v(field("postings", &SearchParams::postings, {.min = 0.001, .max = 1}));
    v(field("candidates", &SearchParams::candidates, {.min = 0, .max = 1e6}));
    v(field("effort", &SearchParams::effort, {.min = 0, .max = 1e6}));
    v(field("exact_below", &SearchParams::exact_below));
  }
};

/// How candidates are found.
enum class Method : std::uint8_t { kAuto, kScan, kBlocks, kExact };

/// SearchParams, with `method` read.
struct SearchOptions {
  Method method = Method::kAuto;
  double postings = SearchParams().postings;
  std::uint32_t candidates = 0;
  std::uint32_t exact_below = SearchParams().exact_below;
};

}  // namespace quiver::index::seismic
