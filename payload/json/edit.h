// Changes of a payload, and selection of its parts for an answer. All on canonical JSON text.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "payload/json/path.h"

namespace quiver::payload {

/// Merges the members of `patch` into `document`; a member that is null removes the key. Without
/// `key` it merges at the top level, else into each object that `key` leads to. On that path, a
/// missing value or one of the wrong type becomes an object (for a key) or an empty array (for
/// `[]`, `[i]`); missing array elements are not added. Both texts must be JSON objects
/// (kInvalidArgument).
[[nodiscard]] Result<std::string> set(std::string_view document, std::string_view patch,
                                      const std::optional<JsonPath>& key = std::nullopt);

/// Returns the replacement as canonical text; it must be an object (kInvalidArgument).
[[nodiscard]] Result<std::string> overwrite(std::string_view replacement);

/// `document` without the values at the paths. A path that ends in `[]` empties the array; one that
/// ends in `[i]` removes nothing.
[[nodiscard]] Result<std::string> remove_keys(std::string_view document,
                                              std::span<const JsonPath> paths);

/// Selects the parts of a payload to show.
class Selector {
 public:
  enum class Kind : std::uint8_t { kNone, kAll, kInclude, kExclude };

  [[nodiscard]] static Selector none() { return Selector(Kind::kNone, {}); }
  [[nodiscard]] static Selector all() { return Selector(Kind::kAll, {}); }
  /// Selects everything on, at or below one of `paths`. Paths must enter arrays with `[]`.
  [[nodiscard]] static Selector include(std::vector<JsonPath> paths) {
    return Selector(Kind::kInclude, std::move(paths));
  }
  /// Selects everything except what is at or below one of `paths`.
  [[nodiscard]] static Selector exclude(std::vector<JsonPath> paths) {
    return Selector(Kind::kExclude, std::move(paths));
  }

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] bool is_none() const { return kind_ == Kind::kNone; }
  [[nodiscard]] std::span<const JsonPath> paths() const { return paths_; }
  bool operator==(const Selector&) const = default;

 private:
  Selector(Kind kind, std::vector<JsonPath> paths) : kind_(kind), paths_(std::move(paths)) {}

  Kind kind_;
  std::vector<JsonPath> paths_;
};

/// The selected part of `document`, a stored (canonical) payload; an empty one is `{}`. With `none`
/// the result is `{}`.
[[nodiscard]] std::string select(std::string_view document, const Selector& selector);

}  // namespace quiver::payload
