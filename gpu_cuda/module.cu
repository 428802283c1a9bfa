// The module's table of functions: devices, parts, lanes and jobs by the CUDA runtime, which is linked statically and
// looks for the driver when it is first called.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <new>
#include <thread>

#include "gpu/abi.h"
#include "gpu/tiles/margin.h"
#include "gpu_cuda/dense.cuh"
#include "gpu_cuda/dense_plan.cuh"
#include "gpu_cuda/status.cuh"

struct qv_device {
  int number;
};

struct qv_part {
  qv_device* device;
  qv_part_shape shape;
  int8_t* codes;
  qv_row* rows;
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

qv_status open_device(int32_t number, qv_device** out) {
  QV_CUDA(cudaSetDevice(number));
  QV_CUDA(cudaFree(nullptr));  // makes the context
  *out = new (std::nothrow) qv_device{number};
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
  out->memory_bytes = all_bytes;
  out->free_bytes = free_bytes;
}

void free_part(qv_part* part) {
  cudaSetDevice(part->device->number);
  cudaFree(part->codes);
  cudaFree(part->rows);
  delete part;
}

/// Memory of whole tiles of rows, zero beyond the last row.
qv_status fill_part(qv_part& part) {
  const uint64_t n_rows = tiles_of(part.shape.n_rows) * tiles::kTileRows;
  QV_CUDA(cudaMalloc(&part.codes, n_rows * part.shape.stride));
  QV_CUDA(cudaMalloc(&part.rows, n_rows * sizeof(qv_row)));
  QV_CUDA(cudaMemset(part.codes, 0, n_rows * part.shape.stride));
  QV_CUDA(cudaMemset(part.rows, 0, n_rows * sizeof(qv_row)));
  return QV_DONE;
}

qv_status make_part(qv_device* device, const qv_part_shape* shape, qv_part** out) {
  QV_CUDA(cudaSetDevice(device->number));
  const uint64_t n_tiles = tiles_of(shape->n_rows);
  if (n_tiles == 0 || n_tiles > 1U << 24) return QV_NOT;
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

qv_status put_rows(qv_part* part, uint64_t first, uint64_t n, const int8_t* codes, const qv_row* rows) {
  QV_CUDA(cudaSetDevice(part->device->number));
  const uint64_t stride = part->shape.stride;
  QV_CUDA(cudaMemcpy(part->codes + first * stride, codes, n * stride, cudaMemcpyHostToDevice));
  QV_CUDA(cudaMemcpy(part->rows + first, rows, n * sizeof(qv_row), cudaMemcpyHostToDevice));
  // Copies of pageable memory return before their last piece has arrived, and lanes do not wait for this stream.
  QV_CUDA(cudaStreamSynchronize(nullptr));
  return QV_DONE;
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
  QV_CUDA(cudaMalloc(&lane.workspace, n_bytes));
  lane.n_bytes = n_bytes;
  return QV_DONE;
}

qv_status copy_inputs(const qv_dense& job, const DenseShape& shape, const DenseInputs& inputs, cudaStream_t stream) {
  const uint64_t n_padded = padded_queries(job.n_queries);
  const uint64_t n_bytes = uint64_t{job.n_queries} * shape.stride;
  QV_CUDA(cudaMemsetAsync(inputs.codes, 0, n_padded * shape.stride, stream));
  QV_CUDA(cudaMemsetAsync(inputs.queries, 0, n_padded * sizeof(qv_query), stream));
  QV_CUDA(cudaMemcpyAsync(inputs.codes, job.codes, n_bytes, cudaMemcpyHostToDevice, stream));
  QV_CUDA(cudaMemcpyAsync(inputs.queries, job.queries, job.n_queries * sizeof(qv_query), cudaMemcpyHostToDevice,
                          stream));
  if (inputs.allowed != nullptr) {
    QV_CUDA(cudaMemcpyAsync(inputs.allowed, job.allowed, (shape.n_rows + 63) / 64 * 8, cudaMemcpyHostToDevice, stream));
  }
  return QV_DONE;
}

qv_status start_dense(qv_lane* lane, const qv_dense* job) {
  QV_CUDA(cudaSetDevice(lane->device->number));
  if (job->n_queries == 0) return QV_NOT;
  const DenseRows rows = {job->part->codes, job->part->rows, job->part->shape.n_rows, job->part->shape.stride};
  const DenseShape shape = shape_of(*job, rows);
  DenseInputs inputs = {};
  Pieces size(nullptr);
  memory_of(*job, rows, shape, size, inputs);
  qv_status status = grow_workspace(*lane, size.used());
  if (status != QV_DONE) return status;
  Pieces pieces(lane->workspace);
  const DenseMemory memory = memory_of(*job, rows, shape, pieces, inputs);
  status = copy_inputs(*job, shape, inputs, lane->stream);
  if (status == QV_DONE) status = launch_dense(shape, memory, lane->stream);
  if (status == QV_DONE) return status_of(cudaEventRecord(lane->done, lane->stream));
  cudaStreamSynchronize(lane->stream);  // a part of the job may run, and read the caller's memory
  return status;
}

qv_status wait_for_job(qv_lane* lane, uint32_t us) {
  constexpr auto kPause = std::chrono::microseconds(5);
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(us);
  QV_CUDA(cudaSetDevice(lane->device->number));
  while (true) {
    const cudaError_t error = cudaEventQuery(lane->done);
    if (error != cudaErrorNotReady) return status_of(error);
    if (std::chrono::steady_clock::now() >= end) return QV_BUSY;
    std::this_thread::sleep_for(kPause);
  }
}

const char* describe_last_error() { return last_error == cudaSuccess ? "" : cudaGetErrorString(last_error); }

const qv_gpu_api kApi = {
    sizeof(qv_gpu_api), QV_GPU_ABI,   QV_GPU_BUILD, n_devices,   open_device, close_device, write_facts,
    make_part,          put_rows,     free_part,    take_pinned, free_pinned, make_lane,    free_lane,
    start_dense,        wait_for_job, describe_last_error,
};

}  // namespace
}  // namespace quiver::gpu_cuda

extern "C" __attribute__((visibility("default"))) const qv_gpu_api* qv_gpu(uint32_t abi) {
  return abi == QV_GPU_ABI ? &quiver::gpu_cuda::kApi : nullptr;
}
