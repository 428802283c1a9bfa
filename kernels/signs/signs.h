// MaxSim of the signs of tokens.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quiver {

/// A token is one bit a dimension in 64-bit words; bits beyond the dimensions are equal in all
/// tokens. The fewer bits differ, the greater the similarity.
struct SignKernels {
  static constexpr std::size_t kBlock = 8;  ///< query tokens

  [[nodiscard]] static constexpr std::size_t prepared_words(std::size_t n_query,
                                                            std::size_t n_words) {
    return (n_query + kBlock - 1) / kBlock * kBlock * n_words;
  }
  /// `tokens` is `[n_query, n_words]`; writes `prepared_words(n_query, n_words)` words: blocks of
  /// `[n_words, kBlock]`, zero-padded.
  void (*prepare)(const std::uint64_t* tokens, std::size_t n_query, std::size_t n_words,
                  std::uint64_t* prepared);
  /// Writes `least[i]`: the least number of bits in which query token i differs from a document
  /// token. `doc` is `[n_doc, n_words]`, `n_doc` >= 1.
  void (*least)(const std::uint64_t* prepared, std::size_t n_query, std::size_t n_words,
                const std::uint64_t* doc, std::size_t n_doc, std::uint32_t* least);
};

}  // namespace quiver
