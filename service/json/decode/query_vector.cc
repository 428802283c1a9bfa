#include "service/json/decode/query_vector.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "kernels/kernels.h"

namespace quiver::service::json {
namespace {

/// At most half of a body is walked over to find the vector, so a failure costs little: walking
/// over a byte costs a fraction of parsing it into a tree.
constexpr std::ptrdiff_t kMaxSkippedShare = 2;
constexpr std::ptrdiff_t kSmallBytes =
    1024;  ///< always walked over, whatever the length of the body

bool is_decimal(char c) { return static_cast<unsigned char>(c - '0') < 10; }

const char* skip_space(const char* at, const char* end) {
  if (at != end && *at > ' ') return at;
  while (at != end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) ++at;
  return at;
}

/// A parsed number, and where it ends.
struct ReadFloat {
  float value = 0;
  const char* end = nullptr;
};

const char* skip_digits(const char* at, const char* end) {
  while (at != end && is_decimal(*at)) ++at;
  return at;
}

/// Returns where the number at `at` ends; nullptr if JSON allows no such number.
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
  /// if it lacks the member, or if only unescaping would show that.
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
  /// Includes the colon after the name.
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
  /// Counts brackets without matching them: the tree is stricter later.
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

/// Returns where the array of the query vector begins.
std::optional<std::size_t> find_query_array(std::string_view body, std::string_view member,
                                            std::string_view inner_member) {
  MemberCursor cursor(body);
  if (!cursor.enter(member)) return std::nullopt;
  if (!cursor.is_at('[') && !cursor.enter(inner_member)) return std::nullopt;
  if (!cursor.is_at('[')) return std::nullopt;
  return cursor.position();
}

/// Calls `read_item` for every item of the array at `at`; it returns where the item ends, or
/// nullptr. Returns where the array ends; nullptr if an item is malformed or the array is empty.
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
    constexpr std::size_t kMostAlone = 64;
    std::size_t n_alone = 0;  // numbers read one by one before plain decimals are tried again
    std::size_t next_alone = 1;
    return read_items(at, end_, [&](const char* item) -> const char* {
      if (n_alone == 0) {
        if (const char* last = read_decimals(item, out)) return next_alone = 1, last;
        n_alone = next_alone;
        next_alone = std::min(2 * next_alone, kMostAlone);
      }
      --n_alone;
      const auto number = read_number(item, end_);
      if (!number) return nullptr;
      out.push_back(number->value);
      return number->end;
    });
  }
  /// Reads rows that must have one length.
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
  /// Returns where the decimals from `at` on end; nullptr if kernels cannot read the first.
  const char* read_decimals(const char* at, std::vector<float>& out) const {
    if (at - begin_ < DecimalKernels::kReadBefore) return nullptr;
    std::array<float, 256> values;
    const DecimalsRead read = kernels().decimals.read(at, end_, values.data(), values.size());
    out.insert(out.end(), values.begin(), values.begin() + static_cast<std::ptrdiff_t>(read.n));
    return read.n == 0 ? nullptr : read.end;
  }

  const char* begin_;
  const char* end_;
};

/// A vector and the number of bytes that it was read from.
struct ReadVector {
  engine::VectorValue value;
  std::size_t n_bytes = 0;
};

/// Reads the array at `offset`.
std::optional<ReadVector> read_vector(std::string_view text, std::size_t offset) {
  constexpr std::size_t kBytesPerNumber = 8;  // the least that most vectors take
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
