// Code points of UTF-8 texts and what they are to a tokenizer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace quiver::payload {

/// A code point of a text. `value` is negative where the bytes are not UTF-8; `n_bytes` is then 1.
struct CodePoint {
  std::int32_t value = -1;
  std::uint32_t n_bytes = 1;
};

[[nodiscard]] constexpr bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }

/// `code_point_at` where the byte is not ASCII.
[[nodiscard]] CodePoint decode_code_point(std::string_view text, std::size_t at);
/// The code point at `at`, which is less than the length of `text`.
[[nodiscard]] inline CodePoint code_point_at(std::string_view text, std::size_t at) {
  return is_ascii(text[at]) ? CodePoint{text[at], 1} : decode_code_point(text, at);
}
void append_code_point(std::string& out, std::int32_t code_point);
/// Number of code points of valid UTF-8.
[[nodiscard]] std::size_t count_code_points(std::string_view text);
/// Bytes of the first `n` code points, at most all, of valid UTF-8.
[[nodiscard]] std::size_t bytes_of_code_points(std::string_view text, std::size_t n);

enum class CharacterClass : std::uint8_t { kOther, kLower, kUpper, kUncased, kNumber, kMark };

[[nodiscard]] constexpr CharacterClass class_of_ascii(std::int32_t c) {
  if (c >= 'a' && c <= 'z') return CharacterClass::kLower;
  if (c >= 'A' && c <= 'Z') return CharacterClass::kUpper;
  return c >= '0' && c <= '9' ? CharacterClass::kNumber : CharacterClass::kOther;
}
[[nodiscard]] CharacterClass class_beyond_ascii(std::int32_t code_point);
/// kOther for all that is neither letter, number nor combining mark.
[[nodiscard]] inline CharacterClass class_of(std::int32_t code_point) {
  return code_point < 0x80 ? class_of_ascii(code_point) : class_beyond_ascii(code_point);
}
[[nodiscard]] inline bool is_word(std::int32_t code_point) {
  return class_of(code_point) != CharacterClass::kOther;
}
[[nodiscard]] bool is_space(std::int32_t code_point);
[[nodiscard]] bool is_connector_beyond_ascii(std::int32_t code_point);
/// Connects the parts of a word, as `_` does: Unicode's ExtendNumLet.
[[nodiscard]] inline bool is_connector(std::int32_t code_point) {
  return code_point < 0x80 ? code_point == '_' : is_connector_beyond_ascii(code_point);
}
/// True for scripts that write no spaces between words: Han, Hiragana, Katakana, Thai, Lao, Khmer
/// and Myanmar.
[[nodiscard]] bool is_unspaced(std::int32_t code_point);

}  // namespace quiver::payload
