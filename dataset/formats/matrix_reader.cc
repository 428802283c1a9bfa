#include "dataset/formats/matrix_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace quiver::dataset {
namespace {

Result<> check_dim(const ByteSource& source, std::uint64_t byte, std::uint64_t dim) {
  if (dim >= 1 && dim <= kMaxDim) return {};
  return fail(source.error(Code::kInvalidArgument, std::nullopt, byte,
                           fmt::format("found dimension {}, wanted 1 to {}", dim, kMaxDim)));
}

Result<std::unique_ptr<VectorReader>> make_reader(ArrayStream values, ValueType type,
                                                  std::uint64_t n_rows, std::uint64_t dim) {
  VectorShape shape;
  shape.type = type;
  shape.dim = static_cast<std::uint32_t>(dim);
  shape.n_rows = n_rows;
  return std::make_unique<MatrixReader>(std::move(values), shape);
}

/// Fills `out`, or fails with kDataLoss.
Result<> read_header_bytes(ByteSource& source, std::span<std::byte> out) {
  QV_TRY(const std::size_t n_read, source.read(out));
  if (n_read == out.size()) return {};
  return fail(source.error(Code::kDataLoss, std::nullopt, source.position(),
                           "the file ends within its header"));
}

std::uint32_t big_endian(const std::byte* bytes) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<std::uint32_t>(bytes[i]);
  return value;
}

Result<ValueType> idx_type(const ByteSource& source, std::span<const std::byte, 4> magic) {
  constexpr std::pair<int, ValueType> kTypes[] = {{0x08, ValueType::kU8},  {0x09, ValueType::kI8},
                                                  {0x0b, ValueType::kI16}, {0x0c, ValueType::kI32},
                                                  {0x0d, ValueType::kF32}, {0x0e, ValueType::kF64}};
  const auto code = static_cast<int>(magic[2]);
  const auto* found = std::ranges::find(kTypes, code, &std::pair<int, ValueType>::first);
  const bool is_idx = magic[0] == std::byte{0} && magic[1] == std::byte{0};
  if (is_idx && found != std::end(kTypes)) return found->second;
  return fail(source.error(
      Code::kInvalidArgument, std::nullopt, 0,
      fmt::format("is no IDX file: begins with {:08x}, wanted 00 00, a type from 08, 09, 0b to 0e, "
                  "and the number of dimensions",
                  big_endian(magic.data()))));
}

struct IdxHeader {
  ValueType type;
  std::uint64_t n_rows = 0;
  std::uint64_t dim = 1;
};

Result<IdxHeader> read_idx_header(ByteSource& source) {
  std::array<std::byte, 4> word;
  QV_TRY(read_header_bytes(source, word));
  IdxHeader header;
  QV_TRY(header.type, idx_type(source, word));
  const auto n_dims = static_cast<int>(word[3]);
  if (n_dims < 2) {
    return fail(source.error(Code::kInvalidArgument, std::nullopt, 3,
                             fmt::format("found {} dimensions, wanted 2 or more", n_dims)));
  }
  QV_TRY(read_header_bytes(source, word));
  header.n_rows = big_endian(word.data());
  for (int i = 1; i < n_dims; ++i) {
    QV_TRY(read_header_bytes(source, word));
    const std::uint64_t byte = source.position() - word.size();
    QV_TRY(check_dim(source, byte, big_endian(word.data())));
    header.dim *= big_endian(word.data());
    QV_TRY(check_dim(source, byte, header.dim));
  }
  return header;
}

}  // namespace

Result<> MatrixReader::read(std::size_t max_rows, VectorBatch& out) {
  const std::uint64_t cap = std::max<std::uint64_t>(kMaxBatchValues / shape_.dim, 1);
  const std::uint64_t n_rows = std::min({std::uint64_t{max_rows}, *shape_.n_rows - row_, cap});
  const auto n_values = static_cast<std::size_t>(n_rows * shape_.dim);
  out.offsets.clear();
  out.indices.clear();
  out.first_row = row_;
  QV_TRY(const std::size_t n_read, values_.read(n_values, out.values));
  if (n_read < n_values) {
    return fail(values_.broken_off(row_ + n_read / shape_.dim, values_.position()));
  }
  out.n_rows = static_cast<std::size_t>(n_rows);
  row_ += n_rows;
  if (row_ == *shape_.n_rows) QV_TRY(values_.check_end());
  return {};
}

Result<> MatrixReader::skip_to(std::uint64_t row) {
  if (row > *shape_.n_rows) return fail(no_such_row(values_.path(), row, *shape_.n_rows));
  row_ = row;
  return values_.skip_to(row * shape_.dim);
}

Result<std::unique_ptr<VectorReader>> open_npy_matrix(const std::string& path) {
  QV_TRY(NpyArray array, open_npy(path));
  const auto dim = array.shape.size() == 2 ? array.shape[1] : 0;
  if (dim < 1 || dim > kMaxDim) {
    return fail(Code::kInvalidArgument,
                fmt::format("{}: byte 0: found shape {}, wanted [rows, dimension] with a dimension "
                            "from 1 to {}",
                            path, shape_text(array.shape), kMaxDim));
  }
  const ValueType type = array.values.type();
  return make_reader(std::move(array.values), type, array.shape[0], dim);
}

Result<std::unique_ptr<VectorReader>> open_bin_matrix(const std::string& path, ValueType type) {
  QV_TRY(std::unique_ptr<ByteSource> source, open_bytes(path));
  std::array<std::uint32_t, 2> header;
  QV_TRY(read_header_bytes(*source, std::as_writable_bytes(std::span(header))));
  const auto [n_rows, dim] = header;
  QV_TRY(check_dim(*source, 4, dim));
  ArrayStream values(std::move(source),
                     {type, ByteOrder::kLittle, 8, std::uint64_t{n_rows} * dim, true});
  QV_TRY(values.check_size(dim));
  return make_reader(std::move(values), type, n_rows, dim);
}

Result<std::unique_ptr<VectorReader>> open_idx_matrix(const std::string& path) {
  QV_TRY(std::unique_ptr<ByteSource> source, open_bytes(path));
  QV_TRY(const IdxHeader header, read_idx_header(*source));
  const std::uint64_t first_byte = source->position();
  ArrayStream values(std::move(source),
                     {header.type, ByteOrder::kBig, first_byte, header.n_rows * header.dim, true});
  QV_TRY(values.check_size(header.dim));
  return make_reader(std::move(values), header.type, header.n_rows, header.dim);
}

Error no_such_row(const std::string& path, std::uint64_t row, std::uint64_t n_rows) {
  return Error(Code::kOutOfRange,
               fmt::format("{}: found {} rows, wanted row {}", path, n_rows, row));
}

}  // namespace quiver::dataset
