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

/// Documents of a sample. They need not all be in memory at once.
struct FitDocuments {
  using Use = std::function<void(std::span<const TokenSet>)>;

  FitDocuments() = default;
  /// Borrows `documents`.
  explicit FitDocuments(std::span<const TokenSet> documents);

  std::size_t n = 0;
  /// Passes documents `[first, first + n)` to `use`, in order, in batches of any size.
  std::function<void(std::size_t first, std::size_t n, const Use& use)> read;
};

/// Sample to which features are fitted.
struct FitSample {
  std::span<const float> tokens;  ///< `[S, token_dim]`
  FitDocuments documents;  ///< only for `n_dims` > 0: `n_dims` or more, better four times as many
  const Cancel* cancel = nullptr;
};

/// Weights of features that approximate a document's maxima by least squares. The sample has tokens
/// X `[S, token_dim]` of unit length, with features Z `[S, n_features]`. For a document with tokens
/// p, y(s) = max_p <x_s, p>. Its vector is w = G^-1 Z'y with G = Z'Z + r I (LEMUR's last layer).
/// Only y differs between documents.
///
/// Unlike LEMUR, y is not standardised by a mean and a deviation over all documents. As w is linear
/// in y, this would add one vector to all documents and scale them all, which changes no ranking.
///
/// Fewer dimensions (`n_dims`): codes of few bits lose much of w, because most of its length lies
/// in directions where features are small. With G = L L', documents become L^-1 Z'y and queries
/// L^-1 phi, whose coordinates matter equally. Only the subspace in which documents differ most is
/// kept; U are its axes. D scales each axis so that queries and documents vary equally there. `map`
/// is D^-1 U L^-1 for queries, and documents become D U L^-1 Z'y.
///
/// Immutable and thread-safe. Depends on the instruction level by rounding.
class FeaturesFit {
 public:
  static constexpr std::size_t kMaxSample = 65'536;

  /// 8,192 tokens of documents are enough for 2,048 features. Tokens of real queries help more than
  /// the same number of further document tokens. Keeps `4 S (n_dims + token_dim / 4)` bytes. Fails
  /// (kInvalidArgument) without tokens, beyond `kMaxSample` tokens, with too few documents, and
  /// with values that are not finite. Fails with the error of `cancel`, which it checks between
  /// steps of up to a second (2,048 features).
  static Result<FeaturesFit> fit(const RandomFeatures& features, const FeaturesParams& params,
                                 const FitSample& sample);

  [[nodiscard]] std::size_t n_sample() const { return n_sample_; }
  /// Dimension of documents' vectors.
  [[nodiscard]] std::uint32_t n_dims() const { return n_dims_; }
  /// Matrix `[n_dims, n_features]` that maps features of queries to fewer dimensions; empty if
  /// dimensions are not reduced.
  [[nodiscard]] const std::vector<float>& map() const { return map_; }

  /// Writes `[documents.size(), n_dims()]`. A document's bits do not depend on the other documents.
  /// Scalar products with the sample take 8-bit codes, scaled by the document's largest value.
  void solve(std::span<const TokenSet> documents, float* out) const;

 private:
  FeaturesFit(const RandomFeatures& features, std::size_t n_sample);

  void prepare_codes(const std::vector<float>& unit_sample);
  /// Goes through the sample in parts; `map` is `[n_dims, n_features]`.
  void prepare_solver(const RandomFeatures& features, const std::vector<float>& unit_sample,
                      std::span<const float> map);
  /// Returns the product Y Z, `[documents, n_features]`.
  [[nodiscard]] Result<std::vector<float>> products_with_features(
      const RandomFeatures& features, const std::vector<float>& unit_sample,
      const FitSample& sample) const;
  /// Writes y, `[n_sample]`.
  void find_targets(const TokenSet& document, float* out) const;

  std::uint32_t token_dim_;
  std::uint32_t n_features_;
  std::uint32_t n_dims_;
  std::size_t n_sample_;
  float sample_step_ = 0;           ///< value of one unit of the sample's codes
  std::vector<std::int8_t> codes_;  ///< the sample, by `MaxSimKernels::prepare_codes`
  std::vector<float> map_;
  /// Matrix that multiplies y, prepared by `MaxSimKernels::prepare`: first the columns of the first
  /// part of the sample, then those of the next.
  std::vector<float> solver_;
};

/// `n` distinct numbers below `n_total`, ascending; every set of `n` is equally likely. Returns all
/// numbers if `n` >= `n_total`.
[[nodiscard]] std::vector<std::uint64_t> sample_numbers(std::uint64_t n_total, std::uint64_t n,
                                                        std::uint64_t seed);

}  // namespace quiver::encoders
