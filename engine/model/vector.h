// Vectors as users give and get them: always f32. Segments store a field's own type.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"

namespace quiver::engine {

using DenseVector = std::vector<float>;

/// Indices and values of the same length. Indices are unique, and sorted once the vector was
/// checked.
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

/// A vector given by value, or the vector of a stored point.
using QueryVector = std::variant<VectorValue, PointId>;

struct NamedVector {
  std::string name;  ///< "" is the unnamed field
  VectorValue value;
};

}  // namespace quiver::engine
