// A query's tokens, coded for comparison with token codes and signs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "index/multi/tokens/ball_carving.h"
#include "index/multi/tokens/token_codec.h"

namespace quiver::index::multi {

/// Reuses its memory. One thread sets it, any number read it.
class TokenQuery {
 public:
  /// `tokens`: `[n, dim]`, of unit length under Cosine. `carving`: threshold of `BallCarving`; >=
  /// 1: off.
  void set(const TokenCodec& codec, std::span<const float> tokens, float carving = 1);

  /// Number of tokens after carving.
  [[nodiscard]] std::size_t n_tokens() const { return n_tokens_; }
  /// Tokens in the layout of `MaxSimKernels::prepare_codes`.
  [[nodiscard]] const std::int8_t* prepared() const {
    return reinterpret_cast<const std::int8_t*>(prepared_.data());
  }
  /// Number of 64-bit words of a token's signs.
  [[nodiscard]] static constexpr std::size_t sign_words(std::uint32_t padded_dim) {
    return (std::size_t{padded_dim} + 63) / 64;
  }
  /// Signs in the layout of `SignKernels::prepare`.
  [[nodiscard]] const std::uint64_t* signs() const {
    return reinterpret_cast<const std::uint64_t*>(signs_.data());
  }
  /// Upper bound of the standard deviation of scores by signs: that of random bits.
  [[nodiscard]] float sign_deviation() const { return sign_deviation_; }
  /// `[n_tokens]`: length of each token relative to the longest, 0 to 1.
  [[nodiscard]] std::span<const float> lengths() const { return lengths_; }
  /// Converts a MaxSim of codes to a score of the field.
  [[nodiscard]] float score_of(std::int64_t codes) const {
    return static_cast<float>(of_mean_ + scale_ * static_cast<double>(codes));
  }
  /// Standard deviation of the error of a row's score. One scale serves all tokens, so it is the
  /// same for every row; errors of coordinates are taken as independent. Leaves out carving, and
  /// the bias that all scores share: a maximum of noisy products is too large.
  [[nodiscard]] float deviation() const { return deviation_; }

 private:
  /// Aligned: a register load across two lines costs twice.
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
  double of_mean_ = 0;  ///< sum over tokens of <q, mean>
  double scale_ = 0;
  float deviation_ = 0;
  float sign_deviation_ = 0;
};

}  // namespace quiver::index::multi
