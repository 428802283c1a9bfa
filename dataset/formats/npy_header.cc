#include "dataset/formats/npy_header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace quiver::dataset {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxHeaderBytes = std::size_t{1} << 20;

struct TypeName {
  std::string_view text;
  ValueType type;
};
constexpr TypeName kTypeNames[] = {
    {"<f4", ValueType::kF32}, {"<f8", ValueType::kF64}, {"<f2", ValueType::kF16},
    {"|u1", ValueType::kU8},  {"|i1", ValueType::kI8},  {"<i4", ValueType::kI32},
    {"<i8", ValueType::kI64}, {"<u2", ValueType::kU16}, {"<i2", ValueType::kI16},
    {"<u4", ValueType::kU32}, {"<u8", ValueType::kU64}, {"<u1", ValueType::kU8},
    {"<i1", ValueType::kI8},
};

/// Parses the Python dictionary of the header. Every step skips blanks first.
class HeaderCursor {
 public:
  explicit HeaderCursor(std::string_view text) : text_(text) {}

  /// Skips `word` and returns true if it comes next.
  bool take(std::string_view word) {
    skip_blanks();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }

  /// Returns the inside of a quoted text.
  std::optional<std::string_view> quoted() {
    skip_blanks();
    if (text_.empty() || (text_[0] != '\'' && text_[0] != '"')) return std::nullopt;
    const std::size_t end = text_.find(text_[0], 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view inside = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return inside;
  }

  std::optional<std::uint64_t> number() {
    skip_blanks();
    std::uint64_t value = 0;
    const auto read = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (read.ec != std::errc()) return std::nullopt;
    text_.remove_prefix(static_cast<std::size_t>(read.ptr - text_.data()));
    take("L");  // as Python 2 wrote it
    return value;
  }

  /// The beginning of the unread text, for messages.
  [[nodiscard]] std::string_view rest() const { return text_.substr(0, 60); }

 private:
  void skip_blanks() {
    text_.remove_prefix(std::min(text_.find_first_not_of(" \t\n"), text_.size()));
  }

  std::string_view text_;
};

tl::unexpected<Error> wrong(std::string text) {
  return fail(Code::kInvalidArgument, std::move(text));
}

Result<ValueType> parse_descr(HeaderCursor& cursor) {
  const std::string_view rest = cursor.rest();
  const auto text = cursor.quoted();
  if (!text) return wrong(fmt::format("found values of type {}, wanted a plain type", rest));
  const auto* found = std::ranges::find(kTypeNames, *text, &TypeName::text);
  if (found != std::end(kTypeNames)) return found->type;
  if (text->starts_with('>')) {
    return wrong(fmt::format("found big-endian values ('{}'), wanted little-endian ones ('<{}')",
                             *text, text->substr(1)));
  }
  return wrong(fmt::format(
      "found values of type '{}', wanted one of f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8", *text));
}

Result<std::vector<std::uint64_t>> parse_shape(HeaderCursor& cursor) {
  const std::string rest(cursor.rest());
  std::vector<std::uint64_t> shape;
  bool is_good = cursor.take("(");
  while (is_good && !cursor.take(")")) {
    const auto n = cursor.number();
    is_good = n.has_value();
    if (is_good) shape.push_back(*n);
    if (is_good && !cursor.take(",")) {
      is_good = cursor.take(")");
      break;
    }
  }
  if (!is_good) return wrong(fmt::format("found shape {}, wanted numbers from 0 up", rest));
  return shape;
}

Result<> parse_order(HeaderCursor& cursor) {
  if (cursor.take("False")) return {};
  if (cursor.take("True")) return wrong("found Fortran order, wanted C order");
  return wrong(fmt::format("found fortran_order {}, wanted False", cursor.rest()));
}

/// Parses one `'key': value` of the dictionary; returns the key.
Result<std::string_view> parse_entry(HeaderCursor& cursor, NpyHeader& header) {
  const std::string_view rest = cursor.rest();
  const auto key = cursor.quoted();
  if (!key || !cursor.take(":")) {
    return wrong(
        fmt::format("found {} in the header, wanted 'descr', 'fortran_order' or 'shape'", rest));
  }
  if (*key == "descr") {
    QV_TRY(header.type, parse_descr(cursor));
  } else if (*key == "fortran_order") {
    QV_TRY(parse_order(cursor));
  } else if (*key == "shape") {
    QV_TRY(header.shape, parse_shape(cursor));
  } else {
    return wrong(fmt::format("found '{}' in the header, which is no key of .npy files", *key));
  }
  return *key;
}

Result<NpyHeader> parse_header(std::string_view text) {
  NpyHeader header;
  HeaderCursor cursor(text);
  std::vector<std::string_view> keys;
  bool is_open = cursor.take("{");
  if (!is_open) return wrong(fmt::format("found header {}, wanted a dictionary", cursor.rest()));
  while (is_open && !cursor.take("}")) {
    QV_TRY(keys.emplace_back(), parse_entry(cursor, header));
    if (cursor.take(",")) continue;
    is_open = false;
    if (!cursor.take("}")) return wrong("the header's dictionary does not end");
  }
  std::ranges::sort(keys);
  if (!std::ranges::equal(keys, std::vector<std::string_view>{"descr", "fortran_order", "shape"})) {
    return wrong(fmt::format("found the header keys [{}], wanted descr, fortran_order and shape",
                             fmt::join(keys, ", ")));
  }
  return header;
}

Result<std::string> read_text(ByteSource& source, std::size_t n_bytes) {
  std::string text(n_bytes, '\0');
  QV_TRY(const std::size_t n_read, source.read(std::as_writable_bytes(std::span(text))));
  text.resize(n_read);
  return text;
}

std::string hex(std::string_view bytes) {
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  return fmt::format("{:02x}", fmt::join(std::span(data, bytes.size()), " "));
}

/// Reads the length of the dictionary: after the magic come two bytes of version, then 2 or 4 of
/// length.
Result<std::size_t> read_header_size(ByteSource& source) {
  QV_TRY(const std::string header, read_text(source, kMagic.size() + 2));
  if (!std::string_view(header).starts_with(kMagic.substr(0, header.size()))) {
    return wrong(fmt::format("is no .npy file: found the bytes {} at its beginning, wanted {}",
                             hex(header), hex(kMagic)));
  }
  if (header.size() < kMagic.size() + 2) return fail(Code::kDataLoss, "ends within the header");
  const int version = static_cast<unsigned char>(header[kMagic.size()]);
  if (version < 1 || version > 3) {
    return wrong(fmt::format("found .npy version {}, wanted 1, 2 or 3", version));
  }
  const std::size_t n_length_bytes = version == 1 ? 2 : 4;
  QV_TRY(const std::string length, read_text(source, n_length_bytes));
  if (length.size() < n_length_bytes) return fail(Code::kDataLoss, "ends within the header");
  std::size_t size = 0;
  for (std::size_t i = n_length_bytes; i-- > 0;) {
    size = size << 8 | static_cast<unsigned char>(length[i]);
  }
  if (size > kMaxHeaderBytes) return wrong(fmt::format("found a header of {} bytes", size));
  return size;
}

Result<NpyHeader> read_header(ByteSource& source) {
  QV_TRY(const std::size_t size, read_header_size(source));
  QV_TRY(const std::string text, read_text(source, size));
  if (text.size() < size) return fail(Code::kDataLoss, "ends within the header");
  return parse_header(text);
}

std::string_view descr_of(ValueType type) {
  return std::ranges::find(kTypeNames, type, &TypeName::type)->text;
}

}  // namespace

Result<NpyHeader> read_npy_header(ByteSource& source) {
  const std::uint64_t begin = source.position();
  auto header = read_header(source);
  if (header) return header;
  const Error& error = header.error();
  const bool is_cut = error.code() == Code::kDataLoss;
  if (!is_cut && error.code() != Code::kInvalidArgument) return header;
  if (error.message().starts_with(source.path())) return header;
  return fail(source.error(error.code(), std::nullopt, is_cut ? source.position() : begin,
                           error.message()));
}

std::string shape_text(std::span<const std::uint64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::string npy_header_text(ValueType type, std::span<const std::uint64_t> shape) {
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr_of(type),
                  fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  const std::size_t n_text = kNpyHeaderBytes - kMagic.size() - 4;
  text.resize(n_text - 1, ' ');
  text += '\n';
  const char prefix[] = {1, 0, static_cast<char>(n_text & 0xff), static_cast<char>(n_text >> 8)};
  return std::string(kMagic) + std::string(prefix, sizeof(prefix)) + text;
}

}  // namespace quiver::dataset
