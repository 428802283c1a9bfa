#include "service/access/base64url.h"

#include <algorithm>
#include <cstdint>

namespace quiver::service::access {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// -1 for a letter outside the alphabet.
int digit_of(char letter) {
  if (letter >= 'A' && letter <= 'Z') return letter - 'A';
  if (letter >= 'a' && letter <= 'z') return letter - 'a' + 26;
  if (letter >= '0' && letter <= '9') return letter - '0' + 52;
  if (letter == '-') return 62;
  return letter == '_' ? 63 : -1;
}

}  // namespace

std::optional<std::string> decode_base64url(std::string_view text) {
  if (text.size() % 4 == 1) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() * 3 / 4);
  std::uint32_t bits = 0;
  int n_bits = 0;
  for (const char letter : text) {
    const int digit = digit_of(letter);
    if (digit < 0) return std::nullopt;
    bits = (bits << 6 | static_cast<std::uint32_t>(digit)) & 0xFFFF;
    n_bits += 6;
    if (n_bits < 8) continue;
    n_bits -= 8;
    bytes += static_cast<char>(bits >> n_bits & 0xFF);
  }
  const std::uint32_t rest = bits & ((1U << n_bits) - 1);
  return rest == 0 ? std::optional(std::move(bytes)) : std::nullopt;
}

std::string encode_base64url(std::string_view bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t n = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      bits = bits << 8 | (k < n ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k <= n; ++k) text += kAlphabet[bits >> (18 - 6 * k) & 63];
  }
  return text;
}

}  // namespace quiver::service::access
