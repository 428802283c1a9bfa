// Products with second codes, some pairs at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/abi.h"

namespace quiver::gpu::emulated {

/// Second codes of a part in memory.
struct StoredBytes {
  std::uint32_t stride = 0;
  std::uint32_t n_bits = 0;
  std::vector<std::uint8_t> bytes;
};

class ProductPass {
 public:
  ProductPass(const qv_products& job, const StoredBytes& bytes) : job_(job), bytes_(bytes) {}

  /// Does some of the work; true when all is done and written.
  [[nodiscard]] bool step();

 private:
  [[nodiscard]] std::int32_t product(const std::int8_t* query, std::uint32_t row) const;

  const qv_products job_;
  const StoredBytes& bytes_;
  std::uint32_t next_ = 0;  ///< pair
};

}  // namespace quiver::gpu::emulated
