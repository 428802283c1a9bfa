// Copies of mapped files in huge pages.
//
// A search reads at places all over a large index. With pages of 4 KiB most of these reads also
// miss the TLB, and the system gives files no larger ones. So a large file is copied into anonymous
// memory, for which there are huge pages, at the very addresses of its mapping.
#pragma once

#include <cstddef>
#include <memory>

#include "base/mutex.h"
#include "base/result.h"

namespace quiver {

/// Thread-safe.
class HugePageCopy {
 public:
  /// Copies the file that is mapped (shared, from its start) at `address`, whose last page may be
  /// cut. Nobody else may read it meanwhile. nullptr if that is not worth it or not possible: the
  /// file is small, `held_memory` has no room, or the system has no huge pages. The mapping is then
  /// as it was.
  [[nodiscard]] static std::shared_ptr<HugePageCopy> put(void* address, std::size_t size);
  /// Does not unmap the copy: whoever owns the addresses does, after `forget`.
  ~HugePageCopy();
  HugePageCopy(const HugePageCopy&) = delete;
  HugePageCopy& operator=(const HugePageCopy&) = delete;

  /// Puts the file's own pages back, while others read. If the system refuses, this is
  /// kResourceExhausted.
  [[nodiscard]] Result<> end() QV_EXCLUDES(mutex_);
  /// `end_huge_page_copies` leaves it alone.
  void keep() QV_EXCLUDES(mutex_);
  [[nodiscard]] bool is_kept() QV_EXCLUDES(mutex_);
  /// The addresses are about to be unmapped.
  void forget() QV_EXCLUDES(mutex_);

 private:
  HugePageCopy(void* address, std::size_t size, void* file)
      : address_(address), size_(size), file_(file) {}

  void* const address_;
  const std::size_t size_;  ///< whole pages
  Mutex mutex_;
  void* file_ QV_GUARDED_BY(mutex_);  ///< the file, mapped elsewhere; nullptr: it is no copy now
  bool is_kept_ QV_GUARDED_BY(mutex_) = false;
};

/// Ends all copies, but for those that are kept.
void end_huge_page_copies();
/// The same if `held_memory` says that others need the memory.
void end_huge_page_copies_if_short();

}  // namespace quiver
