#include "service/json/query_vector.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

namespace quiver::service::json {
namespace {

constexpr std::ptrdiff_t kMaxDigits = 19;  ///< that surely fit 64 bits
/// Walking over a byte costs a fraction of what reading it through a tree does: half of a body is
/// walked over at most, so that a vector that is not found costs little.
constexpr std::ptrdiff_t kMaxSkippedShare = 2;
constexpr std::ptrdiff_t kSmallBytes = 1024;  ///< that are walked over whatever the body
constexpr std::array kPowersOfTen = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                     1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                     1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

bool is_decimal(char c) { return static_cast<unsigned char>(c - '0') < 10; }

const char* skip_space(const char* at, const char* end) {
  if (at != end && *at > ' ') return at;
  while (at != end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) ++at;
  return at;
}

/// How many of eight bytes (the first one lowest) are digits before another character. Of `bytes`
/// with every '0' turned into 0, those above 9 reach their high bit when 0x76 is added; a carry
/// spoils only what comes after one of them.
unsigned count_digits(std::uint64_t bytes) {
  const std::uint64_t offset = bytes ^ 0x3030303030303030;
  const std::uint64_t others = ((offset + 0x7676767676767676) | offset) & 0x8080808080808080;
  return static_cast<unsigned>(std::countr_zero(others)) / 8;
}

/// Of eight digits: pairs are joined, then pairs of pairs, then those, each step in one product.
std::uint32_t value_of_digits(std::uint64_t bytes) {
  bytes = (bytes & 0x0F0F0F0F0F0F0F0F) * (1 + (10 << 8)) >> 8;
  bytes = (bytes & 0x00FF00FF00FF00FF) * (1 + (100 << 16)) >> 16;
  return static_cast<std::uint32_t>((bytes & 0x0000FFFF0000FFFF) * (1 + (10000ULL << 32)) >> 32);
}

/// Appends the few digits at `at` to `value`; returns where they end.
const char* read_few_digits(const char* at, const char* end, std::uint64_t& value) {
  for (; at != end && is_decimal(*at); ++at) value = value * 10 + static_cast<unsigned>(*at - '0');
  return at;
}

/// As `read_few_digits`, eight at a time.
const char* read_digits(const char* at, const char* end, std::uint64_t& value) {
  static_assert(std::endian::native == std::endian::little);
  constexpr std::array<std::uint32_t, 8> kPowers = {1,     10,     100,     1000,
                                                    10000, 100000, 1000000, 10000000};
  while (end - at >= 8) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, at, sizeof bytes);
    const unsigned n = count_digits(bytes);
    if (n == 0) return at;
    if (n < 8) {  // the digits go to the end, zeros before them
      value = value * kPowers[n] + value_of_digits(bytes << (64 - 8 * n));
      return at + n;
    }
    value = value * 100'000'000 + value_of_digits(bytes);
    at += 8;
  }
  return read_few_digits(at, end, value);
}

/// A number as JSON writes it: `digits` without the point, times ten to the `exponent`.
struct Decimal {
  bool negative = false;
  std::uint64_t digits = 0;
  bool overflowed = false;  ///< `digits` is of no use
  std::int64_t exponent = 0;
};

/// Where the exponent at `at` ends; nullptr if it is none.
const char* read_exponent(const char* at, const char* end, std::int64_t& exponent) {
  const bool negative = at != end && *at == '-';
  if (at != end && (*at == '-' || *at == '+')) ++at;
  std::uint64_t value = 0;
  const char* last = read_few_digits(at, end, value);
  if (last == at || last - at > 4) return nullptr;
  exponent += negative ? -static_cast<std::int64_t>(value) : static_cast<std::int64_t>(value);
  return last;
}

/// Where the number at `at` ends; nullptr if it is none that JSON allows.
const char* read_decimal(const char* at, const char* end, Decimal& out) {
  out.negative = at != end && *at == '-';
  if (out.negative) ++at;
  const char* whole = at;
  at = read_few_digits(at, end, out.digits);
  if (at == whole || (*whole == '0' && at - whole > 1)) return nullptr;
  auto n_digits = at - whole;
  if (at != end && *at == '.') {
    const char* fraction = ++at;
    // Zeros that lead count for nothing.
    while (out.digits == 0 && at != end && *at == '0') ++at;
    const char* digits = at;
    at = read_digits(at, end, out.digits);
    if (at == fraction) return nullptr;
    out.exponent = fraction - at;
    n_digits += at - digits;
  }
  out.overflowed = n_digits > kMaxDigits;
  if (at != end && (*at == 'e' || *at == 'E')) return read_exponent(at + 1, end, out.exponent);
  return at;
}

/// True if a double that is off by two units may round to another float than its neighbours do.
bool is_near_a_tie(double value) {
  constexpr std::uint64_t kDropped = (1ULL << 29) - 1;  // bits that a float has not
  constexpr std::uint64_t kTie = 1ULL << 28;
  const std::uint64_t dropped = std::bit_cast<std::uint64_t>(value) & kDropped;
  return dropped >= kTie - 2 && dropped <= kTie + 2;
}

/// Digits and power each round at most once, so the quotient is within two units of the nearest
/// double, which is all that a float needs unless it lies between two of them.
std::optional<float> quick_float(const Decimal& number) {
  constexpr double kSmallest = 1e-30;  // far from where floats lose digits or end
  constexpr double kLargest = 1e30;
  const auto power = static_cast<std::size_t>(std::abs(number.exponent));
  if (number.overflowed || power >= kPowersOfTen.size()) return std::nullopt;
  const auto digits = static_cast<double>(number.digits);
  const double value =
      number.exponent < 0 ? digits / kPowersOfTen[power] : digits * kPowersOfTen[power];
  const bool is_zero = number.digits == 0;
  if (!is_zero && (value < kSmallest || value > kLargest || is_near_a_tie(value))) {
    return std::nullopt;
  }
  return static_cast<float>(number.negative ? -value : value);
}

std::optional<float> exact_float(const char* begin, const char* end) {
  double value = 0;
  const auto parsed = std::from_chars(begin, end, value);
  const auto narrow = static_cast<float>(value);
  if (parsed.ec != std::errc() || parsed.ptr != end || !std::isfinite(narrow)) return std::nullopt;
  return narrow;
}

/// Where the number at `at` ends; nullptr if there is none or it is no finite float.
const char* append_float(const char* at, const char* end, std::vector<float>& out) {
  Decimal number;
  const char* last = read_decimal(at, end, number);
  if (last == nullptr) return nullptr;
  auto value = quick_float(number);
  if (!value) value = exact_float(at, last);
  if (!value) return nullptr;
  out.push_back(*value);
  return last;
}

/// Walks over the members of an object without unescaping anything.
class MemberCursor {
 public:
  explicit MemberCursor(std::string_view text)
      : begin_(text.data()), at_(text.data()), end_(text.data() + text.size()) {}

  /// Enters the object here and goes to the value of its member `name`. False if this is no object,
  /// it has none, or that cannot be told without unescaping.
  bool enter(std::string_view name) {
    if (!take('{')) return false;
    do {
      const auto key = take_key();
      if (!key) return false;
      if (*key == name) return true;
      if (!skip_value()) return false;
    } while (take(','));
    return false;
  }
  [[nodiscard]] bool is_at(char c) {
    at_ = skip_space(at_, end_);
    return at_ != end_ && *at_ == c;
  }
  [[nodiscard]] std::size_t position() const { return static_cast<std::size_t>(at_ - begin_); }

 private:
  bool take(char c) {
    if (!is_at(c)) return false;
    ++at_;
    return true;
  }
  /// With the colon after it.
  std::optional<std::string_view> take_key() {
    if (!is_at('"')) return std::nullopt;
    const char* begin = at_ + 1;
    if (!skip_string()) return std::nullopt;
    const std::string_view key(begin, static_cast<std::size_t>(at_ - 1 - begin));
    if (key.find('\\') != std::string_view::npos || !take(':')) return std::nullopt;
    return key;
  }
  bool skip_string() {
    for (++at_; at_ < end_; ++at_) {
      if (*at_ == '"') return ++at_, true;
      if (*at_ == '\\') ++at_;
    }
    return false;
  }
  /// Brackets are counted, not matched: the tree will be stricter.
  bool skip_value() {
    std::size_t depth = 0;
    const char* last = begin_ + std::max((end_ - begin_) / kMaxSkippedShare, kSmallBytes);
    last = std::min(last, end_);
    while (at_ < last) {
      const char c = *at_;
      if (depth == 0 && (c == ',' || c == '}' || c == ']')) return true;
      if (c == '"') {
        if (!skip_string()) return false;
        continue;
      }
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') --depth;
      ++at_;
    }
    return false;
  }

  const char* begin_;
  const char* at_;
  const char* end_;
};

/// Where the array of the query vector begins.
std::optional<std::size_t> find_query_array(std::string_view body, std::string_view member,
                                            std::string_view inner_member) {
  MemberCursor cursor(body);
  if (!cursor.enter(member)) return std::nullopt;
  if (!cursor.is_at('[') && !cursor.enter(inner_member)) return std::nullopt;
  if (!cursor.is_at('[')) return std::nullopt;
  return cursor.position();
}

/// Calls `read_item`, which returns where the item ends or nullptr, for every item of the array at
/// `at`. Where the array ends; nullptr if an item is none, or it has none.
const char* read_items(const char* at, const char* end, auto&& read_item) {
  ++at;  // the bracket
  while (true) {
    at = read_item(skip_space(at, end));
    if (at == nullptr) return nullptr;
    at = skip_space(at, end);
    if (at == end || (*at != ',' && *at != ']')) return nullptr;
    if (*at++ == ']') return at;
  }
}

const char* read_floats(const char* at, const char* end, std::vector<float>& out) {
  return read_items(at, end, [&](const char* item) { return append_float(item, end, out); });
}

/// Rows of one length.
const char* read_rows(const char* at, const char* end, engine::MultiVector& out) {
  return read_items(at, end, [&](const char* row) -> const char* {
    if (row == end || *row != '[') return nullptr;
    const std::size_t n_before = out.values.size();
    const char* last = read_floats(row, end, out.values);
    const auto dim = static_cast<std::uint32_t>(out.values.size() - n_before);
    if (out.n_tokens++ == 0) out.dim = dim;
    return dim == out.dim ? last : nullptr;
  });
}

/// A vector and how many bytes it was read from.
struct ReadVector {
  engine::VectorValue value;
  std::size_t n_bytes = 0;
};

std::optional<ReadVector> read_vector(std::string_view text) {
  constexpr std::size_t kBytesPerNumber = 8;  // at least, of most vectors
  const char* begin = text.data();
  const char* end = begin + text.size();
  const char* first = skip_space(begin + 1, end);
  const bool is_matrix = first != end && *first == '[';
  engine::MultiVector multi;
  multi.values.reserve(text.size() / kBytesPerNumber);
  const char* last =
      is_matrix ? read_rows(begin, end, multi) : read_floats(begin, end, multi.values);
  if (last == nullptr) return std::nullopt;
  const auto n_bytes = static_cast<std::size_t>(last - begin);
  if (is_matrix) return ReadVector{std::move(multi), n_bytes};
  return ReadVector{std::move(multi.values), n_bytes};
}

}  // namespace

std::optional<engine::VectorValue> take_query_vector(std::string& body, std::string_view member,
                                                     std::string_view inner_member) {
  const auto begin = find_query_array(body, member, inner_member);
  if (!begin) return std::nullopt;
  auto vector = read_vector(std::string_view(body).substr(*begin));
  if (!vector) return std::nullopt;
  body.replace(*begin, vector->n_bytes, "[0]");
  return std::move(vector->value);
}

}  // namespace quiver::service::json
