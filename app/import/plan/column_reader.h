// Reads the vectors of one field from their file.
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

/// Use from one thread.
class ColumnReader {
 public:
  [[nodiscard]] static Result<ColumnReader> open(SourceSpec spec);

  [[nodiscard]] const SourceSpec& spec() const { return spec_; }
  [[nodiscard]] const dataset::VectorShape& shape() const { return reader_->shape(); }

  /// The smallest server type that holds the values exactly: the file's type, kF32 for scaled
  /// values.
  [[nodiscard]] DType type() const;

  /// Replaces `out` with the next `n` rows, fewer only at the end of the file. Returns their
  /// number.
  Result<std::size_t> read(std::size_t n, VectorColumn& out);
  /// How many of the next `max_rows` rows fit into `max_bytes` of memory; at least one.
  Result<std::size_t> rows_within(std::size_t max_rows, std::uint64_t max_bytes) {
    return reader_->rows_within(max_rows, max_bytes);
  }
  /// Continues at `row`, which is not behind the current position.
  Result<> skip_to(std::uint64_t row);

 private:
  ColumnReader(SourceSpec spec, std::unique_ptr<dataset::VectorReader> reader)
      : spec_(std::move(spec)), reader_(std::move(reader)) {}
  void mark_present(std::uint64_t first_row, VectorColumn& column) const;

  SourceSpec spec_;
  std::unique_ptr<dataset::VectorReader> reader_;
  std::vector<std::uint8_t> present_;  ///< mask by row; empty: no mask file
  dataset::VectorBatch rest_;          ///< scratch for further reads of one block
};

/// Describes what is wrong with the vector of row `i` of the block: a value that is not finite, an
/// index that occurs twice. nullopt if the vector is valid.
[[nodiscard]] std::optional<std::string> problem_of(const VectorColumn& column, std::size_t i);

}  // namespace quiver::app
