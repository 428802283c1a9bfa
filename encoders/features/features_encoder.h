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
  /// Makes an encoder for queries only, which needs no sample. With the parameters, the `seed` and
  /// the `map` of the encoder of the documents, it makes the same vectors. Fails (kInvalidArgument)
  /// if `n_features` is not a multiple of 32 or `map` has the wrong size.
  static Result<FeaturesEncoder> for_queries(std::uint32_t token_dim, const FeaturesParams& params,
                                             std::uint64_t seed,
                                             std::vector<std::uint16_t> map = {});
  /// Makes an encoder for documents and queries. Fails like FeaturesFit::fit.
  static Result<FeaturesEncoder> fit(std::uint32_t token_dim, const FeaturesParams& params,
                                     std::uint64_t seed, const FitSample& sample);

  /// Matrix `[dim(), n_features]` of bf16 that maps features of queries to fewer dimensions; empty
  /// if dimensions are not reduced.
  [[nodiscard]] const std::vector<std::uint16_t>& map() const { return map_; }
  /// Must not be called on an encoder for queries only.
  void encode_documents(std::span<const TokenSet> documents, float* out) const override;
  void encode_query(const TokenSet& query, float* out) const override;

 private:
  FeaturesEncoder(RandomFeatures features, std::uint32_t dim, std::vector<std::uint16_t> map);

  RandomFeatures features_;
  std::vector<std::uint16_t> map_;
  std::optional<FeaturesFit> fit_;
};

}  // namespace quiver::encoders
