#include "base/utf8.h"

#include <cstddef>

namespace quiver {
namespace {

/// The number of bytes that follow a lead byte; -1 if it cannot lead.
int n_continuation_bytes(unsigned char lead) {
  if (lead < 0x80) return 0;
  if (lead >= 0xC2 && lead <= 0xDF) return 1;
  if (lead >= 0xE0 && lead <= 0xEF) return 2;
  if (lead >= 0xF0 && lead <= 0xF4) return 3;
  return -1;
}

/// True for overlong forms, surrogates and code points beyond U+10FFFF: the second byte shows them.
bool is_bad_second(unsigned char lead, unsigned char second) {
  return (lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
         (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F);
}

/// Bytes of the character that `text`, which is not empty, begins with; 0 if there is none.
std::size_t character_bytes(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const int n = n_continuation_bytes(lead);
  if (n < 0 || text.size() <= static_cast<std::size_t>(n)) return 0;
  for (int k = 1; k <= n; ++k) {
    const auto byte = static_cast<unsigned char>(text[static_cast<std::size_t>(k)]);
    if ((byte & 0xC0) != 0x80 || (k == 1 && is_bad_second(lead, byte))) return 0;
  }
  return static_cast<std::size_t>(n) + 1;
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t n = character_bytes(text);
    if (n == 0) return false;
    text.remove_prefix(n);
  }
  return true;
}

std::string to_utf8(std::string_view text) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  std::string out;
  while (!text.empty()) {
    const std::size_t n = character_bytes(text);
    out += n == 0 ? kReplacement : text.substr(0, n);
    text.remove_prefix(n == 0 ? 1 : n);
  }
  return out;
}

}  // namespace quiver
