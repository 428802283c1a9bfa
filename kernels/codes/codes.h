// Scans of rows that are kept as codes of 1 to 8 bits a dimension.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quiver {

/// A query as look-up tables (FastScan: André et al., PVLDB 2015), made by `CodeKernels::prepare`.
struct CodeTables {
  /// `[n_lines, 2, 4, 16]` on a cache line: for the low and the high half of each of the four bytes
  /// of a line's dword, the addend of each of its 16 values.
  const std::uint8_t* tables = nullptr;
  float step = 0;      ///< value of one unit of the sum
  float absolute = 0;  ///< sum of the query's absolute values
};

/// Codes in blocks of 16 rows on cache lines. A block has, for each bit from the highest,
/// `n_lines` lines of 16 dwords; dword r of line l has the bits of dimensions 32 l, 32 l + 1, ...
/// of row r, lowest first. Then follow 16 f32 `scale` and 16 f32 `add`, one a row.
struct CodeBlocks {
  const std::byte* first = nullptr;
  std::uint32_t n_lines = 0;  ///< dimensions / 32
  std::uint32_t n_bits = 1;   ///< bits a dimension, 1 to 8
  std::size_t n = 0;          ///< blocks
  /// Memory that is read next and prefetched; nullptr if unknown.
  const std::byte* next = nullptr;

  static constexpr std::size_t kRows = 16;
  [[nodiscard]] constexpr std::size_t block_bytes() const {
    return (std::size_t{n_lines} * n_bits + 2) * 64;
  }
};

/// Rows that a scan found. Both arrays have room for `room` entries, all of which may be written.
struct CodeHits {
  float* scores = nullptr;
  std::uint32_t* positions = nullptr;
  std::size_t room = 0;
  std::size_t n = 0;
};

/// With u the code of a row in [0, 2^bits) and y = u - (2^bits - 1) / 2, a row's estimate is
/// `base + add + scale * <query, y>`. The product takes a query whose groups of four dimensions are
/// rounded to 8 bits. Exact.
struct CodeKernels {
  /// `query` is `[32 * n_lines]`, finite; writes 128 * n_lines bytes of `tables`.
  CodeTables (*prepare)(const float* query, std::uint32_t n_lines, std::uint8_t* tables);
  /// Appends each row whose estimate is greater than `threshold`. If `allowed` is not nullptr, the
  /// row's bit in `allowed[block]` must be set, too. A position is
  /// `first_position` + 16 * block + row. Stops before a block that might overflow `hits` and
  /// returns the number of blocks scanned. Prefetches `blocks.next`.
  std::size_t (*scan)(const CodeTables& query, const CodeBlocks& blocks, float base,
                      float threshold, const std::uint16_t* allowed, std::uint32_t first_position,
                      CodeHits& hits);
  /// Writes `allowed[b]`: the bits of the 16 rows at `rows + 16 * b`, from a bitmap of rows up to
  /// `last`. Rows above it count as `last`.
  void (*allowed)(const std::uint32_t* rows, std::size_t n_blocks, const std::uint64_t* bits,
                  std::uint32_t last, std::uint16_t* allowed);
  /// Writes `out[i]`: `in[i] * scale` rounded to the nearest integer, within [-127, 127]. Returns
  /// their sum. `n` is a multiple of 16, values are finite.
  std::int32_t (*to_bytes)(const float* in, std::size_t n, float scale, std::int8_t* out);
  /// Keeps the `want` best hits in their order, and about want / 16 more at most unless scores are
  /// equal. Returns a threshold that all dropped scores are below. Scores are not NaN.
  float (*keep_best)(CodeHits& hits, std::size_t want);
};

}  // namespace quiver
