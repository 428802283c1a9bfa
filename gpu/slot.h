// Where a searcher keeps what a device holds of its rows.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/mutex.h"

namespace quiver::gpu {

/// Belongs to the rows of one searcher. Empty until a search asks a device; what is there goes with
/// the searcher. Thread-safe.
class Slot {
 public:
  Slot();
  ~Slot();
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  /// True if a device that works has the rows now. Cheap.
  [[nodiscard]] bool is_on_device() const QV_EXCLUDES(mutex_);
  /// True if it has them, and is asked by searches that read `n_bytes` of them. Cheap.
  [[nodiscard]] bool pays(std::uint64_t n_bytes) const QV_EXCLUDES(mutex_) {
    return n_bytes >= min_bytes_ && is_on_device();
  }

 private:
  friend class Devices;
  struct Content;
  [[nodiscard]] std::shared_ptr<Content> content() QV_EXCLUDES(mutex_);

  std::atomic<std::uint64_t> min_bytes_ = 0;  ///< that the devices want (Options::min_bytes)
  std::atomic<bool> is_used_ = false;         ///< a device was asked for the rows at some time
  mutable Mutex mutex_;
  std::shared_ptr<Content> content_ QV_GUARDED_BY(mutex_);  ///< made at the first use
};

}  // namespace quiver::gpu
