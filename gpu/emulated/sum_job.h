// Sums of impacts (docs/gpu.md), a query at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/abi.h"

namespace quiver::gpu::emulated {

/// Runs of a part in memory.
struct StoredRuns {
  std::vector<std::uint16_t> values;
  std::vector<std::uint32_t> places;
};

class SumPass {
 public:
  SumPass(const qv_sums& job, const StoredRuns& runs) : job_(job), runs_(runs) {}

  /// Does some of the work, all of a query; true when all is done and written.
  [[nodiscard]] bool step();

 private:
  void add_run(const qv_sum_term& term, std::uint32_t range);
  void write(std::uint32_t query);

  const qv_sums job_;
  const StoredRuns& runs_;
  std::vector<std::uint16_t> sums_;  ///< of all ranges
  std::uint32_t next_ = 0;           ///< query
};

}  // namespace quiver::gpu::emulated
