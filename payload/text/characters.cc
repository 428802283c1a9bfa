#include "payload/text/characters.h"

#include <utf8proc.h>

#include <algorithm>

namespace quiver::payload {
namespace {

struct CodePoints {
  std::int32_t first;
  std::int32_t last;
};
/// Blocks of the scripts without spaces, ascending.
constexpr std::array<CodePoints, 18> kUnspaced = {{
    {0x0E00, 0x0E7F},    // Thai
    {0x0E80, 0x0EFF},    // Lao
    {0x1000, 0x109F},    // Myanmar
    {0x1780, 0x17FF},    // Khmer
    {0x3005, 0x3007},    // marks and numbers of Han
    {0x3021, 0x3029},    //
    {0x3031, 0x3035},    // repetition in Kana
    {0x3038, 0x303C},    //
    {0x3041, 0x309F},    // Hiragana
    {0x30A0, 0x30FF},    // Katakana
    {0x31F0, 0x31FF},    //
    {0x3400, 0x4DBF},    // Han
    {0x4E00, 0x9FFF},    //
    {0xA9E0, 0xA9FF},    // Myanmar
    {0xAA60, 0xAA7F},    //
    {0xF900, 0xFAFF},    // Han
    {0xFF66, 0xFF9F},    // Katakana of half width
    {0x1B000, 0x1B16F},  // Kana
}};

}  // namespace

CodePoint decode_code_point(std::string_view text, std::size_t at) {
  CodePoint out;
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at;
  const auto n =
      utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(text.size() - at), &out.value);
  if (n > 0) {
    out.n_bytes = static_cast<std::uint32_t>(n);
  } else {
    out.value = -1;
  }
  return out;
}

void append_code_point(std::string& out, std::int32_t code_point) {
  utf8proc_uint8_t bytes[4];
  const auto n = utf8proc_encode_char(code_point, bytes);
  out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(n));
}

std::size_t count_code_points(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned>(c) & 0xC0U) != 0x80; }));
}

std::size_t bytes_of_code_points(std::string_view text, std::size_t n) {
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    const bool begins = (static_cast<unsigned>(text[at]) & 0xC0U) != 0x80;
    if (begins && n-- == 0) break;
  }
  return at;
}

CharacterClass class_beyond_ascii(std::int32_t code_point) {
  using enum CharacterClass;
  switch (utf8proc_category(code_point)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LT:
      return kUpper;
    case UTF8PROC_CATEGORY_LL:
      return kLower;
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return kUncased;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
      return kMark;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return kNumber;
    default:
      return kOther;
  }
}

bool is_space(std::int32_t code_point) {
  if (code_point < 0x80) return code_point == ' ' || (code_point >= 9 && code_point <= 13);
  if (code_point == 0x85) return true;
  const auto category = utf8proc_category(code_point);
  return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
         category == UTF8PROC_CATEGORY_ZP;
}

bool is_connector_beyond_ascii(std::int32_t code_point) {
  return utf8proc_category(code_point) == UTF8PROC_CATEGORY_PC;
}

bool is_unspaced(std::int32_t code_point) {
  if (code_point < kUnspaced.front().first) return false;
  if (code_point >= 0x20000) return code_point <= 0x3FFFF;  // Han: planes 2 and 3
  const auto found = std::ranges::lower_bound(kUnspaced, code_point, {}, &CodePoints::last);
  return found != kUnspaced.end() && code_point >= found->first;
}

}  // namespace quiver::payload
