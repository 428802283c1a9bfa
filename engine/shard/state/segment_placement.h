// Keeps the files of a sealed segment in memory as its collection asks.
#pragma once

#include "base/result.h"
#include "engine/model/memory_plan.h"
#include "engine/segment/segment.h"

namespace quiver::engine {

/// Places rows, payload columns and vector indexes. May read what is to be pinned from the disk.
/// Answers do not depend on it. kResourceExhausted if the system refused to lock a part; the others
/// are placed all the same. Thread-safe.
[[nodiscard]] Result<> place_segment(const SegmentData& data, const MemoryPlan& plan);

}  // namespace quiver::engine
