// Reads all sources of an import side by side and joins them row by row.
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

/// How much is read at once; a row more than `bytes` is read alone.
struct BlockSize {
  std::size_t rows = 0;
  std::uint64_t bytes = UINT64_MAX;  ///< of each source, as it is in memory
};

/// One thread.
class RowReader {
 public:
  /// Opens everything and compares the numbers of rows where the files say them; a range that
  /// the files do not hold is kInvalidArgument, here or in the `read` that finds the end.
  /// `bad_rows` gets the rows that cannot become points; it outlives the reader.
  [[nodiscard]] static Result<std::unique_ptr<RowReader>> open(const ImportPlan& plan,
                                                               BadRows& bad_rows);

  [[nodiscard]] const ImportPlan& plan() const { return plan_; }
  [[nodiscard]] const std::vector<ColumnReader>& columns() const { return columns_; }
  /// The first row, and one beyond the last if the files say it.
  [[nodiscard]] std::uint64_t first_row() const { return plan_.rows.first; }
  [[nodiscard]] std::optional<std::uint64_t> end_row() const;
  [[nodiscard]] std::uint64_t position() const { return position_; }

  /// About the bytes of a line of the payloads or points; 0 without those.
  [[nodiscard]] double guessed_line_bytes() const {
    return lines_ == nullptr ? 0 : lines_->guessed_line_bytes();
  }

  /// The next rows, up to `most`; none (`end_row == first_row`) at the end. A row that stops the
  /// import ends the block before it, and the next call fails with what is wrong with it; so does
  /// the end of one source while others go on.
  /// `used` gives its memory.
  Result<RowBlock> read(BlockSize most, RowBlock used = {});
  /// Goes on at `row`, which lies ahead.
  Result<> skip_to(std::uint64_t row);

  /// The one that rows are counted by: lines, if there are any.
  [[nodiscard]] const std::string& main_source() const;
  /// "docs.jsonl line 18" or "dense.npy row 17".
  [[nodiscard]] std::string describe(std::uint64_t row) const;

 private:
  RowReader(const ImportPlan& plan, BadRows& bad_rows);
  [[nodiscard]] Result<> check_row_counts() const;
  [[nodiscard]] Result<> check_range() const;
  [[nodiscard]] Result<> check_holds_range(const std::string& source, std::uint64_t n_rows) const;
  /// Reads up to `most` of every source; how many rows there are in all that must have them.
  Result<std::size_t> read_sources(BlockSize most, RowBlock& block);
  /// How many lines were read, and the block's rows: as many as `most` says, unless lines are long.
  struct LinesRead {
    std::size_t n_lines = 0;
    std::size_t n_rows = 0;
  };
  Result<LinesRead> read_lines(BlockSize most);
  [[nodiscard]] std::size_t whole_rows(std::size_t n, std::size_t n_lines, const RowBlock& block);
  [[nodiscard]] Result<RowPoint> read_line(std::uint64_t row, std::string& text) const;
  [[nodiscard]] Result<RowPoint> make_point(const RowBlock& block, std::size_t i);

  const ImportPlan plan_;
  const PayloadRules payload_rules_;
  BadRows& bad_rows_;
  std::vector<ColumnReader> columns_;
  std::unique_ptr<dataset::LineReader> lines_;  ///< of payloads or points; null: none
  std::vector<std::string> texts_;              ///< the lines of the block
  std::unique_ptr<IdReader> ids_;               ///< null: none
  std::vector<Result<PointId>> block_ids_;
  std::uint64_t position_ = 0;
  std::optional<Error> stopped_;  ///< what the next `read` says
};

}  // namespace quiver::app
