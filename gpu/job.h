// What all kinds of jobs share: pieces of a lane's memory, and the rows that a device names.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gpu/devices.h"

namespace quiver::gpu {

/// Rows that a device may name for a query: what is found is about 2 k (docs/gpu.md).
[[nodiscard]] constexpr std::uint64_t capacity_of(std::uint64_t k) { return 16 * k + 1024; }

/// Hands out pieces of memory, each aligned to 256 bytes. Without memory it only adds up sizes.
class Pieces {
 public:
  explicit Pieces(std::byte* memory) : memory_(memory) {}
  template <class T>
  T* take(std::uint64_t n) {
    std::byte* const piece = memory_ == nullptr ? nullptr : memory_ + used_;
    used_ += (n * sizeof(T) + 255) / 256 * 256;
    return reinterpret_cast<T*>(piece);
  }
  [[nodiscard]] std::uint64_t used() const { return used_; }

 private:
  std::byte* memory_;
  std::uint64_t used_ = 0;
};

/// How many of the first `numbers` make a job: at least one, at most kMaxQueries, whose sizes add
/// up to no more than `most`.
template <class SizeOf>
std::size_t n_within(std::span<const std::size_t> numbers, std::uint64_t most, SizeOf size_of) {
  std::uint64_t size = 0;
  std::size_t n = 0;
  for (const std::size_t i : numbers.first(std::min(kMaxQueries, numbers.size()))) {
    size += size_of(i);
    if (n > 0 && size > most) break;
    ++n;
  }
  return n;
}

/// What a job wrote.
struct Named {
  std::uint32_t capacity;
  const std::uint32_t* rows;    ///< `[n, capacity]`
  const std::uint32_t* n_rows;  ///< `[n]`
};

/// Fills in the lists of the queries `numbers`, ascending, where the device is certain; returns
/// their number. Lists that name a row from `n_rows` on are left out: they must not make the caller
/// read what is not there.
std::size_t read_named(const Named& named, std::span<const std::size_t> numbers,
                       std::uint64_t n_rows, RowLists& lists);

}  // namespace quiver::gpu
