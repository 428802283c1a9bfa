#include "gpu_cuda/masks.cuh"

namespace quiver::gpu_cuda {
namespace {

constexpr uint32_t kMaskThreads = 256;

__global__ void join_masks(Masks masks) {
  const uint64_t word = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (word >= masks.n_words) return;
  uint64_t any = 0;
  for (uint32_t mask = 0; mask < masks.n; ++mask) any |= masks.words[mask * masks.n_words + word];
  masks.any[word] = any;
}

}  // namespace

void launch_join_masks(const Masks& masks, cudaStream_t stream) {
  if (masks.any == nullptr || masks.any == masks.words) return;
  const auto n_blocks = static_cast<uint32_t>((masks.n_words + kMaskThreads - 1) / kMaskThreads);
  launch(join_masks, n_blocks, kMaskThreads, stream, masks);
}

}  // namespace quiver::gpu_cuda
