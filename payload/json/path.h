// A payload path: `a.b`, `a[0]`, `a[].b` (every element), `"a.b".c` (a quoted key).
//
// A path leads to any number of values. A key steps into objects only and an index into arrays
// only; arrays are entered only by `[]` or an index. Conditions look at the *elements* of these
// values: an array stands for its elements (one level), any other value for itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "payload/json/document.h"

namespace quiver::payload {

/// True if a path spells this key without quotes.
[[nodiscard]] bool is_plain_key(std::string_view key);

struct PathStep {
  enum class Kind : std::uint8_t { kKey, kIndex, kEach };
  Kind kind = Kind::kKey;
  std::string key;          ///< kKey
  std::uint64_t index = 0;  ///< kIndex
  bool operator==(const PathStep&) const = default;
};

class JsonPath {
 public:
  /// kInvalidArgument, naming `text`, if it is not a path. Unquoted keys consist of letters,
  /// digits, `_`, `-` and any non-ASCII character. The first step is a key.
  [[nodiscard]] static Result<JsonPath> parse(std::string_view text);
  /// `steps` must not be empty and must start with a key.
  explicit JsonPath(std::vector<PathStep> steps) : steps_(std::move(steps)) {}

  [[nodiscard]] std::span<const PathStep> steps() const { return steps_; }
  /// The canonical spelling: equal paths have equal texts.
  [[nodiscard]] std::string to_string() const;
  /// Appends `[]`: `a` → `a[]`. Unchanged if the path already ends with it.
  [[nodiscard]] JsonPath each() const;
  /// This path followed by `tail`: `a[]` and `b.c` give `a[].b.c`.
  [[nodiscard]] JsonPath join(const JsonPath& tail) const;

  bool operator==(const JsonPath&) const = default;

 private:
  std::vector<PathStep> steps_;
};

namespace detail {
template <class Visit>
void visit_values(const Value& value, std::span<const PathStep> steps, Visit& visit) {
  if (steps.empty()) {
    visit(value);
    return;
  }
  const PathStep& step = steps.front();
  if (step.kind == PathStep::Kind::kKey) {
    if (const Value* member = value.find(step.key)) visit_values(*member, steps.subspan(1), visit);
    return;
  }
  const Array* array = value.as_array();
  if (array == nullptr) return;
  if (step.kind == PathStep::Kind::kEach) {
    for (const Value& element : *array) visit_values(element, steps.subspan(1), visit);
  } else if (step.index < array->size()) {
    visit_values((*array)[step.index], steps.subspan(1), visit);
  }
}
}  // namespace detail

/// Calls `visit(const Value&)` for every value that `path` leads to; arrays are passed whole.
template <class Visit>
void for_each_value(const Value& document, const JsonPath& path, Visit&& visit) {
  detail::visit_values(document, path.steps(), visit);
}

/// Calls `visit(const Value&)` for every element of those values. Match, range and geo conditions
/// use it.
template <class Visit>
void for_each_element(const Value& document, const JsonPath& path, Visit&& visit) {
  for_each_value(document, path, [&](const Value& value) {
    const Array* array = value.as_array();
    if (array == nullptr) {
      visit(value);
    } else {
      for (const Value& element : *array) visit(element);
    }
  });
}

}  // namespace quiver::payload
