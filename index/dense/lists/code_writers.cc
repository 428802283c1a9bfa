#include "index/dense/lists/code_writers.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "encoders/codes/code_block.h"
#include "encoders/codes/factors.h"
#include "encoders/codes/rabitq.h"

namespace quiver::index::dense {
namespace {

/// Sum of `term(d)` for each d below `n`, a multiple of 8. Eight sums, because an addition waits
/// for the one before it.
template <class F>
double sum_of(std::size_t n, F&& term) {
  constexpr std::size_t kSums = 8;
  double sums[kSums] = {};
  for (std::size_t d = 0; d < n; d += kSums) {
    for (std::size_t j = 0; j < kSums; ++j) sums[j] += term(d + j);
  }
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

}  // namespace

ResidualCode ResidualCoder::code(std::span<const float> x, std::span<const float> centre,
                                 std::uint32_t n_bits, std::uint8_t* codes) {
  const std::size_t dim = x.size();
  residual_.resize(dim);
  for (std::size_t d = 0; d < dim; ++d) residual_[d] = x[d] - centre[d];
  const double centre_dot_residual =
      sum_of(dim, [&](std::size_t d) { return static_cast<double>(centre[d]) * residual_[d]; });
  const auto factors = encoders::rabitq_encode(residual_, n_bits, codes);
  const double middle = ((1U << n_bits) - 1) / 2.0;
  const double centre_dot_code =
      sum_of(dim, [&](std::size_t d) { return centre[d] * (codes[d] - middle); });
  const double f = factors.scale();
  const bool is_distance = similarity_ == Similarity::kNegL2Squared;
  ResidualCode row;
  row.scale = static_cast<float>(is_distance ? 2 * f : f);
  row.add = static_cast<float>(is_distance ? -(factors.norm_squared + 2 * f * centre_dot_code)
                                           : centre_dot_residual - f * centre_dot_code);
  row.square = factors.norm_squared;
  row.deviation = factors.deviation(static_cast<std::uint32_t>(dim));
  if (!std::isfinite(row.scale) || !std::isfinite(row.add)) {
    row.scale = 0;
    row.add = std::numeric_limits<float>::max();
  }
  return row;
}

BlockWriter::BlockWriter(Similarity similarity, std::uint32_t dim, std::uint32_t n_bits,
                         std::size_t n_rows)
    : shape_{nullptr, dim / 32, n_bits, (n_rows + CodeBlocks::kRows - 1) / CodeBlocks::kRows},
      lines_(shape_.n * shape_.block_bytes() / 64),
      coder_(similarity),
      codes_(dim) {
  for (std::size_t i = 0; i < shape_.n * CodeBlocks::kRows; ++i) {
    set_factors(i, 0, -std::numeric_limits<float>::infinity());
  }
}

void BlockWriter::write(std::size_t i, std::span<const float> x, std::span<const float> centre,
                        float bonus) {
  const auto row = coder_.code(x, centre, shape_.n_bits, codes_.data());
  squares_ += row.square;
  set_factors(i, row.scale, row.add + bonus);
  encoders::put_codes(shape_, codes_, i % CodeBlocks::kRows, block_of(i));
}

std::byte* BlockWriter::block_of(std::size_t i) {
  return lines_[i / CodeBlocks::kRows * (shape_.block_bytes() / 64)].bytes;
}

void BlockWriter::set_factors(std::size_t i, float scale, float add) {
  encoders::put_factors(shape_, {scale, add}, i % CodeBlocks::kRows, block_of(i));
}

ByteWriter::ByteWriter(std::uint32_t dim, std::uint32_t n_bits, std::size_t n_rows)
    : dim_(dim), n_bits_(n_bits), codes_(n_rows * stride(dim, n_bits)), factors_(n_rows) {}

void ByteWriter::write(std::size_t i, std::span<const float> x) {
  const float half = n_bits_ == kHalfByteBits ? 8 : 128;
  const auto& grid = kernels().grid;
  const float largest = grid.largest(x.data(), dim_);
  const float per_unit = largest > 0 ? middle(n_bits_) / largest : 0;
  std::uint8_t* out = codes_.data() + i * stride(dim_, n_bits_);
  if (n_bits_ == kHalfByteBits) {
    std::vector<std::uint8_t> values(dim_);
    grid.encode(x.data(), dim_, per_unit, half, values.data());
    write_halves(values.data(), out);
  } else {
    grid.encode(x.data(), dim_, per_unit, half, out);
  }
  const auto sums = grid.measure(x.data(), dim_, per_unit, half);
  const double norm = kernels().convert.norm(x.data(), dim_);
  const double scale = sums.dot > 0 ? norm * norm / sums.dot * per_unit : 0;
  constexpr double kMaxFloat = std::numeric_limits<float>::max();
  factors_[i] = {static_cast<float>(std::min(scale, kMaxFloat)),
                 static_cast<float>(std::min(norm * norm, kMaxFloat))};
}

void ByteWriter::write_halves(const std::uint8_t* values, std::uint8_t* out) const {
  for (std::uint32_t d = 0; d < dim_; d += 2 * kGroupBytes, out += kGroupBytes) {
    for (std::size_t i = 0; i < kGroupBytes; ++i) {
      out[i] = static_cast<std::uint8_t>(values[d + i] | values[d + kGroupBytes + i] << 4);
    }
  }
}

std::span<const std::byte> BlockWriter::bytes() const { return std::as_bytes(std::span(lines_)); }

}  // namespace quiver::index::dense
