// Parameters of the exact index: there are none, and saying so is an error message.
#pragma once

#include <string_view>

#include "base/params.h"

namespace quiver::index {

struct FlatBuildParams {
  static constexpr std::string_view kWhat = "build parameters of `flat`";
  template <class V>
  static constexpr void fields(V&&) {}
};

struct FlatSearchParams {
  static constexpr std::string_view kWhat = "search parameters of `flat`";
  template <class V>
  static constexpr void fields(V&&) {}
};

}  // namespace quiver::index
