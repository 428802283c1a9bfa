// Runs quiver-faiss, which reads and writes files of FAISS.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace quiver::app {

/// Runs the program beside this one or, if there is none, on PATH, and waits for it. What it writes
/// goes where ours does. kUnavailable if there is no such program, kInternal if it failed.
[[nodiscard]] Result<> run_faiss_program(const std::vector<std::string>& arguments);

}  // namespace quiver::app
