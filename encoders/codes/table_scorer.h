#pragma once

#include <utility>
#include <vector>

#include "encoders/encoder.h"

namespace quiver::encoders {

/// Memory of a query's tables, on cache lines.
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

/// Scores blocks of codes by the tables of a query.
class TableScorer final : public Scorer {
 public:
  /// `shape` describes one block. `tables` point into `memory`.
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
