// Options of `quiver inspect`.
#pragma once

#include <string>

namespace quiver::app {

struct InspectOptions {
  std::string path;  ///< files to explain; empty: print the collections of `data_dir`
  std::string data_dir;
  std::string collection;  ///< empty: all
  bool json = false;
};

}  // namespace quiver::app
