// The module's table of functions: devices, parts, lanes and jobs by the CUDA runtime, which is linked statically and
// looks for the driver when it is first called.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <new>
#include <thread>

#include "gpu/abi.h"
#include "gpu/tiles/margin.h"
#include "gpu_cuda/dense.cuh"
#include "gpu_cuda/dense_hopper.cuh"
#include "gpu_cuda/dense_plan.cuh"
#include "gpu_cuda/documents.cuh"
#include "gpu_cuda/documents_plan.cuh"
#include "gpu_cuda/lists_plan.cuh"
#include "gpu_cuda/products.cuh"
#include "gpu_cuda/status.cuh"
#include "gpu_cuda/sums_plan.cuh"

struct qv_device {
  int number;
  uint32_t n_multiprocessors;
  uint32_t most_shared;  ///< bytes a block may have
  bool has_wide;         ///< products of four warps
};

struct qv_part {
  qv_device* device;
  qv_part_shape shape;
  int8_t* items;
  void* facts;  ///< nullptr: there are none
};

struct qv_lane {
  qv_device* device;
  cudaStream_t stream;
  cudaEvent_t done;
  void* workspace;
  uint64_t n_bytes;  // of the workspace
};

namespace quiver::gpu_cuda {
namespace {

namespace tiles = quiver::gpu::tiles;

int32_t n_devices(char* why, size_t n) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return count;
  cudaGetLastError();
  std::snprintf(why, n, "%s", error == cudaSuccess ? "no NVIDIA device" : cudaGetErrorString(error));
  return 0;
}

qv_status make_device(int32_t number, qv_device** out) {
  QV_CUDA(cudaSetDevice(number));
  QV_CUDA(cudaFree(nullptr));  // makes the context
  int major = 0;
  int minor = 0;
  int shared = 0;
  int multiprocessors = 0;
  QV_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, number));
  QV_CUDA(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, number));
  QV_CUDA(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, number));
  QV_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, number));
  const bool is_wide = major == 9 && minor == 0;
  *out = new (std::nothrow)
      qv_device{number, static_cast<uint32_t>(multiprocessors), static_cast<uint32_t>(shared), is_wide};
  return *out == nullptr ? QV_NO_MEMORY : QV_DONE;
}

void close_device(qv_device* device) { delete device; }

void write_facts(qv_device* device, qv_device_facts* out) {
  cudaDeviceProp properties = {};
  size_t free_bytes = 0;
  size_t all_bytes = 0;
  cudaSetDevice(device->number);
  status_of(cudaGetDeviceProperties(&properties, device->number));
  status_of(cudaMemGetInfo(&free_bytes, &all_bytes));
  std::snprintf(out->name, sizeof out->name, "%s", properties.name);
  std::snprintf(out->products, sizeof out->products, "%s", device->has_wide ? "wgmma" : "mma");
  out->memory_bytes = all_bytes;
  out->free_bytes = free_bytes;
}

void free_part(qv_part* part) {
  cudaSetDevice(part->device->number);
  cudaFree(part->items);
  cudaFree(part->facts);
  delete part;
}

uint64_t fact_bytes(const qv_part_shape& shape) {
  return shape.kind == QV_ROWS ? sizeof(qv_row) : shape.kind == QV_DOCUMENTS ? sizeof(qv_document) : sizeof(uint32_t);
}

/// Memory of whole tiles of rows, zero beyond the last row; of other kinds exactly what is put.
qv_status fill_part(qv_part& part) {
  const bool is_rows = part.shape.kind == QV_ROWS;
  const uint64_t n_items = is_rows ? tiles_of(part.shape.n_items) * tiles::kTileRows : part.shape.n_items;
  const uint64_t n_facts = is_rows ? n_items : part.shape.n_facts;
  const uint64_t n_item_bytes = std::max<uint64_t>(1, n_items) * part.shape.stride;
  QV_CUDA(cudaMalloc(&part.items, n_item_bytes));
  if (n_facts > 0) QV_CUDA(cudaMalloc(&part.facts, n_facts * fact_bytes(part.shape)));
  if (!is_rows) return QV_DONE;
  QV_CUDA(cudaMemset(part.items, 0, n_item_bytes));
  QV_CUDA(cudaMemset(part.facts, 0, n_facts * sizeof(qv_row)));
  return QV_DONE;
}

/// Whether a grid and the numbers of the interface hold so many, and blocks the tokens or the tables of a query.
bool fits(const qv_device& device, const qv_part_shape& shape) {
  constexpr uint64_t kMost = uint64_t{1} << 31;
  switch (shape.kind) {
    case QV_ROWS:
      return shape.n_items > 0 && shape.n_items <= kMost;
    case QV_DOCUMENTS:
      return shape.n_facts > 0 && shape.n_facts < kMost && shape.n_items / QV_TOKEN_GROUP < kMost &&
             tile_groups_of(1, shape.stride, device.most_shared) > 0;
    case QV_LISTS:
      return shape.n_items < kMost / 16 && do_tables_fit(lines_of(shape.stride, shape.n_bits), 1, device.most_shared);
    case QV_BYTES:
      return shape.n_items <= kMost && (shape.n_bits == 8 || shape.n_bits == 4);
    case QV_RUNS:
      return shape.n_items < 16 * kMost && warps_of_sums(device.most_shared) > 0;
    default:
      return false;
  }
}

qv_status make_part(qv_device* device, const qv_part_shape* shape, qv_part** out) {
  QV_CUDA(cudaSetDevice(device->number));
  if (!fits(*device, *shape)) return QV_NOT;
  auto* const part = new (std::nothrow) qv_part{device, *shape, nullptr, nullptr};
  if (part == nullptr) return QV_NO_MEMORY;
  const qv_status status = fill_part(*part);
  if (status != QV_DONE) {
    free_part(part);
    return status;
  }
  *out = part;
  return QV_DONE;
}

qv_status copy_to(qv_part& part, void* to, const void* from, uint64_t n_bytes) {
  QV_CUDA(cudaSetDevice(part.device->number));
  QV_CUDA(cudaMemcpy(to, from, n_bytes, cudaMemcpyHostToDevice));
  // Copies of pageable memory return before their last piece has arrived, and lanes do not wait for this stream.
  QV_CUDA(cudaStreamSynchronize(nullptr));
  return QV_DONE;
}

qv_status put_items(qv_part* part, uint64_t first, uint64_t n, const void* items) {
  const uint64_t stride = part->shape.stride;
  return copy_to(*part, part->items + first * stride, items, n * stride);
}

qv_status put_facts(qv_part* part, uint64_t first, uint64_t n, const void* facts) {
  const uint64_t size = fact_bytes(part->shape);
  return copy_to(*part, static_cast<char*>(part->facts) + first * size, facts, n * size);
}

void* take_pinned(qv_device* device, uint64_t n_bytes) {
  void* memory = nullptr;
  if (status_of(cudaSetDevice(device->number)) != QV_DONE) return nullptr;
  return status_of(cudaHostAlloc(&memory, n_bytes, cudaHostAllocMapped)) == QV_DONE ? memory : nullptr;
}

void free_pinned(qv_device* device, void* memory) {
  cudaSetDevice(device->number);
  cudaFreeHost(memory);
}

void free_lane(qv_lane* lane) {
  cudaSetDevice(lane->device->number);
  if (lane->done != nullptr) cudaEventDestroy(lane->done);
  if (lane->stream != nullptr) cudaStreamDestroy(lane->stream);
  cudaFree(lane->workspace);
  delete lane;
}

qv_status fill_lane(qv_lane& lane) {
  QV_CUDA(cudaStreamCreateWithFlags(&lane.stream, cudaStreamNonBlocking));
  QV_CUDA(cudaEventCreateWithFlags(&lane.done, cudaEventDisableTiming));
  return QV_DONE;
}

qv_status make_lane(qv_device* device, qv_lane** out) {
  QV_CUDA(cudaSetDevice(device->number));
  auto* const lane = new (std::nothrow) qv_lane{device, nullptr, nullptr, nullptr, 0};
  if (lane == nullptr) return QV_NO_MEMORY;
  const qv_status status = fill_lane(*lane);
  if (status != QV_DONE) {
    free_lane(lane);
    return status;
  }
  *out = lane;
  return QV_DONE;
}

qv_status grow_workspace(qv_lane& lane, uint64_t n_bytes) {
  if (n_bytes <= lane.n_bytes) return QV_DONE;
  QV_CUDA(cudaFree(lane.workspace));
  lane.workspace = nullptr;
  lane.n_bytes = 0;
  // Jobs vary in size, and an allocation stops the other lane.
  const uint64_t rounded = std::bit_ceil(n_bytes);
  QV_CUDA(cudaMalloc(&lane.workspace, rounded));
  lane.n_bytes = rounded;
  return QV_DONE;
}

qv_status copy_masks(const qv_masks& masks, uint64_t* to, uint64_t n_rows, cudaStream_t stream) {
  if (to == nullptr) return QV_DONE;
  return status_of(
      cudaMemcpyAsync(to, masks.words, bytes_of_masks(masks, n_rows), cudaMemcpyHostToDevice, stream));
}

qv_status copy_inputs(const qv_dense& job, const DenseShape& shape, const DenseInputs& inputs, cudaStream_t stream) {
  const uint64_t n_padded = padded_queries(job.n_queries);
  const uint64_t n_bytes = uint64_t{job.n_queries} * shape.stride;
  QV_CUDA(cudaMemsetAsync(inputs.codes, 0, n_padded * shape.stride, stream));
  QV_CUDA(cudaMemsetAsync(inputs.queries, 0, n_padded * sizeof(qv_query), stream));
  QV_CUDA(cudaMemcpyAsync(inputs.codes, job.codes, n_bytes, cudaMemcpyHostToDevice, stream));
  QV_CUDA(cudaMemcpyAsync(inputs.queries, job.queries, job.n_queries * sizeof(qv_query), cudaMemcpyHostToDevice,
                          stream));
  return copy_masks(job.masks, inputs.masks, shape.n_rows, stream);
}

qv_status copy_inputs(const qv_documents& job, const DocumentShape& shape, const DocumentInputs& inputs,
                      cudaStream_t stream) {
  const uint64_t n_bytes = uint64_t{shape.n_groups} * QV_TOKEN_GROUP * shape.stride;
  QV_CUDA(cudaMemsetAsync(inputs.tokens, 0, padded_token_bytes(shape), stream));
  QV_CUDA(cudaMemcpyAsync(inputs.tokens, job.tokens, n_bytes, cudaMemcpyHostToDevice, stream));
  QV_CUDA(cudaMemcpyAsync(inputs.queries, job.queries, job.n_queries * sizeof(qv_token_query), cudaMemcpyHostToDevice,
                          stream));
  return copy_masks(job.masks, inputs.masks, shape.n_documents, stream);
}

qv_status copy_inputs(const qv_lists& job, const ListShape& shape, const ListInputs& inputs, cudaStream_t stream) {
  QV_CUDA(cudaMemcpyAsync(inputs.tables, job.tables, table_bytes(shape), cudaMemcpyHostToDevice, stream));
  QV_CUDA(cudaMemcpyAsync(inputs.queries, job.queries, job.n_queries * sizeof(qv_list_query), cudaMemcpyHostToDevice,
                          stream));
  QV_CUDA(cudaMemcpyAsync(inputs.visits, job.visits, job.n_visits * sizeof(qv_visit), cudaMemcpyHostToDevice, stream));
  return QV_DONE;
}

qv_status copy_inputs(const qv_products& job, const ProductShape& shape, const ProductInputs& inputs,
                      cudaStream_t stream) {
  const uint64_t n_bytes = uint64_t{job.n_queries} * values_of_row(shape.stride, shape.n_bits);
  QV_CUDA(cudaMemcpyAsync(inputs.queries, job.queries, n_bytes, cudaMemcpyHostToDevice, stream));
  QV_CUDA(cudaMemcpyAsync(inputs.rows, job.rows, job.n_pairs * sizeof(uint32_t), cudaMemcpyHostToDevice, stream));
  QV_CUDA(cudaMemcpyAsync(inputs.query_of, job.query_of, job.n_pairs * sizeof(uint32_t), cudaMemcpyHostToDevice,
                          stream));
  return QV_DONE;
}

qv_status copy_inputs(const qv_sums& job, const SumShape& shape, const SumInputs& inputs, cudaStream_t stream) {
  QV_CUDA(cudaMemcpyAsync(inputs.terms, job.terms, job.n_terms * sizeof(qv_sum_term), cudaMemcpyHostToDevice, stream));
  QV_CUDA(cudaMemcpyAsync(inputs.queries, job.queries, job.n_queries * sizeof(qv_sum_query), cudaMemcpyHostToDevice,
                          stream));
  return copy_masks(job.masks, inputs.masks, shape.n_rows, stream);
}

/// By the products of four warps if the device has them and the job fits, else as every device does.
qv_status launch(const qv_device& device, const DenseShape& shape, const DenseMemory& memory, cudaStream_t stream) {
  const WidePlan plan = wide_plan(shape.stride, shape.n_queries, device.has_wide ? device.most_shared : 0);
  WideMaps maps;
  if (plan.n_columns == 0 || !make_maps(shape, memory, plan, maps)) return launch_dense(shape, memory, stream);
  return launch_dense(shape, memory, stream, [&](bool is_sample) {
    return launch_wide(is_sample, shape, memory, plan, maps, device.n_multiprocessors, stream);
  });
}

/// Makes room in the lane, copies the inputs there, and queues the kernels by `launch_kernels(memory)`.
template <class Inputs, class Job, class Rows, class Shape, class Launch>
qv_status queue_job(qv_lane& lane, const Job& job, const Rows& rows, const Shape& shape, const Launch& launch_kernels) {
  Inputs inputs = {};
  Pieces size(nullptr);
  memory_of(job, rows, shape, size, inputs);
  qv_status status = grow_workspace(lane, size.used());
  if (status != QV_DONE) return status;
  Pieces pieces(lane.workspace);
  const auto memory = memory_of(job, rows, shape, pieces, inputs);
  status = copy_inputs(job, shape, inputs, lane.stream);
  if (status == QV_DONE) status = launch_kernels(memory);
  if (status == QV_DONE) return status_of(cudaEventRecord(lane.done, lane.stream));
  cudaStreamSynchronize(lane.stream);  // a part of the job may run, and read the caller's memory
  return status;
}

qv_status start_dense(qv_lane* lane, const qv_dense* job) {
  QV_CUDA(cudaSetDevice(lane->device->number));
  if (job->n_queries == 0) return QV_NOT;
  const qv_part& part = *job->part;
  const DenseRows rows = {part.items, static_cast<const qv_row*>(part.facts), part.shape.n_items, part.shape.stride};
  const DenseShape shape = shape_of(*job, rows);
  return queue_job<DenseInputs>(*lane, *job, rows, shape, [&](const DenseMemory& memory) {
    return launch(*lane->device, shape, memory, lane->stream);
  });
}

qv_status start_documents(qv_lane* lane, const qv_documents* job) {
  QV_CUDA(cudaSetDevice(lane->device->number));
  if (job->n_queries == 0) return QV_NOT;
  const qv_part& part = *job->part;
  const DocumentRows rows = {part.items, static_cast<const qv_document*>(part.facts), part.shape.n_facts,
                             part.shape.stride};
  const DocumentShape shape = shape_of(*job, rows, lane->device->most_shared);
  if (shape.tile_groups == 0) return QV_NOT;
  return queue_job<DocumentInputs>(*lane, *job, rows, shape, [&](const DocumentMemory& memory) {
    return launch_documents(shape, memory, lane->stream);
  });
}

qv_status start_lists(qv_lane* lane, const qv_lists* job) {
  QV_CUDA(cudaSetDevice(lane->device->number));
  if (job->n_queries == 0) return QV_NOT;
  const qv_part& part = *job->part;
  const StoredLists lists = {reinterpret_cast<const char*>(part.items), static_cast<const uint32_t*>(part.facts),
                             part.shape.stride, part.shape.n_bits};
  const ListShape shape = shape_of(*job, lists, lane->device->most_shared);
  if (shape.tile_groups == 0) return QV_NOT;
  return queue_job<ListInputs>(*lane, *job, lists, shape, [&](const ListMemory& memory) {
    return launch_lists(shape, memory, lane->stream);
  });
}

qv_status start_products(qv_lane* lane, const qv_products* job) {
  QV_CUDA(cudaSetDevice(lane->device->number));
  if (job->n_queries == 0) return QV_NOT;
  const qv_part& part = *job->part;
  const StoredBytes bytes = {part.items, part.shape.stride, part.shape.n_bits};
  const ProductShape shape = shape_of(*job, bytes);
  return queue_job<ProductInputs>(*lane, *job, bytes, shape, [&](const ProductMemory& memory) {
    const qv_status status = launch_products(shape, memory, lane->stream);
    if (status != QV_DONE) return status;
    return status_of(cudaMemcpyAsync(job->products, memory.products, job->n_pairs * sizeof(int32_t),
                                     cudaMemcpyDeviceToHost, lane->stream));
  });
}

qv_status start_sums(qv_lane* lane, const qv_sums* job) {
  QV_CUDA(cudaSetDevice(lane->device->number));
  if (job->n_queries == 0) return QV_NOT;
  const qv_part& part = *job->part;
  const StoredRuns runs = {reinterpret_cast<const uint16_t*>(part.items), static_cast<const uint32_t*>(part.facts),
                           part.shape.n_items};
  const SumShape shape = shape_of(*job, runs, lane->device->most_shared);
  return queue_job<SumInputs>(*lane, *job, runs, shape, [&](const SumMemory& memory) {
    return launch_sums(shape, memory, lane->stream);
  });
}

qv_status wait_for_job(qv_lane* lane, uint32_t us) {
  // A pause takes ten times what it says, which is as long as a short job: those are waited for awake.
  constexpr auto kPause = std::chrono::microseconds(5);
  constexpr auto kAwake = std::chrono::microseconds(200);
  const auto begin = std::chrono::steady_clock::now();
  const auto end = begin + std::chrono::microseconds(us);
  QV_CUDA(cudaSetDevice(lane->device->number));
  while (true) {
    const cudaError_t error = cudaEventQuery(lane->done);
    if (error != cudaErrorNotReady) return status_of(error);
    const auto now = std::chrono::steady_clock::now();
    if (now >= end) return QV_BUSY;
    if (now - begin > kAwake) std::this_thread::sleep_for(kPause);
  }
}

/// Rows and queries that anyone can make again: 8-bit values of a small generator, under Dot.
struct MadeUp {
  static constexpr uint32_t kRows = 1000;
  static constexpr uint32_t kQueries = 130;
  static constexpr uint32_t kStride = 192;
  static constexpr uint32_t kCapacity = 1000;

  int8_t rows[kRows * kStride];
  qv_row row_facts[kRows];
  int8_t codes[kQueries * kStride];
  qv_query queries[kQueries];
  uint32_t found[kQueries * kCapacity];
  uint32_t n_found[kQueries];

  void fill() {
    uint32_t state = 1;
    const auto next = [&state] { return static_cast<int8_t>((state = state * 1664525 + 1013904223) >> 25) - 64; };
    for (int8_t& value : rows) value = static_cast<int8_t>(next());
    for (int8_t& value : codes) value = static_cast<int8_t>(next());
    for (uint32_t i = 0; i < kRows; ++i) row_facts[i] = {.01F, .01F, .01F * length_of(rows + i * kStride), 0};
    for (uint32_t i = 0; i < kQueries; ++i) queries[i] = {length_of(codes + i * kStride), 1, 0, 0, 10, QV_ALL_ROWS};
  }
  static float length_of(const int8_t* code) {
    float square = 0;
    for (uint32_t i = 0; i < kStride; ++i) square += static_cast<float>(code[i] * code[i]);
    return std::sqrt(square);
  }
  uint64_t found_hash() {
    uint64_t hash = 0;
    for (uint32_t i = 0; i < kQueries; ++i) {
      if (n_found[i] > kCapacity) continue;
      uint32_t* const first = found + uint64_t{i} * kCapacity;
      std::sort(first, first + n_found[i]);
      for (uint32_t j = 0; j < n_found[i]; ++j) hash = hash * 0x9E3779B97F4A7C15ULL + first[j] + 1;
    }
    return hash;
  }
};

/// The rows that a device names for made-up queries, as one number.
qv_status ask_made_up(qv_part* part, qv_lane* lane, MadeUp& made_up, uint64_t& hash) {
  qv_dense job = {};
  job.size = sizeof job;
  job.n_queries = MadeUp::kQueries;
  job.part = part;
  job.codes = made_up.codes;
  job.queries = made_up.queries;
  job.capacity = MadeUp::kCapacity;
  job.rows = made_up.found;
  job.n_rows = made_up.n_found;
  constexpr uint32_t kLongEnoughUs = 2000000;
  qv_status status = start_dense(lane, &job);
  if (status == QV_DONE) status = wait_for_job(lane, kLongEnoughUs);
  if (status == QV_DONE) hash = made_up.found_hash();
  return status == QV_BUSY ? QV_LOST : status;
}

/// Products of four warps are used only where they name the rows that the others do. QV_LOST if the device is.
qv_status try_wide(qv_device* device, qv_part* part, qv_lane* lane, MadeUp& made_up) {
  uint64_t expected = 0;
  uint64_t found = 0;
  device->has_wide = false;
  qv_status status = ask_made_up(part, lane, made_up, expected);
  if (status != QV_DONE) return status;
  device->has_wide = true;
  status = ask_made_up(part, lane, made_up, found);
  device->has_wide = status == QV_DONE && found == expected;
  return status;
}

qv_status check_wide(qv_device* device) {
  if (!device->has_wide) return QV_DONE;
  auto* const made_up = static_cast<MadeUp*>(take_pinned(device, sizeof(MadeUp)));
  if (made_up == nullptr) return QV_NO_MEMORY;
  made_up->fill();
  const qv_part_shape shape = {sizeof shape, QV_ROWS, MadeUp::kStride, 0, MadeUp::kRows, MadeUp::kRows};
  qv_part* part = nullptr;
  qv_lane* lane = nullptr;
  qv_status status = make_part(device, &shape, &part);
  if (status == QV_DONE) status = put_items(part, 0, MadeUp::kRows, made_up->rows);
  if (status == QV_DONE) status = put_facts(part, 0, MadeUp::kRows, made_up->row_facts);
  if (status == QV_DONE) status = make_lane(device, &lane);
  if (status == QV_DONE) status = try_wide(device, part, lane, *made_up);
  if (status == QV_LOST) return status;  // what is given back to a lost device may wait for ever
  if (lane != nullptr) free_lane(lane);
  if (part != nullptr) free_part(part);
  free_pinned(device, made_up);
  if (status != QV_DONE) device->has_wide = false;
  return QV_DONE;
}

qv_status open_device(int32_t number, qv_device** out) {
  qv_device* device = nullptr;
  qv_status status = make_device(number, &device);
  if (status != QV_DONE) return status;
  status = check_wide(device);
  if (status == QV_DONE) {
    *out = device;
  } else {
    delete device;
  }
  return status;
}

const char* describe_last_error() { return last_error == cudaSuccess ? "" : cudaGetErrorString(last_error); }

const qv_gpu_api kApi = {
    sizeof(qv_gpu_api), QV_GPU_ABI, QV_GPU_BUILD,    n_devices,   open_device,    close_device, write_facts,
    make_part,          put_items,  put_facts,       free_part,   take_pinned,    free_pinned,  make_lane,
    free_lane,          start_dense, start_documents, start_lists, start_products, start_sums,
    wait_for_job,       describe_last_error,
};

}  // namespace
}  // namespace quiver::gpu_cuda

extern "C" __attribute__((visibility("default"))) const qv_gpu_api* qv_gpu(uint32_t abi) {
  return abi == QV_GPU_ABI ? &quiver::gpu_cuda::kApi : nullptr;
}
