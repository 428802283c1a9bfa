// What CUDA C++ names, on the CPU: the text of a kernel runs here, one block after another, a fiber
// for each of its threads. A thread runs until it waits, so one that should have waited reads too
// early every time. Under ThreadSanitizer a missing barrier is a data race.
//
// Include it before a .cu file. Products of a warp follow the PTX manual (mma.m16n8k32, .s8 and
// .u8).
#pragma once

#define QV_CUDA_ON_CPU

#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "gpu/abi.h"
#include "kernels/kernels.h"
#include "tests/gpu/fibers.h"

#define __global__
#define __host__
#define __device__
#define __shared__ static  // blocks run one after another
#define __launch_bounds__(...)

struct dim3 {
  dim3(unsigned x_blocks, unsigned y_blocks = 1) : x(x_blocks), y(y_blocks) {}  // NOLINT
  unsigned x;
  unsigned y;
};
using cudaStream_t = void*;
enum cudaError_t { cudaSuccess };
inline cudaError_t cudaGetLastError() { return cudaSuccess; }

namespace quiver::gpu_cuda {

inline qv_status status_of(cudaError_t) { return QV_DONE; }

inline testing::Fibers threads_of_block;

/// As std::barrier, for fibers. No two of them run at once; what is atomic tells ThreadSanitizer
/// whom the barrier orders.
class MeetingPoint {
 public:
  explicit MeetingPoint(unsigned n) : n_(n), n_missing_(n) {}
  void arrive_and_wait() {
    const unsigned phase = phase_;
    arrive();
    threads_of_block.wait_until([&] { return phase_ != phase; });
  }
  void arrive_and_drop() {
    --n_;
    arrive();
  }

 private:
  void arrive() {
    if (--n_missing_ > 0) return;
    n_missing_ = n_.load();
    ++phase_;
  }

  std::atomic<unsigned> n_;
  std::atomic<unsigned> n_missing_;
  std::atomic<unsigned> phase_ = 0;
};

/// What the threads of a warp show each other.
struct WarpOnCpu {
  explicit WarpOnCpu(unsigned n) : barrier(n) {}
  MeetingPoint barrier;
  float floats[32];
  uint32_t words[32];
  uint32_t a[32][4];
  uint32_t b[32][2];
};

/// Memory that a block asked for at its launch. Its first byte has address 0.
struct SharedOnCpu {
  explicit SharedOnCpu(uint32_t n)
      : n_bytes(n), bytes(static_cast<char*>(std::aligned_alloc(1024, (n + 1023) / 1024 * 1024))) {
    std::memset(bytes, 0xA5, n);
  }
  ~SharedOnCpu() { std::free(bytes); }
  SharedOnCpu(const SharedOnCpu&) = delete;
  SharedOnCpu& operator=(const SharedOnCpu&) = delete;
  const uint32_t n_bytes;
  char* const bytes;
};
inline SharedOnCpu* shared_of_block = nullptr;
inline char* shared_memory() { return shared_of_block->bytes; }

struct BlockOnCpu {
  explicit BlockOnCpu(unsigned n_threads) : barrier(n_threads) {
    for (unsigned i = 0; i < n_threads; i += 32) {
      warps.push_back(std::make_unique<WarpOnCpu>(n_threads - i < 32 ? n_threads - i : 32));
    }
  }
  MeetingPoint barrier;
  std::atomic<int> votes = 0;
  std::vector<std::unique_ptr<WarpOnCpu>> warps;
};

inline BlockOnCpu* this_block = nullptr;
inline dim3 blockIdx(0, 0);
inline dim3 blockDim(0);
inline dim3 gridDim(0);
inline dim3 thread_index() { return dim3(threads_of_block.index()); }
#define threadIdx thread_index()

inline WarpOnCpu& this_warp() { return *this_block->warps[threadIdx.x / 32]; }
inline void __syncthreads() { this_block->barrier.arrive_and_wait(); }
inline int __syncthreads_or(int vote) {
  this_block->votes += vote != 0 ? 1 : 0;
  __syncthreads();
  const int votes = this_block->votes;
  __syncthreads();
  if (threadIdx.x == 0) this_block->votes = 0;
  __syncthreads();
  return votes;
}
inline float __shfl_xor_sync(uint32_t, float value, uint32_t mask) {
  const unsigned lane = threadIdx.x % 32;
  this_warp().floats[lane] = value;
  this_warp().barrier.arrive_and_wait();
  const float other = this_warp().floats[lane ^ mask];
  this_warp().barrier.arrive_and_wait();
  return other;
}
inline int __shfl_xor_sync(uint32_t all, int value, uint32_t mask) {
  return std::bit_cast<int>(__shfl_xor_sync(all, std::bit_cast<float>(value), mask));
}
inline void __syncwarp() { this_warp().barrier.arrive_and_wait(); }
inline uint32_t __shfl_sync(uint32_t, uint32_t value, uint32_t lane) {
  this_warp().words[threadIdx.x % 32] = value;
  this_warp().barrier.arrive_and_wait();
  const uint32_t other = this_warp().words[lane];
  this_warp().barrier.arrive_and_wait();
  return other;
}
inline uint32_t max(uint32_t a, uint32_t b) { return a > b ? a : b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline uint32_t shift_or_zero(uint32_t value, uint32_t by) { return by < 32 ? value << by : 0; }
inline int dot_bytes(uint32_t bytes, uint32_t signed_bytes, int sum) {
  for (int i = 0; i < 32; i += 8) {
    sum += static_cast<int>(bytes >> i & 255) * static_cast<int8_t>(signed_bytes >> i);
  }
  return sum;
}
inline uint32_t atomicAdd(uint32_t* to, uint32_t value) {
  return std::atomic_ref(*to).fetch_add(value, std::memory_order_relaxed);
}
inline uint32_t __float_as_uint(float value) { return std::bit_cast<uint32_t>(value); }
inline float __uint_as_float(uint32_t bits) { return std::bit_cast<float>(bits); }
inline uint32_t min(uint32_t a, uint32_t b) { return a < b ? a : b; }

inline void copy_16(int8_t* to, const int8_t* from) { std::memcpy(to, from, 16); }
inline void end_copies() {}
inline void wait_for_copies_but_one() {}

/// Shows the lane's registers to the others of its warp, which have shown theirs when it returns.
inline WarpOnCpu& show_operands(const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  WarpOnCpu& warp = this_warp();
  const unsigned lane = threadIdx.x % 32;
  std::memcpy(warp.a[lane], a, sizeof a);
  std::memcpy(warp.b[lane], b, sizeof b);
  warp.barrier.arrive_and_wait();
  return warp;
}

/// Byte `i` of registers that hold four bytes each.
template <class Byte>
int byte_of(const uint32_t* registers, unsigned i) {
  return static_cast<Byte>(registers[i / 4] >> (8 * (i % 4)));
}

/// The manual: element i of A is in row groupID, or groupID + 8 for i in [4, 8) and [12, 16), and
/// in column threadID * 4
/// + i % 4, plus 16 from i = 8 on. Element i of B is in row threadID * 4 + i % 4, plus 16 from i =
/// 4 on, and in column groupID.
template <class Byte>
void multiply_as(int (&sums)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  WarpOnCpu& warp = show_operands(a, b);
  const unsigned lane = threadIdx.x % 32;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned row = lane / 4 + (i < 2 ? 0 : 8);
    const unsigned column = lane % 4 * 2 + (i & 1);
    for (unsigned k = 0; k < 32; ++k) {
      const unsigned quad = k % 16 / 4;
      const unsigned of_a = k % 4 + (row >= 8 ? 4 : 0) + (k >= 16 ? 8 : 0);
      const unsigned of_b = k % 4 + (k >= 16 ? 4 : 0);
      sums[i] += byte_of<Byte>(warp.a[row % 8 * 4 + quad], of_a) *
                 byte_of<Byte>(warp.b[column * 4 + quad], of_b);
    }
  }
  warp.barrier.arrive_and_wait();
}
inline void multiply(int (&sums)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  multiply_as<int8_t>(sums, a, b);
}
inline void multiply_bytes(int (&sums)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  multiply_as<uint8_t>(sums, a, b);
}

inline float half_at(const uint32_t* registers, unsigned i) {
  const auto half = static_cast<uint16_t>(registers[i / 2] >> (16 * (i % 2)));
  float value = 0;
  kernels().convert.f16_to_f32(&half, 1, &value);
  return value;
}

/// The sum as a device may make it: of each value only the bits that a float as large as the
/// largest one has.
inline float sum_of_aligned(const double (&values)[17]) {
  double largest = 0;
  for (const double value : values) largest = std::fmax(largest, std::fabs(value));
  if (largest == 0) return 0;
  const double unit = std::ldexp(1.0, std::ilogb(largest) - 23);
  double sum = 0;
  for (const double value : values) sum += std::trunc(value / unit) * unit;
  const auto nearest = static_cast<float>(sum);
  return std::fabs(double{nearest}) > std::fabs(sum) ? std::nextafterf(nearest, 0) : nearest;
}

/// The manual (mma.m16n8k16, .f16): element i of A is in row groupID, or groupID + 8 for i in [2,
/// 4) and [6, 8), and in column threadID * 2 + i % 2, plus 8 from i = 4 on. Element i of B is in
/// row threadID * 2 + i % 2, plus 8 from i = 2 on, and in column groupID.
inline void multiply_halves(float (&sums)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  WarpOnCpu& warp = show_operands(a, b);
  const unsigned lane = threadIdx.x % 32;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned row = lane / 4 + (i < 2 ? 0 : 8);
    const unsigned column = lane % 4 * 2 + (i & 1);
    double values[17] = {sums[i]};
    for (unsigned k = 0; k < 16; ++k) {
      const unsigned pair = k % 8 / 2;
      const unsigned of_a = k % 2 + (row >= 8 ? 2 : 0) + (k >= 8 ? 4 : 0);
      const unsigned of_b = k % 2 + (k >= 8 ? 2 : 0);
      values[k + 1] = double{half_at(warp.a[row % 8 * 4 + pair], of_a)} *
                      double{half_at(warp.b[column * 4 + pair], of_b)};
    }
    sums[i] = sum_of_aligned(values);
  }
  warp.barrier.arrive_and_wait();
}
inline void load_16(uint32_t (&to)[4], const void* from) { std::memcpy(to, from, 16); }
inline void store_16(void* to, const uint32_t (&words)[4]) { std::memcpy(to, words, 16); }

/// All threads of one block; returns when they have ended.
template <class... Parameters, class... Arguments>
void run_block(void (*kernel)(Parameters...), dim3 number, dim3 n_blocks, uint32_t n_threads,
               const Arguments&... arguments) {
  BlockOnCpu block(n_threads);
  this_block = &block;
  blockIdx = number;
  blockDim = dim3(n_threads);
  gridDim = n_blocks;
  threads_of_block.run(n_threads, [&](unsigned) {
    kernel(arguments...);
    block.barrier.arrive_and_drop();
  });
}

template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), dim3 n_blocks, uint32_t n_threads, cudaStream_t,
            const Arguments&... arguments) {
  for (unsigned y = 0; y < n_blocks.y; ++y) {
    for (unsigned x = 0; x < n_blocks.x; ++x) {
      run_block(kernel, dim3(x, y), n_blocks, n_threads, arguments...);
    }
  }
}

template <class... Parameters, class... Arguments>
qv_status launch_with_shared(void (*kernel)(Parameters...), dim3 n_blocks, uint32_t n_threads,
                             uint32_t n_shared, cudaStream_t, const Arguments&... arguments) {
  const dim3 grid = n_blocks;
  for (unsigned y = 0; y < grid.y; ++y) {
    for (unsigned x = 0; x < grid.x; ++x) {
      SharedOnCpu shared(n_shared);
      shared_of_block = &shared;
      run_block(kernel, dim3(x, y), grid, n_threads, arguments...);
    }
  }
  return QV_DONE;
}

}  // namespace quiver::gpu_cuda
