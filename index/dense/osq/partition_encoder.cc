#include "index/dense/osq/partition_encoder.h"

#include <algorithm>
#include <cmath>

#include "encoders/osq/cells.h"
#include "encoders/osq/packing.h"
#include "encoders/osq/signs.h"
#include "encoders/transforms/rotation.h"
#include "index/dense/lists/kmeans/rows.h"
#include "kernels/kernels.h"

namespace quiver::index::dense::osq {
namespace {

using encoders::osq::KltView;
using encoders::osq::Packing;

constexpr std::uint32_t kSampledRows = 16384;
/// Covariances of fewer rows than this times the dimensions would be noisy.
constexpr std::uint32_t kSampledRowsPerDimension = 4;
constexpr std::uint32_t kRowsPerPoll = 256;

std::vector<float> sample_of(const ScaledRows& rows, std::span<const std::uint32_t> members,
                             std::uint64_t seed) {
  const auto n_members = static_cast<std::uint32_t>(members.size());
  const std::uint32_t most = std::max(kSampledRows, kSampledRowsPerDimension * rows.dim());
  std::vector<float> sample;
  for (const std::uint32_t i : spread(std::min(n_members, most), n_members, seed)) {
    sample.resize(sample.size() + rows.dim());
    rows.read(members[i], sample.data() + sample.size() - rows.dim());
  }
  return sample;
}

/// Coordinates of the rows of `sample`, by dimension: `[n_out, n]`.
std::vector<float> columns_of(const KltView& klt, std::span<const float> sample) {
  const std::size_t n = sample.size() / klt.dim;
  std::vector<float> columns(n * klt.n_out);
  std::vector<float> centred(klt.dim);
  std::vector<float> y(klt.n_out);
  for (std::size_t i = 0; i < n; ++i) {
    project(klt, sample.data() + i * klt.dim, centred.data(), y.data());
    for (std::uint32_t j = 0; j < klt.n_out; ++j) columns[j * n + i] = y[j];
  }
  return columns;
}

class Encoding {
 public:
  Encoding(const ScaledRows& rows, std::span<const std::uint32_t> members, const OsqFacts& facts,
           const BuildContext& context)
      : rows_(rows),
        members_(members),
        facts_(facts),
        context_(context),
        rotation_(rows.dim(), facts.seed) {}

  Result<EncodedPartition> run(const OsqBuildParams& params) {
    out_.facts.n_rows = static_cast<std::uint32_t>(members_.size());
    if (members_.empty()) {
      out_.klt.dim = rows_.dim();
      out_.klt.mean.assign(rows_.dim(), 0.0F);
    } else {
      QV_TRY(fit(params));
    }
    const Packing packing(out_.bits);
    out_.facts.n_out = out_.klt.n_out();
    out_.facts.n_segments = static_cast<std::uint32_t>(packing.n_segments());
    QV_TRY(encode(packing));
    return std::move(out_);
  }

 private:
  Result<> fit(const OsqBuildParams& params) {
    const std::vector<float> sample = sample_of(rows_, members_, context_.seed);
    QV_TRY(context_.cancel.check());
    QV_TRY(out_.klt, encoders::osq::train_klt(sample, rows_.dim()));
    QV_TRY(context_.cancel.check());
    const auto budget = static_cast<std::uint64_t>(std::llround(params.bits * rows_.dim()));
    out_.bits = encoders::osq::allocate_bits(out_.klt.variances, budget);
    std::vector<float> columns = columns_of(view_of(out_.klt), sample);
    const std::size_t n = sample.size() / rows_.dim();
    const encoders::osq::LloydRule rule{params.lloyd_tolerance, params.lloyd_iterations};
    for (std::size_t j = 0; j < out_.bits.size(); ++j) {
      QV_TRY(context_.cancel.check());
      const auto column = std::span(columns).subspan(j * n, n);
      std::sort(column.begin(), column.end());
      first_limit_.push_back(out_.limits.size());
      const auto limits = encoders::osq::cell_limits(column, 1U << out_.bits[j], rule);
      out_.limits.insert(out_.limits.end(), limits.begin(), limits.end());
    }
    first_limit_.push_back(out_.limits.size());
    return {};
  }

  /// Limits of dimension `j`.
  [[nodiscard]] std::span<float> limits_of(std::size_t j) {
    return std::span(out_.limits).subspan(first_limit_[j], first_limit_[j + 1] - first_limit_[j]);
  }

  Result<> encode(const Packing& packing) {
    const std::uint32_t n_out = out_.klt.n_out();
    std::vector<float> mixed(facts_.are_signs_mixed != 0 ? rotation_.padded_dim() : 0);
    const std::size_t bytes_of_signs =
        encoders::osq::sign_bytes(mixed.empty() ? n_out : mixed.size());
    out_.signs.resize(members_.size() * bytes_of_signs);
    out_.codes.resize(members_.size() * packing.n_segments() + kCodePadding);
    std::vector<float> x(rows_.dim());
    std::vector<float> centred(rows_.dim());
    std::vector<float> y(n_out);
    std::vector<std::uint8_t> codes(n_out);
    double complement = 0;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (i % kRowsPerPoll == 0) QV_TRY(context_.cancel.check());
      rows_.read(members_[i], x.data());
      project(view_of(out_.klt), x.data(), centred.data(), y.data());
      for (std::uint32_t j = 0; j < n_out; ++j) codes[j] = place(y[j], limits_of(j));
      packing.pack(codes, out_.codes.data() + i * packing.n_segments());
      if (!mixed.empty()) rotation_.apply(centred.data(), mixed.data());
      encoders::osq::write_signs(mixed.empty() ? y : mixed, out_.signs.data() + i * bytes_of_signs);
      add_residual(centred, y);
      complement += complement_of(x);
    }
    if (!members_.empty()) complement /= static_cast<double>(members_.size());
    out_.facts.complement = static_cast<float>(complement);
    return {};
  }

  /// The cell of a value, which the first and last limit are made to contain.
  static std::uint8_t place(float value, std::span<float> limits) {
    limits.front() = std::min(limits.front(), value);
    limits.back() = std::max(limits.back(), value);
    return encoders::osq::cell_of(limits, value);
  }

  void add_residual(std::span<const float> centred, std::span<const float> y) {
    const double whole = kernels().convert.norm(centred.data(), centred.size());
    const double part = kernels().convert.norm(y.data(), y.size());
    const double square = std::max(0.0, whole * whole - part * part);
    out_.facts.residual = std::max(out_.facts.residual, static_cast<float>(std::sqrt(square)));
  }

  [[nodiscard]] double complement_of(std::span<const float> x) const {
    if (facts_.length == 0) return 0;
    const double norm = kernels().convert.norm(x.data(), x.size());
    return std::sqrt(std::max(0.0, facts_.length * facts_.length - norm * norm));
  }

  const ScaledRows& rows_;
  std::span<const std::uint32_t> members_;
  const OsqFacts& facts_;
  const BuildContext& context_;
  encoders::Rotation rotation_;
  EncodedPartition out_;
  std::vector<std::size_t> first_limit_;
};

}  // namespace

Result<EncodedPartition> encode_partition(const ScaledRows& rows,
                                          std::span<const std::uint32_t> members,
                                          const OsqBuildParams& params, const OsqFacts& facts,
                                          const BuildContext& context) {
  return Encoding(rows, members, facts, context).run(params);
}

}  // namespace quiver::index::dense::osq
