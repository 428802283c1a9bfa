#include "gpu/encode.h"

#include <algorithm>
#include <cmath>

#include "kernels/kernels.h"

namespace quiver::gpu {
namespace {

constexpr double kMaxLength = 1e18;
constexpr float kMinScale = 1e-20F;  ///< of a query; see kLeastError
/// Added to the error of a row. It covers products of the kernels that underflow: at least 127 *
/// 1e-20 * 1e-20 against 65,536 * 2^-149.
constexpr double kLeastError = 1e-20;
/// For the rounding of an f64 to f32, and of the sums before it.
constexpr double kUp = 1 + 0x1p-20;

float rounded_up(double value) { return static_cast<float>(value * kUp); }

struct Lengths {
  float scale = 0;
  double error = 0;   ///< length of the residual
  double length = 0;  ///< of scale * code
  double square = 0;  ///< of the vector
};

Lengths encode(std::span<const float> vector, std::int8_t* codes) {
  float largest = 0;
  for (const float value : vector) largest = std::max(largest, std::fabs(value));
  Lengths lengths{.scale = largest / 127};
  const double inverse = lengths.scale > 0 ? 1.0 / lengths.scale : 0.0;
  double error = 0;
  double length = 0;
  for (std::size_t i = 0; i < vector.size(); ++i) {
    const double value = vector[i];
    const double code = std::clamp(std::nearbyint(value * inverse), -127.0, 127.0);
    const double decoded = code * lengths.scale;
    codes[i] = static_cast<std::int8_t>(code);
    error += (value - decoded) * (value - decoded);
    length += decoded * decoded;
    lengths.square += value * value;
  }
  lengths.error = std::sqrt(error);
  lengths.length = std::sqrt(length);
  return lengths;
}

bool is_bounded(std::span<const float> vector) {
  double square = 0;
  for (const float value : vector) square += double{value} * value;
  return square <= kMaxLength * kMaxLength;  // false for NaN
}

std::span<const float> as_floats(const std::byte* row, DType dtype, std::span<float> buffer) {
  const auto& convert = kernels().convert;
  const auto* words = reinterpret_cast<const std::uint16_t*>(row);
  switch (dtype) {
    case DType::kF16:
      convert.f16_to_f32(words, buffer.size(), buffer.data());
      return buffer;
    case DType::kBf16:
      convert.bf16_to_f32(words, buffer.size(), buffer.data());
      return buffer;
    case DType::kU8:
      convert.u8_to_f32(reinterpret_cast<const std::uint8_t*>(row), buffer.size(), buffer.data());
      return buffer;
    default:
      return {reinterpret_cast<const float*>(row), buffer.size()};
  }
}

}  // namespace

bool encode_rows(const MatrixView& rows, std::size_t first, std::size_t n, EncodedRows& out) {
  const std::size_t stride = code_stride(rows.dim);
  out.codes.assign(n * stride, 0);
  out.rows.resize(n);
  std::vector<float> buffer(rows.dim);
  for (std::size_t i = 0; i < n; ++i) {
    const auto vector = as_floats(rows.row(first + i), rows.dtype, buffer);
    if (!is_bounded(vector)) return false;
    const Lengths lengths = encode(vector, out.codes.data() + i * stride);
    out.rows[i] = {lengths.scale, rounded_up(lengths.error + kLeastError),
                   rounded_up(lengths.length), static_cast<float>(lengths.square)};
  }
  return true;
}

bool encode_query(std::span<const float> vector, Similarity similarity, std::int8_t* codes,
                  qv_query& query) {
  if (!is_bounded(vector)) return false;
  std::fill_n(codes, code_stride(static_cast<std::uint32_t>(vector.size())), std::int8_t{0});
  const Lengths lengths = encode(vector, codes);
  if (!(lengths.scale >= kMinScale)) return false;
  const double scale = lengths.scale;
  query.length = rounded_up(std::sqrt(lengths.square) / scale);
  query.error = rounded_up(lengths.error / scale);
  const bool is_distance = similarity == Similarity::kNegL2Squared;
  query.square = is_distance ? rounded_up(lengths.square / (2 * scale)) : 0;
  query.half_over_scale = is_distance ? static_cast<float>(1 / (2 * scale)) : 0;
  return true;
}

}  // namespace quiver::gpu
