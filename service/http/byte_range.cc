#include "service/http/byte_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace quiver::service {
namespace {

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const char* last = text.data() + text.size();
  const auto [end, ec] = std::from_chars(text.data(), last, value);
  return ec == std::errc() && end == last ? std::optional(value) : std::nullopt;
}

}  // namespace

Result<std::optional<ByteRange>> parse_range(std::string_view header, std::uint64_t size_bytes) {
  constexpr std::string_view kUnit = "bytes=";
  const auto dash = header.find('-');
  if (!header.starts_with(kUnit) || dash == std::string_view::npos) {
    return std::optional<ByteRange>();
  }
  const std::string_view first_text = header.substr(kUnit.size(), dash - kUnit.size());
  const std::string_view last_text = header.substr(dash + 1);
  const auto first = number(first_text);
  const auto last = number(last_text);
  if ((!first && !first_text.empty()) || (!last && !last_text.empty()) || (!first && !last) ||
      (first && last && *last < *first)) {
    return std::optional<ByteRange>();
  }
  if (!first) {  // the last so many bytes
    const std::uint64_t n = std::min(*last, size_bytes);
    if (n > 0) return std::optional(ByteRange{size_bytes - n, n});
  } else if (*first < size_bytes) {
    const std::uint64_t end = last ? std::min(*last, size_bytes - 1) + 1 : size_bytes;
    return std::optional(ByteRange{*first, end - *first});
  }
  return fail(Code::kOutOfRange,
              fmt::format("range `{}` of a body with {} bytes", header, size_bytes));
}

}  // namespace quiver::service
