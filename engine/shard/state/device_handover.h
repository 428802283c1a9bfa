// Has devices hold new segments and indexes before searches see them.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "base/threads/cancel.h"
#include "engine/model/config.h"
#include "engine/segment/segment.h"
#include "gpu/devices.h"
#include "index/index.h"

namespace quiver::engine {

/// A field of a segment, or its index, that no search has seen yet.
struct NewSearcher {
  std::string field;
  const index::Searcher& searcher;
};

/// Returns once devices hold of `next` what they hold of the other segments of its shard, some of
/// which it may replace, and what the configuration wants there. So searches do not fall back to
/// the CPU when they see it. Without room nothing is copied. The only error is that of `cancel`.
[[nodiscard]] Result<> hold_as_others(gpu::Devices& devices, const CollectionConfig& config,
                                      std::span<const Segment> others, const NewSearcher& next,
                                      const Cancel& cancel);

}  // namespace quiver::engine
