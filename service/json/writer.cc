#include "service/json/writer.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

namespace quiver::service::json {
namespace {

constexpr std::size_t kMaxNumberBytes = 32;

/// Prints to `first`, which has room for kMaxNumberBytes; returns the end.
template <class T>
char* print_fraction(char* first, T value) {
  if (!std::isfinite(value)) {
    std::memcpy(first, "null", 4);
    return first + 4;
  }
  char* last = std::to_chars(first, first + kMaxNumberBytes, value).ptr;
  for (const char* p = first; p != last; ++p) {
    if (*p == '.' || *p == 'e') return last;
  }
  *last++ = '.';
  *last++ = '0';
  return last;
}

template <class T>
void append_number(std::string& out, T value) {
  std::array<char, kMaxNumberBytes> text;  // filled by to_chars
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  out.append(text.data(), end);
}

template <class T>
void append_fraction(std::string& out, T value) {
  std::array<char, kMaxNumberBytes + 2> text;
  out.append(text.data(), print_fraction(text.data(), value));
}

}  // namespace

void append_f64(std::string& out, double value) { append_fraction(out, value); }

void Writer::escaped_key(std::string_view name) {
  separate();
  append_string(out_, name);
  out_ += ':';
  needs_comma_ = false;
}

void Writer::string(std::string_view text) {
  separate();
  append_string(out_, text);
  needs_comma_ = true;
}

void Writer::u64(std::uint64_t value) {
  separate();
  append_number(out_, value);
  needs_comma_ = true;
}

void Writer::i64(std::int64_t value) {
  separate();
  append_number(out_, value);
  needs_comma_ = true;
}

void Writer::f32(float value) {
  separate();
  append_fraction(out_, value);
  needs_comma_ = true;
}

void Writer::f64(double value) {
  separate();
  append_fraction(out_, value);
  needs_comma_ = true;
}

void Writer::floats(std::span<const float> values) {
  constexpr std::size_t kMaxFloatBytes = 20;  // "-1.1754944e-38," and the appended ".0"
  separate();
  out_ += '[';
  const std::size_t start = out_.size();
  out_.resize(start + values.size() * kMaxFloatBytes + kMaxNumberBytes);
  char* p = out_.data() + start;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i != 0) *p++ = ',';
    p = print_fraction(p, values[i]);
  }
  out_.resize(static_cast<std::size_t>(p - out_.data()));
  out_ += ']';
  needs_comma_ = true;
}

}  // namespace quiver::service::json
