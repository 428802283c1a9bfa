#include "payload/json/escape.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace quiver::payload {
namespace {

constexpr std::array<bool, 256> kNeedsEscape = [] {
  std::array<bool, 256> table{};
  for (int c = 0; c < 0x20; ++c) table[static_cast<std::size_t>(c)] = true;
  table['"'] = table['\\'] = true;
  return table;
}();

bool needs_escape(char c) { return kNeedsEscape[static_cast<unsigned char>(c)]; }

/// True if one of eight bytes needs it.
bool any_needs_escape(std::uint64_t bytes) {
  constexpr std::uint64_t kEach = 0x0101010101010101;
  const auto below = [](std::uint64_t values, std::uint64_t limit) {
    return (values - kEach * limit) & ~values & (kEach * 0x80);
  };
  return (below(bytes, 0x20) | below(bytes ^ kEach * '"', 1) | below(bytes ^ kEach * '\\', 1)) != 0;
}

/// The first place at or after `at` that needs it; the length of `text` if there is none.
std::size_t find_escape(std::string_view text, std::size_t at) {
  for (; at + sizeof(std::uint64_t) <= text.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, text.data() + at, sizeof(bytes));
    if (any_needs_escape(bytes)) break;
  }
  while (at < text.size() && !needs_escape(text[at])) ++at;
  return at;
}

void append_escape(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    default:
      break;
  }
  constexpr std::string_view kHex = "0123456789abcdef";
  out += "\\u00";
  out += kHex[static_cast<unsigned char>(c) >> 4];
  out += kHex[static_cast<unsigned char>(c) & 15];
}

}  // namespace

void append_string(std::string& out, std::string_view text) {
  out += '"';
  std::size_t start = 0;
  for (;;) {
    const std::size_t at = find_escape(text, start);
    out.append(text, start, at - start);
    if (at == text.size()) break;
    append_escape(out, text[at]);
    start = at + 1;
  }
  out += '"';
}

}  // namespace quiver::payload
