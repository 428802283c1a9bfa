#include "service/tracing/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace quiver::service::tracing {
namespace {

constexpr std::uint16_t kHttpPort = 80;
constexpr std::uint16_t kHttpsPort = 443;
constexpr std::string_view kPath = "/v1/traces";

bool is_visible(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

std::string_view trimmed(std::string_view text) {
  const auto first = std::min(text.find_first_not_of(" \t"), text.size());
  text.remove_prefix(first);
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

bool is_header_name(std::string_view name) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::ranges::all_of(name, [&](char c) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return is_letter || (c >= '0' && c <= '9') || kOthers.find(c) != std::string_view::npos;
  });
}

/// The headers that frame a request.
bool is_own_header(std::string_view name) {
  constexpr std::array<std::string_view, 5> kOwn = {"host", "connection", "content-type",
                                                    "content-length", "transfer-encoding"};
  return std::ranges::any_of(kOwn, [&](std::string_view own) {
    return std::ranges::equal(name, own, [](char a, char b) { return (a | 0x20) == b; });
  });
}

/// nullopt if a `%` is not followed by two hex digits, or the value may not stand in a header.
std::optional<std::string> decoded_value(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned byte = static_cast<unsigned char>(text[i]);
    if (text[i] == '%') {
      const auto digits = text.substr(i + 1, 2);
      const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
      if (digits.size() < 2 || parsed.ptr != digits.data() + 2) return std::nullopt;
      i += 2;
    }
    if (byte < ' ' || byte > '~') return std::nullopt;
    out.push_back(static_cast<char>(byte));
  }
  return out;
}

}  // namespace

Result<Collector> parse_collector(std::string_view url) {
  const auto wrong = [&] {
    return fail(Code::kInvalidArgument,
                fmt::format("\"{}\" is no http://HOST[:PORT][/PATH] or https://…", url));
  };
  const auto scheme_end = url.find("://");
  if (scheme_end == std::string_view::npos || !is_visible(url)) return wrong();
  const auto path_at = std::min(url.find_first_of("/?#", scheme_end + 3), url.size());
  const std::string_view origin = url.substr(0, path_at);
  const std::string_view target = url.substr(path_at);
  const bool is_origin = origin.find('@') == std::string_view::npos;
  const bool is_target = (target.empty() || target[0] == '/') && target.find('#') == target.npos;
  if (!is_origin || !is_target) return wrong();
  auto server = client::parse_url(origin, url.starts_with("https") ? kHttpsPort : kHttpPort);
  if (!server) return wrong();
  return Collector{*std::move(server),
                   std::string(target.empty() || target == "/" ? kPath : target)};
}

Result<Headers> parse_headers(std::string_view text) {
  Headers headers;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view entry = text.substr(0, text.find(','));
    text.remove_prefix(std::min(entry.size() + 1, text.size()));
    if (trimmed(entry).empty()) continue;
    const auto equals = std::min(entry.find('='), entry.size());
    const std::string_view name = trimmed(entry.substr(0, equals));
    const auto value = decoded_value(trimmed(entry.substr(std::min(equals + 1, entry.size()))));
    if (equals == entry.size() || !is_header_name(name) || is_own_header(name) || !value) {
      return fail(Code::kInvalidArgument,
                  fmt::format("header {} is no name=value with a percent-encoded value", number));
    }
    headers.emplace_back(name, *value);
  }
  return headers;
}

}  // namespace quiver::service::tracing
