#include "engine/shard/state/device_handover.h"

#include "gpu/placing.h"

namespace quiver::engine {
namespace {

/// What devices hold of any of the segments.
gpu::Held held_of(std::span<const Segment> segments, const std::string& field) {
  gpu::Held held;
  for (const Segment& segment : segments) {
    const SegmentData& data = *segment.data;
    for (std::size_t i = 0; i < data.fields.size(); ++i) {
      if (data.fields[i].schema.name != field) continue;
      const index::Searcher& searcher = *data.searchers[i];
      const std::uint32_t n_live = segment.n_live();
      const bool has_rows = searcher.is_on_device(n_live);
      held.rows |= has_rows;
      held.usual |= searcher.is_index_on_device(n_live);
      // Without an index usual searches read the rows.
      held.usual |= has_rows && data.indexes[i].type == flat_index();
    }
  }
  return held;
}

}  // namespace

Result<> hold_as_others(gpu::Devices& devices, const CollectionConfig& config,
                        std::span<const Segment> others, const NewSearcher& next,
                        const Cancel& cancel) {
  const gpu::Placing placing = find_vector_index(config.vector_indexes, next.field).on_gpu;
  if (placing == gpu::Placing::kNever) return {};
  if (placing == gpu::Placing::kAlways) next.searcher.place(devices, placing);
  return next.searcher.hold(devices, held_of(others, next.field), cancel);
}

}  // namespace quiver::engine
