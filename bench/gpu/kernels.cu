// Limits of a device, and the times of the certified pass's kernels beside them (docs/gpu.md). Random data. Prints one JSON
// object a line.
//
//   gpu_kernels [N_ROWS]
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "gpu_cuda/dense.cuh"
#include "gpu_cuda/dense_hopper.cuh"
#include "gpu_cuda/dense_plan.cuh"
#include "gpu_cuda/hopper.cuh"
#include "gpu_cuda/status.cuh"

namespace quiver::gpu_cuda {
namespace {

#define CHECK(call)                                                                               \
  do {                                                                                            \
    const cudaError_t check_error = (call);                                                       \
    if (check_error != cudaSuccess) {                                                             \
      std::fprintf(stderr, "gpu_kernels: %s: %s\n", #call, cudaGetErrorString(check_error));      \
      std::exit(1);                                                                               \
    }                                                                                             \
  } while (false)

int attribute(cudaDeviceAttr name) {
  int value = 0;
  CHECK(cudaDeviceGetAttribute(&value, name, 0));
  return value;
}

uint32_t n_multiprocessors() { return static_cast<uint32_t>(attribute(cudaDevAttrMultiProcessorCount)); }

/// Shared memory of a block; 0: the device lacks the products of four warps.
uint32_t most_shared() {
  const bool is_wide = attribute(cudaDevAttrComputeCapabilityMajor) == 9;
  return is_wide ? static_cast<uint32_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin)) : 0;
}

/// Median time of a call's work on the default stream, in ms.
double time_of(const std::function<void()>& call, int n_rounds = 11) {
  cudaEvent_t begin;
  cudaEvent_t end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  call();
  std::vector<float> times(n_rounds);
  for (float& time : times) {
    CHECK(cudaEventRecord(begin));
    call();
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    CHECK(cudaEventElapsedTime(&time, begin, end));
  }
  CHECK(cudaGetLastError());
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

template <class T>
T* allocate(size_t n) {
  T* memory = nullptr;
  CHECK(cudaMalloc(&memory, n * sizeof(T)));
  return memory;
}

__device__ uint32_t hash(uint64_t i) {
  i = (i + 0x9E3779B97F4A7C15ULL) * 0xBF58476D1CE4E5B9ULL;
  i = (i ^ i >> 27) * 0x94D049BB133111EBULL;
  return static_cast<uint32_t>(i >> 32);
}

/// Sums of four bytes: about normal, at most 127 in size.
__global__ void fill(int8_t* to, uint64_t n, uint64_t seed) {
  for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < n; i += uint64_t{gridDim.x} * blockDim.x) {
    const uint32_t h = hash(seed + i);
    const int sum = static_cast<int>((h & 255) + (h >> 8 & 255) + (h >> 16 & 255) + (h >> 24)) - 510;
    to[i] = static_cast<int8_t>(max(-127, min(127, sum / 4)));
  }
}

__global__ void fill_facts(qv_row* rows, qv_query* queries, const int8_t* codes, uint64_t n, uint32_t stride, uint32_t k,
                           bool is_euclid) {
  const uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x;
  if (i >= n) return;
  int square = 0;
  for (uint32_t j = 0; j < stride; ++j) square += codes[i * stride + j] * codes[i * stride + j];
  const float length = sqrtf(static_cast<float>(square));
  const float error = .3F * sqrtf(static_cast<float>(stride));
  const float scale = .01F + 1e-6F * static_cast<float>(hash(i) % 1000);
  if (rows != nullptr) rows[i] = {scale, scale * error, scale * length, scale * scale * length * length};
  if (queries != nullptr) queries[i] = {length, error, is_euclid ? .005F * length * length : 0, is_euclid ? 50.F : 0, k, QV_ALL_ROWS};
}

__global__ void wide_rate(int* out, uint32_t n_rounds) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) char shared[];
  for (uint32_t i = threadIdx.x; i < 48 * 1024; i += blockDim.x) shared[i] = static_cast<char>(hash(i));
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  int sums[128] = {};
  const uint64_t a = hopper::operand<128>(shared + threadIdx.x / 128 * 8192);
  const uint64_t b = hopper::operand<128>(shared + 16384);
  for (uint32_t round = 0; round < n_rounds; ++round) {
    hopper::begin_products();
#pragma unroll
    for (int i = 0; i < 4; ++i) hopper::multiply_group(sums, a + 2 * i, b + 2 * i, 1);
    hopper::end_products();
    hopper::wait_for_products<0>();
  }
  int sum = 0;
  for (int i = 0; i < 128; ++i) sum += sums[i];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
#endif
}

template <bool is_bits>
__global__ void warp_rate(int* out, uint32_t n_rounds) {
  int sums[16][4] = {};
  uint32_t a[4];
  uint32_t b[2] = {hash(threadIdx.x), hash(threadIdx.x + 77)};
  for (int i = 0; i < 4; ++i) a[i] = hash(threadIdx.x * 4 + i + 1000);
  for (uint32_t round = 0; round < n_rounds; ++round) {
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      if constexpr (is_bits) {
        asm volatile("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+r"(sums[i][0]), "+r"(sums[i][1]), "+r"(sums[i][2]), "+r"(sums[i][3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
      } else {
        asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+r"(sums[i][0]), "+r"(sums[i][1]), "+r"(sums[i][2]), "+r"(sums[i][3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
      }
    }
  }
  int sum = 0;
  for (auto& of : sums) sum += of[0] + of[1] + of[2] + of[3];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

/// A warp reads rows of 16-byte pieces at random places.
__global__ void read_rows(const uint4* from, uint64_t n_rows, uint32_t n_pieces, uint32_t n_reads, uint32_t* out) {
  const uint32_t warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const uint32_t n_warps = gridDim.x * blockDim.x / 32;
  uint32_t sum = 0;
  for (uint32_t i = warp; i < n_reads; i += n_warps) {
    const uint4* row = from + uint64_t{hash(i) % static_cast<uint32_t>(n_rows)} * n_pieces;
    for (uint32_t j = threadIdx.x % 32; j < n_pieces; j += 32) {
      const uint4 piece = row[j];
      sum += piece.x ^ piece.y ^ piece.z ^ piece.w;
    }
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

__global__ void nothing() {}

void print_limits() {
  constexpr size_t kBytes = size_t{4} << 30;
  auto* const a = allocate<int8_t>(kBytes);
  auto* const b = allocate<int8_t>(kBytes);
  auto* const out = allocate<int>(1 << 22);
  fill<<<4096, 256>>>(a, kBytes, 1);
  const double copy = time_of([&] { CHECK(cudaMemcpyAsync(b, a, kBytes, cudaMemcpyDeviceToDevice)); });
  const auto copy_rate = 2 * kBytes / copy / 1e9;
  const double wide = time_of([&] { wide_rate<<<n_multiprocessors(), 256, 49152>>>(out, 4000); });
  const auto wide_ops = 2.0 * n_multiprocessors() * 2 * 4000 * 4 * 64 * 256 * 32 / wide / 1e12;
  const double warp = time_of([&] { warp_rate<false><<<n_multiprocessors() * 4, 256>>>(out, 2000); });
  const auto warp_ops = 2.0 * n_multiprocessors() * 4 * 8 * 2000 * 16 * (16 * 8 * 32) / warp / 1e12;
  const double bits = time_of([&] { warp_rate<true><<<n_multiprocessors() * 4, 256>>>(out, 2000); });
  const auto bit_ops = 2.0 * n_multiprocessors() * 4 * 8 * 2000 * 16 * (16 * 8 * 256) / bits / 1e12;
  const auto gather = [&](const void* from, uint64_t n_rows, uint32_t n_reads, uint32_t n_pieces) {
    const double ms = time_of([&] {
      read_rows<<<n_multiprocessors() * 8, 256>>>(static_cast<const uint4*>(from), n_rows, n_pieces, n_reads,
                                               reinterpret_cast<uint32_t*>(out));
    });
    return static_cast<double>(n_reads) * n_pieces * 16 / ms / 1e6;
  };
  const double l2 = gather(a, 8000, 4000000, 192);  // 24 MB
  constexpr size_t kHost = size_t{1} << 30;
  void* host = nullptr;
  CHECK(cudaHostAlloc(&host, kHost, cudaHostAllocMapped));
  CHECK(cudaMemcpy(host, a, kHost, cudaMemcpyDeviceToHost));
  const double to_device = time_of([&] { CHECK(cudaMemcpyAsync(b, host, kHost, cudaMemcpyHostToDevice)); }, 3);
  const double to_host = time_of([&] { CHECK(cudaMemcpyAsync(host, b, kHost, cudaMemcpyDeviceToHost)); }, 3);
  const double launches = time_of([&] { for (int i = 0; i < 100; ++i) nothing<<<1, 32>>>(); });
  std::printf("{\"step\": \"limits\", \"copy_gb_s\": %.0f, \"int8_wgmma_tops\": %.0f, \"int8_mma_tops\": %.0f, \"bit_mma_tops\": %.0f, "
              "\"l2_gb_s\": %.0f, \"h2d_gb_s\": %.1f, \"d2h_gb_s\": %.1f, \"launch_us\": %.2f", copy_rate * 1e3, wide_ops * 1e3,
              warp_ops * 1e3, bit_ops * 1e3, l2, kHost / to_device / 1e6, kHost / to_host / 1e6, launches * 10);
  for (const uint32_t bytes : {128, 512, 1536, 3072, 4096}) {
    std::printf(", \"host_rows_%u_gb_s\": %.1f", bytes, gather(host, kHost / bytes, 200000, bytes / 16));
  }
  std::printf("}\n");
  std::fflush(stdout);
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
  CHECK(cudaFree(out));
  CHECK(cudaFreeHost(host));
}

struct Data {
  DenseRows rows = {};
  std::vector<int8_t> codes;      // of queries
  std::vector<qv_query> queries;

  Data(uint64_t n_rows, uint32_t stride, uint32_t n_queries, uint32_t k, bool is_euclid) {
    const uint64_t n = tiles_of(n_rows) * gpu::tiles::kTileRows;
    auto* const bytes = allocate<int8_t>(n * stride);
    auto* const facts = allocate<qv_row>(n);
    fill<<<4096, 256>>>(bytes, n * stride, 1);
    fill_facts<<<(n + 255) / 256, 256>>>(facts, nullptr, bytes, n, stride, k, is_euclid);
    rows = {bytes, facts, n_rows, stride};
    auto* const query_codes = allocate<int8_t>(uint64_t{n_queries} * stride);
    auto* const query_facts = allocate<qv_query>(n_queries);
    fill<<<64, 256>>>(query_codes, uint64_t{n_queries} * stride, 1ULL << 50);
    fill_facts<<<(n_queries + 255) / 256, 256>>>(nullptr, query_facts, query_codes, n_queries, stride, k, is_euclid);
    codes.resize(uint64_t{n_queries} * stride);
    queries.resize(n_queries);
    CHECK(cudaMemcpy(codes.data(), query_codes, codes.size(), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(queries.data(), query_facts, n_queries * sizeof(qv_query), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(query_codes));
    CHECK(cudaFree(query_facts));
  }
  ~Data() {
    cudaFree(const_cast<int8_t*>(rows.codes));
    cudaFree(const_cast<qv_row*>(rows.facts));
  }
};

struct Job {
  qv_dense job = {};
  DenseShape shape = {};
  DenseMemory memory = {};
  void* workspace = nullptr;

  Job(const Data& data) {
    constexpr uint32_t kCapacity = 8192;
    const auto n = static_cast<uint32_t>(data.queries.size());
    job.size = sizeof job;
    job.n_queries = n;
    job.codes = data.codes.data();
    job.queries = data.queries.data();
    job.rounding = 1e-6F;
    job.capacity = kCapacity;
    CHECK(cudaHostAlloc(&job.rows, uint64_t{n} * kCapacity * 4, cudaHostAllocMapped));
    CHECK(cudaHostAlloc(&job.n_rows, n * 4, cudaHostAllocMapped));
    shape = shape_of(job, data.rows);
    DenseInputs inputs = {};
    Pieces size(nullptr);
    memory_of(job, data.rows, shape, size, inputs);
    CHECK(cudaMalloc(&workspace, size.used()));
    CHECK(cudaMemset(workspace, 0xA5, size.used()));
    Pieces pieces(workspace);
    memory = memory_of(job, data.rows, shape, pieces, inputs);
    CHECK(cudaMemset(inputs.codes, 0, padded_queries(n) * shape.stride));
    CHECK(cudaMemset(inputs.queries, 0, padded_queries(n) * sizeof(qv_query)));
    CHECK(cudaMemcpy(inputs.codes, job.codes, uint64_t{n} * shape.stride, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(inputs.queries, job.queries, n * sizeof(qv_query), cudaMemcpyHostToDevice));
  }
  ~Job() {
    cudaFree(workspace);
    cudaFreeHost(job.rows);
    cudaFreeHost(job.n_rows);
  }
  std::vector<std::vector<uint32_t>> lists() const {
    std::vector<std::vector<uint32_t>> all(job.n_queries);
    for (uint32_t i = 0; i < job.n_queries; ++i) {
      if (job.n_rows[i] > job.capacity) continue;
      all[i].assign(job.rows + uint64_t{i} * job.capacity, job.rows + uint64_t{i} * job.capacity + job.n_rows[i]);
      std::sort(all[i].begin(), all[i].end());
    }
    return all;
  }
};

void check(qv_status status) {
  if (status == QV_DONE) return;
  std::fprintf(stderr, "gpu_kernels: status %d: %s\n", status, cudaGetErrorString(last_error));
  std::exit(1);
}

void compare(uint64_t n_rows, uint32_t stride, uint32_t n_queries, uint32_t k, bool is_euclid, bool is_timed) {
  const Data data(n_rows, stride, n_queries, k, is_euclid);
  Job job(data);
  const WidePlan plan = wide_plan(stride, n_queries, most_shared());
  WideMaps maps;
  const bool has_maps = plan.n_columns != 0 && make_maps(job.shape, job.memory, plan, maps);
  const ComparePass wide = [&](bool is_sample) {
    return launch_wide(is_sample, job.shape, job.memory, plan, maps, n_multiprocessors(), nullptr);
  };
  check(launch_dense(job.shape, job.memory, nullptr));
  CHECK(cudaDeviceSynchronize());
  const auto expected = job.lists();
  size_t n_found = 0;
  for (const auto& list : expected) n_found += list.size();
  std::printf("{\"step\": \"kernels\", \"rows\": %llu, \"stride\": %u, \"queries\": %u, \"k\": %u, \"euclid\": %d, \"found\": %.1f",
              static_cast<unsigned long long>(n_rows), stride, n_queries, k, is_euclid, double(n_found) / n_queries);
  if (has_maps) {
    std::fill(job.job.n_rows, job.job.n_rows + n_queries, 0xA5A5A5A5);
    check(launch_dense(job.shape, job.memory, nullptr, wide));
    CHECK(cudaDeviceSynchronize());
    const auto lists = job.lists();
    size_t different = 0;
    for (uint32_t i = 0; i < n_queries; ++i) different += lists[i] != expected[i];
    std::printf(", \"columns\": %u, \"slab\": %u, \"stages\": %u, \"different\": %zu", plan.n_columns, plan.slab, plan.n_stages, different);
  } else {
    std::printf(", \"columns\": 0");
  }
  if (is_timed) {
    const double ops = 2.0 * n_rows * stride * n_queries;
    const double any = time_of([&] { check(launch_dense(job.shape, job.memory, nullptr)); }, 5);
    std::printf(", \"any_ms\": %.4f", any);
    if (has_maps) {
      const double all = time_of([&] { check(launch_dense(job.shape, job.memory, nullptr, wide)); });
      const double sample = time_of([&] { check(wide(true)); });
      // As the pass of a job: all queries wanted, bars set.
      std::vector<Search> searches(padded_queries(n_queries));
      CHECK(cudaMemcpy(searches.data(), job.memory.searches, searches.size() * sizeof(Search), cudaMemcpyDeviceToHost));
      for (uint32_t i = 0; i < n_queries; ++i) searches[i] = {searches[i].bar, 0, 1};
      CHECK(cudaMemcpy(job.memory.searches, searches.data(), searches.size() * sizeof(Search), cudaMemcpyHostToDevice));
      const double pass = time_of([&] { check(wide(false)); });
      std::printf(", \"wide_ms\": %.4f, \"sample_ms\": %.4f, \"pass_ms\": %.4f, \"pass_tops\": %.0f, \"pass_gb_s\": %.0f", all, sample, pass,
                  ops / pass / 1e9, n_rows * double(stride) / pass / 1e6);
    }
  }
  std::printf("}\n");
  std::fflush(stdout);
}

}  // namespace
}  // namespace quiver::gpu_cuda

int main(int argc, char** argv) {
  using namespace quiver::gpu_cuda;
  setvbuf(stdout, nullptr, _IOLBF, 0);
  const uint64_t n_rows = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000000;
  for (const uint32_t stride : {64, 192, 384, 768, 1536, 3072, 4096}) {
    for (const uint32_t n_queries : {1, 65, 200}) {
      for (const bool is_euclid : {false, true}) compare(5000 + stride, stride, n_queries, 10, is_euclid, false);
    }
  }
  print_limits();
  for (const uint32_t stride : {128, 384, 768, 1536}) {
    for (const uint32_t n_queries : {1, 8, 64, 128, 256}) compare(n_rows, stride, n_queries, 10, false, true);
  }
  compare(n_rows, 768, 256, 100, true, true);
}
