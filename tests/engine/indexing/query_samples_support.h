// What tests of drift, query_reservoir, query_samples share.
#pragma once

#include <gtest/gtest.h>

#include <unistd.h>
#include <cstddef>
#include <future>

#include "engine/database.h"
#include "engine/indexing/drift.h"
#include "engine/indexing/query_samples.h"
#include "tests/engine/indexing/copied_index.h"
#include "tests/patience.h"

namespace quiver::engine::testing {

inline constexpr std::uint64_t kReservoirSeed = 7;

}  // namespace quiver::engine::testing
