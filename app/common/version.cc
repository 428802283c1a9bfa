#include "app/common/version.h"

#include <fmt/format.h>

#include <string_view>

#include "gpu/module.h"
#include "kernels/kernels.h"

namespace quiver::app {

std::string version_line() {
  std::string levels;
  for (const KernelTable* table : available()) (levels += ' ') += table->name;
  const std::string_view commit = kCommit;
  return fmt::format("quiver {} (git {}, isa {} of{}, cuda {})", kVersion,
                     commit.empty() ? "unknown" : commit.substr(0, 12), kernels().name, levels,
                     gpu::find_module("").empty() ? "no" : "module");
}

}  // namespace quiver::app
