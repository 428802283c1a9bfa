// The `indptr` of CSR and ragged sets: row i has entries [offset i, offset i + 1).
#pragma once

#include <cstdint>
#include <vector>

#include "dataset/formats/array_stream.h"

namespace quiver::dataset {

/// Reads forwards. Checks that offsets begin at 0, never decrease, and end at the number of
/// entries.
class RowOffsets {
 public:
  /// `offsets` has `n_rows + 1` values, of which the last must be `n_entries`.
  RowOffsets(ArrayStream offsets, std::uint64_t n_entries)
      : stream_(std::move(offsets)), n_entries_(n_entries) {}

  [[nodiscard]] std::uint64_t n_rows() const { return stream_.size() - 1; }
  /// Number of the row that `read` returns next.
  [[nodiscard]] std::uint64_t row() const { return row_; }
  /// First entry of that row, once something was read.
  [[nodiscard]] std::uint64_t first_entry() const { return first_entry_; }
  [[nodiscard]] const std::string& path() const { return stream_.path(); }

  /// Reads up to `max_rows` rows: `out` becomes `[n + 1]`, from 0. Returns n.
  Result<std::size_t> read(std::size_t max_rows, std::vector<std::uint64_t>& out);
  /// Returns how many of the next `max_rows` rows have at most `max_entries` entries together; at
  /// least one. Stops at the end of the file; `read` reports errors there.
  Result<std::size_t> rows_within(std::size_t max_rows, std::uint64_t max_entries);
  /// `row` is not before `row()`.
  Result<> skip_to(std::uint64_t row);

 private:
  Result<> look_ahead(std::size_t n);
  Result<> read_raw(std::size_t n);
  Result<> read_first();
  Result<> check(std::uint64_t row, std::int64_t offset) const;

  ArrayStream stream_;
  std::uint64_t n_entries_;
  std::uint64_t row_ = 0;
  std::uint64_t first_entry_ = 0;
  bool has_first_ = false;
  std::vector<std::int64_t> raw_;
  std::vector<std::int64_t> ahead_;  ///< offsets behind `row_` that `rows_within` has read
};

/// Opens an indptr in .npy form. Fails (kInvalidArgument) unless it is a list of at least one
/// integer.
[[nodiscard]] Result<ArrayStream> open_npy_offsets(const std::string& path);

}  // namespace quiver::dataset
