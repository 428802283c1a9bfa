#include "payload/text/splitting.h"

#include <algorithm>

namespace quiver::payload::splitting {
namespace {

enum class Sign : std::uint8_t { kNone, kInLetters, kInNumbers, kInBoth };

/// Unicode's MidLetter, MidNum, and MidNumLet with the apostrophe. The colon joins nothing, because
/// it ends clauses in most languages.
Sign sign_of(std::int32_t code_point) {
  using enum Sign;
  constexpr std::int32_t kBoth[] = {'\'', '.', 0x2018, 0x2019, 0x2024, 0xFE52, 0xFF07, 0xFF0E};
  constexpr std::int32_t kLetters[] = {0xB7, 0x387, 0x55F, 0x5F4, 0x2027};
  constexpr std::int32_t kNumbers[] = {',',    ';',    0x37E,  0x589,  0x60C,  0x60D,  0x66C, 0x7F8,
                                       0x2044, 0xFE10, 0xFE14, 0xFE50, 0xFE54, 0xFF0C, 0xFF1B};
  if (std::ranges::find(kBoth, code_point) != std::end(kBoth)) return kInBoth;
  if (std::ranges::find(kLetters, code_point) != std::end(kLetters)) return kInLetters;
  if (std::ranges::find(kNumbers, code_point) != std::end(kNumbers)) return kInNumbers;
  return kNone;
}

}  // namespace

bool MultilingualSplitter::joins(CodePoint sign, CharacterClass before) const {
  const std::size_t after = at_ + sign.n_bytes;
  if (before == CharacterClass::kOther || after >= text_.size()) return false;
  const Sign kind = sign_of(sign.value);
  if (kind == Sign::kNone) return false;
  const CodePoint next = code_point_at(text_, after);
  const CharacterClass now = class_of(next.value);
  if (now == CharacterClass::kOther || now == CharacterClass::kMark || is_unspaced(next.value)) {
    return false;
  }
  const bool is_number = now == CharacterClass::kNumber;
  if (is_number != (before == CharacterClass::kNumber)) return false;
  return kind == Sign::kInBoth || (kind == Sign::kInNumbers) == is_number;
}

}  // namespace quiver::payload::splitting
