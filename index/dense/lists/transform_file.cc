#include "index/dense/lists/transform_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/observe/log.h"
#include "index/dense/lists/row_source.h"
#include "index/dense/lists/sections.h"

namespace quiver::index::dense {
namespace {

using encoders::Reduction;
using encoders::ReductionPlan;

constexpr std::uint32_t kUnit = 32;
/// `auto` reduces fields of at least so many dimensions. A query pays for the map: with fewer
/// dimensions it takes as long as it saves.
constexpr std::uint32_t kLeastDims = 512;
/// And of at most so many: eigenvectors take half a minute there, eight times as long for twice as
/// many dimensions, and cannot be stopped.
constexpr std::uint32_t kMostDims = 2048;
/// `auto` reduces fields of at least so many rows: with fewer a search reads so little that the map
/// of the query takes as long as it saves (docs/decisions/0065).
constexpr std::uint32_t kLeastRows = 80'000;
/// Sampled rows per dimension, and at least.
constexpr std::uint32_t kSampledPerDim = 4;
constexpr std::uint32_t kLeastSample = 4096;
/// A former reduction is taken again if it loses at most so many times what it lost of its own
/// rows.
constexpr double kMostLossGrowth = 1.3;

/// `[n, dim]`: rows spread over the source, of unit length under Cosine.
std::vector<float> sample_of(const RowSource& source, std::uint32_t dim) {
  const std::uint32_t n = std::min(source.n(), std::max(kLeastSample, kSampledPerDim * dim));
  std::vector<float> sample(std::size_t{n} * dim);
  for (std::uint32_t j = 0; j < n; ++j) {
    const auto i = static_cast<std::uint32_t>(std::uint64_t{source.n()} * j / n);
    source.read_normal(i, &sample[std::size_t{j} * dim]);
  }
  return sample;
}

/// Share of the sample's variance that a reduction loses.
double loss_of(const Reduction& reduction, std::span<const float> sample) {
  const std::uint32_t dim = reduction.dim();
  const std::size_t n = sample.size() / dim;
  std::vector<double> sum(dim, 0);
  double lost = 0;
  double all = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const float* row = &sample[i * dim];
    const double norm = kernels().convert.norm(row, dim);
    lost += reduction.lost_square(row);
    all += norm * norm;
    for (std::uint32_t d = 0; d < dim; ++d) sum[d] += row[d];
  }
  for (const double s : sum) all -= s / static_cast<double>(n) * s;
  return all > 0 ? lost / all : 1;
}

bool still_fits(const Reduction& former, const ListsBuildParams& params,
                std::span<const float> sample) {
  if (former.facts().kind == Reduction::Kind::kRandom) return params.reduce == "random";
  if (params.reduce == "random") return false;
  if (params.reduced_dims != 0 && params.reduced_dims != former.n_out()) return false;
  return loss_of(former, sample) <= kMostLossGrowth * (1 - former.facts().kept_share);
}

std::uint32_t rounded_up(std::uint32_t dims) { return (dims + kUnit - 1) / kUnit * kUnit; }

}  // namespace

Result<> check_reduction(const ListsBuildParams& params) {
  const auto& reduce = params.reduce;
  if (reduce != "auto" && reduce != "pca" && reduce != "random" && reduce != "none") {
    return fail(Code::kInvalidArgument,
                fmt::format("reduce is \"{}\", must be auto, pca, random or none", reduce));
  }
  if (params.reduced_dims % kUnit != 0 || params.reduced_dims == kUnit) {
    return fail(Code::kInvalidArgument,
                fmt::format("reduced_dims is {}, must be 0 or a multiple of {} from {}",
                            params.reduced_dims, kUnit, 2 * kUnit));
  }
  return {};
}

Result<RowTransform> choose_transform(const FieldColumn& column, const ListsBuildParams& params,
                                      const RowTransform* former, const BuildContext& context) {
  const std::uint32_t dim = column.dense().dim;
  RowTransform rotation(dim, context.seed);
  const bool is_auto = params.reduce == "auto";
  if (params.reduce == "none" || params.reduced_dims >= rotation.padded_dim()) return rotation;
  const bool is_too_narrow_or_wide = dim < kLeastDims || dim > kMostDims;
  if (is_auto && (is_too_narrow_or_wide || column.n_present < kLeastRows)) return rotation;
  if (params.reduce == "random") {
    const std::uint32_t n_out =
        params.reduced_dims != 0 ? params.reduced_dims : std::max(2 * kUnit, rounded_up(dim / 2));
    if (n_out >= dim) return rotation;
    return RowTransform(Reduction::random(dim, n_out, context.seed), context.seed);
  }
  if (column.n_present == 0) return rotation;
  const RowSource source(column, rotation);
  const auto sample = sample_of(source, dim);
  if (former != nullptr && former->reduction() && former->dim() == dim &&
      still_fits(*former->reduction(), params, sample)) {
    return *former;
  }
  const ReductionPlan plan{params.reduced_dims};
  auto reduction =
      Reduction::train_pca(sample, dim, similarity_of(column.schema.metric), plan, context.seed);
  if (!reduction) {
    log_debug("field `{}`: not reduced: {}", column.schema.name, reduction.error().message());
    return rotation;
  }
  if (is_auto && params.reduced_dims == 0 && 2 * reduction->n_out() > rotation.padded_dim()) {
    return rotation;
  }
  return RowTransform(*std::move(reduction), context.seed);
}

void write_transform(const RowTransform& transform, SectionWriter& writer) {
  if (!transform.reduction()) return;
  const Reduction& reduction = *transform.reduction();
  const Reduction::Facts facts = reduction.facts();
  writer.section(kReductionFacts, std::span<const Reduction::Facts>(&facts, 1));
  writer.section(kReductionMatrix, reduction.matrix());
  writer.section(kReductionTail, reduction.tail());
}

Result<RowTransform> read_transform(const SectionReader& reader, std::uint32_t dim,
                                    std::uint64_t seed) {
  if (!reader.has(kReductionFacts)) return RowTransform(dim, seed);
  QV_TRY(const auto facts, reader.get<Reduction::Facts>(kReductionFacts, 0, 1));
  QV_TRY(const auto matrix, reader.get<float>(kReductionMatrix));
  QV_TRY(const auto tail, reader.get<float>(kReductionTail));
  QV_TRY(auto reduction, Reduction::of(facts[0], matrix.span(), tail.span()));
  if (reduction.dim() != dim) {
    return reader.damaged(
        fmt::format("a reduction of {} dimensions, expected {}", reduction.dim(), dim));
  }
  return RowTransform(std::move(reduction), seed);
}

}  // namespace quiver::index::dense
