#pragma once

#include <cstddef>
#include <vector>

namespace quiver::encoders::fde {

/// Array on cache lines. It keeps its memory when it shrinks.
template <class T>
class CacheLines {
 public:
  void resize(std::size_t n) {
    const std::size_t n_lines = (n * sizeof(T) + 63) / 64;
    if (lines_.size() < n_lines) lines_.resize(n_lines);
  }
  [[nodiscard]] T* data() { return reinterpret_cast<T*>(lines_.data()); }
  [[nodiscard]] const T* data() const { return reinterpret_cast<const T*>(lines_.data()); }

 private:
  struct alignas(64) Line {
    T values[64 / sizeof(T)] = {};
  };
  std::vector<Line> lines_;
};

}  // namespace quiver::encoders::fde
