// A warp has a query and the 16-bit sums of a range of rows in shared memory. The rows of a run are distinct, so its
// lanes add without atomics; between runs the warp meets.
//
// First some ranges are a sample: their largest sums give a bar that as many rows reach as are wanted. Then all ranges
// are added up, and the rows that reach the bar are kept. If these are too many, the bar was too low: rows may lie in an
// order that the sample does not show. Then what was kept gives a higher one, and all ranges are added up again.
#include "gpu_cuda/sums.cuh"

#include <cstdint>

#include "gpu_cuda/sums_plan.cuh"

namespace quiver::gpu_cuda {
namespace {

constexpr uint32_t kLevelsOfRun = 16;
/// Of so many ranges one is sampled.
constexpr uint32_t kSampleStep = 16;
constexpr uint32_t kSumWords = QV_RANGE_ROWS / 2;
constexpr uint32_t kSelectThreads = 256;

/// What a lane needs of a run before its rows are added.
struct RunHead {
  uint64_t first;        ///< of its rows
  uint32_t n_from;       ///< of the lane's level: postings with this level or a higher one
  uint32_t row;          ///< the lane's first one
  uint32_t add;          ///< of the lane's level
  uint32_t first_level;
};

/// `place`: of the run, in units of 16 numbers. A run beyond the part has no rows.
__device__ RunHead head_of(const SumShape& shape, const SumMemory& memory, const qv_sum_term& term, uint32_t place) {
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t level = lane % kLevelsOfRun;
  const uint64_t first = uint64_t{place} * kLevelsOfRun + kLevelsOfRun;
  RunHead head = {first, 0, 0, term.adds[level], term.first_level};
  if (first <= shape.n_values) head.n_from = memory.runs[first - kLevelsOfRun + level];
  if (first + lane < shape.n_values) head.row = memory.runs[first + lane];
  return head;
}

/// The level of posting `i`: the last one that has more than i postings from it on.
__device__ uint32_t level_of(uint32_t i, uint32_t n_from) {
  uint32_t level = 0;
#pragma unroll
  for (uint32_t step = 8; step > 0; step /= 2) {
    const uint32_t n = __shfl_sync(~0U, n_from, level + step);
    if (n > i) level += step;
  }
  return level;
}

__device__ void add_run(const SumShape& shape, const SumMemory& memory, const RunHead& head, uint16_t* sums) {
  const uint32_t lane = threadIdx.x % 32;
  uint32_t n = __shfl_sync(~0U, head.n_from, head.first_level);
  if (head.first + n > shape.n_values) n = 0;
  for (uint32_t begin = 0; begin < n; begin += 32) {
    const uint32_t i = begin + lane;
    const uint32_t row = begin == 0 ? head.row : i < n ? memory.runs[head.first + i] : 0;
    const uint32_t add = __shfl_sync(~0U, head.add, level_of(i, head.n_from));
    if (i < n && row < QV_RANGE_ROWS) sums[row] = static_cast<uint16_t>(sums[row] + add);
  }
}

/// Adds all runs of the query in the range. Places come for 32 terms at a time, and each run's head while the one
/// before is added.
__device__ void add_runs(const SumShape& shape, const SumMemory& memory, const qv_sum_query& query, uint32_t range,
                         uint16_t* sums) {
  const uint32_t lane = threadIdx.x % 32;
  const qv_sum_term* terms = memory.terms + query.first_term;
  for (uint32_t begin = 0; begin < query.n_terms; begin += 32) {
    const uint32_t n = min(query.n_terms - begin, 32U);
    uint32_t place = 0;
    if (lane < n) place = memory.places[uint64_t{terms[begin + lane].term} * shape.n_ranges + range];
    RunHead next = head_of(shape, memory, terms[begin], __shfl_sync(~0U, place, 0));
    for (uint32_t i = 0; i < n; ++i) {
      const RunHead head = next;
      const uint32_t after = min(i + 1, n - 1);
      next = head_of(shape, memory, terms[begin + after], __shfl_sync(~0U, place, after));
      add_run(shape, memory, head, sums);
      __syncwarp();
    }
  }
}

/// Zero in place of the sums of rows that the query may not name.
__device__ void drop_others(const SumMemory& memory, const SumShape& shape, uint32_t mask, uint32_t range,
                            uint16_t* sums) {
  const uint32_t first = range * QV_RANGE_ROWS;
  for (uint32_t i = threadIdx.x % 32; i < QV_RANGE_ROWS && first + i < shape.n_rows; i += 32) {
    if (!allows(memory.masks, mask, first + i)) sums[i] = 0;
  }
  __syncwarp();
}

__device__ uint32_t sum_of_lanes(uint32_t value) {
  int sum = static_cast<int>(value);
  for (uint32_t step = 1; step < 32; step *= 2) sum += __shfl_xor_sync(~0U, sum, step);
  return static_cast<uint32_t>(sum);
}

/// The largest sum that k rows reach; 0 if there are fewer.
__device__ uint32_t kth_sum(const uint16_t* sums, uint32_t k) {
  uint32_t bar = 0;
  for (uint32_t bit = 0x8000; bit > 0; bit /= 2) {
    uint32_t n = 0;
    for (uint32_t i = threadIdx.x % 32; i < QV_RANGE_ROWS; i += 32) n += sums[i] >= bar + bit ? 1 : 0;
    if (sum_of_lanes(n) >= k) bar += bit;
  }
  return bar;
}

/// Keeps the rows that reach the bar.
__device__ void keep_rows(const SumShape& shape, const SumMemory& memory, uint32_t query, uint32_t range, uint32_t bar,
                          const uint16_t* sums) {
  const auto* const words = reinterpret_cast<const uint32_t*>(sums);
  SumSearch& search = memory.searches[query];
  for (uint32_t i = threadIdx.x % 32; i < kSumWords; i += 32) {
    const uint32_t both = words[i];
    if ((both & 0xFFFF) < bar && both >> 16 < bar) continue;
    for (uint32_t half = 0; half < 2; ++half) {
      const uint32_t sum = both >> (16 * half) & 0xFFFF;
      const uint32_t row = range * QV_RANGE_ROWS + 2 * i + half;
      if (sum < bar || row >= shape.n_rows) continue;
      const uint32_t place = atomicAdd(&search.n_found, 1U);
      if (place < shape.room) memory.found[uint64_t{query} * shape.room + place] = {row, sum};
    }
  }
}

/// A block has some queries and a range.
template <bool kIsSample>
__global__ void sum_ranges(SumShape shape, SumMemory memory) {
  const uint32_t warp = threadIdx.x / 32;
  const uint32_t query = blockIdx.y * shape.n_warps + warp;
  const uint32_t range = blockIdx.x * (kIsSample ? kSampleStep : 1);
  if (query >= shape.n_queries || memory.searches[query].is_done != 0) return;
  auto* const sums = reinterpret_cast<uint16_t*>(shared_memory() + warp * kSumBytes);
  auto* const words = reinterpret_cast<uint32_t*>(sums);
  for (uint32_t i = threadIdx.x % 32; i < kSumWords; i += 32) words[i] = 0;
  __syncwarp();
  const qv_sum_query facts = memory.queries[query];
  add_runs(shape, memory, facts, range, sums);
  if (memory.masks.words != nullptr) drop_others(memory, shape, facts.mask, range, sums);
  uint32_t bar = memory.searches[query].bar;
  if (kIsSample) bar = max(bar, kth_sum(sums, facts.k));
  keep_rows(shape, memory, query, range, bar, sums);
}

__global__ void start_sums(SumShape shape, SumMemory memory) {
  const uint32_t query = blockIdx.x * blockDim.x + threadIdx.x;
  if (query < shape.n_queries) memory.searches[query] = {1, 0, 0};
}

__device__ float sum_at(const SumMemory& memory, const SumShape& shape, uint32_t query, uint32_t i) {
  return static_cast<float>(memory.found[uint64_t{query} * shape.room + i].sum);
}

/// The k-th largest of the sums found, at least 1: all of them reach that.
__device__ uint32_t bar_of_found(const SumShape& shape, const SumMemory& memory, uint32_t query, uint32_t n) {
  const float kth = kth_largest(n, memory.queries[query].k,
                                [&](uint32_t i) { return sum_at(memory, shape, query, i); });
  return kth >= 1 ? static_cast<uint32_t>(kth) : 1;
}

/// After the sample, and after the first pass for queries that found more than there is room for.
template <bool kIsSample>
__global__ void set_sum_bars(SumShape shape, SumMemory memory) {
  const uint32_t query = blockIdx.x;
  const uint32_t n_found = memory.searches[query].n_found;
  if (!kIsSample && n_found <= shape.room) {
    if (threadIdx.x == 0) memory.searches[query].is_done = 1;
    return;
  }
  const uint32_t bar = bar_of_found(shape, memory, query, min(n_found, shape.room));
  __syncthreads();
  if (threadIdx.x == 0) memory.searches[query] = {bar, 0, 0};
}

/// Names the rows that reach the k-th largest sum.
__global__ void name_sums(SumShape shape, SumMemory memory) {
  __shared__ uint32_t n_out;
  const uint32_t query = blockIdx.x;
  const uint32_t n_found = memory.searches[query].n_found;
  const uint32_t n = min(n_found, shape.room);
  const uint32_t bar = bar_of_found(shape, memory, query, n);
  __syncthreads();
  if (threadIdx.x == 0) n_out = 0;
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) {
    const FoundSum found = memory.found[uint64_t{query} * shape.room + i];
    if (found.sum < bar) continue;
    const uint32_t place = atomicAdd(&n_out, 1U);
    if (place >= shape.capacity) continue;
    memory.out_rows[uint64_t{query} * shape.capacity + place] = found.row;
    memory.out_sums[uint64_t{query} * shape.capacity + place] = found.sum;
  }
  __syncthreads();
  const bool is_certain = n_found <= shape.room && n_out <= shape.capacity;
  if (threadIdx.x == 0) memory.out_n[query] = is_certain ? n_out : QV_NOT_CERTIFIED;
}

}  // namespace

qv_status launch_sums(const SumShape& shape, const SumMemory& memory, cudaStream_t stream) {
  const uint32_t n_groups = (shape.n_queries + shape.n_warps - 1) / shape.n_warps;
  const uint32_t n_shared = shape.n_warps * kSumBytes;
  launch(start_sums, (shape.n_queries + kSelectThreads - 1) / kSelectThreads, kSelectThreads, stream, shape, memory);
  const dim3 sample((shape.n_ranges + kSampleStep - 1) / kSampleStep, n_groups);
  qv_status status =
      launch_with_shared(sum_ranges<true>, sample, 32 * shape.n_warps, n_shared, stream, shape, memory);
  if (status != QV_DONE) return status;
  launch(set_sum_bars<true>, shape.n_queries, kSelectThreads, stream, shape, memory);
  for (int pass = 0; pass < 2; ++pass) {
    if (pass > 0) launch(set_sum_bars<false>, shape.n_queries, kSelectThreads, stream, shape, memory);
    status = launch_with_shared(sum_ranges<false>, dim3(shape.n_ranges, n_groups), 32 * shape.n_warps, n_shared,
                                stream, shape, memory);
    if (status != QV_DONE) return status;
  }
  launch(name_sums, shape.n_queries, kSelectThreads, stream, shape, memory);
  return status_of(cudaGetLastError());
}

}  // namespace quiver::gpu_cuda
