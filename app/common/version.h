// Version and commit of this binary.
#pragma once

#include <string>

namespace quiver::app {

extern const char* const kVersion;  ///< "0.1.0"
extern const char* const kCommit;   ///< 40 hex digits; empty if built outside a repository

/// "quiver 0.1.0 (git 0123456789ab, isa avx512 of avx512 avx2 generic, cuda no)", or "cuda module"
/// if there is a module for GPUs where servers look for it
[[nodiscard]] std::string version_line();

}  // namespace quiver::app
