// Memory that files are mapped to, and a disk that cannot give a page of it.
//
// Reading such a page raises SIGBUS, which ends the process: all collections would be down because
// of one sector. So the process remembers its mapped regions. The handler of the signal finds the
// region, marks it as damaged, and puts zeros in place of all of it; the thread goes on. Whoever
// read from a region asks afterwards whether it is damaged (`MappedFile::is_damaged`).
//
// Where a file is cut short, the rest of its last page reads as zeros without a signal. So a region
// also remembers a byte near its end that is not zero, and is damaged if that changes.
//
// What readers may rely on: each byte is what the file held up to some moment, and zero from then
// on. After a signal that moment is the same for all of the region. So a number that was checked is
// itself or, as a rule, zero, and never greater.
#pragma once

#include <cstddef>

namespace quiver {

struct RegionSlot;

/// Owns `size` bytes that were mapped at `address`; unmaps them at the end. The first one installs
/// the handler. A SIGBUS anywhere else does what it did before.
class MappedRegion {
 public:
  /// `size` may be 0. If it throws, nothing was taken.
  MappedRegion(void* address, std::size_t size);
  ~MappedRegion();
  MappedRegion(const MappedRegion&) = delete;
  MappedRegion& operator=(const MappedRegion&) = delete;

  /// Sees all that this thread met before. A few loads.
  [[nodiscard]] bool is_damaged() const;

 private:
  void choose_guard(const std::byte* bytes, std::size_t size);

  RegionSlot* slot_ = nullptr;
  /// In the last page: none behind it but zeros, which may be missing as well.
  const volatile std::byte* guard_ = nullptr;
  std::byte guarded_{};  ///< what it was
};

}  // namespace quiver
