// The sum of a row's table entries is a product: of bytes that are one where the row has that entry, and of the tables
// laid end to end. With codes of several bits, the bytes have the weights of the bits. So tensor cores give the sums of
// the CPU, from the blocks and the tables as they are.
//
// A block of threads has a tile: a list and up to 32 queries that visit it, whose tables lie in shared memory. Each warp
// takes blocks of 16 rows in turn. Lane (g, j) makes the bytes of rows g and g + 8, of line j of four.
#include "gpu_cuda/lists.cuh"

#include <cstdint>

#include "gpu_cuda/lists_plan.cuh"

namespace quiver::gpu_cuda {
namespace {

constexpr uint32_t kListWarps = 8;
constexpr uint32_t kListThreads = 32 * kListWarps;
/// Blocks of a list that a tile scans: a long list has several tiles.
constexpr uint32_t kBlocksOfTile = 4 * kListWarps;
constexpr uint32_t kLine = 64;
constexpr uint32_t kNameCodesThreads = 512;

/// What a tile needs of a visit.
struct TileVisit {
  float step;
  float offset;
  float base;
  uint32_t first_slot;
};

/// Number of the piece of 16 entries of a half, low or high, of byte `y` of a line's dword, in the order of shared
/// memory: what the four lanes of a row read lies together.
__device__ uint32_t piece_of(uint32_t line, uint32_t half, uint32_t y) {
  return ((line / 4 * 4 + y) * 2 + half) * 4 + line % 4;
}

__device__ void copy_tables(const ListShape& shape, const ListMemory& memory, uint32_t first, uint32_t n, char* to) {
  const uint32_t n_pieces = shape.n_lines * 8;
  const uint32_t pitch = table_pitch(shape.n_lines);
  for (uint32_t i = threadIdx.x; i < n * n_pieces; i += kListThreads) {
    const uint32_t visit = i / n_pieces;
    const uint32_t piece = i % n_pieces;
    const uint32_t query = memory.visits[first + visit].query;
    uint32_t words[4];
    load_16(words, memory.tables + (uint64_t{query} * n_pieces + piece) * 16);
    store_16(to + visit * pitch + piece_of(piece / 8, piece / 4 % 2, piece % 4) * 16, words);
  }
}

/// Adds the one-hot bytes of 16 entries, in four words. `nibble_8`: eight times the entry.
__device__ void add_one_hot(uint32_t weight, uint32_t nibble_8, uint32_t i, uint32_t (&a)[4][4]) {
#pragma unroll
  for (uint32_t step = 0; step < 4; ++step) a[step][i] += shift_or_zero(weight, nibble_8 - 32 * step);
}

/// Adds the sums of a line of each of the lanes, of the dwords' byte `y`.
template <uint32_t kGroups, bool kOneBit>
__device__ void add_bytes(const ListShape& shape, const char* block, uint32_t line, uint32_t y, const char* tables,
                          int (&sums)[kGroups][4]) {
  const uint32_t n_bits = kOneBit ? 1 : shape.n_bits;
  const uint32_t row = threadIdx.x % 32 / 4;
  const bool is_there = line < shape.n_lines;
  const char* at = block + (is_there ? line : 0) * kLine + row * 4;
  uint32_t a[4][4] = {};
  for (uint32_t bit = 0; bit < n_bits; ++bit, at += shape.n_lines * kLine) {
    const uint32_t weight = is_there ? 1U << (n_bits - 1 - bit) : 0;
    const uint32_t upper = *reinterpret_cast<const uint32_t*>(at) >> (8 * y);
    const uint32_t lower = *reinterpret_cast<const uint32_t*>(at + 32) >> (8 * y);
    add_one_hot(weight, (upper & 15) * 8, 0, a);
    add_one_hot(weight, (lower & 15) * 8, 1, a);
    add_one_hot(weight, (upper >> 4 & 15) * 8, 2, a);
    add_one_hot(weight, (lower >> 4 & 15) * 8, 3, a);
  }
  const uint32_t pitch = table_pitch(shape.n_lines);
  const char* own = tables + row * pitch + piece_of(line, 0, y) * 16;
#pragma unroll
  for (uint32_t group = 0; group < kGroups; ++group, own += kQueryGroup * pitch) {
    uint32_t low[4];
    uint32_t high[4];
    load_16(low, own);
    load_16(high, own + 64);
#pragma unroll
    for (uint32_t step = 0; step < 4; ++step) {
      const uint32_t b[2] = {low[step], high[step]};
      multiply_bytes(sums[group], a[step], b);
    }
  }
}

/// The operations of the CPU in its order, none of them fused.
__device__ float estimate_of(int sum, const TileVisit& visit, float scale, float add) {
  const float product = __fadd_rn(__fmul_rn(static_cast<float>(sum), visit.step), visit.offset);
  return __fadd_rn(__fmul_rn(product, scale), __fadd_rn(add, visit.base));
}

/// Writes the estimates of a block's rows. `nth`: of the list's blocks.
template <uint32_t kGroups>
__device__ void write_estimates(const ListShape& shape, const ListMemory& memory, const char* block, uint32_t nth,
                                uint32_t position, const TileVisit* visits, uint32_t n, int (&sums)[kGroups][4]) {
  const uint32_t lane = threadIdx.x % 32;
  const auto* factors = reinterpret_cast<const float*>(block + shape.stride - 128);
#pragma unroll
  for (uint32_t group = 0; group < kGroups; ++group) {
#pragma unroll
    for (uint32_t i = 0; i < 4; ++i) {
      const uint32_t visit = group * kQueryGroup + lane % 4 * 2 + i % 2;
      const uint32_t row = lane / 4 + i / 2 * 8;
      if (visit >= n) continue;
      const uint32_t slot = visits[visit].first_slot + nth * 16 + row;
      memory.scores[slot] = or_none(estimate_of(sums[group][i], visits[visit], factors[row], factors[16 + row]));
      memory.positions[slot] = position + row;
    }
  }
}

template <uint32_t kGroups, bool kOneBit>
__global__ void __launch_bounds__(kListThreads, kGroups == 1 ? 3 : 2) scan_lists(ListShape shape, ListMemory memory) {
  constexpr uint32_t kQueries = kGroups * kQueryGroup;
  __shared__ TileVisit visits[kQueries];
  __shared__ uint32_t n_shared;
  char* const tables = shared_memory();
  const uint32_t first = blockIdx.x;
  const qv_visit visit = memory.visits[first];
  if (visit.rank % kQueries != 0) return;  // an earlier visit of the list has the tile
  const uint32_t list_begin = memory.first_blocks[visit.list];
  const uint32_t list_end = memory.first_blocks[visit.list + 1];
  const uint32_t begin = list_begin + blockIdx.y * kBlocksOfTile;
  if (begin >= list_end) return;
  if (threadIdx.x == 0) {
    uint32_t n = 1;
    while (n < kQueries && first + n < shape.n_visits && memory.visits[first + n].list == visit.list) ++n;
    n_shared = n;
  }
  __syncthreads();
  const uint32_t n = n_shared;
  copy_tables(shape, memory, first, n, tables);
  if (threadIdx.x < n) {
    const qv_visit own = memory.visits[first + threadIdx.x];
    const qv_list_query query = memory.queries[own.query];
    visits[threadIdx.x] = {query.step, query.offset, own.base, own.first_slot};
  }
  __syncthreads();
  const uint32_t end = min(begin + kBlocksOfTile, list_end);
  for (uint32_t number = begin + threadIdx.x / 32; number < end; number += kListWarps) {
    const char* const block = memory.blocks + uint64_t{number} * shape.stride;
    int sums[kGroups][4] = {};
#pragma unroll 1
    for (uint32_t quad = 0; quad < quads_of(shape.n_lines); ++quad) {
#pragma unroll
      for (uint32_t y = 0; y < 4; ++y) {
        add_bytes<kGroups, kOneBit>(shape, block, quad * 4 + threadIdx.x % 4, y, tables, sums);
      }
    }
    write_estimates<kGroups>(shape, memory, block, number - list_begin, number * 16, visits, n, sums);
  }
}

/// Names the codes that reach the k-th best estimate.
__global__ void __launch_bounds__(kNameCodesThreads) name_codes(ListShape shape, ListMemory memory) {
  __shared__ uint32_t n_out;
  const uint32_t query = blockIdx.x;
  const qv_list_query facts = memory.queries[query];
  const float* const scores = memory.scores + facts.first_slot;
  const float bar = kth_largest(facts.n_slots, facts.k, [scores](uint32_t i) { return scores[i]; });
  __syncthreads();
  if (threadIdx.x == 0) n_out = 0;
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < facts.n_slots; i += blockDim.x) {
    const float score = scores[i];
    if (score == kNone || score < bar) continue;
    const uint32_t place = atomicAdd(&n_out, 1U);
    if (place >= shape.capacity) continue;
    memory.out_scores[uint64_t{query} * shape.capacity + place] = score;
    memory.out_positions[uint64_t{query} * shape.capacity + place] = memory.positions[facts.first_slot + i];
  }
  __syncthreads();
  if (threadIdx.x == 0) memory.out_n[query] = n_out <= shape.capacity ? n_out : QV_NOT_CERTIFIED;
}

template <uint32_t kGroups>
qv_status launch_scan(const ListShape& shape, const ListMemory& memory, cudaStream_t stream) {
  const dim3 tiles(shape.n_visits, (shape.most_blocks + kBlocksOfTile - 1) / kBlocksOfTile);
  const uint32_t n_shared = shared_of_tables(shape.n_lines, kGroups);
  return shape.n_bits == 1
             ? launch_with_shared(scan_lists<kGroups, true>, tiles, kListThreads, n_shared, stream, shape, memory)
             : launch_with_shared(scan_lists<kGroups, false>, tiles, kListThreads, n_shared, stream, shape, memory);
}

}  // namespace

qv_status launch_lists(const ListShape& shape, const ListMemory& memory, cudaStream_t stream) {
  if (shape.n_visits > 0) {
    const qv_status status = shape.tile_groups == kManyGroups ? launch_scan<kManyGroups>(shape, memory, stream)
                                                              : launch_scan<1>(shape, memory, stream);
    if (status != QV_DONE) return status;
  }
  launch(name_codes, shape.n_queries, kNameCodesThreads, stream, shape, memory);
  return status_of(cudaGetLastError());
}

}  // namespace quiver::gpu_cuda
