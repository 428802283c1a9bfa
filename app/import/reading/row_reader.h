// Reads all sources of an import in parallel and joins them row by row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/import/plan/column_reader.h"
#include "app/import/plan/plan.h"
#include "app/import/plan/rows.h"
#include "app/import/reading/bad_rows.h"
#include "app/import/reading/id_reader.h"
#include "app/import/reading/point_line.h"
#include "base/result.h"
#include "dataset/streams/lines.h"

namespace quiver::app {

/// Upper limits of a block. A row larger than `bytes` forms a block of its own.
struct BlockSize {
  std::size_t rows = 0;
  std::uint64_t bytes = UINT64_MAX;  ///< memory per source
};

/// Use from one thread.
class RowReader {
 public:
  /// Opens all sources and compares their row counts, where files state them. kInvalidArgument,
  /// here or in the `read` that finds the end, for a range outside the files. `bad_rows` receives
  /// the rows that cannot become points; it outlives the reader.
  [[nodiscard]] static Result<std::unique_ptr<RowReader>> open(const ImportPlan& plan,
                                                               BadRows& bad_rows);

  [[nodiscard]] const ImportPlan& plan() const { return plan_; }
  [[nodiscard]] const std::vector<ColumnReader>& columns() const { return columns_; }
  /// First row, and one past the last row if the files state it.
  [[nodiscard]] std::uint64_t first_row() const { return plan_.rows.first; }
  [[nodiscard]] std::optional<std::uint64_t> end_row() const;
  [[nodiscard]] std::uint64_t position() const { return position_; }

  /// Estimated bytes per line of the payloads or points; 0 without such a source.
  [[nodiscard]] double guessed_line_bytes() const {
    return lines_ == nullptr ? 0 : lines_->guessed_line_bytes();
  }

  /// Reads the next rows, up to `limit`; no rows (`end_row == first_row`) at the end. A row that
  /// stops the import ends the block before it; the next call then returns its error. The same
  /// holds if one source ends before others. The memory of `used` is reused.
  Result<RowBlock> read(BlockSize limit, RowBlock used = {});
  /// Continues at `row`, which is not behind the current position.
  Result<> skip_to(std::uint64_t row);

  /// The source whose rows messages count: the lines if there are any.
  [[nodiscard]] const std::string& main_source() const;
  /// "docs.jsonl line 18" or "dense.npy row 17".
  [[nodiscard]] std::string describe(std::uint64_t row) const;

 private:
  RowReader(const ImportPlan& plan, BadRows& bad_rows);
  [[nodiscard]] Result<> check_row_counts() const;
  [[nodiscard]] Result<> check_range() const;
  [[nodiscard]] Result<> check_holds_range(const std::string& source, std::uint64_t n_rows) const;
  /// Reads up to `limit` of every source. Returns how many rows all required sources have.
  Result<std::size_t> read_sources(BlockSize limit, RowBlock& block);
  /// Lines read, and rows of the block: `limit.rows`, or fewer if lines are long.
  struct LinesRead {
    std::size_t n_lines = 0;
    std::size_t n_rows = 0;
  };
  Result<LinesRead> read_lines(BlockSize limit);
  [[nodiscard]] std::size_t whole_rows(std::size_t n, std::size_t n_lines, const RowBlock& block);
  [[nodiscard]] Result<RowPoint> read_line(std::uint64_t row, std::string& text) const;
  [[nodiscard]] Result<RowPoint> make_point(const RowBlock& block, std::size_t i);

  const ImportPlan plan_;
  const PayloadRules payload_rules_;
  BadRows& bad_rows_;
  std::vector<ColumnReader> columns_;
  std::unique_ptr<dataset::LineReader> lines_;  ///< payloads or points; null: none
  std::vector<std::string> texts_;              ///< the lines of the block
  std::unique_ptr<IdReader> ids_;               ///< null: none
  std::vector<Result<PointId>> block_ids_;
  std::uint64_t position_ = 0;
  std::optional<Error> stopped_;  ///< error that the next `read` returns
};

}  // namespace quiver::app
