// Parameters of random features.
#pragma once

#include <cstdint>

#include "base/params.h"

namespace quiver::encoders {

struct FeaturesParams {
  /// A multiple of 32. Twice as many features find the same documents among about two thirds of the
  /// candidates, at twice the memory and time.
  std::uint32_t n_features = 2048;
  /// Dimensions of the vectors that sets become. If fewer than features, those in which documents
  /// differ most are kept; 0: one dimension for each feature.
  std::uint32_t n_dims = 0;
  /// Ridge of the least squares, times the mean eigenvalue of the sample's products. On real tokens
  /// .001 to .1 are about equally good; more than 1 is bad.
  double ridge = 0.03;

  template <class V>
  static constexpr void fields(V&& v) {
    v(field("features", &FeaturesParams::n_features, {.min = 64, .max = 8192}));
    v(field("dims", &FeaturesParams::n_dims, {.min = 0, .max = 8192}));
    v(field("ridge", &FeaturesParams::ridge, {.min = 1e-5, .max = 10}));
  }
};

}  // namespace quiver::encoders
