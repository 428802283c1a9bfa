#include "encoders/transforms/reduction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "encoders/transforms/pca.h"
#include "encoders/transforms/random_bits.h"
#include "encoders/transforms/rotation.h"
#include "kernels/kernels.h"

namespace quiver::encoders {
namespace {

constexpr std::uint32_t kUnit = 32;
constexpr std::size_t kLineBytes = 64;
constexpr std::int32_t kMiddle = 128;
constexpr float kLargestByte = 127;
/// Second codes of a row are whole cache lines.
constexpr std::uint32_t kPreferredUnit = 64;
/// Near rows share some of what is left out of them: of its length, this share counts as common to
/// a query and its rows. It added .003 to the recall of images (Fashion-MNIST, 192 of 784).
constexpr float kCommonShare = 0.3F;
/// Products of what is left out exceed the usual ones of any two rows: near rows are alike.
constexpr double kLossOfNearRows = 4;
/// A mean shorter than this share of the rows' usual length needs no direction of its own.
constexpr double kLeastMean = 1e-6;

double length_of(const float* values, std::size_t n) { return kernels().convert.norm(values, n); }

/// What of the mean lies outside of the first `n` principal directions, of unit length; empty if
/// hardly anything.
std::vector<float> mean_outside(const Pca& pca, std::uint32_t n) {
  const std::uint32_t dim = pca.dim();
  std::vector<double> rest(pca.mean().begin(), pca.mean().end());
  for (std::uint32_t i = 0; i < n; ++i) {
    const auto direction = pca.directions().subspan(std::size_t{i} * dim, dim);
    const double along = std::inner_product(rest.begin(), rest.end(), direction.begin(), 0.0);
    for (std::uint32_t d = 0; d < dim; ++d) rest[d] -= along * direction[d];
  }
  const double length = std::sqrt(std::inner_product(rest.begin(), rest.end(), rest.begin(), 0.0));
  const double variance = std::accumulate(pca.variances().begin(), pca.variances().end(), 0.0);
  if (!(length > kLeastMean * std::sqrt(variance))) return {};
  std::vector<float> unit(dim);
  for (std::uint32_t d = 0; d < dim; ++d) unit[d] = static_cast<float>(rest[d] / length);
  return unit;
}

/// Least number of directions that keep `share` of the variance.
std::uint32_t n_keeping(std::span<const float> variances, double share) {
  const double all = std::accumulate(variances.begin(), variances.end(), 0.0);
  double kept = 0;
  for (std::uint32_t n = 0; n < variances.size(); ++n) {
    if (kept >= share * all) return n;
    kept += variances[n];
  }
  return static_cast<std::uint32_t>(variances.size());
}

/// Rotates the columns of `basis`, `[n_out, dim]`.
std::vector<float> rotated(std::span<const float> basis, std::uint32_t dim,
                           const Rotation& rotation) {
  const std::uint32_t n_out = rotation.padded_dim();
  std::vector<float> matrix(basis.size());
  std::vector<float> column(n_out);
  std::vector<float> turned(n_out);
  for (std::uint32_t d = 0; d < dim; ++d) {
    for (std::uint32_t i = 0; i < n_out; ++i) column[i] = basis[std::size_t{i} * dim + d];
    rotation.apply(column.data(), turned.data());
    for (std::uint32_t i = 0; i < n_out; ++i) matrix[std::size_t{i} * dim + d] = turned[i];
  }
  return matrix;
}

}  // namespace

Result<Reduction> Reduction::train_pca(std::span<const float> sample, std::uint32_t dim,
                                       Similarity similarity, const ReductionPlan& plan,
                                       std::uint64_t seed) {
  QV_TRY(const Pca pca, Pca::train(sample, dim));
  const bool has_tail = similarity == Similarity::kNegL2Squared;
  const std::uint32_t n_others = has_tail ? 2 : 1;  // the mean; the tail
  const std::uint32_t wanted = n_keeping(pca.variances(), plan.kept_share) + n_others;
  const std::uint32_t n_out = plan.n_out != 0
                                  ? plan.n_out
                                  : (wanted + kPreferredUnit - 1) / kPreferredUnit * kPreferredUnit;
  if (n_out % kUnit != 0 || n_out < 2 * kUnit || n_out >= dim) {
    return fail(
        Code::kInvalidArgument,
        fmt::format("{} dimensions cannot be reduced to {}: wanted a multiple of {} from {}", dim,
                    n_out, kUnit, 2 * kUnit));
  }
  const std::uint32_t n_kept = n_out - n_others;
  std::vector<float> basis(pca.directions().begin(),
                           pca.directions().begin() + std::size_t{n_kept} * dim);
  const auto mean = mean_outside(pca, n_kept);
  basis.insert(basis.end(), mean.begin(), mean.end());
  basis.resize(std::size_t{n_out} * dim);
  const Rotation rotation(n_out, seed);
  std::vector<float> tail(n_out);
  if (has_tail) {
    std::vector<float> last(n_out);
    last.back() = 1;
    rotation.apply(last.data(), tail.data());
  }
  const auto variances = pca.variances();
  const double all = std::accumulate(variances.begin(), variances.end(), 0.0);
  const double kept = std::accumulate(variances.begin(), variances.begin() + n_kept, 0.0);
  const double mean_norm = length_of(pca.mean().data(), dim);
  const double square = kept + mean_norm * mean_norm;
  Facts facts{Kind::kPca, dim, n_out};
  facts.kept_share = static_cast<float>(all > 0 ? kept / all : 1);
  facts.lost_share =
      static_cast<float>(square > 0 ? kLossOfNearRows * variances[n_kept] / square : 0);
  return Reduction(facts, rotated(basis, dim, rotation), std::move(tail));
}

Reduction Reduction::random(std::uint32_t dim, std::uint32_t n_out, std::uint64_t seed) {
  const double density = 1 / std::sqrt(static_cast<double>(dim));
  const auto weight = static_cast<float>(1 / std::sqrt(density * n_out));
  std::vector<float> matrix(std::size_t{n_out} * dim);
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    const double u = random_unit(seed, i) / density;
    matrix[i] = u >= 1 ? 0 : u < 0.5 ? weight : -weight;
  }
  Facts facts{Kind::kRandom, dim, n_out};
  facts.kept_share = static_cast<float>(n_out) / static_cast<float>(dim);
  facts.lost_share = 1 / static_cast<float>(n_out);
  return Reduction(facts, rotated(matrix, dim, Rotation(n_out, seed + 1)),
                   std::vector<float>(n_out));
}

Result<Reduction> Reduction::of(const Facts& facts, std::span<const float> matrix,
                                std::span<const float> tail) {
  const bool is_known = facts.kind == Kind::kPca || facts.kind == Kind::kRandom;
  if (!is_known || facts.n_out % kUnit != 0 || facts.n_out < 2 * kUnit ||
      facts.n_out >= facts.dim || !(facts.lost_share >= 0) ||
      matrix.size() != std::size_t{facts.n_out} * facts.dim || tail.size() != facts.n_out) {
    return fail(Code::kDataLoss, fmt::format("a reduction of {} dimensions to {}, {} weights",
                                             facts.dim, facts.n_out, matrix.size()));
  }
  return Reduction(facts, {matrix.begin(), matrix.end()}, {tail.begin(), tail.end()});
}

Reduction::Reduction(const Facts& facts, std::vector<float> matrix, std::vector<float> tail)
    : facts_(facts) {
  auto bytes = to_bytes(facts, matrix);
  parts_ =
      std::make_shared<const Parts>(Parts{std::move(matrix), std::move(tail), std::move(bytes)});
}

Reduction::ByteMatrix Reduction::to_bytes(const Facts& facts, std::span<const float> matrix) {
  ByteMatrix out;
  out.stride = (std::size_t{facts.dim} + kLineBytes - 1) / kLineBytes * kLineBytes;
  out.bytes.assign(facts.n_out * out.stride, kMiddle);
  for (std::size_t i = 0; i < facts.n_out; ++i) {
    const auto row = matrix.subspan(i * facts.dim, facts.dim);
    const float largest = kernels().grid.largest(row.data(), row.size());
    out.scales.push_back(largest / kLargestByte);
    const float per_unit = largest > 0 ? kLargestByte / largest : 0;
    for (std::size_t d = 0; d < row.size(); ++d) {
      out.bytes[i * out.stride + d] =
          static_cast<std::uint8_t>(kMiddle + std::lround(row[d] * per_unit));
    }
  }
  return out;
}

void Reduction::multiply(const float* in, float* out) const {
  kernels()
      .dense(Similarity::kDot, RowType::kF32)
      .many(in, dim(), reinterpret_cast<const std::byte*>(matrix().data()), dim() * sizeof(float),
            n_out(), out);
}

void Reduction::add_tail(float length, float* out) const {
  for (std::uint32_t i = 0; i < n_out(); ++i) out[i] += length * tail()[i];
}

void Reduction::apply_to_row(const float* in, float* out) const {
  multiply(in, out);
  if (facts_.kind != Kind::kPca) return;
  add_tail(static_cast<float>(std::sqrt(lost_square(in, out))), out);
}

void Reduction::multiply_bytes(const float* in, float* out) const {
  thread_local std::vector<float> values;
  thread_local std::vector<std::int8_t> query;
  thread_local std::vector<std::int32_t> products;
  const auto& [stride, bytes, scales] = parts_->bytes;
  values.assign(stride, 0);
  std::copy_n(in, dim(), values.begin());
  query.resize(stride);
  products.resize(n_out());
  const float largest = kernels().grid.largest(in, dim());
  const float per_unit = largest > 0 ? kLargestByte / largest : 0;
  const std::int32_t sum = kernels().codes.to_bytes(values.data(), stride, per_unit, query.data());
  kernels().bytes.u8_dot_i8.many(query.data(), static_cast<std::uint32_t>(stride),
                                 reinterpret_cast<const std::byte*>(bytes.data()), stride, n_out(),
                                 products.data());
  for (std::uint32_t i = 0; i < n_out(); ++i) {
    const auto product = static_cast<float>(products[i] - kMiddle * sum);
    out[i] = product * scales[i] * (largest / kLargestByte);
  }
}

float Reduction::apply_to_query(const float* in, float* out) const {
  multiply_bytes(in, out);
  const double norm = length_of(in, dim());
  if (facts_.kind != Kind::kPca) return static_cast<float>(norm * norm * facts_.lost_share);
  const double lost = lost_square(in, out);
  add_tail(kCommonShare * static_cast<float>(std::sqrt(lost)), out);
  return static_cast<float>(lost * facts_.lost_share);
}

double Reduction::lost_square(const float* in) const {
  std::vector<float> out(n_out());
  multiply(in, out.data());
  return lost_square(in, out.data());
}

double Reduction::lost_square(const float* in, const float* out) const {
  const double all = length_of(in, dim());
  const double kept = length_of(out, n_out());
  return std::max(0.0, all * all - kept * kept);
}

bool operator==(const Reduction& a, const Reduction& b) {
  return a.parts_ == b.parts_ ||
         (a.facts_.kind == b.facts_.kind && a.facts_.dim == b.facts_.dim &&
          a.facts_.n_out == b.facts_.n_out && a.parts_->matrix == b.parts_->matrix &&
          a.parts_->tail == b.parts_->tail);
}

}  // namespace quiver::encoders
