// What gpu_cuda/hopper.cuh names, on the CPU. Addresses, swizzles and places of sums
// follow the PTX manual (shared memory matrix layout; wgmma, register fragments of D). Products are
// computed when a thread waits for them, as late as a device may read their operands.
//
// Include it after cuda_on_cpu.h and before a .cu file.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <vector>

#include "tests/gpu/cuda_on_cpu.h"

#define QV_HAS_HOPPER
#define __grid_constant__

struct CUtensorMap {
  const int8_t* vectors;
  uint64_t n;
  uint32_t stride;
  uint32_t slab;
  uint32_t n_together;
};

namespace quiver::gpu_cuda::hopper {

inline uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(static_cast<const char*>(p) - shared_of_block->bytes);
}

/// The manual's swizzles of vectors of 128 and 64 bytes: bits 4 to 6 by bits 7 to 9, bits 4 and 5
/// by bits 7 and 8.
inline uint32_t swizzled(uint32_t address, uint32_t slab) {
  return slab == 128 ? address ^ (address >> 7 & 7) << 4 : address ^ (address >> 7 & 3) << 4;
}

struct BarrierOnCpu {
  uint32_t count = 0;
  std::atomic<uint32_t> n_missing = 0;
  std::atomic<int64_t> n_bytes = 0;  ///< announced and not there yet
  std::atomic<uint32_t> n_phases = 0;
};
inline std::map<const uint64_t*, BarrierOnCpu> barriers_of_block;

/// Changes what a phase waits for.
inline void change_barrier(const uint64_t* barrier, uint32_t n_arrived, int64_t n_bytes) {
  BarrierOnCpu& state = barriers_of_block.at(barrier);
  if (n_arrived > state.n_missing) std::abort();  // more threads than the barrier counts
  state.n_missing -= n_arrived;
  state.n_bytes += n_bytes;
  if (state.n_missing > 0 || state.n_bytes != 0) return;
  state.n_missing = state.count;
  ++state.n_phases;
}

inline void start_barrier(uint64_t* barrier, uint32_t count) {
  BarrierOnCpu& state = barriers_of_block[barrier];
  state.count = count;
  state.n_missing = count;
  state.n_bytes = 0;
  state.n_phases = 0;
}
inline void show_barriers() {}
inline void arrive_and_expect(uint64_t* barrier, uint32_t n_bytes) {
  change_barrier(barrier, 1, n_bytes);
}
inline void arrive(uint64_t* barrier) { change_barrier(barrier, 1, 0); }
inline void wait_for_phase(uint64_t* barrier, uint32_t parity) {
  const BarrierOnCpu& state = barriers_of_block.at(barrier);
  // The phase with this parity has ended if the one under way has the other.
  threads_of_block.wait_until([&] { return state.n_phases % 2 != parity; });
}

inline void copy_tile(void* to, const CUtensorMap* map, uint64_t* barrier, uint32_t x, uint32_t y) {
  const uint32_t address = shared_address(to);
  if (address % (8 * map->slab) != 0) std::abort();
  for (uint32_t vector = 0; vector < map->n_together; ++vector) {
    for (uint32_t byte = 0; byte < map->slab; ++byte) {
      const bool is_there = y + vector < map->n && x + byte < map->stride;
      const int8_t value =
          is_there ? map->vectors[uint64_t{y + vector} * map->stride + x + byte] : int8_t{0};
      const uint32_t place = swizzled(address + vector * map->slab + byte, map->slab);
      if (place >= shared_of_block->n_bytes) std::abort();
      shared_of_block->bytes[place] = static_cast<char>(value);
    }
  }
  change_barrier(barrier, 0, -int64_t{map->n_together} * map->slab);
}

/// First address and bytes of a vector; what `decoded` reads from the manual's 64 bits.
struct Operand {
  uint32_t address;
  uint32_t slab;
};
template <uint32_t kSlab>
uint64_t operand(const void* tile) {
  constexpr uint64_t kSwizzle = kSlab == 128 ? 1 : 2;
  return (shared_address(tile) & 0x3FFFF) >> 4 | uint64_t{1} << 16 |
         uint64_t{8 * kSlab / 16} << 32 | kSwizzle << 62;
}
inline Operand decoded(uint64_t bits) {
  const uint32_t slab = bits >> 62 == 1 ? 128 : 64;
  if ((bits >> 32 & 0x3FFF) != 8 * slab / 16)
    std::abort();  // groups of eight vectors follow each other
  return {static_cast<uint32_t>(bits & 0x3FFF) << 4, slab};
}
/// 32 bytes of a vector, as they lie in swizzled pieces of 16.
struct Bytes {
  int8_t values[32];
};
inline Bytes bytes_of(const Operand& operand, uint32_t vector) {
  Bytes bytes;
  for (uint32_t piece = 0; piece < 32; piece += 16) {
    const uint32_t place = swizzled(operand.address + vector * operand.slab + piece, operand.slab);
    std::memcpy(bytes.values + piece, shared_of_block->bytes + place, 16);
  }
  return bytes;
}

using ProductsOnCpu = std::vector<std::function<void()>>;
/// Products of a thread that it has not waited for.
struct OpenProducts {
  ProductsOnCpu begun;
  std::vector<ProductsOnCpu> groups;
};
inline OpenProducts products_of_block[1024];  ///< by thread, which alone uses its own
inline OpenProducts& open_products() { return products_of_block[threadIdx.x]; }

inline void begin_products() {}
inline void end_products() {
  OpenProducts& products = open_products();
  products.groups.push_back(std::move(products.begun));
  products.begun.clear();
}
/// The instruction is one of the whole warp (.sync.aligned): its lanes meet when all are done.
/// Those who may write to the operands run before.
template <int n>
void wait_for_products() {
  threads_of_block.yield();
  auto& groups = open_products().groups;
  while (groups.size() > n) {
    for (const auto& product : groups.front()) product();
    groups.erase(groups.begin());
  }
  this_warp().barrier.arrive_and_wait();
}

template <size_t n>
void multiply_group(int (&sums)[n], uint64_t a, uint64_t b, int adds) {
  open_products().begun.push_back([&sums, a = decoded(a), b = decoded(b), adds] {
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t row = threadIdx.x % 128 / 32 * 16 + lane / 4;
    const Bytes rows[2] = {bytes_of(a, row), bytes_of(a, row + 8)};
    for (uint32_t i = 0; i < n; ++i) {
      const Bytes column = bytes_of(b, i / 4 * 8 + lane % 4 * 2 + i % 2);
      int sum = adds != 0 ? sums[i] : 0;
      for (uint32_t k = 0; k < 32; ++k) sum += rows[i / 2 % 2].values[k] * column.values[k];
      sums[i] = sum;
    }
  });
}

template <uint32_t n>
void give_registers() {}
template <uint32_t n>
void take_registers() {}
template <class T>
T unknown(T value) {
  return value;
}

inline bool make_map(const int8_t* vectors, uint64_t n, uint32_t stride, uint32_t slab,
                     uint32_t n_together, CUtensorMap& out) {
  out = {vectors, n, stride, slab, n_together};
  return true;
}

}  // namespace quiver::gpu_cuda::hopper
