// Memory aligned to cache lines, for records, top components and summaries.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/io/shared_span.h"

namespace quiver::index::sparse {

/// A zeroed buffer.
class AlignedBytes {
 public:
  static constexpr std::size_t kBytes = 64;

  /// A buffer of `n_bytes`.
  explicit AlignedBytes(std::size_t n_bytes)
      : lines_(std::make_shared<std::vector<Line>>((n_bytes + kBytes - 1) / kBytes)),
        n_bytes_(n_bytes) {}

  [[nodiscard]] std::byte* data() { return reinterpret_cast<std::byte*>(lines_->data()); }
  /// Shares the bytes; do not write afterwards.
  [[nodiscard]] SharedBytes share() {
    return {std::span<const std::byte>(data(), n_bytes_), lines_};
  }

 private:
  struct alignas(kBytes) Line {
    std::byte bytes[kBytes];
  };

  std::shared_ptr<std::vector<Line>> lines_;
  std::size_t n_bytes_;
};

}  // namespace quiver::index::sparse
