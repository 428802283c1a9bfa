// One view of all shards of a collection, and records read from it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/model/config.h"
#include "engine/model/query.h"
#include "engine/segment/segment.h"

namespace quiver::engine {

/// Immutable; the segments live as long as this.
class Snapshot {
 public:
  /// `keys`: of the shards, one each; empty: they have none.
  explicit Snapshot(std::vector<std::shared_ptr<const SegmentSet>> shards,
                    std::vector<ShardKey> keys = {});

  /// The segments of all shards.
  [[nodiscard]] const std::vector<const Segment*>& segments() const { return segments_; }

  struct Place {
    const Segment* segment = nullptr;
    std::uint32_t row = 0;
  };
  [[nodiscard]] std::optional<Place> find(const PointId& id) const;
  [[nodiscard]] std::uint64_t n_live() const;
  /// The key of the shard of one of `segments()`; nullopt: it has none.
  [[nodiscard]] std::optional<ShardKey> key_of(const Segment& segment) const;
  /// True if an id may have a live row under several keys.
  [[nodiscard]] bool may_repeat_ids() const;
  /// kUnavailable if something that was read from it may be wrong.
  [[nodiscard]] Result<> check() const;

 private:
  std::vector<std::shared_ptr<const SegmentSet>> shards_;
  std::vector<ShardKey> keys_;
  std::vector<const Segment*> segments_;
};

/// The numbers of the fields that `selector` names. kInvalidArgument for an unknown name.
[[nodiscard]] Result<std::vector<std::size_t>> selected_fields(const VectorSelector& selector,
                                                               const CollectionConfig& config);

/// A row as clients see it. `fields`: numbers of the vectors in it; nullptr: none.
[[nodiscard]] Record make_record(const Segment& segment, std::uint32_t row,
                                 const payload::Selector& with_payload,
                                 const std::vector<std::size_t>* fields);

}  // namespace quiver::engine
