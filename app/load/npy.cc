#include "app/load/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>

#include "kernels/kernels.h"

namespace quiver::app {
namespace {

tl::unexpected<Error> wrong(const std::string& name, std::string_view what) {
  return fail(Code::kInvalidArgument, fmt::format("{}: {}", name, what));
}

/// What follows `'key':` in the header's Python dictionary.
std::string_view value_of(std::string_view header, std::string_view key) {
  const auto found = header.find(fmt::format("'{}':", key));
  if (found == std::string_view::npos) return {};
  std::string_view rest = header.substr(found + key.size() + 3);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  return rest;
}

std::optional<DType> dtype_of(std::string_view descr) {
  if (descr.starts_with("'<f4'")) return DType::kF32;
  if (descr.starts_with("'<f2'")) return DType::kF16;
  if (descr.starts_with("'|u1'") || descr.starts_with("'<u1'")) return DType::kU8;
  return std::nullopt;
}

/// "(12, 34)" and nothing of another rank.
std::optional<std::pair<std::size_t, std::size_t>> shape_of(std::string_view text) {
  std::size_t n_rows = 0;
  std::size_t dim = 0;
  const char* end = text.data() + text.size();
  if (!text.starts_with('(')) return std::nullopt;
  const auto first = std::from_chars(text.data() + 1, end, n_rows);
  if (first.ec != std::errc() || end - first.ptr < 3 || first.ptr[0] != ',' ||
      first.ptr[1] != ' ') {
    return std::nullopt;
  }
  const auto second = std::from_chars(first.ptr + 2, end, dim);
  if (second.ec != std::errc() || second.ptr == end || *second.ptr != ')' || dim == 0) {
    return std::nullopt;
  }
  return std::pair(n_rows, dim);
}

/// Where the header text begins and how long it is.
std::optional<std::pair<std::size_t, std::size_t>> header_span(std::string_view bytes) {
  if (!bytes.starts_with("\x93NUMPY") || bytes.size() < 12) return std::nullopt;
  const std::size_t n_length_bytes = bytes[6] == 1 ? 2 : 4;
  std::size_t length = 0;
  for (std::size_t i = n_length_bytes; i-- > 0;) {
    length = length << 8 | static_cast<unsigned char>(bytes[8 + i]);
  }
  const std::size_t begin = 8 + n_length_bytes;
  if (length > bytes.size() - begin) return std::nullopt;
  return std::pair(begin, length);
}

}  // namespace

Result<NpyMatrix> NpyMatrix::open(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  if (!file || !(bytes << file.rdbuf())) {
    return fail(Code::kNotFound, fmt::format("cannot read {}", path));
  }
  return parse(std::move(bytes).str(), path);
}

Result<NpyMatrix> NpyMatrix::parse(std::string bytes, const std::string& name) {
  const auto span = header_span(bytes);
  if (!span) return wrong(name, "is no .npy file");
  const std::string_view header = std::string_view(bytes).substr(span->first, span->second);
  const auto dtype = dtype_of(value_of(header, "descr"));
  const auto shape = shape_of(value_of(header, "shape"));
  if (!dtype) return wrong(name, "wanted values of type <f4, <f2 or |u1");
  if (!shape || !value_of(header, "fortran_order").starts_with("False")) {
    return wrong(name, "wanted a two-dimensional array in C order");
  }
  NpyMatrix matrix;
  matrix.data_offset_ = span->first + span->second;
  matrix.n_rows_ = shape->first;
  matrix.dim_ = shape->second;
  matrix.dtype_ = *dtype;
  const std::size_t n_bytes = bytes.size() - matrix.data_offset_;
  if (n_bytes / bytes_per_value(*dtype) / matrix.dim_ < matrix.n_rows_) {
    return wrong(name, fmt::format("holds {} bytes of values, too few for its shape [{}, {}]",
                                   n_bytes, matrix.n_rows_, matrix.dim_));
  }
  matrix.bytes_ = std::move(bytes);
  return matrix;
}

void NpyMatrix::row(std::size_t i, std::span<float> out) const {
  const char* row = bytes_.data() + data_offset_ + i * dim_ * bytes_per_value(dtype_);
  const ConvertKernels& convert = kernels().convert;
  switch (dtype_) {
    case DType::kF32:
      std::memcpy(out.data(), row, dim_ * sizeof(float));
      break;
    case DType::kF16:
      convert.f16_to_f32(reinterpret_cast<const std::uint16_t*>(row), dim_, out.data());
      break;
    case DType::kU8:
      convert.u8_to_f32(reinterpret_cast<const std::uint8_t*>(row), dim_, out.data());
      break;
  }
}

}  // namespace quiver::app
