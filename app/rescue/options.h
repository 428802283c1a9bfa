// Options of `quiver rescue`.
#pragma once

#include <string>

namespace quiver::app {

struct RescueOptions {
  std::string from;
  std::string to;
  std::string collection;  ///< empty: all
  bool json = false;
};

}  // namespace quiver::app
