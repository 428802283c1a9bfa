// Two groups of four warps share a block's queries; each takes 64 rows at a time and keeps its own slabs of rows under
// way. While one looks at its scores the other has the multipliers for itself.
#include "gpu_cuda/dense_hopper.cuh"

#include <cstdint>

#include "gpu/tiles/margin.h"
#include "gpu_cuda/dense_plan.cuh"
#include "gpu_cuda/hopper.cuh"

namespace quiver::gpu_cuda {
namespace {

using namespace quiver::gpu;

constexpr uint32_t kGroups = 2;
constexpr uint32_t kGroupThreads = 128;
/// Two warps of a third group start the copies; it gives its registers to the others.
constexpr uint32_t kWideThreads = (kGroups + 1) * kGroupThreads;
constexpr uint32_t kCopyRegisters = 40;
constexpr uint32_t kProductRegisters = 232;
constexpr uint32_t kUnitRows = 64;
constexpr uint32_t kMaxStages = 8;

struct QueryLimit {
  float bar;
  float half_over_scale;
};

struct Barriers {
  uint64_t queries;
  uint64_t full[kGroups][kMaxStages];
  uint64_t empty[kGroups][kMaxStages];
};

/// What lies in a block's shared memory, in this order: rows, queries, limits, barriers.
template <uint32_t kColumns, uint32_t kSlab>
struct Layout {
  static constexpr uint32_t kStageBytes = kUnitRows * kSlab;
  static constexpr uint32_t kQuerySlabBytes = kColumns * kSlab;

  char* memory;
  uint32_t n_slabs;
  uint32_t n_stages;

  __host__ __device__ uint32_t queries_at() const { return kGroups * n_stages * kStageBytes; }
  __host__ __device__ uint32_t limits_at() const { return queries_at() + n_slabs * kQuerySlabBytes; }
  __host__ __device__ uint32_t barriers_at() const { return limits_at() + kColumns * uint32_t{sizeof(QueryLimit)}; }
  __host__ __device__ uint32_t n_bytes() const { return barriers_at() + uint32_t{sizeof(Barriers)}; }

  __device__ char* stage(uint32_t group, uint32_t i) const { return memory + (group * n_stages + i) * kStageBytes; }
  __device__ char* queries(uint32_t slab) const { return memory + queries_at() + slab * kQuerySlabBytes; }
  __device__ QueryLimit* limits() const { return reinterpret_cast<QueryLimit*>(memory + limits_at()); }
  __device__ Barriers& barriers() const { return *reinterpret_cast<Barriers*>(memory + barriers_at()); }
};

/// 64 rows each, in the order in which groups of warps take them.
struct Units {
  uint32_t n;
  uint32_t tile_step;  ///< every how many tiles one is compared

  __device__ uint32_t first_row(uint32_t unit) const {
    return unit / 2 * tile_step * tiles::kTileRows + unit % 2 * kUnitRows;
  }
};

/// A slab after another, round and round.
struct Turn {
  uint32_t stage = 0;
  uint32_t parity = 0;

  __device__ void next(uint32_t n_stages) {
    if (++stage < n_stages) return;
    stage = 0;
    parity ^= 1;
  }
};

#ifdef QV_HAS_HOPPER

template <uint32_t kColumns, uint32_t kSlab>
__device__ void copy_rows(const Layout<kColumns, kSlab>& layout, const CUtensorMap& rows, const Units& units,
                          uint32_t first, uint32_t step, uint32_t group) {
  Barriers& barriers = layout.barriers();
  Turn turn;
  bool is_first_round = true;
  for (uint32_t unit = first; unit < units.n; unit += step) {
    const uint32_t row = units.first_row(unit);
    for (uint32_t slab = 0; slab < layout.n_slabs; ++slab) {
      if (!is_first_round) hopper::wait_for_phase(&barriers.empty[group][turn.stage], turn.parity ^ 1);
      hopper::arrive_and_expect(&barriers.full[group][turn.stage], layout.kStageBytes);
      hopper::copy_tile(layout.stage(group, turn.stage), &rows, &barriers.full[group][turn.stage], slab * kSlab, row);
      turn.next(layout.n_stages);
      if (turn.stage == 0) is_first_round = false;
    }
  }
}

template <uint32_t kColumns, uint32_t kSlab>
__device__ void copy_queries(const Layout<kColumns, kSlab>& layout, const CUtensorMap& queries, uint32_t first_query) {
  uint64_t* const barrier = &layout.barriers().queries;
  hopper::arrive_and_expect(barrier, layout.n_slabs * layout.kQuerySlabBytes);
  for (uint32_t slab = 0; slab < layout.n_slabs; ++slab) {
    hopper::copy_tile(layout.queries(slab), &queries, barrier, slab * kSlab, first_query);
  }
}

/// The sums of 64 rows and all queries of the block.
template <uint32_t kColumns, uint32_t kSlab>
__device__ void multiply_unit(const Layout<kColumns, kSlab>& layout, uint32_t group, Turn& turn,
                              int (&sums)[kColumns / 2]) {
  Barriers& barriers = layout.barriers();
  uint32_t last = 0;
  for (uint32_t slab = 0; slab < layout.n_slabs; ++slab) {
    hopper::wait_for_phase(&barriers.full[group][turn.stage], turn.parity);
    const uint64_t a = hopper::operand<kSlab>(layout.stage(group, turn.stage));
    const uint64_t b = hopper::operand<kSlab>(layout.queries(slab));
    hopper::begin_products();
#pragma unroll
    for (uint32_t i = 0; i < kSlab / 32; ++i) hopper::multiply_group(sums, a + 2 * i, b + 2 * i, slab + i);
    hopper::end_products();
    hopper::wait_for_products<1>();
    if (slab > 0 && threadIdx.x % 32 == 0) hopper::arrive(&barriers.empty[group][last]);
    last = turn.stage;
    turn.next(layout.n_stages);
  }
  hopper::wait_for_products<0>();
  if (threadIdx.x % 32 == 0) hopper::arrive(&barriers.empty[group][last]);
}

/// One of the two rows that a lane has sums of.
struct WideRow {
  uint32_t row;
  float scale;
  float square;
  float margin;
};

__device__ WideRow read_row(const DenseMemory& memory, uint32_t row) {
  const qv_row& facts = memory.facts[row];
  return {row, facts.scale, facts.square, memory.margins[row]};
}

__device__ float middle(const WideRow& row, float half_over_scale, int sum) {
  return fmaf(row.scale, static_cast<float>(sum), -half_over_scale * row.square);
}

/// The best lower end of each 16 rows, for each query.
template <uint32_t kColumns>
__device__ void keep_slabs(const DenseShape& shape, const DenseMemory& memory, const QueryLimit* limits,
                           uint32_t first_query, uint32_t slab, const WideRow (&rows)[2],
                           const int (&sums)[kColumns / 2]) {
  const uint32_t lane = threadIdx.x % 32;
#pragma unroll
  for (uint32_t j = 0; j < kColumns / 8; ++j) {
#pragma unroll
    for (uint32_t c = 0; c < 2; ++c) {
      const uint32_t column = j * 8 + lane % 4 * 2 + c;
      const float half_over_scale = limits[column].half_over_scale;
      const uint32_t query = first_query + column;
      const uint32_t mask = query < shape.n_queries ? memory.queries[query].mask : QV_ALL_ROWS;
      float best = kNone;
#pragma unroll
      for (uint32_t i = 0; i < 2; ++i) {
        const float lower = middle(rows[i], half_over_scale, sums[4 * j + 2 * i + c]) - rows[i].margin;
        if (lower > best && may_name(shape, memory, mask, rows[i].row)) best = lower;
      }
      for (uint32_t step = 4; step < 32; step *= 2) best = fmaxf(best, __shfl_xor_sync(~0U, best, step));
      if (lane < 4 && query < shape.n_queries) memory.slabs[uint64_t{query} * shape.n_slabs + slab] = best;
    }
  }
}

/// Appends a row if it may be among the best.
__device__ void keep_row(const DenseShape& shape, const DenseMemory& memory, const QueryLimit& limit, uint32_t query,
                         const WideRow& row, int sum) {
  const float center = middle(row, limit.half_over_scale, sum);
  if (!tiles::may_reach(center + row.margin, limit.bar)) return;
  // A query that is padding has no bar that may be reached, but a score may be no number.
  if (query >= shape.n_queries || !may_name(shape, memory, memory.queries[query].mask, row.row)) return;
  const uint32_t place = atomicAdd(&memory.searches[query].n_found, 1U);
  if (place < shape.room) memory.found[uint64_t{query} * shape.room + place] = {row.row, center};
}

/// Appends the rows that may be among the best. Nearly all scores end at the first comparison.
template <uint32_t kColumns>
__device__ void keep_rows(const DenseShape& shape, const DenseMemory& memory, const QueryLimit* limits,
                          uint32_t first_query, const WideRow (&rows)[2], const int (&sums)[kColumns / 2]) {
  const uint32_t first_column = threadIdx.x % 4 * 2;
#pragma unroll
  for (uint32_t j = 0; j < kColumns / 8; ++j) {
    bool may = false;
#pragma unroll
    for (uint32_t i = 0; i < 4; ++i) {
      const QueryLimit limit = limits[j * 8 + first_column + i % 2];
      const WideRow& row = rows[i / 2];
      const float from = fmaf(-limit.half_over_scale, row.square, row.margin);
      const float upper = fmaf(row.scale, static_cast<float>(sums[4 * j + i]), from);
      may |= tiles::may_reach(upper, limit.bar);
    }
    if (!may) continue;
#pragma unroll
    for (uint32_t i = 0; i < 4; ++i) {
      const uint32_t column = hopper::unknown(j * 8 + first_column + i % 2);
      keep_row(shape, memory, limits[column], first_query + column, rows[i / 2], hopper::unknown(sums[4 * j + i]));
    }
  }
}

#endif

template <bool is_sample, uint32_t kColumns, uint32_t kSlab>
__global__ void __launch_bounds__(kWideThreads, 1)
    compare_tiles_wide(const __grid_constant__ CUtensorMap row_map, const __grid_constant__ CUtensorMap query_map,
                       DenseShape shape, DenseMemory memory, uint32_t n_stages) {
#ifdef QV_HAS_HOPPER
  const Layout<kColumns, kSlab> layout = {shared_memory(), (shape.stride + kSlab - 1) / kSlab, n_stages};
  const uint32_t first_query = blockIdx.y * kColumns;
  bool is_wanted = false;
  if (threadIdx.x < kColumns) {
    // The wanted ones of the padded queries; nothing reaches the bar of the others.
    const uint32_t query = first_query + threadIdx.x;
    is_wanted = query < shape.n_queries && memory.searches[query].wanted != 0;
    layout.limits()[threadIdx.x] = {is_wanted ? memory.searches[query].bar : INFINITY,
                                    is_wanted ? memory.queries[query].half_over_scale : 0};
  }
  if (threadIdx.x == 0) {
    Barriers& barriers = layout.barriers();
    hopper::start_barrier(&barriers.queries, 1);
    for (uint32_t group = 0; group < kGroups; ++group) {
      for (uint32_t i = 0; i < n_stages; ++i) {
        hopper::start_barrier(&barriers.full[group][i], 1);
        hopper::start_barrier(&barriers.empty[group][i], kGroupThreads / 32);
      }
    }
    hopper::show_barriers();
  }
  if (!__syncthreads_or(is_wanted)) return;

  const uint32_t tile_step = is_sample ? shape.sample_step : 1;
  const Units units = {(shape.n_tiles + tile_step - 1) / tile_step * 2, tile_step};
  const uint32_t step = gridDim.x * kGroups;
  const uint32_t group = threadIdx.x / kGroupThreads;
  const uint32_t warp = threadIdx.x % kGroupThreads / 32;
  if (group == kGroups) {
    hopper::give_registers<kCopyRegisters>();
    if (warp < kGroups && threadIdx.x % 32 == 0) {
      if (warp == 0) copy_queries(layout, query_map, first_query);
      copy_rows(layout, row_map, units, blockIdx.x * kGroups + warp, step, warp);
    }
  } else {
    hopper::take_registers<kProductRegisters>();
    const uint32_t warp_row = warp * 16;
    Turn turn;
    hopper::wait_for_phase(&layout.barriers().queries, 0);
    for (uint32_t unit = blockIdx.x * kGroups + group; unit < units.n; unit += step) {
      const uint32_t row = units.first_row(unit) + warp_row + threadIdx.x % 32 / 4;
      const WideRow rows[2] = {read_row(memory, row), read_row(memory, row + 8)};
      int sums[kColumns / 2];
      multiply_unit(layout, group, turn, sums);
      // Else the compiler computes the addresses of all queries' places before the loop, and has no room for them.
      const uint32_t query = hopper::unknown(first_query);
      if constexpr (is_sample) {
        keep_slabs<kColumns>(shape, memory, layout.limits(), query,
                             unit * (kUnitRows / tiles::kSlabRows) + warp_row / tiles::kSlabRows, rows, sums);
      } else {
        keep_rows<kColumns>(shape, memory, layout.limits(), query, rows, sums);
      }
    }
  }
#endif
}

template <uint32_t kColumns, uint32_t kSlab>
WidePlan plan_of(uint32_t stride, uint32_t most_shared) {
  Layout<kColumns, kSlab> layout = {nullptr, (stride + kSlab - 1) / kSlab, kMaxStages};
  while (layout.n_stages > 1 && layout.n_bytes() > most_shared) --layout.n_stages;
  return {layout.n_stages > 1 ? kColumns : 0, kSlab, layout.n_stages, layout.n_bytes()};
}

template <uint32_t kColumns>
WidePlan plan_of(uint32_t stride, uint32_t most_shared) {
  // Wide slabs are copied faster, but enough of them must be under way.
  constexpr uint32_t kEnough = 4;
  const WidePlan plan = plan_of<kColumns, 128>(stride, most_shared);
  return plan.n_columns != 0 && plan.n_stages >= kEnough ? plan : plan_of<kColumns, 64>(stride, most_shared);
}

template <bool is_sample, uint32_t kColumns, uint32_t kSlab>
qv_status launch_kernel(const DenseShape& shape, const DenseMemory& memory, const WidePlan& plan, const WideMaps& maps,
                        uint32_t n_multiprocessors, cudaStream_t stream) {
  const uint32_t tile_step = is_sample ? shape.sample_step : 1;
  const uint32_t n_tiles = (shape.n_tiles + tile_step - 1) / tile_step;
  const uint32_t n_columns = (shape.n_queries + kColumns - 1) / kColumns;
  const uint32_t n_blocks = n_multiprocessors < n_columns ? 1 : n_multiprocessors / n_columns;
  return launch_with_shared(compare_tiles_wide<is_sample, kColumns, kSlab>,
                            dim3(n_blocks < n_tiles ? n_blocks : n_tiles, n_columns), kWideThreads, plan.n_bytes,
                            stream, maps.rows, maps.queries, shape, memory, plan.n_stages);
}

template <bool is_sample, uint32_t kColumns>
qv_status launch_columns(const DenseShape& shape, const DenseMemory& memory, const WidePlan& plan,
                         const WideMaps& maps, uint32_t n_multiprocessors, cudaStream_t stream) {
  if (plan.slab == 128) {
    return launch_kernel<is_sample, kColumns, 128>(shape, memory, plan, maps, n_multiprocessors, stream);
  }
  return launch_kernel<is_sample, kColumns, 64>(shape, memory, plan, maps, n_multiprocessors, stream);
}

template <bool is_sample>
qv_status launch_pass(const DenseShape& shape, const DenseMemory& memory, const WidePlan& plan, const WideMaps& maps,
                      uint32_t n_multiprocessors, cudaStream_t stream) {
  switch (plan.n_columns) {
    case 64: return launch_columns<is_sample, 64>(shape, memory, plan, maps, n_multiprocessors, stream);
    case 128: return launch_columns<is_sample, 128>(shape, memory, plan, maps, n_multiprocessors, stream);
    default: return launch_columns<is_sample, 256>(shape, memory, plan, maps, n_multiprocessors, stream);
  }
}

}  // namespace

WidePlan wide_plan(uint32_t stride, uint32_t n_queries, uint32_t most_shared) {
  WidePlan plan = {};
  if (n_queries > 128) plan = plan_of<256>(stride, most_shared);
  if (plan.n_columns == 0 && n_queries > 64) plan = plan_of<128>(stride, most_shared);
  if (plan.n_columns == 0) plan = plan_of<64>(stride, most_shared);
  return plan;
}

bool make_maps(const DenseShape& shape, const DenseMemory& memory, const WidePlan& plan, WideMaps& out) {
  const uint64_t n_rows = uint64_t{shape.n_tiles} * tiles::kTileRows;
  const uint64_t n_queries = padded_queries(shape.n_queries);
  return hopper::make_map(memory.rows, n_rows, shape.stride, plan.slab, kUnitRows, out.rows) &&
         hopper::make_map(memory.codes, n_queries, shape.stride, plan.slab, plan.n_columns, out.queries);
}

qv_status launch_wide(bool is_sample, const DenseShape& shape, const DenseMemory& memory, const WidePlan& plan,
                      const WideMaps& maps, uint32_t n_multiprocessors, cudaStream_t stream) {
  return is_sample ? launch_pass<true>(shape, memory, plan, maps, n_multiprocessors, stream)
                   : launch_pass<false>(shape, memory, plan, maps, n_multiprocessors, stream);
}

}  // namespace quiver::gpu_cuda
