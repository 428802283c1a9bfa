#include "encoders/features/features_encoder.h"

#include <fmt/format.h>

#include <cassert>
#include <utility>

#include "kernels/kernels.h"

namespace quiver::encoders {

FeaturesEncoder::FeaturesEncoder(RandomFeatures features, std::uint32_t dim,
                                 std::vector<std::uint16_t> map)
    : SetEncoder(features.token_dim(), dim), features_(std::move(features)), map_(std::move(map)) {}

Result<FeaturesEncoder> FeaturesEncoder::for_queries(std::uint32_t token_dim,
                                                     const FeaturesParams& params,
                                                     std::uint64_t seed,
                                                     std::vector<std::uint16_t> map) {
  if (params.n_features == 0 || params.n_features % 32 != 0) {
    return fail(
        Code::kInvalidArgument,
        fmt::format("random features: {} of them: wanted a multiple of 32", params.n_features));
  }
  const std::size_t wanted = std::size_t{params.n_dims} * params.n_features;
  if (map.size() != wanted) {
    return fail(Code::kInvalidArgument,
                fmt::format("random features: a map of {} values, wanted {}", map.size(), wanted));
  }
  const std::uint32_t dim = params.n_dims == 0 ? params.n_features : params.n_dims;
  return FeaturesEncoder(RandomFeatures(token_dim, params.n_features, seed), dim, std::move(map));
}

Result<FeaturesEncoder> FeaturesEncoder::fit(std::uint32_t token_dim, const FeaturesParams& params,
                                             std::uint64_t seed, const FitSample& sample) {
  FeaturesParams without_map = params;
  without_map.n_dims = 0;
  QV_TRY(const auto features, for_queries(token_dim, without_map, seed));
  QV_TRY(auto fit, FeaturesFit::fit(features.features_, params, sample));
  std::vector<std::uint16_t> map(fit.map().size());
  kernels().convert.f32_to_bf16(fit.map().data(), map.size(), map.data());
  QV_TRY(auto encoder, for_queries(token_dim, params, seed, std::move(map)));
  encoder.fit_ = std::move(fit);
  return encoder;
}

void FeaturesEncoder::encode_documents(std::span<const TokenSet> documents, float* out) const {
  assert(fit_.has_value());
  fit_->solve(documents, out);
}

void FeaturesEncoder::encode_query(const TokenSet& query, float* out) const {
  if (map_.empty()) {
    features_.sum(query, out);
    return;
  }
  const std::uint32_t n = features_.n_features();
  std::vector<float> sum(n);
  features_.sum(query, sum.data());
  std::vector<std::uint16_t> rounded(n);
  kernels().convert.f32_to_bf16(sum.data(), n, rounded.data());
  kernels().dense_family.bf16_dot.many(rounded.data(), n,
                                       reinterpret_cast<const std::byte*>(map_.data()),
                                       n * sizeof(std::uint16_t), dim(), out);
}

}  // namespace quiver::encoders
