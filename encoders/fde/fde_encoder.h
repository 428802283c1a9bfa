#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "encoders/fde/params.h"
#include "encoders/fde/planes.h"
#include "encoders/fde/sketch.h"
#include "encoders/set_encoder.h"

namespace quiver::encoders {

/// Fixed-dimensional encodings (MUVERA: Dhulipala, Hadian, Jayaram, Lee, Mirrokni, NeurIPS 2024,
/// section 2). Each repetition cuts space into buckets by random planes. A query's block of a
/// bucket is the sum of its tokens there, a document's is their mean. The product of the two is
/// therefore about the sum, over query tokens, of the product with the document tokens near them.
/// Each repetition projects its blocks to few dimensions. Blocks are ordered by repetition and
/// bucket.
///
/// Where we differ from the paper: documents' means are made longer (`renormalize`), and
/// projections are balanced count sketches. A token's bucket depends on its direction only, its
/// block keeps its length: `c` times a document has `c` times the vector. Zero tokens are left out.
///
/// Needs no training. The same parameters and set give the same bits on every instruction level.
class FdeEncoder final : public SetEncoder {
 public:
  /// Version of the random draws. A version and a seed always give the same encoder.
  static constexpr std::uint32_t kVersion = 1;
  /// Largest number of dimensions of all blocks, before the last projection.
  static constexpr std::uint64_t kMaxDim = 1 << 24;

  /// Fails (kInvalidArgument) if `params` contradict each other or do not fit the tokens.
  static Result<std::unique_ptr<FdeEncoder>> make(std::uint32_t token_dim, const FdeParams& params);

  [[nodiscard]] const FdeParams& params() const { return params_; }
  void encode_documents(std::span<const TokenSet> documents, float* out) const override;
  void encode_query(const TokenSet& query, float* out) const override;

 private:
  enum class Side : std::uint8_t { kDocument, kQuery };
  struct Scratch;

  FdeEncoder(std::uint32_t token_dim, const FdeParams& params);
  void encode(const TokenSet& set, Side side, float* out) const;
  void encode_repetition(std::uint32_t repetition, Side side, Scratch& scratch, float* out) const;
  void sum_buckets(std::size_t first, Side side, Scratch& scratch) const;
  void write_blocks(std::uint32_t repetition, const Scratch& scratch, float* out) const;
  [[nodiscard]] float mean_factor(std::uint32_t n, float square, float length) const;

  FdeParams params_;
  std::size_t n_buckets_;  ///< per repetition
  std::size_t chunk_;      ///< buckets per step
  std::uint32_t block_dim_;
  fde::HashPlanes planes_;
  std::vector<fde::BalancedSketch> block_sketches_;  ///< one per repetition, or none
  std::optional<fde::BalancedSketch> final_sketch_;
};

}  // namespace quiver::encoders
