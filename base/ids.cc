#include "base/ids.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace quiver {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// True where the hyphenated form has its hyphens.
constexpr bool is_hyphen_position(std::size_t i) { return i == 8 || i == 13 || i == 18 || i == 23; }

std::string_view strip_wrapping(std::string_view text) {
  constexpr std::string_view kUrn = "urn:uuid:";
  if (text.size() == 38 && text.front() == '{' && text.back() == '}') return text.substr(1, 36);
  if (text.size() == kUrn.size() + 36 && text.starts_with(kUrn)) return text.substr(kUrn.size());
  return text;
}

void put_big_endian(std::uint64_t value, char* out) {
  for (int i = 0; i < 8; ++i) out[i] = static_cast<char>(value >> (56 - 8 * i));
}

std::uint64_t get_big_endian(const char* in) {
  std::uint64_t value = 0;
  for (int i = 0; i < 8; ++i) value = (value << 8) | static_cast<unsigned char>(in[i]);
  return value;
}

/// Finaliser of SplitMix64 (Steele, Lea, Flood 2014): every input bit reaches every output bit.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

std::optional<PointId> PointId::parse_uuid(std::string_view text) {
  text = strip_wrapping(text);
  const bool hyphenated = text.size() == 36;
  if (!hyphenated && text.size() != 32) return std::nullopt;
  std::array<std::uint64_t, 2> halves{};
  int n_digits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (hyphenated && is_hyphen_position(i)) {
      if (text[i] != '-') return std::nullopt;
      continue;
    }
    const int digit = hex_value(text[i]);
    if (digit < 0) return std::nullopt;
    auto& half = halves[static_cast<std::size_t>(n_digits++ / 16)];
    half = (half << 4) | static_cast<std::uint64_t>(digit);
  }
  return uuid(halves[0], halves[1]);
}

std::optional<PointId> PointId::parse(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return number(value);
  return parse_uuid(text);
}

std::string PointId::to_key() const {
  std::string key(kKeyBytes, '\0');
  key[0] = static_cast<char>(kind_);
  put_big_endian(high_, key.data() + 1);
  put_big_endian(low_, key.data() + 9);
  return key;
}

std::optional<PointId> PointId::from_key(std::string_view key) {
  if (key.size() != kKeyBytes || static_cast<unsigned char>(key[0]) > 1) return std::nullopt;
  return PointId(static_cast<Kind>(key[0]), get_big_endian(key.data() + 1),
                 get_big_endian(key.data() + 9));
}

std::string PointId::to_string() const {
  if (kind_ == Kind::kNumber) return fmt::format("{}", low_);
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high_ >> 32, (high_ >> 16) & 0xffff,
                     high_ & 0xffff, low_ >> 48, low_ & 0xffffffffffffULL);
}

std::uint64_t PointId::hash() const {
  return mix(low_ + mix(high_ + 0x9e3779b97f4a7c15ULL * (static_cast<std::uint64_t>(kind_) + 1)));
}

}  // namespace quiver
