// The scan of lists of codes (docs/gpu.md), a query at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/abi.h"
#include "kernels/codes/codes.h"

namespace quiver::gpu::emulated {

/// Lists of a part in memory.
struct StoredLists {
  std::uint32_t stride = 0;  ///< bytes of a block
  std::uint32_t n_bits = 0;
  std::vector<std::byte> blocks;
  std::vector<std::uint32_t> first_blocks;
};

class ListPass {
 public:
  ListPass(const qv_lists& job, const StoredLists& lists) : job_(job), lists_(lists) {}

  /// Does some of the work, all of a query; true when all is done and written.
  [[nodiscard]] bool step();

 private:
  [[nodiscard]] std::uint32_t sum_of(const std::uint8_t* tables, std::uint32_t block,
                                     std::uint32_t row) const;
  [[nodiscard]] float estimate(const qv_visit& visit, std::uint32_t block, std::uint32_t row) const;
  void write(std::uint32_t query, const std::vector<float>& scores,
             const std::vector<std::uint32_t>& positions) const;

  const qv_lists job_;
  const StoredLists& lists_;
  std::uint32_t next_ = 0;  ///< query
};

}  // namespace quiver::gpu::emulated
