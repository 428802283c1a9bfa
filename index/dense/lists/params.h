// Parameters of the IVF index.
#pragma once

#include <cstdint>

#include "base/params.h"

namespace quiver::index::dense {

struct ListsBuildParams {
  /// Lists that the rows are partitioned into; 0: four times the root of the number of rows.
  std::uint32_t n_lists = 0;
  /// Bits a dimension of the codes that are scanned. More bits take as much more memory and time a
  /// row, and need fewer rows re-ranked.
  std::uint32_t bits = 1;
  /// Rows are in two lists, so that a search needs fewer lists to find them (SOAR: Sun et al.,
  /// NeurIPS 2023). Takes a second code of each row.
  bool spill = true;
  /// Bits a dimension of the second codes, which decide whose exact scores are computed: 8, 4,
  /// or 0 for none. Fields of u8 have none, as their rows are no larger.
  std::uint32_t refine_bits = 8;

  template <class V>
  static constexpr void fields(V&& v) {
    v(field("n_lists", &ListsBuildParams::n_lists, {.min = 0, .max = 1 << 22}));
    v(field("bits", &ListsBuildParams::bits, {.min = 1, .max = 8}));
    v(field("spill", &ListsBuildParams::spill));
    v(field("refine_bits", &ListsBuildParams::refine_bits, {.min = 0, .max = 8}));
  }
};

struct ListsSearchParams {
  /// Lists that are scanned; 0: by `gap`.
  std::uint32_t nprobe = 0;
  /// Lists are scanned whose centroid's score is less than this below that of the best one, in
  /// units of about how much the scores of a list's rows differ; 0: as far as neighbours lie on
  /// this data, which is measured when the index is built. A fixed number of lists is too many for
  /// most queries, and too few for the rest.
  double gap = 0;
  /// How far below the rows that the first lists led to a search still looks: farther lists are
  /// left out whose key is more below the tenth part of these that is best than where neighbours
  /// are on this data. 1: nearly all of them; greater: farther; 0: by measurements. Not with
  /// `nprobe`.
  double stop = 0;
  /// Rows that are looked at again after the scan, by second codes or exactly; 0: by k.
  std::uint32_t rerank = 0;
  /// Multiplies `rerank`, whether given or by k.
  double oversampling = 1;
  /// One number for `gap` and `rerank`, as `hnsw_ef`: 128 is about the default; 0 leaves them as
  /// they are.
  std::uint32_t effort = 0;

  template <class V>
  static constexpr void fields(V&& v) {
    v(field("nprobe", &ListsSearchParams::nprobe));
    v(field("gap", &ListsSearchParams::gap, {.min = 0, .max = 1e6}));
    v(field("stop", &ListsSearchParams::stop, {.min = 0, .max = 1e6}));
    v(field("rerank", &ListsSearchParams::rerank, {.min = 0, .max = 1e6}));
    v(field("oversampling", &ListsSearchParams::oversampling, {.min = 1, .max = 1e6}));
    v(field("effort", &ListsSearchParams::effort, {.min = 0, .max = 1e6}));
  }
};

}  // namespace quiver::index::dense
