#include "encoders/fde/params.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace quiver::encoders {

FdeParams fde_params_for(std::uint32_t token_dim, double median_tokens) {
  FdeParams params;
  params.planes = static_cast<std::uint32_t>(std::log2(std::clamp(median_tokens, 8.0, 64.0)));
  params.projected_dim = std::min(params.projected_dim, std::bit_floor(token_dim));
  return params;
}

}  // namespace quiver::encoders
