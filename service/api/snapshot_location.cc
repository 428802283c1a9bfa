#include "service/api/snapshot_location.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace quiver::service::api {
namespace {

constexpr std::string_view kFileScheme = "file://";
constexpr std::string_view kHttpScheme = "http://";
constexpr std::string_view kHttpsScheme = "https://";
constexpr std::uint16_t kHttpPort = 80;
constexpr std::uint16_t kHttpsPort = 443;

tl::unexpected<Error> bad_location(std::string text) {
  return fail(Code::kFailedPrecondition, std::move(text));
}

/// Replaces %XX; nullopt if two hexadecimal digits are missing, or for a zero byte.
std::optional<std::string> unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    unsigned value = 0;
    const char* first = text.data() + i + 1;
    const char* last = text.data() + std::min(i + 3, text.size());
    const auto [end, ec] = std::from_chars(first, last, value, 16);
    if (ec != std::errc() || end != first + 2 || value == 0) return std::nullopt;
    out += static_cast<char>(value);
    i += 2;
  }
  return out;
}

Result<SnapshotLocation> parse_file(std::string_view rest) {
  constexpr std::string_view kLocalhost = "localhost";
  if (rest.starts_with(kLocalhost)) rest.remove_prefix(kLocalhost.size());
  const auto path = unescape(rest);
  if (!path || !path->starts_with('/')) {
    return bad_location("Invalid snapshot URI, file path must be absolute or on localhost");
  }
  return SnapshotLocation(FileLocation{*path});
}

Result<SnapshotLocation> parse_http(std::string_view text) {
  const bool is_tls = text.starts_with(kHttpsScheme);
  const std::string_view rest = text.substr((is_tls ? kHttpsScheme : kHttpScheme).size());
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  std::string_view target = rest.substr(authority.size());
  target = target.substr(0, target.find('#'));
  HttpLocation location{std::string(authority), is_tls ? kHttpsPort : kHttpPort,
                        std::string(target), is_tls};
  if (!target.starts_with('/')) location.target.insert(0, "/");
  const auto colon = authority.rfind(':');
  if (colon != std::string_view::npos && !authority.ends_with(']')) {
    const std::string_view port = authority.substr(colon + 1);
    const char* last = port.data() + port.size();
    const auto [end, ec] = std::from_chars(port.data(), last, location.port);
    if (ec != std::errc() || end != last) {
      return bad_location(fmt::format("the port of `{}` is no number", text));
    }
    location.host = authority.substr(0, colon);
  }
  if (location.host.starts_with('[') && location.host.ends_with(']')) {
    location.host = location.host.substr(1, location.host.size() - 2);
  }
  const bool is_plain = std::ranges::none_of(text, [](unsigned char c) { return c <= 0x20; });
  if (location.host.empty() || location.host.find('@') != std::string::npos || !is_plain) {
    return bad_location(fmt::format("`{}` is no http://HOST:PORT/PATH", text));
  }
  return SnapshotLocation(std::move(location));
}

}  // namespace

Result<SnapshotLocation> parse_location(std::string_view text) {
  if (text.starts_with(kFileScheme)) return parse_file(text.substr(kFileScheme.size()));
  if (text.starts_with(kHttpScheme) || text.starts_with(kHttpsScheme)) return parse_http(text);
  const auto scheme = text.find("://");
  if (scheme != std::string_view::npos) {
    return bad_location(
        fmt::format("URL {} with scheme {} is not supported", text, text.substr(0, scheme)));
  }
  if (text.empty() || text.find('/') != std::string_view::npos) {
    return bad_location(fmt::format("`{}` is neither a URL nor the name of a snapshot", text));
  }
  return SnapshotLocation(FileLocation{std::string(text)});
}

Result<> check_host(std::string_view host, std::string_view allowed) {
  constexpr std::array<std::string_view, 3> kLocal = {"localhost", "127.0.0.1", "::1"};
  if (std::ranges::find(kLocal, host) != kLocal.end()) return {};
  while (!allowed.empty()) {
    const std::string_view name = allowed.substr(0, allowed.find(','));
    if (name == "*" || name == host) return {};
    allowed.remove_prefix(std::min(name.size() + 1, allowed.size()));
  }
  return fail(Code::kPermissionDenied,
              fmt::format("Snapshot recovery from host `{}` is not allowed; "
                          "`service.snapshot_url_hosts` names the hosts that are",
                          host));
}

}  // namespace quiver::service::api
