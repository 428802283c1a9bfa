// Changes of a payload, and the parts of it that an answer shows. All on canonical JSON text.
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

/// `document` with the members of `patch` put in; a member that is null removes the key. Without
/// `key` at the top level; with it, into each object that `key` leads to. On the way there, what is
/// missing or of another type becomes an object (for a key) or an empty array (for `[]`, `[i]`);
/// elements that an array lacks are not added. Both texts are JSON objects (kInvalidArgument).
[[nodiscard]] Result<std::string> set(std::string_view document, std::string_view patch,
                                      const std::optional<Path>& key = std::nullopt);

/// The new document as canonical text; it must be an object (kInvalidArgument).
[[nodiscard]] Result<std::string> overwrite(std::string_view replacement);

/// `document` without what the paths lead to. A path that ends in `[]` empties the array; one that
/// ends in `[i]` removes nothing.
[[nodiscard]] Result<std::string> remove_keys(std::string_view document,
                                              std::span<const Path> paths);

/// Which parts of a payload to show.
class Selector {
 public:
  enum class Kind : std::uint8_t { kNone, kAll, kInclude, kExclude };

  [[nodiscard]] static Selector none() { return Selector(Kind::kNone, {}); }
  [[nodiscard]] static Selector all() { return Selector(Kind::kAll, {}); }
  /// What lies on, at or below one of `paths`; arrays must be entered with `[]`.
  [[nodiscard]] static Selector include(std::vector<Path> paths) {
    return Selector(Kind::kInclude, std::move(paths));
  }
  /// All but what lies at or below one of `paths`.
  [[nodiscard]] static Selector exclude(std::vector<Path> paths) {
    return Selector(Kind::kExclude, std::move(paths));
  }

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] bool is_none() const { return kind_ == Kind::kNone; }
  [[nodiscard]] std::span<const Path> paths() const { return paths_; }
  bool operator==(const Selector&) const = default;

 private:
  Selector(Kind kind, std::vector<Path> paths) : kind_(kind), paths_(std::move(paths)) {}

  Kind kind_;
  std::vector<Path> paths_;
};

/// The selected part of `document`, a stored (canonical) payload; an empty one is `{}`. `none`
/// gives `{}`: whether to show a payload at all is the caller's business.
[[nodiscard]] std::string select(std::string_view document, const Selector& selector);

}  // namespace quiver::payload
