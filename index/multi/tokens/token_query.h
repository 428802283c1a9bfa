// A query's tokens as a codec's documents want them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "index/multi/tokens/ball_carving.h"
#include "index/multi/tokens/token_codec.h"

namespace quiver::index::multi {

/// Keeps its memory from one query to the next. One thread sets it, any number read it.
class TokenQuery {
 public:
  /// `tokens`: `[n, dim]` of any n, of unit length under Cosine; `carving`: the threshold of
  /// `Carver`, >= 1 for none.
  void set(const TokenCodec& codec, std::span<const float> tokens, float carving = 1);

  /// After carving.
  [[nodiscard]] std::size_t n_tokens() const { return n_tokens_; }
  /// As `MaxSimKernels::prepare_codes` leaves them.
  [[nodiscard]] const std::int8_t* prepared() const {
    return reinterpret_cast<const std::int8_t*>(prepared_.data());
  }
  /// 64-bit words of a token's signs.
  [[nodiscard]] static constexpr std::size_t sign_words(std::uint32_t padded_dim) {
    return (std::size_t{padded_dim} + 63) / 64;
  }
  /// As `SignKernels::prepare` leaves them.
  [[nodiscard]] const std::uint64_t* signs() const {
    return reinterpret_cast<const std::uint64_t*>(signs_.data());
  }
  /// The standard deviation of signs' scores at most: of bits that are right by chance.
  [[nodiscard]] float sign_deviation() const { return sign_deviation_; }
  /// `[n_tokens]`: of the longest token, 0 to 1; so that sums of them stay small.
  [[nodiscard]] std::span<const float> lengths() const { return lengths_; }
  /// The MaxSim of codes in the units of the field.
  [[nodiscard]] float score_of(std::int64_t codes) const {
    return static_cast<float>(of_mean_ + scale_ * static_cast<double>(codes));
  }
  /// The standard deviation of the error of a row's score, the same for every row, as one scale
  /// serves all tokens: of coordinates that are off independently of one another and of the query.
  /// Carving is not in it. What all rows' scores err by together is not in it either: the greatest
  /// of products that err is too great.
  [[nodiscard]] float deviation() const { return deviation_; }

 private:
  /// Registers full of a prepared query that cross lines would be read twice.
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  void round(const TokenCodec& codec, std::span<const float> tokens);
  void set_signs(std::uint32_t padded_dim);

  BallCarving carving_;
  std::vector<float> rotated_;
  std::vector<std::int8_t> levels_;
  std::vector<Line> prepared_;
  std::vector<std::uint64_t> words_;
  std::vector<Line> signs_;
  std::vector<double> norms_;
  std::vector<float> lengths_;
  std::size_t n_tokens_ = 0;
  double of_mean_ = 0;  ///< sum over the tokens of <q, mean>
  double scale_ = 0;
  float deviation_ = 0;
  float sign_deviation_ = 0;
};

}  // namespace quiver::index::multi
