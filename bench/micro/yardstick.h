// What memory can deliver, and how time is taken: shared by the micro benchmarks.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <vector>

namespace quiver {

using Floats64 = float __attribute__((vector_size(64)));

inline volatile float g_sink;

/// What std::aligned_alloc gave.
struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<std::byte, Free>;

/// The yardstick: reads `n_bytes` (a multiple of 512, from a 64-byte boundary) once, with eight
/// independent sums of 64 bytes.
__attribute__((target("avx512f"))) inline void read_all(const std::byte* data,
                                                        std::size_t n_bytes) {
  const auto* at = reinterpret_cast<const Floats64*>(data);
  Floats64 sums[8] = {};
  for (std::size_t i = 0; i < n_bytes / 512; ++i, at += 8) {
    for (int a = 0; a < 8; ++a) sums[a] += at[a];
  }
  for (int a = 1; a < 8; ++a) sums[0] += sums[a];
  g_sink = sums[0][0];
}

/// Time of this thread alone: what other processes take from the core is not ours.
template <class Work>
double thread_seconds(Work&& work) {
  const auto now = [] {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
  };
  const double start = now();
  work();
  return now() - start;
}

inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace quiver
