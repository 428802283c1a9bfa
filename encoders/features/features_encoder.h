#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "encoders/features/features_fit.h"
#include "encoders/features/params.h"
#include "encoders/features/random_features.h"
#include "encoders/set_encoder.h"

namespace quiver::encoders {

/// Documents become weights of random features (FeaturesFit), queries the sums of their tokens'
/// features (RandomFeatures).
class FeaturesEncoder final : public SetEncoder {
 public:
  /// For queries alone, which need no sample: the same vectors as the one that encoded the
  /// documents makes, of the same parameters and `seed`. `map`: of that one. Fails
  /// (kInvalidArgument) if `n_features` is no multiple of 32 or `map` is not of its size.
  static Result<FeaturesEncoder> for_queries(std::uint32_t token_dim, const FeaturesParams& params,
                                             std::uint64_t seed,
                                             std::vector<std::uint16_t> map = {});
  /// For both; fails like FeaturesFit::fit.
  static Result<FeaturesEncoder> fit(std::uint32_t token_dim, const FeaturesParams& params,
                                     std::uint64_t seed, const FitSample& sample);

  /// `[dim(), n_features]` bf16, by which features of queries are multiplied; empty without fewer
  /// dimensions.
  [[nodiscard]] const std::vector<std::uint16_t>& map() const { return map_; }
  /// Not of one for queries alone.
  void encode_documents(std::span<const TokenSet> documents, float* out) const override;
  void encode_query(const TokenSet& query, float* out) const override;

 private:
  FeaturesEncoder(RandomFeatures features, std::uint32_t dim, std::vector<std::uint16_t> map);

  RandomFeatures features_;
  std::vector<std::uint16_t> map_;
  std::optional<FeaturesFit> fit_;
};

}  // namespace quiver::encoders
