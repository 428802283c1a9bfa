#pragma once

#include <memory>
#include <span>
#include <vector>

#include "encoders/codes/factors.h"
#include "encoders/encoder.h"

namespace quiver::encoders {

/// Zeroes the block at `block`: rows that are never written score 0 plus the base.
void clear_block(const CodeBlocks& shape, std::byte* block);
/// Row `i` of a block gets `codes`, `[32 * n_lines]` values of `n_bits` bits.
void put_codes(const CodeBlocks& shape, std::span<const std::uint8_t> codes, std::size_t i,
               std::byte* block);
void put_factors(const CodeBlocks& shape, const RowFactors& factors, std::size_t i,
                 std::byte* block);

/// Bytes of a query's tables on a cache line.
class TableMemory {
 public:
  explicit TableMemory(std::uint32_t n_lines) : lines_(std::size_t{n_lines} * 2) {}
  [[nodiscard]] std::uint8_t* data() { return lines_.front().bytes; }

 private:
  struct alignas(64) Line {
    std::uint8_t bytes[64];
  };
  std::vector<Line> lines_;
};

/// Scans blocks with tables that are given.
class TableScorer final : public Scorer {
 public:
  /// `shape`: of a block. `tables` point into `memory`.
  TableScorer(const CodeBlocks& shape, TableMemory memory, const CodeTables& tables, float base)
      : shape_(shape), memory_(std::move(memory)), tables_(tables), base_(base) {}

  void score(const std::byte* blocks, std::size_t n_blocks, float* out) const override;

 private:
  CodeBlocks shape_;
  TableMemory memory_;
  CodeTables tables_;
  float base_;
};

}  // namespace quiver::encoders
