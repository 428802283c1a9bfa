// Memory that files are mapped to, and a disk that cannot give a page of it.
//
// Reading such a page raises SIGBUS, which ends the process: all collections would be down because
// of one sector. So the process remembers its mapped regions. The handler of the signal finds the
// region, marks it as damaged, and puts zeros in place of all of it; the thread goes on. Whoever
// read from a region asks afterwards whether it is damaged (`MappedFile::is_damaged`).
//
// What readers may rely on: of the loads of one thread from one region, those before some moment
// see the file, those after it zeros. So a number that was checked is itself or zero.
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

  /// Sees every fault that this thread met before.
  [[nodiscard]] bool is_damaged() const;

 private:
  RegionSlot* slot_ = nullptr;
};

/// Whether any region of the process is. Cheap, and as `MappedRegion::is_damaged` sees what this
/// thread met.
[[nodiscard]] bool has_damaged_regions();

}  // namespace quiver
