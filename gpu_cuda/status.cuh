// Errors of CUDA as statuses of the interface.
#pragma once

#include <cuda_runtime.h>

#include "gpu/abi.h"

namespace quiver::gpu_cuda {

inline thread_local cudaError_t last_error = cudaSuccess;

/// Out of memory and bad arguments leave the device as it is. Any other error stays in the context until the process
/// ends.
inline qv_status status_of(cudaError_t error) {
  if (error == cudaSuccess) return QV_DONE;
  last_error = error;
  cudaGetLastError();  // so that the next call does not report this one
  if (error == cudaErrorMemoryAllocation) return QV_NO_MEMORY;
  const bool is_refused = error == cudaErrorInvalidValue || error == cudaErrorInvalidConfiguration ||
                          error == cudaErrorNotSupported;
  return is_refused ? QV_NOT : QV_LOST;
}

#define QV_CUDA(call)                                                            \
  do {                                                                           \
    const cudaError_t qv_error = (call);                                         \
    if (qv_error != cudaSuccess) return quiver::gpu_cuda::status_of(qv_error);   \
  } while (false)

}  // namespace quiver::gpu_cuda
