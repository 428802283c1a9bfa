// Parameters of the index of dense vectors.
#pragma once

#include <cstdint>
#include <string>

#include "base/params.h"
#include "index/dense/lists/params.h"

namespace quiver::index::dense {

struct BuildParams : ivf::BuildParams {
  /// A graph over all rows beside the lists: `auto` (where searches of the lists would read much
  /// more than a walk), `always` or `never`. It takes about 1.5 KiB a row of 128 dimensions.
  std::string graph = "auto";
  /// Links of a row of the graph: a multiple of 16. More find more, and take as much more memory.
  std::uint32_t degree = 32;
  /// Bits a dimension of the codes beside the links; 0: 2 for up to 128 dimensions, otherwise 1.
  std::uint32_t link_bits = 0;

  template <class V>
  static constexpr void fields(V&& v) {
    ivf::BuildParams::fields(v);
    v(field("graph", &BuildParams::graph));
    v(field("degree", &BuildParams::degree, {.min = 16, .max = 128}));
    v(field("link_bits", &BuildParams::link_bits, {.min = 0, .max = 8}));
  }
};

/// With any of `nprobe`, `gap` and `rerank` given, the lists are searched, even if there is a
/// graph.
struct SearchParams : ivf::SearchParams {
  /// Rows of the graph that wait to be visited, at most; 0: by k and `effort`.
  std::uint32_t ef = 0;

  template <class V>
  static constexpr void fields(V&& v) {
    ivf::SearchParams::fields(v);
    v(field("ef", &SearchParams::ef, {.min = 0, .max = 1e6}));
  }
};

}  // namespace quiver::index::dense
