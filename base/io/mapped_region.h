// Memory-mapped files on a disk that may fail to read a page.
//
// Reading such a page raises SIGBUS, which would end the process and with it all collections. So
// the process remembers its mapped regions. The signal handler finds the region, marks it as
// damaged and replaces all of it by zeros; the thread goes on. Readers ask afterwards whether the
// region is damaged (`MappedFile::is_damaged`).
//
// Somebody who finds that bytes of a region changed marks it in the same way (`damage_region`).
//
// If a file is cut short, the rest of its last page reads as zeros without a signal. So a region
// also remembers a non-zero byte near its end, and counts as damaged if that byte changes.
//
// Guarantee for readers: each byte is the file's byte up to some moment, and zero from then on.
// After a signal that moment is the same for the whole region. So a number that was range-checked
// keeps its value or loses some of its bytes to zero; it never grows.
#pragma once

#include <cstddef>

namespace quiver {

struct RegionSlot;

/// `size`, rounded up to whole pages of the system.
[[nodiscard]] std::size_t size_in_pages(std::size_t size);

/// Damages the region that holds `address`, as if one of its pages could not be read. The caller
/// keeps the region mapped. False if there is none, or it was damaged before.
bool damage_region(const void* address);

/// Owns `size` bytes mapped at `address` and unmaps them at the end. The first region installs the
/// handler. A SIGBUS at any other address is handled as before.
class MappedRegion {
 public:
  /// `size` may be 0. If the constructor throws, it has not taken the mapping.
  MappedRegion(void* address, std::size_t size);
  ~MappedRegion();
  MappedRegion(const MappedRegion&) = delete;
  MappedRegion& operator=(const MappedRegion&) = delete;

  /// Costs a few loads. Covers everything that this thread read before the call.
  [[nodiscard]] bool is_damaged() const;

 private:
  void choose_guard(const std::byte* bytes, std::size_t size);

  RegionSlot* slot_ = nullptr;
  /// Last non-zero byte of the last page; if the page is all zeros, its first byte.
  const volatile std::byte* guard_ = nullptr;
  std::byte guarded_{};  ///< its value when the file was mapped
};

}  // namespace quiver
