// Token codec: 8, 4 or 2 bits per dimension with one scale per field, so that the greatest product
// of codes belongs to the greatest product.
//
// A token p is centred on the mean m of the field's tokens: max <q, p> = <q, m> + max <q, p - m>,
// one number per query. It is then rotated (encoders/transforms/rotation.h), which changes no
// product. Coordinates then look like draws from one normal distribution for any model. 8 bits are
// uniform steps that clip next to nothing; 4 and 2 bits are the best levels for a normal
// distribution (`PackedLevels`).
//
// Measured on 220 documents and 200 queries of 14.6 tokens (examples/arxiv-3k, NumPy model):
// standard deviation of a MaxSim's error per root of query tokens, and recall of the exact top 10:
//                        8 bits          4 bits         2 bits
//   neither            .0028  .990     .077   .872    .119  .802
//   centred            .0024  .993     .044   .901    .087  .835
//   rotated            .0013  .993     .0115  .968    .041  .893
//   both               .0013  .993     .0109  .965    .040  .890
// Without the rotation a scale must reach to 9 deviations, the largest coordinates of these data,
// and 4 and 2 bits are useless. Centring shortens tokens by 2 % here: by as much as they share one
// direction.
#pragma once

#include <cstdint>
#include <vector>

#include "base/io/section_file.h"
#include "base/result.h"
#include "encoders/transforms/rotation.h"
#include "index/multi/tokens/token_source.h"

namespace quiver::index::multi {

/// Parameters of a codec, besides its mean. Part of the file.
struct CodecFacts {
  std::uint32_t dim = 0;         ///< dimensions of tokens
  std::uint32_t padded_dim = 0;  ///< dimensions of rotated tokens
  std::uint32_t bits = 0;        ///< bits per dimension: 8, 4 or 2
  std::uint32_t rotation_version = 0;
  std::uint64_t rotation_seed = 0;
  float unit = 0;    ///< coordinate difference that is rounded to 1 level
  float step = 0;    ///< value of 1 level, unbiased: slightly more than `unit`
  float spread = 0;  ///< root mean square of rotated coordinates
  float error = 0;   ///< root mean square error of a coded coordinate
};
static_assert(sizeof(CodecFacts) == 40);

/// Immutable; any number of threads.
class TokenCodec {
 public:
  /// Fits a codec of `bits` bits (8, 4 or 2) to a sample of the tokens. The same tokens and seed
  /// give the same codec.
  [[nodiscard]] static TokenCodec fit(const TokenSource& tokens, std::uint32_t bits,
                                      std::uint64_t seed);
  /// Reads what `write` wrote for tokens of `dim` dimensions; else kDataLoss.
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

/// Codes one token at a time; one thread. Borrows the codec.
class TokenEncoder {
 public:
  explicit TokenEncoder(const TokenCodec& codec);

  /// Codes `token`, `[dim]`, into `token_bytes` bytes: levels plus 128, or packed codes
  /// (`PackedLevels`).
  void encode(const float* token, std::byte* out);

 private:
  const TokenCodec& codec_;
  std::vector<float> centred_;
  std::vector<float> rotated_;
  std::vector<std::int8_t> levels_;
};

}  // namespace quiver::index::multi
