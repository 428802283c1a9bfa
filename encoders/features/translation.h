// What a vector of one embedding model would be under another: kernel ridge regression.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/threads/cancel.h"

namespace quiver::encoders {

/// Learned from pairs of vectors of the same things under two models. A vector x is described by
/// its likeness exp(-|x - a|^2 / 2 s^2) to anchors a, a random part of the pairs; s^2 is the mean
/// squared distance of the vectors from their mean. The estimate is the affine function of
/// the likenesses with the least squared error plus a penalty: ridge regression in the
/// kernel's space, restricted to the anchors (Williams and Seeger, NIPS 2000: Using the Nystrom
/// method to speed up kernel machines).
///
/// Immutable; any number of threads. The same pairs give the same bits on one machine.
class Translation {
 public:
  static constexpr std::size_t kMinPairs = 100;
  static constexpr std::size_t kMaxAnchors = 8192;

  /// `from` `[n, from_dim]` and `to` `[n, to_dim]`: finite, in random order; the first `n_anchors`
  /// are the anchors, at most n. kInvalidArgument with fewer than kMinPairs pairs, or if all
  /// vectors of `from` are equal. Time: n n_anchors (n_anchors / 2 + from_dim + to_dim) products,
  /// and a third of n_anchors^3. Memory: 20 n_anchors (n_anchors + to_dim) bytes.
  [[nodiscard]] static Result<Translation> fit(std::span<const float> from, std::uint32_t from_dim,
                                               std::span<const float> to, std::uint32_t to_dim,
                                               std::size_t n_anchors, const Cancel& cancel);

  [[nodiscard]] std::uint32_t from_dim() const { return from_dim_; }
  [[nodiscard]] std::uint32_t to_dim() const { return to_dim_; }

  /// Estimates for `n` rows: `from` `[n, from_dim]`, `out` `[n, to_dim]`. If all vectors that it
  /// learned from had about the same length, estimates have it, too.
  void apply(std::span<const float> from, std::size_t n, std::span<float> out) const;

 private:
  /// Likenesses of rows, less the usual ones: `[n, n_anchors]`.
  [[nodiscard]] std::vector<float> likenesses(std::span<const float> rows, std::size_t n) const;
  void set_means(std::span<const float> from, std::span<const float> to, std::size_t n);

  std::uint32_t from_dim_ = 0;
  std::uint32_t to_dim_ = 0;
  std::size_t n_anchors_ = 0;
  float width_ = 1;             ///< 2 s^2
  float length_ = 0;            ///< of all vectors; 0: they differ
  std::vector<float> anchors_;  ///< `[n_anchors, from_dim]`
  std::vector<float> squares_;  ///< `[n_anchors]`: squared lengths
  std::vector<float> usual_;    ///< `[n_anchors]`: mean likeness
  std::vector<float> mean_;     ///< `[to_dim]`
  std::vector<float> weights_;  ///< `[to_dim, n_anchors]`
};

}  // namespace quiver::encoders
