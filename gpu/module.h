// Finds and loads the module that knows a kind of device, and checks its version. The server itself
// has no symbol of CUDA.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "gpu/abi.h"

namespace quiver::gpu {

/// A module's table of functions. Stays loaded to the end of the process: a driver may have
/// threads.
class Module {
 public:
  /// Loads a shared library. kFailedPrecondition, with the reason, if it is none or of another
  /// version.
  [[nodiscard]] static Result<Module> load(const std::string& path);
  /// The module that `function` returns a table of. kFailedPrecondition: another version.
  [[nodiscard]] static Result<Module> of(qv_gpu_function function, const std::string& name);

  [[nodiscard]] const qv_gpu_api& api() const { return *api_; }

 private:
  explicit Module(const qv_gpu_api* api) : api_(api) {}
  const qv_gpu_api* api_;
};

/// Path of the module: `configured` if it is not empty; else beside the binary or in
/// /usr/lib/quiver; "" if there is none.
[[nodiscard]] std::string find_module(const std::string& configured);

}  // namespace quiver::gpu
