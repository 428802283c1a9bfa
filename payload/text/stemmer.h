// Stems of words by Snowball's algorithms (https://snowballstem.org), and a cache of them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "payload/text_options.h"

struct sb_stemmer;

namespace quiver::payload {

/// Longer words have no stem but themselves: Snowball's time need not be linear in their length.
inline constexpr std::size_t kMaxStemmedBytes = 255;

/// Not thread safe: libstemmer keeps the last word in its object. One thread at a time may use one.
class Stemmer {
 public:
  explicit Stemmer(StemmerLanguage language);

  /// `word` is valid UTF-8 in lower case. The result is valid until the next call. It is `word`
  /// itself if that has more than kMaxStemmedBytes or if memory is short.
  [[nodiscard]] std::string_view stem(std::string_view word);

 private:
  struct Delete {
    void operator()(sb_stemmer* stemmer) const;
  };
  std::unique_ptr<sb_stemmer, Delete> stemmer_;
};

/// Remembers for words what became of them, because a stem takes about 20 times as long as a
/// look-up. Each word has one place, which another word with the same place takes over; so memory
/// is bounded by 64 Ki places of 64 bytes. It grows as new words come. Not thread safe.
class WordCache {
 public:
  /// The remembered form of `word`, or nullptr as data. Valid until the next `remember`.
  [[nodiscard]] std::string_view find(std::string_view word, std::uint64_t hash) const;
  /// Ignores what does not fit a place: word and form of more than 62 bytes together.
  void remember(std::string_view word, std::uint64_t hash, std::string_view form);
  [[nodiscard]] std::size_t memory_bytes() const { return slots_.capacity() * sizeof(Slot); }

 private:
  struct alignas(64) Slot {
    std::uint8_t word_bytes = 0;  ///< 0: free
    std::uint8_t form_bytes = 0;
    std::array<char, 62> bytes;  ///< the word, then its form
  };
  static_assert(sizeof(Slot) == 64);

  std::vector<Slot> slots_;  ///< a power of two
  std::size_t n_remembered_ = 0;
};

}  // namespace quiver::payload
