// Parameters of posting lists of codes (an inverted file, IVF).
#pragma once

#include <cstdint>
#include <string>

#include "base/params.h"

namespace quiver::index::dense {

struct ListsBuildParams {
  /// Number of posting lists. 0: 4 * sqrt(rows).
  std::uint32_t n_lists = 0;
  /// Bits per dimension of the scanned codes, 1 to 8. Memory and scan time grow in proportion; more
  /// bits need a smaller `rerank` for the same recall.
  std::uint32_t bits = 1;
  /// True: each row is in two lists, so a search finds it by scanning fewer lists (SOAR: Sun et
  /// al., NeurIPS 2023). Doubles the memory of the scanned codes.
  bool spill = true;
  /// Bits per dimension of the second codes, which choose the rows that are scored exactly: 8, 4 or
  /// 0 (none). Fewer bits: less memory, more exact scores. u8 fields have none: their rows are no
  /// larger.
  std::uint32_t refine_bits = 8;
  /// Fewer dimensions for the lists, their codes and the graph: `pca` (the directions of most
  /// variance), `random` (a very sparse random projection), `none`, or `auto`: `pca` if half of the
  /// dimensions keep 95 % of the variance. Hits are scored over all dimensions.
  std::string reduce = "auto";
  /// Dimensions that are left, a multiple of 32. 0: as many as keep 95 % of the variance; with
  /// `random` half of them.
  std::uint32_t reduced_dims = 0;
  /// True: one bit per dimension of each row is kept once more, in the order of rows, for searches
  /// with a strict filter. Memory: an eighth of a byte per dimension and 12 bytes, rounded up
  /// to 64.
  bool signs = true;

  template <class V>
  static constexpr void fields(V&& v) {
    v(field("n_lists", &ListsBuildParams::n_lists, {.min = 0, .max = 1 << 22}));
    v(field("bits", &ListsBuildParams::bits, {.min = 1, .max = 8}));
    v(field("spill", &ListsBuildParams::spill));
    v(field("refine_bits", &ListsBuildParams::refine_bits, {.min = 0, .max = 8}));
    v(field("reduce", &ListsBuildParams::reduce));
    v(field("reduced_dims", &ListsBuildParams::reduced_dims, {.min = 0, .max = 8192}));
    v(field("signs", &ListsBuildParams::signs));
  }
};

struct ListsSearchParams {
  /// Number of lists that are scanned. Higher: better recall, slower. 0: chosen per query by `gap`.
  std::uint32_t nprobe = 0;
  /// Lists are scanned if key(best list) - key(list) <= gap * unit. A key is the score of a list's
  /// centroid; the unit is the typical spread of scores within a list. Higher: better recall,
  /// slower. 0: measured when the index was built, so that 99 % of neighbours lie within it.
  double gap = 0;
  /// Ends the scan early after the first 32 lists. A list is skipped if its key is below s - (m +
  /// stop * (u - m)) * unit. s: the (10 k)-th best estimate so far; m, u: depths below it, measured
  /// at build time, that cover half and 99 % of the lists with neighbours. Higher: better recall,
  /// slower. 0: 1.4. Ignored with `nprobe`. With a filter of half of the rows or less: s is the
  /// `rerank`-th best estimate, it is looked at again as lists are scanned, and a strict filter
  /// lowers `stop`.
  double stop = 0;
  /// Rows kept by the scan and scored again, by second codes or exactly. Higher: better recall,
  /// slower. 0: (50 + 5 k) * sqrt(effort / 128).
  std::uint32_t rerank = 0;
  /// Factor on `rerank`, given or default, >= 1.
  double oversampling = 1;
  /// Scales `gap`, `stop` and `rerank` together, as `hnsw_ef` does: with x = effort / 128, `gap`
  /// and `stop` by x^0.4, the default `rerank` by sqrt(x). 0: 128.
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
