// Progress of builds that consist of parts.
#pragma once

#include <cstdint>
#include <utility>

#include "index/index.h"

namespace quiver::index {

/// `context` for a part of the work that begins when the share `from` of all rows is done, and ends
/// with the share `to`. Refers to what `context` refers to.
[[nodiscard]] inline BuildContext part_of(const BuildContext& context, std::uint32_t n_rows,
                                          double from, double to) {
  BuildContext part{context.executor, context.cancel, context.seed, nullptr, context.queries};
  if (context.progress) {
    part.progress = [report = context.progress, n_rows, from, to](std::uint64_t n) {
      report(static_cast<std::uint64_t>(n_rows * from + static_cast<double>(n) * (to - from)));
    };
  }
  return part;
}

}  // namespace quiver::index
