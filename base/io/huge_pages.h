// Copies of mapped files in huge pages.
//
// A search reads at places all over a large index. With pages of 4 KiB most of these reads also
// miss the TLB, and the system gives files no larger ones. So a large file is copied into anonymous
// memory, for which there are huge pages, at the very addresses of its mapping.
#pragma once

#include <cstddef>
#include <memory>

#include "base/result.h"

namespace quiver {

class HugePageCopy {
 public:
  /// Copies the file that is mapped (shared, from its start) at `address`, whose last page may be
  /// cut. Nobody else may read it meanwhile. nullptr if that is not worth it or not possible: the
  /// file is small, `held_memory` has no room, or the system has no huge pages. The mapping is then
  /// as it was.
  [[nodiscard]] static std::unique_ptr<HugePageCopy> put(void* address, std::size_t size);
  /// Does not unmap the copy: whoever owns the addresses does.
  ~HugePageCopy();
  HugePageCopy(const HugePageCopy&) = delete;
  HugePageCopy& operator=(const HugePageCopy&) = delete;

  /// Puts the file's own pages back, while others read. If the system refuses, the copy stays and
  /// this is kResourceExhausted.
  [[nodiscard]] Result<> end();

 private:
  HugePageCopy(void* address, std::size_t size, void* file)
      : address_(address), size_(size), file_(file) {}

  void* address_;
  std::size_t size_;  ///< whole pages
  void* file_;        ///< the file, mapped elsewhere; nullptr after `end`
};

}  // namespace quiver
