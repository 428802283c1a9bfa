// Instructions that CUDA C++ has no names for, and the launch of a kernel. tests/gpu/cuda_on_cpu.h has all of this and
// what CUDA C++ names on threads of the CPU, so that the kernels' text runs without a GPU.
#pragma once

#ifndef QV_CUDA_ON_CPU

#include <cstdint>

#include "gpu_cuda/status.cuh"

namespace quiver::gpu_cuda {

/// Starts a copy of 16 bytes into shared memory. Both addresses are multiples of 16.
__device__ inline void copy_16(int8_t* to, const int8_t* from) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from));
}

/// Ends a group of copies of this thread.
__device__ inline void end_copies() { asm volatile("cp.async.commit_group;"); }

/// Waits for all groups of this thread but the last one.
__device__ inline void wait_for_copies_but_one() { asm volatile("cp.async.wait_group 1;"); }

/// Adds the product of 16 rows and 8 columns of 32 bytes each (gpu/tiles/fragments.h). A whole warp calls it.
__device__ inline void multiply(int (&sums)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/// The same with values of 16 bits, sums in f32.
__device__ inline void multiply_halves(float (&sums)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/// As `multiply`, of bytes without a sign.
__device__ inline void multiply_bytes(int (&sums)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/// Adds the products of four bytes without a sign and four with one.
__device__ inline int dot_bytes(uint32_t bytes, uint32_t signed_bytes, int sum) {
  int out;
  asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(out) : "r"(bytes), "r"(signed_bytes), "r"(sum));
  return out;
}

/// 0 where `by` is 32 and above.
__device__ inline uint32_t shift_or_zero(uint32_t value, uint32_t by) {
  uint32_t out;
  asm("shl.b32 %0, %1, %2;" : "=r"(out) : "r"(value), "r"(by));
  return out;
}

/// Four words at a multiple of 16 bytes.
__device__ inline void load_16(uint32_t (&to)[4], const void* from) {
  const uint4 words = *static_cast<const uint4*>(from);
  to[0] = words.x;
  to[1] = words.y;
  to[2] = words.z;
  to[3] = words.w;
}

__device__ inline void store_16(void* to, const uint32_t (&words)[4]) {
  *static_cast<uint4*>(to) = make_uint4(words[0], words[1], words[2], words[3]);
}

/// The block's shared memory of `launch_with_shared`, at a multiple of 1024.
__device__ inline char* shared_memory() {
  extern __shared__ __align__(1024) char memory[];
  return memory;
}

template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), dim3 n_blocks, uint32_t n_threads, cudaStream_t stream,
            const Arguments&... arguments) {
  kernel<<<n_blocks, n_threads, 0, stream>>>(arguments...);
}

/// Lets the kernel's blocks have all the shared memory that there is: the same for all launches, as lanes share it.
template <class... Parameters>
qv_status allow_all_shared(void (*kernel)(Parameters...)) {
  int device = 0;
  int most = 0;
  cudaFuncAttributes own = {};
  QV_CUDA(cudaGetDevice(&device));
  QV_CUDA(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  QV_CUDA(cudaFuncGetAttributes(&own, kernel));
  QV_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               most - static_cast<int>(own.sharedSizeBytes)));
  return QV_DONE;
}

/// With this much shared memory for each block, which may be more than a kernel has unasked.
template <class... Parameters, class... Arguments>
qv_status launch_with_shared(void (*kernel)(Parameters...), dim3 n_blocks, uint32_t n_threads, uint32_t n_shared,
                             cudaStream_t stream, const Arguments&... arguments) {
  const qv_status status = allow_all_shared(kernel);
  if (status != QV_DONE) return status;
  kernel<<<n_blocks, n_threads, n_shared, stream>>>(arguments...);
  return status_of(cudaGetLastError());
}

}  // namespace quiver::gpu_cuda

#endif
