// Tokens of a field in 8, 4 or 2 bits a dimension, all on one scale, so that the greatest of
// products of codes is the code of the greatest product.
//
// A token p is centred on the mean m of the field's tokens, which costs a query one number, as
// max <q, p> = <q, m> + max <q, p - m>, and rotated (encoders/transforms/rotation.h), which no
// product sees. Its coordinates then look like draws from one normal distribution, whatever the
// model made of them: 8 bits are uniform steps up to where next to nothing is cut off, 4 and 2 bits
// the levels that suit a normal distribution best (`PackedLevels`).
//
// What that is worth, on the 220 documents and 200 queries of 14.6 tokens of examples/arxiv-3k, as
// the deviation of a MaxSim's error per root of query tokens, and the share of the exact top 10
// that is found, by a model of this codec in NumPy:
//                        8 bits          4 bits         2 bits
//   neither            .0028  .990     .077   .872    .119  .802
//   centred            .0024  .993     .044   .901    .087  .835
//   rotated            .0013  .993     .0115  .968    .041  .893
//   both               .0013  .993     .0109  .965    .040  .890
// Without the rotation a scale must reach to 9 deviations, where these data have their largest
// coordinates, and 4 and 2 bits are of no use. Centring shortens tokens by 2 % here and by as much
// as tokens share one direction.
#pragma once

#include <cstdint>
#include <vector>

#include "base/io/section_file.h"
#include "base/result.h"
#include "encoders/transforms/rotation.h"
#include "index/multi/tokens/token_source.h"

namespace quiver::index::multi {

/// What tells one codec from another, besides its mean; as it stands in files.
struct CodecFacts {
  std::uint32_t dim = 0;         ///< of a field's tokens
  std::uint32_t padded_dim = 0;  ///< of rotated ones
  std::uint32_t bits = 0;        ///< a dimension: 8, 4 or 2
  std::uint32_t rotation_version = 0;
  std::uint64_t rotation_seed = 0;
  float unit = 0;    ///< what is rounded to a difference of 1 in levels
  float step = 0;    ///< what such a difference stands for: without bias, so a little more
  float spread = 0;  ///< root mean square of rotated coordinates
  float error = 0;   ///< root mean square of what coding does to one
};
static_assert(sizeof(CodecFacts) == 40);

/// Immutable; any number of threads.
class TokenCodec {
 public:
  /// Fits `bits` of 8, 4 or 2 to a sample of the tokens; the same tokens and seed give the same
  /// codec.
  [[nodiscard]] static TokenCodec fit(const TokenSource& tokens, std::uint32_t bits,
                                      std::uint64_t seed);
  /// What `write` wrote for tokens of `dim` dimensions; else kDataLoss.
  [[nodiscard]] static Result<TokenCodec> open(const SectionReader& reader, std::uint32_t dim);
  void write(SectionWriter& writer) const;

  [[nodiscard]] const CodecFacts& facts() const { return facts_; }
  [[nodiscard]] const std::vector<float>& mean() const { return mean_; }
  [[nodiscard]] const encoders::Rotation& rotation() const { return rotation_; }
  /// Bytes of a token's codes; a multiple of 8.
  [[nodiscard]] std::size_t token_bytes() const {
    return std::size_t{facts_.padded_dim} * facts_.bits / 8;
  }

 private:
  TokenCodec(const CodecFacts& facts, std::vector<float> mean);
  void set_unit(const std::vector<float>& coordinates, float reach);
  void set_step(const std::vector<float>& coordinates);

  CodecFacts facts_;
  std::vector<float> mean_;
  encoders::Rotation rotation_;
};

/// Codes tokens one at a time; one thread. Refers to the codec.
class TokenEncoder {
 public:
  explicit TokenEncoder(const TokenCodec& codec);

  /// `token`: `[dim]`; writes the codec's `token_bytes`: bytes that are levels plus 128, or packed
  /// codes (`PackedLevels`).
  void encode(const float* token, std::byte* out);

 private:
  const TokenCodec& codec_;
  std::vector<float> centred_;
  std::vector<float> rotated_;
  std::vector<std::int8_t> levels_;
};

}  // namespace quiver::index::multi
