// Options of `quiver check` and `quiver repair`.
#pragma once

#include <string>

namespace quiver::app {

struct CheckOptions {
  std::string data_dir;
  std::string collection;  ///< empty: all
  bool json = false;
  bool repair = false;
};

struct RepairOptions {
  std::string data_dir;
  std::string collection;
  bool leaves_cluster = false;  ///< the collection is no replica from then on
};

}  // namespace quiver::app
