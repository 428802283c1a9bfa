#include "dataset/formats/row_offsets.h"

#include <fmt/format.h>

#include <algorithm>

#include "dataset/formats/matrix_reader.h"

namespace quiver::dataset {
namespace {

// Limit of rows per call.
constexpr std::size_t kMaxBatchRows = std::size_t{1} << 16;

}  // namespace

/// Fills `ahead_` with `n` offsets, or with fewer if the file breaks off.
Result<> RowOffsets::look_ahead(std::size_t n) {
  const std::size_t n_before = ahead_.size();
  if (n <= n_before) return {};
  ahead_.resize(n);
  QV_TRY(const std::size_t n_read, stream_.read(std::span(ahead_).subspan(n_before)));
  ahead_.resize(n_before + n_read);
  return {};
}

Result<> RowOffsets::read_raw(std::size_t n) {
  QV_TRY(look_ahead(n));
  if (ahead_.size() < n) {
    const std::uint64_t value = stream_.position();
    return fail(stream_.broken_off(value == 0 ? 0 : value - 1, value));
  }
  const auto end = ahead_.begin() + static_cast<std::ptrdiff_t>(n);
  raw_.assign(ahead_.begin(), end);
  ahead_.erase(ahead_.begin(), end);
  return {};
}

Result<> RowOffsets::check(std::uint64_t row, std::int64_t offset) const {
  const bool is_last = row + 1 == n_rows();
  const auto entry = static_cast<std::uint64_t>(offset);
  if (offset >= 0 && entry >= first_entry_ && entry <= n_entries_ &&
      (!is_last || entry == n_entries_)) {
    return {};
  }
  const std::string wanted = is_last ? fmt::format("{}, the number of entries", n_entries_)
                                     : fmt::format("{} to {}", first_entry_, n_entries_);
  return fail(stream_.error(Code::kInvalidArgument, row, row + 1,
                            fmt::format("found offset {}, wanted {}", offset, wanted)));
}

Result<> RowOffsets::read_first() {
  if (has_first_) return {};
  QV_TRY(read_raw(1));
  if (raw_[0] != 0 || (n_rows() == 0 && n_entries_ != 0)) {
    return fail(stream_.error(
        Code::kInvalidArgument, 0, 0,
        fmt::format("found first offset {} of {} rows with {} entries, wanted {}", raw_[0],
                    n_rows(), n_entries_, raw_[0] != 0 ? "0" : "no entries")));
  }
  has_first_ = true;
  return {};
}

Result<std::size_t> RowOffsets::read(std::size_t max_rows, std::vector<std::uint64_t>& out) {
  QV_TRY(read_first());
  const auto n =
      static_cast<std::size_t>(std::min<std::uint64_t>({max_rows, n_rows() - row_, kMaxBatchRows}));
  QV_TRY(read_raw(n));
  out.assign(1, 0);
  out.reserve(n + 1);
  const std::uint64_t base = first_entry_;
  for (const std::int64_t offset : raw_) {
    QV_TRY(check(row_, offset));
    first_entry_ = static_cast<std::uint64_t>(offset);
    out.push_back(first_entry_ - base);
    ++row_;
  }
  if (row_ == n_rows()) QV_TRY(stream_.check_end());
  return n;
}

Result<std::size_t> RowOffsets::rows_within(std::size_t max_rows, std::uint64_t max_entries) {
  QV_TRY(read_first());
  QV_TRY(look_ahead(static_cast<std::size_t>(std::min<std::uint64_t>(max_rows, n_rows() - row_))));
  const auto too_many = std::find_if(ahead_.begin(), ahead_.end(), [&](std::int64_t offset) {
    return static_cast<std::uint64_t>(offset) > first_entry_ + max_entries;
  });
  const auto n = static_cast<std::size_t>(too_many - ahead_.begin());
  return std::min(max_rows, too_many == ahead_.end() ? max_rows : std::max<std::size_t>(n, 1));
}

Result<> RowOffsets::skip_to(std::uint64_t row) {
  QV_TRY(read_first());
  if (row > n_rows()) return fail(no_such_row(path(), row, n_rows()));
  if (row == row_) return {};
  // The end of the row before.
  const auto n_passed = std::min<std::uint64_t>(row - row_ - 1, ahead_.size());
  ahead_.erase(ahead_.begin(), ahead_.begin() + static_cast<std::ptrdiff_t>(n_passed));
  if (ahead_.empty()) QV_TRY(stream_.skip_to(row));
  QV_TRY(read_raw(1));
  row_ = row - 1;
  QV_TRY(check(row_, raw_[0]));
  first_entry_ = static_cast<std::uint64_t>(raw_[0]);
  row_ = row;
  return {};
}

Result<ArrayStream> open_npy_offsets(const std::string& path) {
  QV_TRY(NpyArray array, open_npy(path));
  if (array.shape.size() == 1 && array.shape[0] > 0 && is_integer(array.values.type())) {
    return std::move(array.values);
  }
  return fail(Code::kInvalidArgument,
              fmt::format("{}: byte 0: found {} of shape {}, wanted integers of shape [rows + 1]",
                          path, to_string(array.values.type()), shape_text(array.shape)));
}

}  // namespace quiver::dataset
