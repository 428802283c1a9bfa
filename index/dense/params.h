// Parameters of the index type `ivf`: those of the lists, and those of the graph.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/params.h"
#include "index/dense/lists/params.h"

namespace quiver::index::dense {

struct DenseBuildParams : ListsBuildParams {
  static constexpr std::string_view kWhat = "build parameters of `ivf`";
  /// Graph over all rows beside the lists: `always`, `never` or `auto`. `auto` builds it where a
  /// default search of the lists reads much more than a walk. Memory: about 1.5 KiB per row of 128
  /// dimensions.
  std::string graph = "auto";
  /// Links of each row: a multiple of 16, up to 128. More links: better recall, memory in
  /// proportion.
  std::uint32_t degree = 32;
  /// Bits per dimension of the codes beside the links, 1 to 8. 0: 2 up to 128 dimensions, else 1.
  std::uint32_t link_bits = 0;

  template <class V>
  static constexpr void fields(V&& v) {
    ListsBuildParams::fields(v);
    v(field("graph", &DenseBuildParams::graph));
    v(field("degree", &DenseBuildParams::degree, {.min = 16, .max = 128}));
    v(field("link_bits", &DenseBuildParams::link_bits, {.min = 0, .max = 8}));
  }
};

/// A search with `nprobe`, `gap`, `stop` or `rerank` uses the lists, even if there is a graph.
struct DenseSearchParams : ListsSearchParams {
  static constexpr std::string_view kWhat = "search parameters of `ivf`";
  /// Number of graph rows that are visited; with `reach`, at most. Higher: better recall, slower.
  /// 0: `reach` decides, up to (280 + 16 k) * effort / 128 * `oversampling`.
  std::uint32_t ef = 0;
  /// Graph rows are visited whose squared distance is estimated at up to 1 + `reach` times that of
  /// the k-th best row. 0: .12 * (effort / 128 * `oversampling`)^.5 * (k / 10)^-.2.
  double reach = 0;

  template <class V>
  static constexpr void fields(V&& v) {
    ListsSearchParams::fields(v);
    v(field("ef", &DenseSearchParams::ef, {.min = 0, .max = 1e6}));
    v(field("reach", &DenseSearchParams::reach, {.min = 0, .max = 1e6}));
  }
};

}  // namespace quiver::index::dense
