// Paths and query strings of request targets.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quiver::service {

/// A request target, split. Views into the text it was made from.
struct Target {
  static constexpr std::size_t kMaxSegments = 8;

  std::array<std::string_view, kMaxSegments> segments;  ///< still percent-encoded
  std::size_t n_segments = 0;
  std::string_view query;  ///< after '?', without a fragment
  bool too_long = false;   ///< more segments than any route has
};

/// Splits "/a/b?x=1"; one trailing slash is no segment, empty segments in between are kept.
/// Absolute targets ("http://host/a") lose their host. nullopt if it does not start with '/'.
[[nodiscard]] std::optional<Target> split_target(std::string_view target);

/// Replaces %XX. nullopt if a '%' is not followed by two hex digits, or for UTF-8 that is none.
[[nodiscard]] std::optional<std::string> percent_decode(std::string_view text);

/// The values of all "name=value" of a query string, decoded ('+' is a space); "" for "name" alone.
/// A value that cannot be decoded is returned as it stands.
[[nodiscard]] std::vector<std::string> query_parameters(std::string_view query,
                                                        std::string_view name);
/// The first of them; nullopt if it is missing.
[[nodiscard]] std::optional<std::string> query_parameter(std::string_view query,
                                                         std::string_view name);

}  // namespace quiver::service
