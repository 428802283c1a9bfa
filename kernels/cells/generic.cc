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

void between(const std::uint8_t* cells, const std::uint8_t* rests, std::size_t n,
             const CodeInterval& interval, std::uint64_t* yes) {
  for (std::size_t i = 0; i < n; i += 64) {
    yes[i / 64] = between_word(cells + i, rests + i, std::min<std::size_t>(64, n - i), interval);
  }
}

}  // namespace

constinit const CellKernels kCellKernels = {classify, between};

}  // namespace quiver::generic
