// Parameters of the exact index: there are none, and saying so is an error message.
#pragma once

#include "base/params.h"

namespace quiver::index {

struct FlatBuildParams {
  template <class V>
  static constexpr void fields(V&&) {}
};

struct FlatSearchParams {
  template <class V>
  static constexpr void fields(V&&) {}
};

}  // namespace quiver::index
