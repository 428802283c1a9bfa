// The shape of a scan of lists and where its parts lie in the memory of a lane. Runs on the host.
#pragma once

#include <cstdint>

#include "gpu_cuda/lists.cuh"
#include "gpu_cuda/pieces.cuh"

namespace quiver::gpu_cuda {

/// Queries of a tile are a multiple of it.
inline constexpr uint32_t kQueryGroup = 8;
/// Groups of a large tile. Eight would leave room for no second block of threads.
inline constexpr uint32_t kManyGroups = 4;

/// Lines that are compared at a time, one by each lane of four.
__host__ __device__ inline uint32_t quads_of(uint32_t n_lines) { return (n_lines + 3) / 4; }

/// Distance of the tables of two queries in shared memory: an odd number of 64 bytes, so that those that eight lanes
/// read lie in different banks.
__host__ __device__ inline uint32_t table_pitch(uint32_t n_lines) { return quads_of(n_lines) * 512 + 64; }
inline uint32_t shared_of_tables(uint32_t n_lines, uint32_t n_groups) {
  return n_groups * kQueryGroup * table_pitch(n_lines);
}

/// Beside what the kernel has of its own.
inline bool do_tables_fit(uint32_t n_lines, uint32_t n_groups, uint32_t most_shared) {
  constexpr uint32_t kOwn = 1024;
  return shared_of_tables(n_lines, n_groups) + kOwn <= most_shared;
}

/// Lists of a part in device memory.
struct StoredLists {
  const char* blocks;
  const uint32_t* first_blocks;
  uint32_t stride;
  uint32_t n_bits;
};

inline uint32_t lines_of(uint32_t stride, uint32_t n_bits) { return (stride - 128) / 64 / n_bits; }

/// Large tiles where most lists are visited by more queries than a small one has, and where they fit.
inline uint32_t groups_of_tile(const qv_lists& job, uint32_t n_lines, uint32_t most_shared) {
  uint32_t n_lists = 0;
  for (uint32_t i = 0; i < job.n_visits; ++i) n_lists += job.visits[i].rank == 0 ? 1 : 0;
  const bool is_large = job.n_visits > kQueryGroup * n_lists;
  if (is_large && do_tables_fit(n_lines, kManyGroups, most_shared)) return kManyGroups;
  return do_tables_fit(n_lines, 1, most_shared) ? 1 : 0;
}

inline ListShape shape_of(const qv_lists& job, const StoredLists& lists, uint32_t most_shared) {
  ListShape shape = {};
  shape.stride = lists.stride;
  shape.n_lines = lines_of(lists.stride, lists.n_bits);
  shape.n_bits = lists.n_bits;
  shape.n_queries = job.n_queries;
  shape.n_visits = job.n_visits;
  shape.n_slots = job.n_slots;
  shape.most_blocks = job.most_blocks;
  shape.tile_groups = groups_of_tile(job, shape.n_lines, most_shared);
  shape.capacity = job.capacity;
  return shape;
}

/// Where the job's inputs go on the device.
struct ListInputs {
  char* tables;
  qv_list_query* queries;
  qv_visit* visits;
};

inline uint64_t table_bytes(const ListShape& shape) { return uint64_t{128} * shape.n_lines * shape.n_queries; }

inline ListMemory memory_of(const qv_lists& job, const StoredLists& lists, const ListShape& shape, Pieces& pieces,
                            ListInputs& inputs) {
  inputs.tables = pieces.take<char>(table_bytes(shape));
  inputs.queries = pieces.take<qv_list_query>(shape.n_queries);
  inputs.visits = pieces.take<qv_visit>(shape.n_visits);
  ListMemory memory = {};
  memory.blocks = lists.blocks;
  memory.first_blocks = lists.first_blocks;
  memory.tables = inputs.tables;
  memory.queries = inputs.queries;
  memory.visits = inputs.visits;
  memory.scores = pieces.take<float>(shape.n_slots);
  memory.positions = pieces.take<uint32_t>(shape.n_slots);
  memory.out_scores = job.scores;
  memory.out_positions = job.positions;
  memory.out_n = job.n_positions;
  return memory;
}

}  // namespace quiver::gpu_cuda
