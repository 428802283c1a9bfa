// Has devices hold the sealed segments of a shard as the configuration asks.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/segment/segment.h"
#include "engine/shard/state/segment_table.h"
#include "engine/shard/state/shard_common.h"
#include "gpu/placing.h"

namespace quiver::engine {

/// Lane only. Devices copy rows in a thread of their own, so nothing waits.
class DevicePlacing {
 public:
  /// `devices`: nullptr if there are none.
  DevicePlacing(ShardCommon& common, const SegmentTable& table, gpu::Devices* devices)
      : common_(common), table_(table), devices_(devices) {}

  /// Puts what the configuration says of fields in force for segments that do not follow it yet.
  /// Costs next to nothing while it says nothing.
  void update() noexcept;

 private:
  using Settings = std::map<std::string, gpu::Placing, std::less<>>;  ///< fields that have one

  [[nodiscard]] Settings settings() const;
  void place(const SegmentData& data, const Settings& settings) const;

  ShardCommon& common_;
  const SegmentTable& table_;
  gpu::Devices* devices_;
  Settings settings_;                                     ///< as last put in force
  std::vector<std::weak_ptr<const SegmentData>> placed_;  ///< segments that follow them
};

}  // namespace quiver::engine
