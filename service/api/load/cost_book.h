// How long work takes, from what like work took before.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>

#include "service/api/load/work.h"

namespace quiver::service::api::load {

/// Thread-safe. Two durations that are noted at the same time may count as one.
class CostBook {
 public:
  /// Longer work is expensive. It is about a time slice of Linux's scheduler: others on the same
  /// core wait for no more than that.
  static constexpr std::chrono::nanoseconds kMaxCheap = std::chrono::milliseconds(3);

  /// Moving average of work of this verb and about this size (within a factor of 4). Before the
  /// first, a guess by the verb and the size.
  [[nodiscard]] std::chrono::nanoseconds expected(const Work& work) const;
  [[nodiscard]] WorkClass class_of(const Work& work) const;
  void note(const Work& work, std::chrono::nanoseconds took);

 private:
  static constexpr std::size_t kSizes = 33;
  [[nodiscard]] static std::size_t size_class(std::uint64_t size);

  /// Nanoseconds by verb and size; 0: none was noted.
  std::array<std::array<std::atomic<float>, kSizes>, kVerbs> averages_ = {};
};

}  // namespace quiver::service::api::load
