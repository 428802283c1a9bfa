// Where the parts of a job lie in the memory of a lane.
#pragma once

#include <cstdint>

namespace quiver::gpu_cuda {

/// Hands out pieces of the workspace; without one it only adds up sizes.
class Pieces {
 public:
  explicit Pieces(void* memory) : memory_(static_cast<char*>(memory)) {}
  template <class T>
  T* take(uint64_t n) {
    char* const piece = memory_ == nullptr ? nullptr : memory_ + used_;
    used_ += (n * sizeof(T) + 255) / 256 * 256;
    return reinterpret_cast<T*>(piece);
  }
  uint64_t used() const { return used_; }

 private:
  char* memory_;
  uint64_t used_ = 0;
};

}  // namespace quiver::gpu_cuda
