#include <algorithm>

#include "kernels/levels.h"

namespace quiver::generic {
namespace {

#include "kernels/cells/tail.inc"

void classify(const std::uint8_t* cells, std::size_t n, const CellClasses& classes,
              std::uint64_t* yes, std::uint64_t* open) {
  for (std::size_t i = 0; i < n; i += 64) {
    classify_word(cells + i, std::min<std::size_t>(64, n - i), classes, yes[i / 64], open[i / 64]);
  }
}

}  // namespace

constinit const CellKernels kCellKernels = {classify};

}  // namespace quiver::generic
