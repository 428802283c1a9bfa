// Parameters of the exact index: none, so that any name is an error.
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
