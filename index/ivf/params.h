// Parameters of the IVF index.
#pragma once

#include <cstdint>

#include "base/params.h"

namespace quiver::index::ivf {

struct BuildParams {
  /// Lists that the rows are partitioned into; 0: one for about 160 rows.
  std::uint32_t n_lists = 0;
  /// Bits a dimension of the codes that are scanned. More bits take as much more memory and time a
  /// row, and need fewer rows re-ranked.
  std::uint32_t bits = 1;
  /// Bits a dimension of the second codes, which decide whose exact scores are computed: 8, or 0
  /// for none. Fields of u8 have none, as their rows are no larger.
  std::uint32_t refine_bits = 8;

  template <class V>
  static constexpr void fields(V&& v) {
    v(field("n_lists", &BuildParams::n_lists, {.min = 0, .max = 1 << 22}));
    v(field("bits", &BuildParams::bits, {.min = 1, .max = 8}));
    v(field("refine_bits", &BuildParams::refine_bits, {.min = 0, .max = 8}));
  }
};

struct SearchParams {
  /// Lists that are scanned; 0: by their number and k.
  std::uint32_t nprobe = 0;
  /// Rows that are looked at again after the scan, by second codes or exactly; 0: by k.
  std::uint32_t rerank = 0;
  /// One number for both, as `hnsw_ef`: 128 is about the default; 0 leaves them as they are.
  std::uint32_t effort = 0;

  template <class V>
  static constexpr void fields(V&& v) {
    v(field("nprobe", &SearchParams::nprobe));
    v(field("rerank", &SearchParams::rerank, {.min = 0, .max = 1e6}));
    v(field("effort", &SearchParams::effort, {.min = 0, .max = 1e6}));
  }
};

}  // namespace quiver::index::ivf
