// How a dense index sees vectors: rotated at random, or reduced to fewer dimensions before.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "encoders/transforms/reduction.h"
#include "encoders/transforms/rotation.h"

namespace quiver::index::dense {

/// Immutable and thread-safe; copies share memory.
class RowTransform {
 public:
  /// A rotation of `dim` dimensions.
  RowTransform(std::uint32_t dim, std::uint64_t seed)
      : seed_(seed), rotation_(std::in_place, dim, seed) {}
  /// `seed` is told by `seed()` only.
  RowTransform(encoders::Reduction reduction, std::uint64_t seed)
      : seed_(seed), reduction_(std::move(reduction)) {}

  [[nodiscard]] std::uint32_t dim() const {
    return reduction_ ? reduction_->dim() : rotation_->dim();
  }
  /// Dimensions of the result, a multiple of 32.
  [[nodiscard]] std::uint32_t padded_dim() const {
    return reduction_ ? reduction_->n_out() : rotation_->padded_dim();
  }
  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  [[nodiscard]] const std::optional<encoders::Reduction>& reduction() const { return reduction_; }

  /// `in` is `[dim]`, `out` `[padded_dim]`.
  void apply_to_row(const float* in, float* out) const {
    reduction_ ? reduction_->apply_to_row(in, out) : rotation_->apply(in, out);
  }
  /// Returns the square of the usual error of <q, x>, for rows with |x| = 1: what the reduction
  /// loses.
  float apply_to_query(const float* in, float* out) const {
    if (reduction_) return reduction_->apply_to_query(in, out);
    rotation_->apply(in, out);
    return 0;
  }

  friend bool operator==(const RowTransform& a, const RowTransform& b) {
    return a.dim() == b.dim() && a.seed() == b.seed() && a.reduction_ == b.reduction_;
  }

 private:
  std::uint64_t seed_;
  std::optional<encoders::Rotation> rotation_;  ///< unless there is a reduction
  std::optional<encoders::Reduction> reduction_;
};

}  // namespace quiver::index::dense
