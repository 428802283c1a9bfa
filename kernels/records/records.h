// Forward records of learned-sparse indexes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/similarity.h"

namespace quiver {

/// A record is a list of terms and their values. The query is a table with the weight of each term.
/// Levels differ by rounding.
struct RecordKernels {
  /// Sum of `table[terms[i]] * values[i]` over `n` terms, a multiple of 16. `terms` are u16 or u32,
  /// on 32-byte boundaries; those above `last`, the last one of `table`, count as `last`. `values`
  /// are f32, f16, or u8 as numbers from 0 to 255. Indexed by [terms are u32][DType].
  float (*score[2][kDTypes])(const float* table, std::uint32_t last, const std::byte* terms,
                             const std::byte* values, std::size_t n);
  /// The same for a record that keeps its ascending terms as differences, the first from 0. Layout:
  ///   `n / 8` bytes of flags, lowest bit first: set if the difference takes two bytes;
  ///   `n` values of u8;
  ///   the differences, of one byte or two, low byte first.
  /// Reads at most 32 bytes behind the record. `record` is on a 2-byte boundary.
  float (*score_gaps)(const float* table, std::uint32_t last, const std::byte* record,
                      std::size_t n);
};

}  // namespace quiver
