#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/threads/cancel.h"
#include "encoders/features/params.h"
#include "encoders/features/random_features.h"
#include "encoders/set_encoder.h"

namespace quiver::encoders {

/// Documents of a sample, which need not all be in memory at once.
struct FitDocuments {
  using Use = std::function<void(std::span<const TokenSet>)>;

  FitDocuments() = default;
  /// Refers to `documents`.
  explicit FitDocuments(std::span<const TokenSet> documents);

  std::size_t n = 0;
  /// Shows `[first, first + n)` to `use`, in order, as many at a time as suits.
  std::function<void(std::size_t first, std::size_t n, const Use& use)> read;
};

/// What features are fitted to.
struct FitSample {
  std::span<const float> tokens;  ///< `[S, token_dim]`
  FitDocuments documents;         ///< for fewer dimensions: as many at least, better four times
  const Cancel* cancel = nullptr;
};

/// The weights of features that come nearest to a document's maxima, by least squares over a sample
/// of tokens X `[S, token_dim]` scaled to unit length. With Z `[S, n_features]` their features and
/// y(s) = max_p <x_s, p> over the document's tokens p, a document becomes w = G^-1 Z'y, where
/// G = Z'Z + r I (LEMUR's last layer), the same for all documents but y.
///
/// LEMUR standardises y by a mean and deviation of all documents: w is linear in y, so these would
/// add one vector to all of them and scale them all, which no ranking sees.
///
/// With fewer dimensions: these weights are of little use in few bits, as most of their length lies
/// where features hardly ever point. With G = L L', documents become L^-1 Z'y and queries L^-1
/// phi, whose coordinates count alike, and of those only the space is kept in which documents
/// differ most: with its axes U, scaled by S so that both sides have the same share in each, `map`
/// S^-1 U L^-1 for queries, S U L^-1 Z'y for documents.
///
/// Immutable and thread-safe. Depends on the instruction level by rounding.
class FeaturesFit {
 public:
  static constexpr std::size_t kMaxSample = 65'536;

  /// 8,192 tokens of documents are enough for 2,048 features; tokens of real queries among them
  /// help more than as many more of documents. Keeps `4 S (n_dims + token_dim / 4)` bytes. Fails
  /// (kInvalidArgument) without tokens, beyond `kMaxSample` of them, with too few documents, and if
  /// values are not finite; with the error of `cancel`, which it looks at between steps of up to a
  /// second with 2,048 features.
  static Result<FeaturesFit> fit(const RandomFeatures& features, const FeaturesParams& params,
                                 const FitSample& sample);

  [[nodiscard]] std::size_t n_sample() const { return n_sample_; }
  /// Of documents' vectors.
  [[nodiscard]] std::uint32_t n_dims() const { return n_dims_; }
  /// `[n_dims, n_features]`, by which features of queries are multiplied; empty if they stay as
  /// they are.
  [[nodiscard]] const std::vector<float>& map() const { return map_; }

  /// Writes `[documents.size(), n_dims()]`, the same bits for a document in any company. Scalar
  /// products with the sample are of 8-bit codes, their scale that of the document's largest value.
  void solve(std::span<const TokenSet> documents, float* out) const;

 private:
  FeaturesFit(const RandomFeatures& features, std::size_t n_sample);

  void prepare_codes(const std::vector<float>& unit_sample);
  /// Of one part of the sample after the other; `map` is `[n_dims, n_features]`.
  void prepare_solver(const RandomFeatures& features, const std::vector<float>& unit_sample,
                      std::span<const float> map);
  /// Y Z, `[documents, n_features]`.
  [[nodiscard]] Result<std::vector<float>> products_with_features(
      const RandomFeatures& features, const std::vector<float>& unit_sample,
      const FitSample& sample) const;
  /// y `[n_sample]`.
  void find_targets(const TokenSet& document, float* out) const;

  std::uint32_t token_dim_;
  std::uint32_t n_features_;
  std::uint32_t n_dims_;
  std::size_t n_sample_;
  float sample_step_ = 0;           ///< what 1 in a code of the sample stands for
  std::vector<std::int8_t> codes_;  ///< the sample, as `MaxSimKernels::prepare_codes` has it
  std::vector<float> map_;
  /// What y is multiplied by, as `MaxSimKernels::prepare` has the columns of one part of the sample
  /// after the other.
  std::vector<float> solver_;
};

/// `n` different numbers of `n_total` tokens, ascending, each set of them as likely as any other;
/// all if there are no more.
[[nodiscard]] std::vector<std::uint64_t> sample_numbers(std::uint64_t n_total, std::uint64_t n,
                                                        std::uint64_t seed);

}  // namespace quiver::encoders
