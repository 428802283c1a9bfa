// Bandwidth of memory, and timing; shared by the micro benchmarks.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <vector>

namespace quiver {

using Floats64 = float __attribute__((vector_size(64)));
using Floats32 = float __attribute__((vector_size(32)));
using Floats16 = float __attribute__((vector_size(16)));

inline volatile float g_sink;

/// Memory of std::aligned_alloc.
struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<std::byte, Free>;

/// Eight independent sums of vectors of type V.
template <class V>
[[gnu::always_inline]] inline void sum_all(const std::byte* data, std::size_t n_bytes) {
  const auto* at = reinterpret_cast<const V*>(data);
  V sums[8] = {};
  for (std::size_t i = 0; i < n_bytes / (8 * sizeof(V)); ++i, at += 8) {
    for (int a = 0; a < 8; ++a) sums[a] += at[a];
  }
  for (int a = 1; a < 8; ++a) sums[0] += sums[a];
  float sum = 0;
  for (std::size_t lane = 0; lane < sizeof(V) / sizeof(float); ++lane) sum += sums[0][lane];
  g_sink = sum;
}
__attribute__((target("avx512f"))) inline void read_by_64(const std::byte* data, std::size_t n) {
  sum_all<Floats64>(data, n);
}
__attribute__((target("avx2"))) inline void read_by_32(const std::byte* data, std::size_t n) {
  sum_all<Floats32>(data, n);
}
inline void read_by_16(const std::byte* data, std::size_t n) { sum_all<Floats16>(data, n); }

/// Reads `n_bytes` (a multiple of 512, from a 64-byte boundary) once, with eight
/// independent sums of the widest vectors that the processor has.
inline void read_all(const std::byte* data, std::size_t n_bytes) {
  static const auto read = __builtin_cpu_supports("avx512f") ? read_by_64
                           : __builtin_cpu_supports("avx2")  ? read_by_32
                                                             : read_by_16;
  read(data, n_bytes);
}

/// Time of this thread only, so that other processes on the core do not count.
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
