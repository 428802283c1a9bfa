#include "encoders/features/features_fit.h"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

#include "encoders/features/matrices.h"
#include "encoders/features/projection.h"
#include "encoders/transforms/random_bits.h"
#include "kernels/kernels.h"

namespace quiver::encoders {
namespace {

/// Tokens of the sample per matrix product. Products with 32 features (128 KiB) and with a batch of
/// documents (256 KiB) stay in L2.
constexpr std::size_t kTokensPerPart = 1024;
/// Documents per pass over the solver.
constexpr std::size_t kDocumentsPerPass = 64;
/// Documents of the sample per computation of the features of its tokens.
constexpr std::size_t kFitDocumentsPerPass = 512;

Result<> check(std::span<const float> sample, std::uint32_t dim) {
  if (sample.empty() || sample.size() % dim != 0 || sample.size() / dim > FeaturesFit::kMaxSample) {
    return fail(Code::kInvalidArgument,
                fmt::format("random features: {} values are no sample of 1 to {} tokens of {} "
                            "dimensions",
                            sample.size(), FeaturesFit::kMaxSample, dim));
  }
  if (!std::all_of(sample.begin(), sample.end(), [](float v) { return std::isfinite(v); })) {
    return fail(Code::kInvalidArgument, "random features: a value of the sample is not finite");
  }
  return {};
}

/// Scales rows to unit length; zero rows stay zero.
std::vector<float> unit_rows(std::span<const float> rows, std::uint32_t dim) {
  std::vector<float> unit(rows.begin(), rows.end());
  for (std::size_t i = 0; i < unit.size(); i += dim) {
    const double length = kernels().convert.norm(&unit[i], dim);
    if (length > 0) kernels().convert.scale(&unit[i], dim, 1.0 / length, &unit[i]);
  }
  return unit;
}

/// Calls `work(first, n)` for the parts of a sample.
template <class Work>
void for_parts(std::size_t n_sample, Work&& work) {
  for (std::size_t first = 0; first < n_sample; first += kTokensPerPart) {
    work(first, std::min(kTokensPerPart, n_sample - first));
  }
}

/// Features Z of `n` tokens, `[n, n_features]`.
std::vector<float> features_of(const RandomFeatures& features, const float* tokens, std::size_t n) {
  std::vector<float> rows(n * features.n_features());
  for (std::size_t i = 0; i < n; ++i) {
    features.sum({tokens + i * features.token_dim(), 1}, &rows[i * features.n_features()]);
  }
  return rows;
}

using Factors = Eigen::LLT<RowMajor, Eigen::Lower>;

/// Cholesky factor L of Z'Z + r I, where r is `ridge` times the mean eigenvalue of Z'Z.
Result<Factors> factors_of(const RandomFeatures& features, const std::vector<float>& sample,
                           double ridge) {
  const std::size_t n_sample = sample.size() / features.token_dim();
  const auto n = static_cast<Eigen::Index>(features.n_features());
  RowMajor squares = RowMajor::Zero(n, n);
  for_parts(n_sample, [&](std::size_t first, std::size_t n_part) {
    const auto rows = features_of(features, &sample[first * features.token_dim()], n_part);
    add_products_of_pairs(transposed(rows, n_part), features.n_features(), squares);
  });
  const double mean = squares.diagonal().cast<double>().sum() / static_cast<double>(n);
  squares.diagonal().array() += static_cast<float>(ridge * std::max(mean, 1e-20));
  Factors factors(squares);
  if (factors.info() == Eigen::Success) return factors;
  return fail(Code::kInvalidArgument,
              fmt::format("random features: the sample's products are not positive definite in "
                          "f32 with ridge {}; wanted a larger one",
                          ridge));
}

/// Tokens of an artificial query, made of tokens of the sample.
constexpr std::size_t kQueryTokens = 16;

/// Mean square of each coordinate of queries under `map` `[n_dims, n_features]`. Queries are sums
/// of tokens, in which the common direction has more weight than in a single token.
std::vector<double> squares_of_queries(const RandomFeatures& features,
                                       const std::vector<float>& unit_sample, const RowMajor& map) {
  const std::size_t dim = features.token_dim();
  const std::size_t n_queries = std::max<std::size_t>(1, unit_sample.size() / dim / kQueryTokens);
  std::vector<float> sums(n_queries * features.n_features());
  for (std::size_t q = 0; q < n_queries; ++q) {
    const std::size_t first = q * kQueryTokens;
    const std::size_t n = std::min(kQueryTokens, unit_sample.size() / dim - first);
    features.sum({&unit_sample[first * dim], n}, &sums[q * features.n_features()]);
  }
  const RowMajor coordinates =
      products(sums, n_queries, {map.data(), static_cast<std::size_t>(map.size())},
               static_cast<std::size_t>(map.rows()));
  std::vector<double> squares(static_cast<std::size_t>(map.rows()));
  for (Eigen::Index i = 0; i < map.rows(); ++i) {
    squares[static_cast<std::size_t>(i)] =
        coordinates.col(i).cast<double>().squaredNorm() / static_cast<double>(n_queries);
  }
  return squares;
}

/// Scales by which documents' coordinates are multiplied and queries' divided. They minimise the
/// error of scalar products of codes, which is proportional to the product of both lengths: it is
/// least when a coordinate has the same share in both.
std::vector<float> scales_of(const std::vector<double>& of_queries,
                             const std::vector<float>& of_documents) {
  const double largest = *std::max_element(of_documents.begin(), of_documents.end());
  const double largest_of_queries = *std::max_element(of_queries.begin(), of_queries.end());
  std::vector<float> scales;
  for (std::size_t i = 0; i < of_queries.size(); ++i) {
    const double document = std::max<double>(of_documents[i], 1e-9 * largest + 1e-30);
    const double query = std::max(of_queries[i], 1e-9 * largest_of_queries + 1e-30);
    scales.push_back(static_cast<float>(std::pow(query / document, 0.25)));
  }
  return scales;
}

/// 8-bit codes are whole numbers from -127 to 127, times a step.
constexpr float kLargestCode = 127.0F;

float step_of(const float* values, std::size_t n) {
  return kernels().grid.largest(values, n) / kLargestCode;
}

/// Codes plus 128, rounded to nearest by adding 0.5 and cutting off the fraction. A step without a
/// reciprocal counts as zero.
void encode(const float* values, std::size_t n, float step, std::uint8_t* out) {
  const float scale = step >= std::numeric_limits<float>::min() ? 1.0F / step : 0.0F;
  for (std::size_t i = 0; i < n; ++i) {
    out[i] = static_cast<std::uint8_t>(static_cast<std::int32_t>(values[i] * scale + 128.5F));
  }
}

}  // namespace

FitDocuments::FitDocuments(std::span<const TokenSet> documents)
    : n(documents.size()), read([documents](std::size_t first, std::size_t count, const Use& use) {
        use(documents.subspan(first, count));
      }) {}

FeaturesFit::FeaturesFit(const RandomFeatures& features, std::size_t n_sample)
    : token_dim_(features.token_dim()),
      n_features_(features.n_features()),
      n_dims_(features.n_features()),
      n_sample_(n_sample) {}

Result<FeaturesFit> FeaturesFit::fit(const RandomFeatures& features, const FeaturesParams& params,
                                     const FitSample& sample) {
  QV_TRY(check(sample.tokens, features.token_dim()));
  const std::vector<float> unit = unit_rows(sample.tokens, features.token_dim());
  QV_TRY(const auto factors, factors_of(features, unit, params.ridge));
  if (sample.cancel != nullptr) QV_TRY(sample.cancel->check());
  FeaturesFit fit(features, unit.size() / features.token_dim());
  fit.prepare_codes(unit);
  const auto h = static_cast<Eigen::Index>(features.n_features());
  if (params.n_dims == 0) {
    const RowMajor inverse = factors.solve(RowMajor::Identity(h, h));
    fit.prepare_solver(features, unit, {inverse.data(), static_cast<std::size_t>(inverse.size())});
    return fit;
  }
  const std::size_t n_documents = sample.documents.n;
  if (n_documents < params.n_dims) {
    return fail(Code::kInvalidArgument,
                fmt::format("random features: {} documents do not tell the best {} dimensions",
                            n_documents, params.n_dims));
  }
  QV_TRY(auto weights, fit.products_with_features(features, unit, sample));
  Eigen::Map<RowMajor> whitened(weights.data(), static_cast<Eigen::Index>(n_documents), h);
  factors.matrixL().transpose().solveInPlace<Eigen::OnTheRight>(whitened);
  const auto space = principal_space(weights, n_documents, params.n_dims);
  RowMajor map = Eigen::Map<const RowMajor>(space.basis.data(), params.n_dims, h);
  factors.matrixL().solveInPlace<Eigen::OnTheRight>(map);
  if (sample.cancel != nullptr) QV_TRY(sample.cancel->check());
  const auto scales = scales_of(squares_of_queries(features, unit, map), space.variances);
  RowMajor of_documents = map;
  for (std::uint32_t i = 0; i < params.n_dims; ++i) {
    of_documents.row(i) *= scales[i];
    map.row(i) /= scales[i];
  }
  fit.map_.assign(map.data(), map.data() + map.size());
  fit.n_dims_ = params.n_dims;
  fit.prepare_solver(features, unit, {of_documents.data(), fit.map_.size()});
  return fit;
}

Result<std::vector<float>> FeaturesFit::products_with_features(
    const RandomFeatures& features, const std::vector<float>& unit_sample,
    const FitSample& sample) const {
  const std::size_t h = features.n_features();
  std::vector<float> out(sample.documents.n * h, 0.0F);
  std::vector<float> targets(std::min(kFitDocumentsPerPass, sample.documents.n) * n_sample_);
  for (std::size_t begin = 0; begin < sample.documents.n; begin += kFitDocumentsPerPass) {
    if (sample.cancel != nullptr) QV_TRY(sample.cancel->check());
    const std::size_t n_documents = std::min(kFitDocumentsPerPass, sample.documents.n - begin);
    float* target = targets.data();
    sample.documents.read(begin, n_documents, [&](std::span<const TokenSet> documents) {
      for (const TokenSet& document : documents) {
        find_targets(document, target);
        target += n_sample_;
      }
    });
    for_parts(n_sample_, [&](std::size_t first, std::size_t n) {
      const auto rows = features_of(features, &unit_sample[first * token_dim_], n);
      const auto blocks = prepared(transposed(rows, n), h);
      kernels().maxsim_family.add_products(blocks.data(), h, static_cast<std::uint32_t>(n),
                                           &targets[first], n_sample_, n_documents, &out[begin * h],
                                           h);
    });
  }
  return out;
}

void FeaturesFit::prepare_codes(const std::vector<float>& unit_sample) {
  sample_step_ = step_of(unit_sample.data(), unit_sample.size());
  std::vector<std::uint8_t> codes(unit_sample.size());
  encode(unit_sample.data(), codes.size(), sample_step_, codes.data());
  std::vector<std::int8_t> plain(codes.size());
  std::transform(codes.begin(), codes.end(), plain.begin(),
                 [](std::uint8_t code) { return static_cast<std::int8_t>(code - 128); });
  codes_.resize(MaxSimKernels::prepared_codes(n_sample_, token_dim_));
  kernels().maxsim_family.prepare_codes(plain.data(), n_sample_, token_dim_, token_dim_,
                                        codes_.data());
}

void FeaturesFit::prepare_solver(const RandomFeatures& features,
                                 const std::vector<float>& unit_sample,
                                 std::span<const float> map) {
  for_parts(n_sample_, [&](std::size_t first, std::size_t n) {
    const auto rows = prepared(features_of(features, &unit_sample[first * token_dim_], n), n);
    std::vector<float> products(n_dims_ * n, 0.0F);
    kernels().maxsim_family.add_products(rows.data(), n, n_features_, map.data(), n_features_,
                                         n_dims_, products.data(), n);
    const auto blocks = prepared(products, n_dims_);
    solver_.insert(solver_.end(), blocks.begin(), blocks.end());
  });
}

void FeaturesFit::find_targets(const TokenSet& document, float* out) const {
  const std::size_t n_values = document.n * token_dim_;
  std::vector<std::uint8_t> codes(n_values);
  const float step = step_of(document.values, n_values);
  encode(document.values, n_values, step, codes.data());
  std::vector<std::int32_t> best(n_sample_);
  kernels().maxsim_family.best_codes(codes_.data(), n_sample_, token_dim_,
                                     reinterpret_cast<const std::byte*>(codes.data()), token_dim_,
                                     document.n, best.data(), nullptr);
  const float unit = step * sample_step_;
  std::transform(best.begin(), best.end(), out,
                 [&](std::int32_t dot) { return static_cast<float>(dot) * unit; });
}

void FeaturesFit::solve(std::span<const TokenSet> documents, float* out) const {
  std::fill_n(out, documents.size() * n_dims_, 0.0F);
  std::vector<float> targets(std::min(kDocumentsPerPass, documents.size()) * n_sample_);
  for (; !documents.empty();
       documents = documents.subspan(std::min(kDocumentsPerPass, documents.size()))) {
    const std::size_t n_documents = std::min(kDocumentsPerPass, documents.size());
    for (std::size_t i = 0; i < n_documents; ++i) {
      find_targets(documents[i], &targets[i * n_sample_]);
    }
    for_parts(n_sample_, [&](std::size_t first, std::size_t n) {
      kernels().maxsim_family.add_products(&solver_[first * n_dims_], n_dims_,
                                           static_cast<std::uint32_t>(n), &targets[first],
                                           n_sample_, n_documents, out, n_dims_);
    });
    out += n_documents * n_dims_;
  }
}

std::vector<std::uint64_t> sample_numbers(std::uint64_t n_total, std::uint64_t n,
                                          std::uint64_t seed) {
  std::vector<std::uint64_t> numbers;
  // Selection sampling (Knuth, The Art of Computer Programming 2, 3.4.2, Algorithm S).
  for (std::uint64_t i = 0; i < n_total && numbers.size() < n; ++i) {
    const auto wanted = static_cast<double>(n - numbers.size());
    if (static_cast<double>(n_total - i) * random_unit(seed, i) < wanted) numbers.push_back(i);
  }
  return numbers;
}

}  // namespace quiver::encoders
