// How each tokenizer cuts a text into pieces, before case, folding, stop words and stems.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "payload/text/characters.h"
#include "payload/text_options.h"

namespace quiver::payload {

/// A part of a text, valid UTF-8 and not empty.
struct Piece {
  std::string_view text;
  bool is_ascii = false;
};

namespace splitting {

/// For each ASCII character: is it part of a piece?
using AsciiTable = std::array<bool, 128>;
inline constexpr AsciiTable kAsciiWords = [] {
  AsciiTable table{};
  for (std::int32_t c = 0; c < 128; ++c) {
    table[static_cast<std::size_t>(c)] = class_of_ascii(c) != CharacterClass::kOther;
  }
  return table;
}();
inline constexpr AsciiTable kAsciiNoSpaces = [] {
  AsciiTable table{};
  for (std::int32_t c = 0; c < 128; ++c) {
    table[static_cast<std::size_t>(c)] = c != ' ' && (c < 9 || c > 13);
  }
  return table;
}();

/// Calls `emit(Piece)` for each longest run of code points that belong to pieces: those of `ascii`,
/// and the others that `belongs` accepts. Bytes that are not UTF-8 end a piece. Begins at `at`;
/// returns the first place at or after `end` that is not within a piece.
template <class Belongs, class Emit>
std::size_t split_runs(std::string_view text, std::size_t at, std::size_t end,
                       const AsciiTable& ascii, Belongs belongs, Emit& emit) {
  while (at < end) {
    const std::size_t begin = at;
    bool all_ascii = true;
    std::size_t n_separator = 1;
    while (at < text.size()) {
      if (is_ascii(text[at])) {
        if (!ascii[static_cast<std::size_t>(text[at])]) break;
        ++at;
        continue;
      }
      const CodePoint next = code_point_at(text, at);
      if (next.value < 0 || !belongs(next.value)) {
        n_separator = next.n_bytes;
        break;
      }
      all_ascii = false;
      at += next.n_bytes;
    }
    if (at != begin) emit(Piece{text.substr(begin, at - begin), all_ascii});
    at += n_separator;
  }
  return std::min(at, text.size());
}

/// Bit `i` tells whether byte `i` of the block is an ASCII letter or digit. Bytes beyond the text
/// are none.
struct WordBits {
  static constexpr std::size_t kBytes = 64;
  std::uint64_t words = 0;
  bool is_ascii = true;  ///< else `words` has no meaning

  explicit WordBits(std::string_view text) {
    if (text.size() >= kBytes) {
      read(text.data());
    } else {
      std::array<char, kBytes> padded{};
      std::copy(text.begin(), text.end(), padded.begin());
      read(padded.data());
    }
  }

 private:
  void read(const char* bytes) {
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < kBytes / sizeof(std::uint64_t); ++i) {
      std::uint64_t eight = 0;
      std::memcpy(&eight, bytes + 8 * i, sizeof(eight));
      all |= eight;
      words |= bits_of(eight) << (8 * i);
    }
    is_ascii = (all & kEach * 0x80) == 0;
  }
  static std::uint64_t bits_of(std::uint64_t eight) {
    const std::uint64_t is_word =
        (between(eight | kEach * 0x20, 'a', 'z') | between(eight, '0', '9')) & kEach * 0x80;
    return ((is_word >> 7) * 0x0102040810204080) >> 56;  // bit 7 of each byte, side by side
  }
  /// Bit 7 of each ASCII byte from `first` to `last`.
  static std::uint64_t between(std::uint64_t eight, std::uint64_t first, std::uint64_t last) {
    return (eight + kEach * (0x80 - first)) & ~(eight + kEach * (0x7F - last));
  }
  static constexpr std::uint64_t kEach = 0x0101010101010101;
  static_assert(std::endian::native == std::endian::little);
};

/// Splits into runs of letters, numbers and combining marks. Most words are found in 64 bytes at
/// once, because a loop over bytes mispredicts the end of each word.
template <class Emit>
void split_words(std::string_view text, Emit& emit) {
  std::size_t at = 0;  // not within a word
  while (at < text.size()) {
    const WordBits block(text.substr(at));
    std::size_t next = at + WordBits::kBytes;
    std::uint64_t bits = block.is_ascii ? block.words : 0;
    while (bits != 0) {
      const int begin = std::countr_zero(bits);
      const std::uint64_t others = ~bits >> begin << begin;
      if (others == 0) {  // the word may go on in the next block
        next = at + static_cast<std::size_t>(begin);
        break;
      }
      const int end = std::countr_zero(others);
      emit(Piece{
          text.substr(at + static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)),
          true});
      bits &= ~std::uint64_t{0} << end;
    }
    const bool is_one_long_word = next == at;
    if (!block.is_ascii || is_one_long_word) {
      next = split_runs(text, at, std::min(at + WordBits::kBytes, text.size()), kAsciiWords,
                        is_word, emit);
    }
    at = next;
  }
}

/// Cuts an identifier where the case rises, before the last capital of several that a small letter
/// follows, and between letters and numbers.
template <class Emit>
void split_identifier(const Piece& piece, Emit emit) {
  using enum CharacterClass;
  const std::string_view text = piece.text;
  std::size_t begin = 0;
  std::size_t last_at = 0;
  CharacterClass last = kOther;  // of the code point at `last_at`
  bool several_capitals = false;
  const auto cut_at = [&](std::size_t at) {
    emit(Piece{text.substr(begin, at - begin), piece.is_ascii});
    begin = at;
  };
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint next = code_point_at(text, at);
    const CharacterClass now = class_of(next.value);
    if (now != kMark) {
      const bool number_ends_or_begins = (now == kNumber) != (last == kNumber);
      const bool rises = now == kUpper && last != kUpper;
      if (last != kOther && (number_ends_or_begins || rises)) {
        cut_at(at);
      } else if (now == kLower && last == kUpper && several_capitals) {
        cut_at(last_at);
      }
      several_capitals = now == kUpper && last == kUpper;
      last = now;
      last_at = at;
    }
    at += next.n_bytes;
  }
  cut_at(text.size());
}

/// Words by the rules of Unicode's Standard Annex 29 (WB5 to WB13), and pairs of neighbours where
/// the script writes no spaces.
class MultilingualSplitter {
 public:
  explicit MultilingualSplitter(std::string_view text) : text_(text) {}

  template <class Emit>
  void run(Emit emit) {
    while (at_ < text_.size()) {
      const CodePoint next = code_point_at(text_, at_);
      if (is_word(next.value)) {
        is_unspaced(next.value) ? emit_pairs(emit) : emit_word(emit);
      } else if (is_connector(next.value)) {
        emit_word(emit);
      } else {
        at_ += next.n_bytes;
      }
    }
  }

 private:
  /// From the code point at `at_` on, which belongs to the word.
  template <class Emit>
  void emit_word(Emit emit) {
    const std::size_t begin = at_;
    bool has_word = false;
    bool all_ascii = true;
    CharacterClass last = CharacterClass::kOther;
    while (at_ < text_.size()) {
      const CodePoint next = code_point_at(text_, at_);
      const CharacterClass now = class_of(next.value);
      if (now != CharacterClass::kOther && !is_unspaced(next.value)) {
        has_word = true;
        if (now != CharacterClass::kMark) last = now;
      } else if (!is_connector(next.value) && !joins(next, last)) {
        break;
      }
      all_ascii = all_ascii && next.value < 0x80;
      at_ += next.n_bytes;
    }
    if (has_word) emit(Piece{text_.substr(begin, at_ - begin), all_ascii});
  }

  /// All neighbours in the run from `at_` on. A run of one code point is a piece itself.
  template <class Emit>
  void emit_pairs(Emit emit) {
    std::size_t first = at_;
    std::size_t second = at_;
    std::size_t n = 0;
    while (at_ < text_.size()) {
      const CodePoint next = code_point_at(text_, at_);
      const CharacterClass now = class_of(next.value);
      if (now == CharacterClass::kOther) break;
      if (now != CharacterClass::kMark && !is_unspaced(next.value)) break;
      first = second;
      second = at_;
      at_ += next.n_bytes;
      if (++n >= 2) emit(Piece{text_.substr(first, at_ - first), false});
    }
    if (n == 1) emit(Piece{text_.substr(second, at_ - second), false});
  }

  /// True if a sign such as the apostrophe of "don't" or the point of "3.14" stands within a word.
  [[nodiscard]] bool joins(CodePoint sign, CharacterClass before) const;

  const std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace splitting

/// Calls `emit(Piece)` for the pieces of `text` in order. Time is linear in the bytes of `text`.
template <class Emit>
void split(std::string_view text, Tokenizer tokenizer, Emit emit) {
  using namespace splitting;
  switch (tokenizer) {
    case Tokenizer::kWhitespace:
      split_runs(
          text, 0, text.size(), kAsciiNoSpaces, [](std::int32_t c) { return !is_space(c); }, emit);
      return;
    case Tokenizer::kMultilingual:
      return MultilingualSplitter(text).run(emit);
    case Tokenizer::kCode: {
      const auto emit_parts = [&](const Piece& piece) { split_identifier(piece, emit); };
      return split_words(text, emit_parts);
    }
    case Tokenizer::kWord:
    case Tokenizer::kPrefix:
      break;
  }
  split_words(text, emit);
}

}  // namespace quiver::payload
