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

/// Walking over a byte costs a fraction of what reading it through a tree does: half of a body is
/// walked over at most, so that a vector that is not found costs little.
constexpr std::ptrdiff_t kMaxSkippedShare = 2;
constexpr std::ptrdiff_t kSmallBytes = 1024;  ///< that are walked over whatever the body

bool is_decimal(char c) { return static_cast<unsigned char>(c - '0') < 10; }

const char* skip_space(const char* at, const char* end) {
  if (at != end && *at > ' ') return at;
  while (at != end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) ++at;
  return at;
}

std::uint64_t load(const char* at) {
  static_assert(std::endian::native == std::endian::little);
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, at, sizeof bytes);
  return bytes;
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
std::uint64_t value_of_digits(std::uint64_t bytes) {
  bytes = bytes * (1 + (10 << 8)) >> 8;
  bytes = (bytes & 0x00FF00FF00FF00FF) * (1 + (100 << 16)) >> 16;
  return (bytes & 0x0000FFFF0000FFFF) * (1 + (10000ULL << 32)) >> 32;
}

/// The longest fractions that are read at once, and how many of their digits count.
constexpr std::ptrdiff_t kMaxFraction = 24;
constexpr unsigned kFractionDigits = 16;
constexpr std::uint64_t kMaxWhole = 99;  ///< before so many digits, within 63 bits

/// What the digits of a fraction count for, by how many there are.
struct Scale {
  std::uint64_t keep_high = 0;  ///< of the sixteen bytes that end with them, which are theirs,
  std::uint64_t keep_low = 0;   ///< as bits of a digit's value; the high half comes first
  std::uint64_t power = 0;      ///< ten to their number
  double inverse = 0;
};

constexpr auto kScales = [] {
  constexpr std::uint64_t kValues = 0x0F0F0F0F0F0F0F0F;
  const auto last = [](unsigned n) { return n == 0 ? 0 : kValues << (64 - 8 * n); };
  std::array<Scale, kFractionDigits + 1> scales{};
  std::uint64_t power = 1;
  for (unsigned n = 0; n <= kFractionDigits; ++n, power *= 10) {
    scales[n] = {last(n > 8 ? n - 8 : 0), last(n < 8 ? n : 8), power,
                 1.0 / static_cast<double>(power)};
  }
  return scales;
}();

/// The float nearest to the double nearest to a number of which is known that it is `value` or up
/// to `more` above; none if that cannot be told.
std::optional<float> float_of(double value, double more) {
  // Above what two roundings and a product may be off by.
  constexpr double kUnits = 1.0 / (1ULL << 49);
  const auto low = static_cast<float>(value - value * kUnits);
  const auto high = static_cast<float>(value + value * kUnits + more);
  if (low != high) return std::nullopt;
  return low;
}

/// A number that was read, and where it ends.
struct ReadFloat {
  float value = 0;
  const char* end = nullptr;
};

/// A number with a fraction and no exponent, as those of vectors are, without a branch on how many
/// digits it has. None if it is another one, or near the ends of the text: it reads 16 bytes
/// before the fraction and 24 of it.
std::optional<ReadFloat> read_fraction(const char* begin, const char* at, const char* end) {
  const std::uint32_t sign = at != end && *at == '-' ? 1 : 0;
  at += sign;
  std::uint64_t whole = 0;
  const char* point = at;
  for (; point != end && is_decimal(*point) && whole <= kMaxWhole; ++point) {
    whole = whole * 10 + static_cast<unsigned>(*point - '0');
  }
  const bool is_whole = point != at && (*at != '0' || point - at == 1) && whole <= kMaxWhole;
  const bool is_inside = end - point > kMaxFraction + 1 && point + 1 - begin >= kFractionDigits;
  if (!is_whole || !is_inside || *point != '.') return std::nullopt;
  const char* fraction = point + 1;
  unsigned n = count_digits(load(fraction));
  n += n == 8 ? count_digits(load(fraction + 8)) : 0;
  n += n == 16 ? count_digits(load(fraction + 16)) : 0;
  const char* last = fraction + n;
  if (n == 0 || n == kMaxFraction || *last == 'e' || *last == 'E') return std::nullopt;
  const unsigned n_read = std::min(n, kFractionDigits);
  const Scale& scale = kScales[n_read];
  const char* tail = fraction + n_read - 8;
  const std::uint64_t digits = value_of_digits(load(tail - 8) & scale.keep_high) * 100'000'000 +
                               value_of_digits(load(tail) & scale.keep_low);
  const double unread = n > n_read ? scale.inverse : 0;
  const auto value = float_of(
      static_cast<double>(static_cast<std::int64_t>(whole * scale.power + digits)) * scale.inverse,
      unread);
  if (!value) return std::nullopt;
  return ReadFloat{std::bit_cast<float>(std::bit_cast<std::uint32_t>(*value) | sign << 31), last};
}

const char* skip_digits(const char* at, const char* end) {
  while (at != end && is_decimal(*at)) ++at;
  return at;
}

/// Where the number at `at` ends; nullptr if it is none that JSON allows.
const char* skip_number(const char* at, const char* end) {
  if (at != end && *at == '-') ++at;
  const char* whole = at;
  at = skip_digits(at, end);
  if (at == whole || (*whole == '0' && at - whole > 1)) return nullptr;
  if (at != end && *at == '.') {
    const char* fraction = ++at;
    at = skip_digits(at, end);
    if (at == fraction) return nullptr;
  }
  if (at == end || (*at != 'e' && *at != 'E')) return at;
  ++at;
  if (at != end && (*at == '-' || *at == '+')) ++at;
  const char* exponent = at;
  at = skip_digits(at, end);
  return at == exponent ? nullptr : at;
}

std::optional<ReadFloat> read_number(const char* at, const char* end) {
  const char* last = skip_number(at, end);
  if (last == nullptr) return std::nullopt;
  double value = 0;
  const auto parsed = std::from_chars(at, last, value);
  const auto narrow = static_cast<float>(value);
  if (parsed.ec != std::errc() || parsed.ptr != last || !std::isfinite(narrow)) return std::nullopt;
  return ReadFloat{narrow, last};
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
    const std::ptrdiff_t most = std::max((end_ - begin_) / kMaxSkippedShare, kSmallBytes);
    const char* last = begin_ + std::min(most, end_ - begin_);
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

/// Reads arrays out of one text.
class ArrayReader {
 public:
  explicit ArrayReader(std::string_view text)
      : begin_(text.data()), end_(text.data() + text.size()) {}

  const char* read_floats(const char* at, std::vector<float>& out) const {
    return read_items(at, end_, [&](const char* item) -> const char* {
      auto number = read_fraction(begin_, item, end_);
      if (!number) number = read_number(item, end_);
      if (!number) return nullptr;
      out.push_back(number->value);
      return number->end;
    });
  }
  /// Rows of one length.
  const char* read_rows(const char* at, engine::MultiVector& out) const {
    return read_items(at, end_, [&](const char* row) -> const char* {
      if (row == end_ || *row != '[') return nullptr;
      const std::size_t n_before = out.values.size();
      const char* last = read_floats(row, out.values);
      const auto dim = static_cast<std::uint32_t>(out.values.size() - n_before);
      if (out.n_tokens++ == 0) out.dim = dim;
      return dim == out.dim ? last : nullptr;
    });
  }
  [[nodiscard]] bool has_rows(const char* at) const {
    const char* first = skip_space(at + 1, end_);
    return first != end_ && *first == '[';
  }

 private:
  const char* begin_;
  const char* end_;
};

/// A vector and how many bytes it was read from.
struct ReadVector {
  engine::VectorValue value;
  std::size_t n_bytes = 0;
};

/// Of the array at `offset`.
std::optional<ReadVector> read_vector(std::string_view text, std::size_t offset) {
  constexpr std::size_t kBytesPerNumber = 8;  // at least, of most vectors
  const ArrayReader reader(text);
  const char* begin = text.data() + offset;
  const bool has_rows = reader.has_rows(begin);
  engine::MultiVector multi;
  multi.values.reserve((text.size() - offset) / kBytesPerNumber);
  const char* last =
      has_rows ? reader.read_rows(begin, multi) : reader.read_floats(begin, multi.values);
  if (last == nullptr) return std::nullopt;
  const auto n_bytes = static_cast<std::size_t>(last - begin);
  if (has_rows) return ReadVector{std::move(multi), n_bytes};
  return ReadVector{std::move(multi.values), n_bytes};
}

}  // namespace

std::optional<engine::VectorValue> take_query_vector(std::string& body, std::string_view member,
                                                     std::string_view inner_member) {
  const auto begin = find_query_array(body, member, inner_member);
  if (!begin) return std::nullopt;
  auto vector = read_vector(body, *begin);
  if (!vector) return std::nullopt;
  body.replace(*begin, vector->n_bytes, "[0]");
  return std::move(vector->value);
}

}  // namespace quiver::service::json
