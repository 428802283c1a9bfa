// Paths and query strings of request targets.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quiver::service {

/// A request target in parts, which are views into its text.
struct Target {
  static constexpr std::size_t kMaxSegments = 8;

  std::array<std::string_view, kMaxSegments> segments;  ///< still percent-encoded
  std::size_t n_segments = 0;
  std::string_view query;  ///< after '?', without a fragment
  bool too_long = false;   ///< more segments than any route has
};

/// Splits "/a/b?x=1". One trailing slash makes no segment; empty segments in between are kept. The
/// host of an absolute target ("http://host/a") is dropped. nullopt if the rest does not start with
/// '/'.
[[nodiscard]] std::optional<Target> split_target(std::string_view target);

/// Replaces %XX. nullopt if a '%' is not followed by two hex digits, or if the result is not UTF-8.
[[nodiscard]] std::optional<std::string> percent_decode(std::string_view text);

/// The decoded values of all "name=value" in a query string; "" for "name" alone. '+' is a space.
/// A value that cannot be decoded is returned unchanged.
[[nodiscard]] std::vector<std::string> query_parameters(std::string_view query,
                                                        std::string_view name);
/// The first value; nullopt if there is none.
[[nodiscard]] std::optional<std::string> query_parameter(std::string_view query,
                                                         std::string_view name);

}  // namespace quiver::service
