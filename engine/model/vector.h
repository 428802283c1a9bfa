// Vectors on their way in and out, always f32 here; a field's stored type is the segment's matter.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace quiver::engine {

using DenseVector = std::vector<float>;

/// Same length, indices unique; sorted by index once checked.
struct SparseVector {
  std::vector<std::uint32_t> indices;
  std::vector<float> values;
  bool operator==(const SparseVector&) const = default;
};

/// `[n_tokens, dim]`, row-major.
struct MultiVector {
  std::uint32_t n_tokens = 0;
  std::uint32_t dim = 0;
  std::vector<float> values;
  bool operator==(const MultiVector&) const = default;
};

using VectorValue = std::variant<DenseVector, SparseVector, MultiVector>;

struct NamedVector {
  std::string name;  ///< "" is the unnamed field
  VectorValue value;
};

}  // namespace quiver::engine
