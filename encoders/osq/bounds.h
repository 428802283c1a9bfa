// Bounds on the cost of a row, from the cells of its coordinates (asymmetric distance computation,
// ADC): the query is not quantized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "encoders/osq/packing.h"
#include "kernels/similarity.h"

namespace quiver::encoders::osq {

/// Which end of a cell's costs is tabulated.
enum class Bound : std::uint8_t { kLower, kUpper };

/// The quantizer of one partition. Borrowed.
struct Codebook {
  std::span<const std::uint8_t> bits;  ///< of each dimension
  std::span<const float> limits;       ///< 2^bits + 1 of each dimension (`cell_limits`), in order
  const Packing* packing = nullptr;
};

/// For one query, the least or the largest cost in each cell. A cost is a squared distance, or a
/// negated scalar product: smaller is better. A row's bound is `bias` plus one entry a dimension.
class BoundTables {
 public:
  /// `query`: coordinates of the query, one a dimension; for kDot without the mean, for
  /// kNegL2Squared minus the mean. `scratch` holds the entries and is borrowed.
  BoundTables(const Codebook& codebook, Similarity similarity, Bound bound,
              std::span<const float> query, std::vector<float>& scratch);

  /// Bound on the cost of a packed row. Stops as soon as it exceeds `limit`, and then returns some
  /// number above it. Up to 8 bytes after the row must be readable.
  [[nodiscard]] float bound(const std::byte* segments,
                            float limit = std::numeric_limits<float>::infinity()) const;

 private:
  /// Dimensions whose codes lie in 8 bytes.
  struct Window {
    std::uint32_t segment = 0;
    std::uint32_t first = 0;  ///< in `codes_`
    std::uint32_t end = 0;
  };
  struct Code {
    std::uint32_t entries = 0;  ///< first of its entries in `entries_`
    std::uint8_t shift = 0;     ///< in its window, read as a big-endian number
    std::uint8_t mask = 0;
  };
  void add_code(const CodePlace& place, std::size_t first_entry);

  std::span<const float> entries_;  ///< >= 0
  std::vector<Code> codes_;
  std::vector<Window> windows_;
  float bias_ = 0;
};

/// Number of limits of all dimensions.
[[nodiscard]] std::size_t n_limits(std::span<const std::uint8_t> bits);

}  // namespace quiver::encoders::osq
