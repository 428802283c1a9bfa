#include "dataset/formats/vecs_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "dataset/formats/matrix_reader.h"
#include "dataset/formats/value_type.h"

namespace quiver::dataset {
namespace {

constexpr std::size_t kHeadBytes = sizeof(std::int32_t);
// Rows are taken out of blocks of this size, which stay in L2.
constexpr std::size_t kBlockBytes = std::size_t{1} << 18;

std::int32_t head_of(const std::byte* row) {
  std::int32_t dim;
  std::memcpy(&dim, row, sizeof(dim));
  return dim;
}

/// Reads the dimension of the first row from a separate source, so that rows can then be read
/// whole.
Result<VectorShape> read_shape(const std::string& path, ValueType type) {
  QV_TRY(const std::unique_ptr<ByteSource> source, open_bytes(path));
  std::array<std::byte, kHeadBytes> head;
  QV_TRY(const std::size_t n_read, source->read(head));
  if (n_read < head.size()) {
    const std::string_view text =
        n_read == 0 ? "the file is empty, wanted at least one row" : "the file ends here";
    return fail(
        source->error(n_read == 0 ? Code::kInvalidArgument : Code::kDataLoss, 0, n_read, text));
  }
  const std::int32_t dim = head_of(head.data());
  if (dim < 1 || dim > static_cast<std::int32_t>(kMaxDim)) {
    return fail(source->error(Code::kInvalidArgument, 0, 0,
                              fmt::format("found dimension {}, wanted 1 to {}", dim, kMaxDim)));
  }
  VectorShape shape;
  shape.type = type;
  shape.dim = static_cast<std::uint32_t>(dim);
  const std::uint64_t row_bytes = kHeadBytes + shape.dim * bytes_per_value(type);
  if (const auto size = source->size(); size && *size % row_bytes == 0) {
    shape.n_rows = *size / row_bytes;
  } else if (size) {
    return fail(source->error(
        Code::kDataLoss, *size / row_bytes, *size,
        fmt::format("the file ends within a row, wanted rows of {} bytes (dimension {}, as in row "
                    "0): it is cut off, or its rows have different dimensions",
                    row_bytes, dim)));
  }
  return shape;
}

}  // namespace

Result<std::unique_ptr<VecsReader>> VecsReader::open(const std::string& path, ValueType type) {
  QV_TRY(const VectorShape shape, read_shape(path, type));
  QV_TRY(std::unique_ptr<ByteSource> source, open_bytes(path));
  return std::unique_ptr<VecsReader>(new VecsReader(std::move(source), shape));
}

std::size_t VecsReader::row_bytes() const {
  return kHeadBytes + shape_.dim * bytes_per_value(shape_.type);
}

const std::byte* VecsReader::values_of(std::size_t i) const {
  return rows_.data() + i * row_bytes() + kHeadBytes;
}

Result<> VecsReader::check_rows(std::size_t n_bytes) const {
  for (std::size_t begin = 0; begin + kHeadBytes <= n_bytes; begin += row_bytes()) {
    const std::int32_t dim = head_of(rows_.data() + begin);
    if (dim == static_cast<std::int32_t>(shape_.dim)) continue;
    const std::uint64_t byte = source_->position() - n_bytes + begin;
    return fail(source_->error(
        Code::kInvalidArgument, byte / row_bytes(), byte,
        fmt::format("found dimension {}, wanted {} as in the first row", dim, shape_.dim)));
  }
  if (n_bytes % row_bytes() == 0) return {};
  return fail(source_->error(Code::kDataLoss, source_->position() / row_bytes(),
                             source_->position(), "the file ends within a row"));
}

/// Reads the next rows into `rows_`.
Result<std::size_t> VecsReader::read_rows(std::size_t max_rows) {
  const std::size_t n_rows =
      std::min(max_rows, std::max<std::size_t>(kBlockBytes / row_bytes(), 1));
  rows_.resize(n_rows * row_bytes());
  QV_TRY(const std::size_t n_read, source_->read(rows_));
  QV_TRY(check_rows(n_read));
  row_ += n_read / row_bytes();
  return n_read / row_bytes();
}

Result<> VecsReader::read(std::size_t max_rows, VectorBatch& out) {
  out.offsets.clear();
  out.indices.clear();
  out.first_row = row_;
  out.n_rows = 0;
  max_rows = std::min<std::size_t>(max_rows, kMaxBatchValues / shape_.dim);
  while (out.n_rows < max_rows) {
    QV_TRY(const std::size_t n, read_rows(max_rows - out.n_rows));
    if (n == 0) break;
    const std::size_t begin = out.n_rows * shape_.dim;
    if (out.values.size() < begin + n * shape_.dim) out.values.resize(begin + n * shape_.dim);
    for (std::size_t i = 0; i < n; ++i) {
      to_f32(shape_.type, values_of(i),
             std::span(out.values).subspan(begin + i * shape_.dim, shape_.dim));
    }
    out.n_rows += n;
  }
  out.values.resize(out.n_rows * shape_.dim);
  return {};
}

Result<std::size_t> VecsReader::read(std::size_t max_rows, std::vector<std::int64_t>& out) {
  QV_TRY(const std::size_t n, read_rows(max_rows));
  out.resize(n * shape_.dim);
  for (std::size_t i = 0; i < n; ++i) {
    to_i64(shape_.type, values_of(i), std::span(out).subspan(i * shape_.dim, shape_.dim));
  }
  return n;
}

Result<> VecsReader::skip_to(std::uint64_t row) {
  const std::uint64_t byte = row * row_bytes();
  QV_TRY(source_->seek(byte));
  if (source_->position() < byte) {
    return fail(no_such_row(source_->path(), row, source_->position() / row_bytes()));
  }
  row_ = row;
  return {};
}

}  // namespace quiver::dataset
