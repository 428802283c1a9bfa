#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "kernels/similarity.h"

namespace quiver::encoders {

/// How many dimensions a reduction keeps.
struct ReductionPlan {
  /// Dimensions of the result, a multiple of 32. 0: the least multiple of 64 that keeps
  /// `kept_share`.
  std::uint32_t n_out = 0;
  /// Share of the rows' variance.
  double kept_share = 0.95;
};

/// A linear map of vectors to fewer dimensions, which keeps scalar products and distances about.
///
/// - Principal components: an orthonormal basis of the mean and the directions of most variance.
///   What is left out of a row has mean 0. Under distances one more coordinate holds its length,
///   and a share of the length for queries: |q - x|^2 then lacks little but products of what is
///   left out of both.
/// - A very sparse random projection (Li, Hastie and Church, KDD 2006): one in sqrt(dim) weights is
///   not 0. It needs no rows, and errs more.
///
/// The result is rotated at random, as codes of few bits need. Immutable and thread-safe; copies
/// share memory.
class Reduction {
 public:
  enum class Kind : std::uint32_t { kPca = 1, kRandom = 2 };

  /// Header in files.
  struct Facts {
    Kind kind = Kind::kPca;
    std::uint32_t dim = 0;
    std::uint32_t n_out = 0;
    float kept_share = 1;  ///< of the sample's variance
    /// Square of the usual error of <q, x>, as a share of |x|^2 |q'|^2; q' is what is left out of
    /// the query, or all of it for a random projection.
    float lost_share = 0;
  };

  /// `sample` is `[n, dim]`, a few times `dim` rows, finite. Fails (kInvalidArgument) without rows,
  /// with values that are not finite, and if no plan with fewer dimensions keeps as much.
  static Result<Reduction> train_pca(std::span<const float> sample, std::uint32_t dim,
                                     Similarity similarity, const ReductionPlan& plan,
                                     std::uint64_t seed);
  /// `n_out`: a multiple of 32, at least 64.
  static Reduction random(std::uint32_t dim, std::uint32_t n_out, std::uint64_t seed);
  /// From a file: `matrix` is `[n_out, dim]`, `tail` `[n_out]`. Fails (kDataLoss) if the facts
  /// contradict each other or the sizes.
  static Result<Reduction> of(const Facts& facts, std::span<const float> matrix,
                              std::span<const float> tail);

  [[nodiscard]] const Facts& facts() const { return facts_; }
  [[nodiscard]] std::uint32_t dim() const { return facts_.dim; }
  [[nodiscard]] std::uint32_t n_out() const { return facts_.n_out; }
  [[nodiscard]] std::span<const float> matrix() const { return parts_->matrix; }
  /// Image of the coordinate that holds the length of what is left out; zeros without one.
  [[nodiscard]] std::span<const float> tail() const { return parts_->tail; }

  /// `in` is `[dim]`, `out` `[n_out]`.
  void apply_to_row(const float* in, float* out) const;
  /// The same for a query, by a product of bytes: the values are off by about a hundredth of their
  /// usual size, and a query takes an eighth of the time. Returns the square of the usual error of
  /// <q, x>, for rows with |x| = 1.
  float apply_to_query(const float* in, float* out) const;

  /// Square of the length of what is left out of a row, `[dim]`.
  [[nodiscard]] double lost_square(const float* in) const;

  /// True if both map every vector to the same bits.
  friend bool operator==(const Reduction& a, const Reduction& b);

 private:
  /// The matrix in bytes: weight j of output i is about scales[i] * (bytes[i * stride + j] - 128).
  struct ByteMatrix {
    std::size_t stride = 0;
    std::vector<std::uint8_t> bytes;
    std::vector<float> scales;
  };
  struct Parts {
    std::vector<float> matrix;
    std::vector<float> tail;
    ByteMatrix bytes;
  };
  Reduction(const Facts& facts, std::vector<float> matrix, std::vector<float> tail);
  static ByteMatrix to_bytes(const Facts& facts, std::span<const float> matrix);
  /// Square of the length that `out`, the image of `in`, lacks.
  [[nodiscard]] double lost_square(const float* in, const float* out) const;
  void multiply(const float* in, float* out) const;
  void add_tail(float length, float* out) const;
  void multiply_bytes(const float* in, float* out) const;

  Facts facts_;
  std::shared_ptr<const Parts> parts_;
};

}  // namespace quiver::encoders
