#include "gpu/job.h"

namespace quiver::gpu {

std::size_t read_named(const Named& named, std::span<const std::size_t> numbers,
                       std::uint64_t n_rows, RowLists& lists) {
  std::size_t n_certain = 0;
  for (std::size_t j = 0; j < numbers.size(); ++j) {
    const std::uint32_t n = named.n_rows[j];
    if (n > named.capacity) continue;  // QV_NOT_CERTIFIED
    const std::uint32_t* first = named.rows + j * named.capacity;
    std::vector<std::uint32_t> list(first, first + n);
    std::sort(list.begin(), list.end());
    if (!list.empty() && list.back() >= n_rows) continue;
    lists[numbers[j]] = std::move(list);
    ++n_certain;
  }
  return n_certain;
}

}  // namespace quiver::gpu
