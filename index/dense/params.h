// Parameters of the index of dense vectors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/params.h"
#include "index/dense/lists/params.h"

namespace quiver::index::dense {

struct DenseBuildParams : ListsBuildParams {
  static constexpr std::string_view kWhat = "build parameters of `ivf`";
  /// A graph over all rows beside the lists: `auto` (where searches of the lists would read much
  /// more than a walk), `always` or `never`. It takes about 1.5 KiB a row of 128 dimensions.
  std::string graph = "auto";
  /// Links of a row of the graph: a multiple of 16. More find more, and take as much more memory.
  std::uint32_t degree = 32;
  /// Bits a dimension of the codes beside the links; 0: 2 for up to 128 dimensions, otherwise 1.
  std::uint32_t link_bits = 0;

  template <class V>
  static constexpr void fields(V&& v) {
    ListsBuildParams::fields(v);
    v(field("graph", &DenseBuildParams::graph));
    v(field("degree", &DenseBuildParams::degree, {.min = 16, .max = 128}));
    v(field("link_bits", &DenseBuildParams::link_bits, {.min = 0, .max = 8}));
  }
};

/// With any of `nprobe`, `gap` and `rerank` given, the lists are searched, even if there is a
/// graph.
struct DenseSearchParams : ListsSearchParams {
  static constexpr std::string_view kWhat = "search parameters of `ivf`";
  /// Rows of the graph that wait to be visited, at most; 0: by k and `effort`.
  std::uint32_t ef = 0;

  template <class V>
  static constexpr void fields(V&& v) {
    ListsSearchParams::fields(v);
    v(field("ef", &DenseSearchParams::ef, {.min = 0, .max = 1e6}));
  }
};

}  // namespace quiver::index::dense
