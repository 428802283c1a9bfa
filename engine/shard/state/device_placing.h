// Has devices hold the sealed segments of a shard as the configuration asks.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/segment/segment.h"
#include "engine/shard/state/segment_table.h"
#include "engine/shard/state/shard_common.h"
#include "gpu/placing.h"

namespace quiver::engine {

/// Lane only. Rows are copied by a thread of the devices.
class DevicePlacing {
 public:
  /// `devices`: nullptr if there are none.
  DevicePlacing(ShardCommon& common, const SegmentTable& table, gpu::Devices* devices)
      : common_(common), table_(table), devices_(devices) {}

  /// Puts what the configuration says of fields in force for segments that do not follow it yet.
  /// Now and then asks again for what is not on a device yet. Costs next to nothing while the
  /// configuration says nothing.
  void update() noexcept;
  /// True if something that is to be on a device is not there yet.
  [[nodiscard]] bool is_waiting() const { return is_waiting_; }

 private:
  using Clock = std::chrono::steady_clock;
  using Settings = std::map<std::string, gpu::Placing, std::less<>>;  ///< fields that have one
  [[nodiscard]] Settings settings() const;
  [[nodiscard]] bool is_done(const SealedSegments& segments, const Settings& settings) const;
  [[nodiscard]] bool place(const SegmentData& data, const Settings& settings) const;

  ShardCommon& common_;
  const SegmentTable& table_;
  gpu::Devices* devices_;
  Settings settings_;                                     ///< as last put in force
  std::vector<std::weak_ptr<const SegmentData>> placed_;  ///< segments that follow them
  bool is_waiting_ = false;
  Clock::time_point asked_at_;
};

}  // namespace quiver::engine
