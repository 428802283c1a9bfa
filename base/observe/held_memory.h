// Memory for copies of mapped files in huge pages, over all files of this process.
#pragma once

#include <cstdint>
#include <optional>

#include "base/mutex.h"

namespace quiver {

/// Thread-safe.
class HeldMemory {
 public:
  /// 0: no copies. Until it is called the limit is `usual_held_memory_limit()`.
  void set_limit(std::uint64_t n_bytes) QV_EXCLUDES(mutex_);
  /// Takes `n_bytes`, or answers false: copies would exceed their limit, or more than half of the
  /// memory limit would be used.
  [[nodiscard]] bool take(std::uint64_t n_bytes) QV_EXCLUDES(mutex_);
  /// True if there are copies and others need their memory.
  [[nodiscard]] bool is_short() const QV_EXCLUDES(mutex_);
  void give_back(std::uint64_t n_bytes) QV_EXCLUDES(mutex_);
  [[nodiscard]] std::uint64_t n_bytes() const QV_EXCLUDES(mutex_);

 private:
  mutable Mutex mutex_;
  std::optional<std::uint64_t> limit_ QV_GUARDED_BY(mutex_);
  std::uint64_t n_bytes_ QV_GUARDED_BY(mutex_) = 0;
};

[[nodiscard]] HeldMemory& held_memory();
/// True if no more than half of the memory limit is used, with `n_bytes` more: copies are made, and
/// nothing else that only saves time is held, while that is so.
[[nodiscard]] bool leaves_half_of_memory(std::uint64_t n_bytes);
/// A quarter of `memory_limit_bytes`.
[[nodiscard]] std::uint64_t usual_held_memory_limit(std::uint64_t memory_limit_bytes);

}  // namespace quiver
