// Options of `quiver doctor`.
#pragma once

#include <string>

namespace quiver::app {

struct DoctorOptions {
  std::string data_dir = "quiver-data";
  bool json = false;
};

}  // namespace quiver::app
