// The vectors of one field, from their file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/import/plan/rows.h"
#include "app/import/plan/source_spec.h"
#include "base/result.h"
#include "dataset/vectors.h"

namespace quiver::app {

/// One thread.
class ColumnReader {
 public:
  [[nodiscard]] static Result<ColumnReader> open(SourceSpec spec);

  [[nodiscard]] const SourceSpec& spec() const { return spec_; }
  [[nodiscard]] const dataset::VectorShape& shape() const { return reader_->shape(); }

  /// The smallest type of the server's that holds the values as they are read: scaled ones are not
  /// what the file holds any more.
  [[nodiscard]] DType type() const;

  /// Replaces `out` by the next `n` rows, fewer only at the end of the file; returns how many.
  Result<std::size_t> read(std::size_t n, VectorColumn& out);
  /// How many of the next `max_rows` rows take no more than `max_bytes` in memory, one at least.
  Result<std::size_t> rows_within(std::size_t max_rows, std::uint64_t max_bytes) {
    return reader_->rows_within(max_rows, max_bytes);
  }
  /// Goes on at `row`, which lies ahead.
  Result<> skip_to(std::uint64_t row);

 private:
  ColumnReader(SourceSpec spec, std::unique_ptr<dataset::VectorReader> reader)
      : spec_(std::move(spec)), reader_(std::move(reader)) {}
  void mark_present(std::uint64_t first_row, VectorColumn& column) const;

  SourceSpec spec_;
  std::unique_ptr<dataset::VectorReader> reader_;
  std::vector<std::uint8_t> present_;  ///< by row; empty: not said
  dataset::VectorBatch more_;          ///< what a second read gave
};

/// What is wrong with the vector of row `i` of the block: values that are not finite, an index
/// that is there twice. nullopt if nothing is.
[[nodiscard]] std::optional<std::string> problem_of(const VectorColumn& column, std::size_t i);

}  // namespace quiver::app
