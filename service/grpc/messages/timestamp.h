// Times of messages.
#pragma once

#include <google/protobuf/timestamp.pb.h>
#include <cstdint>

namespace quiver::service::rpc {

/// Since the epoch. Wraps around beyond the range of 64 bits, which no RFC 3339 time reaches.
[[nodiscard]] inline std::int64_t microseconds(const google::protobuf::Timestamp& time) {
  const auto seconds = static_cast<std::uint64_t>(time.seconds());
  return static_cast<std::int64_t>(seconds * 1'000'000) + time.nanos() / 1000;
}

/// `time_us`: since the epoch.
inline void set_microseconds(std::int64_t time_us, google::protobuf::Timestamp& out) {
  constexpr std::int64_t kPerSecond = 1'000'000;
  const std::int64_t past_second = ((time_us % kPerSecond) + kPerSecond) % kPerSecond;
  out.set_seconds((time_us - past_second) / kPerSecond);
  out.set_nanos(static_cast<std::int32_t>(past_second * 1000));
}

}  // namespace quiver::service::rpc
