// The module interface on the CPU, for tests on machines without a device.
//
// Jobs run in the thread that waits for them, a tile of rows at a time, with the arithmetic of
// gpu/tiles/. Calls can be told to fail.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "gpu/abi.h"

namespace quiver::gpu::emulated {

/// A `qv_gpu_function`.
[[nodiscard]] const qv_gpu_api* api(std::uint32_t abi);

/// What the next devices do, as an option says it: "emulated"; "emulated:STATUS@N", where the N-th
/// call (from 1) that returns a status, and for `lost` each one after it to the same device,
/// returns `not`, `no_memory` or `lost`; or "emulated:hang@N", where the N-th job never ends; or
/// "emulated:wrong@N", where it and all later jobs name nothing for their first query, as memory
/// that lost bits may do. "emulated:lost" alone stands for @1. "emulated*3", and so on, are several
/// devices. kInvalidArgument.
Result<> set_faults(const std::string& option);

/// Calls that returned a status since `set_faults`.
[[nodiscard]] std::uint64_t n_calls();
/// Devices, parts, lanes and pieces of pinned memory that have not been given back.
[[nodiscard]] std::uint64_t n_objects();

}  // namespace quiver::gpu::emulated
