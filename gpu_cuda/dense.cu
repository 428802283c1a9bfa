// A block compares a tile of rows with a tile of queries by products of 8-bit integers, a warp 16 rows with all queries.
// Rows that may be among the best are appended to their query's buffer; no other score leaves the chip.
#include "gpu_cuda/dense.cuh"

#include <cstdint>

#include "gpu/tiles/fragments.h"
#include "gpu/tiles/margin.h"
#include "gpu_cuda/select.cuh"

namespace quiver::gpu_cuda {
namespace {

using namespace quiver::gpu;

constexpr uint32_t kWarps = tiles::kTileRows / tiles::kProductRows;
constexpr uint32_t kThreads = 32 * kWarps;
constexpr uint32_t kColumns = kQueryTile / tiles::kProductColumns;
/// Bytes of each vector that are in shared memory at a time, and their distance: 16 bytes more, so that the eight
/// vectors that a warp reads lie in different banks.
constexpr uint32_t kSlab = QV_ROW_ALIGNMENT;
constexpr uint32_t kPitch = kSlab + 16;
constexpr uint32_t kSelectThreads = 256;

struct Stage {
  alignas(16) int8_t rows[tiles::kTileRows * kPitch];
  alignas(16) int8_t queries[kQueryTile * kPitch];
};

/// Starts the copy of one slab of `n` vectors.
__device__ void copy_slab(int8_t* to, const int8_t* from, uint32_t n, uint32_t stride, uint32_t slab) {
  constexpr uint32_t kPieces = kSlab / 16;
  for (uint32_t i = threadIdx.x; i < n * kPieces; i += kThreads) {
    const uint32_t vector = i / kPieces;
    const uint32_t byte = i % kPieces * 16;
    copy_16(to + vector * kPitch + byte, from + uint64_t{vector} * stride + slab * kSlab + byte);
  }
}

__device__ uint32_t word_at(const int8_t* vectors, tiles::Word word, uint32_t byte) {
  return *reinterpret_cast<const uint32_t*>(vectors + word.vector * kPitch + word.byte + byte);
}

/// Adds the products of a slab: of the warp's rows with all queries of the tile.
__device__ void multiply_slab(const Stage& stage, uint32_t warp, uint32_t lane, int (&sums)[kColumns][4]) {
  const int8_t* rows = stage.rows + warp * tiles::kProductRows * kPitch;
#pragma unroll
  for (uint32_t byte = 0; byte < kSlab; byte += tiles::kProductBytes) {
    uint32_t a[4];
#pragma unroll
    for (uint32_t i = 0; i < 4; ++i) a[i] = word_at(rows, tiles::word_of_a(lane, i), byte);
#pragma unroll
    for (uint32_t c = 0; c < kColumns; ++c) {
      const int8_t* queries = stage.queries + c * tiles::kProductColumns * kPitch;
      uint32_t b[2];
#pragma unroll
      for (uint32_t i = 0; i < 2; ++i) b[i] = word_at(queries, tiles::word_of_b(lane, i), byte);
      multiply(sums[c], a, b);
    }
  }
}

/// Sums of a tile of rows and a tile of queries; the next slab is copied while one is multiplied.
__device__ void multiply_tile(Stage (&stages)[2], const int8_t* rows, const int8_t* queries, uint32_t stride,
                              int (&sums)[kColumns][4]) {
  const uint32_t n_slabs = stride / kSlab;
  const auto start = [&](uint32_t slab) {
    if (slab < n_slabs) {
      copy_slab(stages[slab % 2].rows, rows, tiles::kTileRows, stride, slab);
      copy_slab(stages[slab % 2].queries, queries, kQueryTile, stride, slab);
    }
    end_copies();
  };
  start(0);
  for (uint32_t slab = 0; slab < n_slabs; ++slab) {
    start(slab + 1);
    wait_for_copies_but_one();
    __syncthreads();
    multiply_slab(stages[slab % 2], threadIdx.x / 32, threadIdx.x % 32, sums);
    __syncthreads();
  }
}

/// One of the two rows that a lane has sums of.
struct OwnRow {
  uint64_t row;
  qv_row facts;
  float margin;
};

__device__ void read_rows(const DenseMemory& memory, uint64_t first_row, uint32_t lane, OwnRow (&rows)[2]) {
#pragma unroll
  for (uint32_t i = 0; i < 2; ++i) {
    const uint64_t row = first_row + tiles::row_of_c(lane, 2 * i);
    rows[i] = {row, memory.facts[row], memory.margins[row]};
  }
}

/// The best lower end of the warp's 16 rows, for each query.
__device__ void keep_slab(const DenseShape& shape, const DenseMemory& memory, const OwnRow (&rows)[2],
                          uint32_t first_query, uint64_t slab, uint32_t lane, const int (&sums)[kColumns][4]) {
#pragma unroll
  for (uint32_t c = 0; c < kColumns; ++c) {
#pragma unroll
    for (uint32_t j = 0; j < 2; ++j) {
      const uint32_t query = first_query + c * tiles::kProductColumns + tiles::column_of_c(lane, j);
      const qv_query facts = memory.queries[query];
      float best = kNone;
#pragma unroll
      for (uint32_t i = 0; i < 2; ++i) {
        const float lower = tiles::center(rows[i].facts, facts, sums[c][2 * i + j]) - rows[i].margin;
        if (lower > best && may_name(shape, memory, facts.mask, rows[i].row)) best = lower;
      }
      for (uint32_t step = 4; step < 32; step *= 2) best = fmaxf(best, __shfl_xor_sync(~0U, best, step));
      if (lane < 4 && query < shape.n_queries) memory.slabs[uint64_t{query} * shape.n_slabs + slab] = best;
    }
  }
}

/// Appends the rows that may be among the best.
__device__ void keep_rows(const DenseShape& shape, const DenseMemory& memory, const OwnRow (&rows)[2],
                          uint32_t first_query, uint32_t lane, const int (&sums)[kColumns][4]) {
#pragma unroll
  for (uint32_t c = 0; c < kColumns; ++c) {
#pragma unroll
    for (uint32_t j = 0; j < 2; ++j) {
      const uint32_t query = first_query + c * tiles::kProductColumns + tiles::column_of_c(lane, j);
      const qv_query facts = memory.queries[query];
      Search& search = memory.searches[query];
      const float bar = search.bar;
#pragma unroll
      for (uint32_t i = 0; i < 2; ++i) {
        const float center = tiles::center(rows[i].facts, facts, sums[c][2 * i + j]);
        if (!tiles::may_reach(center + rows[i].margin, bar) || search.wanted == 0) continue;
        if (!may_name(shape, memory, facts.mask, rows[i].row)) continue;
        const uint32_t place = atomicAdd(&search.n_found, 1U);
        if (place >= shape.room) continue;
        memory.found[uint64_t{query} * shape.room + place] = {static_cast<uint32_t>(rows[i].row), center};
      }
    }
  }
}

enum class Pass { kSample, kAll };

template <Pass pass>
__global__ void __launch_bounds__(kThreads) compare_tiles(DenseShape shape, DenseMemory memory) {
  __shared__ Stage stages[2];
  const uint32_t first_query = blockIdx.y * kQueryTile;
  const uint32_t tile = blockIdx.x * (pass == Pass::kSample ? shape.sample_step : 1);
  const bool is_wanted =
      threadIdx.x < kQueryTile && memory.searches[first_query + threadIdx.x].wanted != 0;
  if (!__syncthreads_or(is_wanted)) return;
  int sums[kColumns][4] = {};
  const uint64_t tile_row = uint64_t{tile} * tiles::kTileRows;
  multiply_tile(stages, memory.rows + tile_row * shape.stride, memory.codes + uint64_t{first_query} * shape.stride,
                shape.stride, sums);
  const uint32_t warp = threadIdx.x / 32;
  const uint32_t lane = threadIdx.x % 32;
  OwnRow rows[2];
  read_rows(memory, tile_row + warp * tiles::kProductRows, lane, rows);
  if constexpr (pass == Pass::kSample) {
    keep_slab(shape, memory, rows, first_query, uint64_t{blockIdx.x} * kWarps + warp, lane, sums);
  } else {
    keep_rows(shape, memory, rows, first_query, lane, sums);
  }
}

__global__ void write_margins(DenseShape shape, DenseMemory memory) {
  const uint64_t row = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (row >= uint64_t{shape.n_tiles} * tiles::kTileRows) return;
  const bool is_wanted = row < shape.n_rows && any_allows(memory.masks, row);
  memory.margins[row] = is_wanted ? tiles::margin(memory.facts[row], shape.group, shape.rounding) : -INFINITY;
}

__global__ void start_searches(DenseShape shape, DenseMemory memory) {
  const uint32_t query = blockIdx.x * blockDim.x + threadIdx.x;
  memory.searches[query] = {kNone, 0, query < shape.n_queries ? 1U : 0U};
}

__global__ void set_bars(DenseShape shape, DenseMemory memory) {
  const float* slabs = memory.slabs + uint64_t{blockIdx.x} * shape.n_slabs;
  const uint32_t k = memory.queries[blockIdx.x].k;
  const float bar = kth_largest(shape.n_slabs, k, [slabs](uint32_t i) { return or_none(slabs[i]); });
  if (threadIdx.x == 0) memory.searches[blockIdx.x].bar = bar;
}

/// Writes the rows that may be among the best by the query's own margins. Where there was too little room, the bar is
/// raised to what the rows in it allow, for a second pass.
__global__ void finish_pass(DenseShape shape, DenseMemory memory) {
  const uint32_t query = blockIdx.x;
  Search& search = memory.searches[query];
  if (search.wanted == 0) return;
  const uint32_t n_found = search.n_found;
  const uint32_t n = min(n_found, shape.room);
  const float bar = search.bar;
  const qv_query facts = memory.queries[query];
  const Found* found = memory.found + uint64_t{query} * shape.room;
  const auto own = [&](uint32_t row) { return tiles::margin(memory.facts[row], facts, shape.rounding); };
  const float by_found =
      kth_largest(n, facts.k, [&](uint32_t i) { return or_none(found[i].center - own(found[i].row)); });
  const float raised = fmaxf(bar, by_found);
  __shared__ uint32_t n_out;
  __syncthreads();
  if (threadIdx.x == 0) n_out = 0;
  __syncthreads();
  if (n_found > shape.room) {
    if (threadIdx.x == 0) {
      search = {raised, 0, 1};
      memory.out_n[query] = QV_NOT_CERTIFIED;
    }
    return;
  }
  for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) {
    if (!tiles::may_reach(found[i].center + own(found[i].row), raised)) continue;
    const uint32_t place = atomicAdd(&n_out, 1U);
    if (place < shape.capacity) memory.out_rows[uint64_t{query} * shape.capacity + place] = found[i].row;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    search.wanted = 0;
    memory.out_n[query] = n_out <= shape.capacity ? n_out : QV_NOT_CERTIFIED;
  }
}

}  // namespace

qv_status launch_dense(const DenseShape& shape, const DenseMemory& memory, cudaStream_t stream,
                       const ComparePass& compare) {
  const uint32_t n_columns = (shape.n_queries + kQueryTile - 1) / kQueryTile;
  const uint32_t n_sampled = (shape.n_tiles + shape.sample_step - 1) / shape.sample_step;
  launch_join_masks(memory.masks, stream);
  launch(write_margins, shape.n_tiles, tiles::kTileRows, stream, shape, memory);
  launch(start_searches, n_columns, kQueryTile, stream, shape, memory);
  const ComparePass by_warps = [&](bool is_sample) {
    launch(is_sample ? compare_tiles<Pass::kSample> : compare_tiles<Pass::kAll>,
           dim3(is_sample ? n_sampled : shape.n_tiles, n_columns), kThreads, stream, shape, memory);
    return QV_DONE;
  };
  const ComparePass& pass = compare ? compare : by_warps;
  qv_status status = pass(true);
  launch(set_bars, shape.n_queries, kSelectThreads, stream, shape, memory);
  for (int i = 0; i < 2 && status == QV_DONE; ++i) {
    status = pass(false);
    launch(finish_pass, shape.n_queries, kSelectThreads, stream, shape, memory);
  }
  return status == QV_DONE ? status_of(cudaGetLastError()) : status;
}

}  // namespace quiver::gpu_cuda
