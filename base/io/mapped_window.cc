#include "base/io/mapped_window.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/io/mapped_region.h"

namespace quiver {
namespace {

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

/// The pages of a window that were not in memory when it was opened.
class MissingPages {
 public:
  /// Takes the memory for a window of `n_bytes`, so that `look` needs none.
  explicit MissingPages(std::size_t n_bytes) : states_(n_bytes / page_bytes()) {}
  void look(Bytes window) {
    window_ = window;
    // A system that does not tell says that all are in memory: then none is dropped.
    if (::mincore(address_of(0), window.size(), states_.data()) != 0) states_.clear();
  }
  [[nodiscard]] bool any() const {
    return std::any_of(states_.begin(), states_.end(), [](auto state) { return !is_here(state); });
  }
  /// Pages that others have mapped meanwhile stay.
  void drop() const {
    for (std::size_t first = 0; first < states_.size();) {
      std::size_t end = first;
      while (end < states_.size() && is_here(states_[end]) == is_here(states_[first])) ++end;
      const std::size_t n_bytes = (end - first) * page_bytes();
      if (!is_here(states_[first])) (void)::madvise(address_of(first), n_bytes, MADV_PAGEOUT);
      first = end;
    }
  }

 private:
  static bool is_here(unsigned char state) { return (state & 1) != 0; }
  [[nodiscard]] void* address_of(std::size_t page) const {
    return const_cast<std::byte*>(window_.data() + page * page_bytes());
  }

  Bytes window_;
  std::vector<unsigned char> states_;  ///< one for each page, as mincore(2) says
};

}  // namespace

bool hash_apart(Bytes range, Checksum& sum) {
  if (range.empty()) return true;
  const auto first = reinterpret_cast<std::uintptr_t>(range.data());
  const std::uintptr_t begin = first / page_bytes() * page_bytes();
  const std::size_t size =
      (first + range.size() - begin + page_bytes() - 1) / page_bytes() * page_bytes();
  MissingPages missing(size);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the page of a byte has no pointer otherwise.
  void* window = ::mremap(reinterpret_cast<void*>(begin), 0, size, MREMAP_MAYMOVE);
  if (window == MAP_FAILED) {  // private memory: not a file, or zeros in place of a damaged one
    sum.update(range);
    return true;
  }
  const Bytes pages(static_cast<const std::byte*>(window), size);
  missing.look(pages);  // before the region, which reads a page
  // Only the pages of the window are read, not those around them.
  (void)::madvise(window, size, MADV_RANDOM);
  if (missing.any()) (void)::madvise(window, size, MADV_WILLNEED);
  std::optional<MappedRegion> region;
  try {
    region.emplace(window, size);
  } catch (...) {
    ::munmap(window, size);
    throw;
  }
  sum.update(pages.subspan(first - begin, range.size()));
  const bool is_read = !region->is_damaged();  // looks at a page, so it comes before `drop`
  missing.drop();
  return is_read;
}

}  // namespace quiver
