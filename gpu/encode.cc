#include "gpu/encode.h"

#include <algorithm>
#include <cmath>

#include "kernels/kernels.h"

namespace quiver::gpu {
namespace {

constexpr double kMaxLength = 1e18;
constexpr float kMinScale = 1e-20F;  ///< of a query; see kLeastError
/// Of a query of tokens: its products may underflow once a token.
constexpr float kMinValue = 1e-15F;
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

/// Squares of the lengths of a token as halves, and of what rounding took away.
struct HalfLengths {
  double error = 0;
  double length = 0;
  double square = 0;  ///< of the token itself
};

/// False if a value is no finite half. `buffer`: as many values.
bool encode_halves(std::span<const float> token, std::uint16_t* halves, std::span<float> buffer,
                   HalfLengths& lengths) {
  const auto& convert = kernels().convert;
  if (convert.f32_to_f16(token.data(), token.size(), halves) != 0) return false;
  convert.f16_to_f32(halves, token.size(), buffer.data());
  for (std::size_t i = 0; i < token.size(); ++i) {
    const double value = token[i];
    const double error = value - double{buffer[i]};
    lengths.error += error * error;
    lengths.length += double{buffer[i]} * buffer[i];
    lengths.square += value * value;
  }
  return std::isfinite(lengths.square);
}

}  // namespace

bool encode_documents(const Documents& documents, std::size_t first, std::size_t n,
                      EncodedDocuments& out) {
  const MatrixView& tokens = documents.tokens;
  const std::size_t stride = token_stride(tokens.dim) / 2;
  out.tokens.clear();
  out.documents.assign(n, {});
  std::vector<float> values(tokens.dim);
  std::vector<float> rounded(tokens.dim);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t begin = documents.offsets[first + i];
    const std::uint64_t n_tokens = documents.offsets[first + i + 1] - begin;
    if (n_tokens > kMostTokens) return false;
    qv_document& document = out.documents[i];
    document.first_group = static_cast<std::uint32_t>(out.tokens.size() / stride / QV_TOKEN_GROUP);
    document.n_groups = static_cast<std::uint32_t>(padded_tokens(n_tokens) / QV_TOKEN_GROUP);
    std::size_t at = out.tokens.size();
    out.tokens.resize(at + padded_tokens(n_tokens) * stride);
    double error = 0;
    double length = 0;
    for (std::uint64_t t = 0; t < n_tokens; ++t, at += stride) {
      const auto token = as_floats(tokens.row(begin + t), tokens.dtype, values);
      HalfLengths lengths;
      if (!encode_halves(token, out.tokens.data() + at, rounded, lengths)) return false;
      error = std::max(error, std::sqrt(lengths.error));
      length = std::max(length, std::sqrt(lengths.length));
    }
    for (; at < out.tokens.size(); at += stride) {
      std::copy_n(out.tokens.data() + at - stride, stride, out.tokens.data() + at);
    }
    document.error = rounded_up(error + kLeastError);
    document.length = rounded_up(length);
  }
  return true;
}

bool encode_tokens(std::span<const float> tokens, std::uint32_t dim, std::uint16_t* halves,
                   qv_token_query& query) {
  const std::size_t n = tokens.size() / dim;
  const std::size_t stride = token_stride(dim) / 2;
  std::fill_n(halves, padded_tokens(n) * stride, std::uint16_t{0});
  std::vector<float> rounded(dim);
  float largest = 0;
  double length = 0;
  double error = 0;
  for (std::size_t t = 0; t < n; ++t) {
    const auto token = tokens.subspan(t * dim, dim);
    for (const float value : token) largest = std::max(largest, std::fabs(value));
    HalfLengths lengths;
    if (!encode_halves(token, halves + t * stride, rounded, lengths)) return false;
    length += std::sqrt(lengths.square);
    error += std::sqrt(lengths.error);
  }
  if (!(largest >= kMinValue)) return false;
  query.n_groups = static_cast<std::uint32_t>(padded_tokens(n) / QV_TOKEN_GROUP);
  query.length = rounded_up(length);
  query.error = rounded_up(error);
  return true;
}

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
