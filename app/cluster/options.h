// Options of `quiver cluster`.
#pragma once

#include <string>
#include <vector>

namespace quiver::app {

struct ClusterStatusOptions {
  std::string url = "http://127.0.0.1:6333";
  std::string api_key;
  std::string ca;                             ///< PEM file of authorities; empty: the system's
  std::vector<std::string> collections = {};  ///< `adopt`: names
  std::string node = {};                      ///< `drain`, `remove`: id or peer address
  bool undoes = false;                        ///< `drain`: it is over
  bool returns_at_once = false;               ///< `drain`
  bool forces = false;                        ///< `remove`
  bool only_prints = false;                   ///< `balance`
};

}  // namespace quiver::app
