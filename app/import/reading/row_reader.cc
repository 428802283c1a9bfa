#include "app/import/reading/row_reader.h"

#include <fmt/format.h>

#include <algorithm>

namespace quiver::app {

RowReader::RowReader(const ImportPlan& plan, BadRows& bad_rows)
    : plan_(plan), payload_rules_{plan.payload_keys, plan.id_column}, bad_rows_(bad_rows) {}

Result<std::unique_ptr<RowReader>> RowReader::open(const ImportPlan& plan, BadRows& bad_rows) {
  std::unique_ptr<RowReader> reader(new RowReader(plan, bad_rows));
  for (const SourceSpec& spec : plan.vectors) {
    QV_TRY(ColumnReader column, ColumnReader::open(spec));
    reader->columns_.push_back(std::move(column));
  }
  const std::string& lines = plan.points.empty() ? plan.payload : plan.points;
  if (!lines.empty()) {
    QV_TRY(auto opened, dataset::LineReader::open(lines));
    reader->lines_ = std::make_unique<dataset::LineReader>(std::move(opened));
  }
  if (!plan.ids.empty()) {
    QV_TRY(IdReader ids, IdReader::open(plan.ids));
    reader->ids_ = std::make_unique<IdReader>(std::move(ids));
  }
  QV_TRY(reader->check_row_counts());
  QV_TRY(reader->check_range());
  QV_TRY(reader->skip_to(plan.rows.first));
  return reader;
}

std::optional<std::uint64_t> RowReader::end_row() const {
  std::optional<std::uint64_t> n_rows;
  for (const ColumnReader& column : columns_) {
    if (column.shape().n_rows) n_rows = std::max(n_rows.value_or(0), *column.shape().n_rows);
  }
  if (n_rows) return std::max(plan_.rows.first, std::min(*n_rows, plan_.rows.end));
  return plan_.rows.end == UINT64_MAX ? std::nullopt : std::optional(plan_.rows.end);
}

/// Finds sources of different lengths before reading, where their headers state a row count. Rows
/// beyond the wanted range do not matter.
Result<> RowReader::check_row_counts() const {
  if (plan_.allow_missing_vectors) return {};
  const auto n_wanted = [&](const ColumnReader& column) {
    return std::min(*column.shape().n_rows, plan_.rows.end);
  };
  const ColumnReader* first = nullptr;
  for (const ColumnReader& column : columns_) {
    if (!column.shape().n_rows) continue;
    if (first == nullptr) first = &column;
    if (n_wanted(column) == n_wanted(*first)) continue;
    return fail(Code::kInvalidArgument,
                fmt::format("{} has {} rows, {} has {}: wanted equal numbers (with "
                            "--allow-missing-vectors, points beyond the end of one go without it)",
                            first->spec().source, *first->shape().n_rows, column.spec().source,
                            *column.shape().n_rows));
  }
  return {};
}

/// Fails if `source`, with `n_rows` rows, does not hold the range of --rows. Without --rows an
/// empty file is accepted.
Result<> RowReader::check_holds_range(const std::string& source, std::uint64_t n_rows) const {
  const auto [first, end] = plan_.rows;
  const bool has_end = end != UINT64_MAX;
  if (first == 0 && !has_end) return {};
  if (first < n_rows && (!has_end || end <= n_rows)) return {};
  return fail(Code::kInvalidArgument,
              fmt::format("--rows {}:{} {}: {} has {} rows (the first is row 0)", first,
                          has_end ? std::to_string(end) : "",
                          first < n_rows ? "goes beyond the end" : "holds no row", source, n_rows));
}

Result<> RowReader::check_range() const {
  const ColumnReader* longest = nullptr;
  for (const ColumnReader& column : columns_) {
    const auto n_rows = column.shape().n_rows;
    if (!n_rows) return {};
    if (longest == nullptr || *n_rows > *longest->shape().n_rows) longest = &column;
  }
  if (longest == nullptr) return {};
  if (lines_ != nullptr && plan_.allow_missing_vectors) return {};
  return check_holds_range(longest->spec().source, *longest->shape().n_rows);
}

Result<> RowReader::skip_to(std::uint64_t row) {
  for (ColumnReader& column : columns_) {
    const auto n_rows = column.shape().n_rows;
    QV_TRY(column.skip_to(n_rows ? std::min(row, *n_rows) : row));
  }
  if (lines_ != nullptr) QV_TRY(lines_->skip_to(row));
  if (ids_ != nullptr) QV_TRY(ids_->skip_to(row));
  position_ = row;
  return {};
}

std::string RowReader::describe(std::uint64_t row) const {
  if (lines_ != nullptr) return fmt::format("{} line {}", lines_->path(), row + 1);
  return fmt::format("{} row {}", columns_.front().spec().source, row);
}

const std::string& RowReader::main_source() const {
  return lines_ != nullptr ? lines_->path() : plan_.main_source();
}

Result<RowReader::LinesRead> RowReader::read_lines(BlockSize limit) {
  texts_.resize(limit.rows);
  std::uint64_t n_bytes = 0;
  for (std::size_t i = 0; i < limit.rows; ++i) {
    if (n_bytes >= limit.bytes) return LinesRead{i, i};
    QV_TRY(const auto line, lines_->next());
    if (!line) return LinesRead{i, limit.rows};
    texts_[i].assign(*line);
    n_bytes += line->size();
  }
  return LinesRead{limit.rows, limit.rows};
}

/// Returns how many of the block's `n` rows all required sources have. A source that ends early
/// stops the import after these rows, so that a bad one among them, such as a cut-off line, is
/// reported.
std::size_t RowReader::whole_rows(std::size_t n, std::size_t n_lines, const RowBlock& block) {
  std::size_t n_whole = n;
  const auto limit = [&](const std::string& source, std::size_t n_found) {
    if (n_found >= n_whole) return;
    n_whole = n_found;
    stopped_ =
        Error(Code::kInvalidArgument,
              fmt::format("{} ends after {} rows, another source goes on: wanted equal numbers",
                          source, block.first_row + n_found));
  };
  if (lines_ != nullptr) limit(lines_->path(), n_lines);
  if (ids_ != nullptr) limit(ids_->path(), block_ids_.size());
  if (plan_.allow_missing_vectors) return n_whole;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    limit(columns_[c].spec().source, block.columns[c].batch.n_rows);
  }
  return n_whole;
}

Result<std::size_t> RowReader::read_sources(BlockSize limit, RowBlock& block) {
  for (ColumnReader& column : columns_) {
    QV_TRY(limit.rows, column.rows_within(limit.rows, limit.bytes));
  }
  LinesRead lines{0, limit.rows};
  if (lines_ != nullptr) {
    QV_TRY(lines, read_lines(limit));
  }
  const std::size_t n = lines.n_rows;
  std::size_t n_found = lines.n_lines;
  block.columns.resize(columns_.size());
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    QV_TRY(const std::size_t found, columns_[c].read(n, block.columns[c]));
    n_found = std::max(n_found, found);
  }
  if (ids_ != nullptr) {
    QV_TRY(ids_->read(n, block_ids_));
    n_found = std::max(n_found, block_ids_.size());
  }
  for (VectorColumn& column : block.columns) column.present.resize(n_found, 0);
  return whole_rows(n_found, lines.n_lines, block);
}

Result<RowPoint> RowReader::read_line(std::uint64_t row, std::string& text) const {
  auto line = plan_.points.empty() ? read_payload_line(text, payload_rules_)
                                   : read_point_line(text, payload_rules_);
  if (!line) {
    return fail(line.error().code(), fmt::format("{}: {}", describe(row), line.error().message()));
  }
  const PointId id = line->id.value_or(PointId::number(row + plan_.id_offset));
  return RowPoint{.row = row,
                  .id = id,
                  .payload = std::move(line->payload),
                  .vectors = std::move(line->vectors)};
}

Result<RowPoint> RowReader::make_point(const RowBlock& block, std::size_t i) {
  RowPoint point;
  point.row = block.first_row + i;
  point.id = PointId::number(point.row + plan_.id_offset);
  if (lines_ != nullptr) {
    QV_TRY(point, read_line(point.row, texts_[i]));
  }
  if (ids_ != nullptr) {
    QV_TRY(point.id, block_ids_[i]);
  }
  point.column_row = i;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (block.columns[c].present[i] == 0) continue;
    if (const auto problem = problem_of(block.columns[c], i)) {
      return fail(Code::kInvalidArgument,
                  fmt::format("{} row {}: {}", columns_[c].spec().source, point.row, *problem));
    }
  }
  return point;
}

Result<RowBlock> RowReader::read(BlockSize limit, RowBlock used) {
  if (stopped_) return fail(*stopped_);
  RowBlock block = std::move(used);
  block.points.clear();
  block.first_row = block.end_row = position_;
  limit.rows =
      static_cast<std::size_t>(std::min<std::uint64_t>(limit.rows, plan_.rows.end - position_));
  QV_TRY(const std::size_t n_found, read_sources(limit, block));
  if (n_found == 0 && !stopped_) QV_TRY(check_holds_range(main_source(), position_));
  block.points.reserve(n_found);
  for (std::size_t i = 0; i < n_found; ++i) {
    auto point = make_point(block, i);
    if (point) {
      block.points.push_back(*std::move(point));
    } else if (auto taken = bad_rows_.add(position_ + i, point.error().message()); !taken) {
      stopped_ = taken.error();
      break;
    }
    ++block.end_row;
  }
  position_ = block.end_row;
  if (stopped_ && block.end_row == block.first_row) return fail(*stopped_);
  return block;
}

}  // namespace quiver::app
