#include "payload/json/edit.h"

#include <fmt/format.h>

#include <algorithm>

namespace quiver::payload {
namespace {

using Steps = std::span<const PathStep>;

Result<Value> parse_object(std::string_view text, std::string_view what) {
  if (text.empty()) return Value(Object());
  QV_TRY(Value value, parse_json(text));
  if (value.as_object() == nullptr) {
    return fail(Code::kInvalidArgument, fmt::format("{} must be a JSON object", what));
  }
  return value;
}

Value* find_member(Object& object, std::string_view key) {
  const auto it = std::find_if(object.begin(), object.end(),
                               [&](const Member& member) { return member.key == key; });
  return it == object.end() ? nullptr : &it->value;
}

Value& find_or_add(Object& object, const std::string& key) {
  if (Value* value = find_member(object, key)) return *value;
  return object.emplace_back(Member{key, Value()}).value;
}

bool erase_member(Object& object, std::string_view key) {
  return std::erase_if(object, [&](const Member& member) { return member.key == key; }) != 0;
}

void merge(Object& target, const Object& patch) {
  for (const auto& [key, value] : patch) {
    if (value.is_null()) {
      erase_member(target, key);
    } else {
      find_or_add(target, key) = value;
    }
  }
}

Object& make_object(Value& value) {
  if (value.as_object() == nullptr) value = Value(Object());
  return *value.as_object();
}

Array& make_array(Value& value) {
  if (value.as_array() == nullptr) value = Value(Array());
  return *value.as_array();
}

void set_below(Value& target, Steps steps, const Object& patch) {
  if (steps.empty()) {
    merge(make_object(target), patch);
    return;
  }
  const PathStep& step = steps.front();
  const Steps rest = steps.subspan(1);
  if (step.kind == PathStep::Kind::kKey) {
    set_below(find_or_add(make_object(target), step.key), rest, patch);
    return;
  }
  Array& array = make_array(target);
  if (step.kind == PathStep::Kind::kEach) {
    for (Value& element : array) set_below(element, rest, patch);
  } else if (step.index < array.size()) {
    set_below(array[step.index], rest, patch);
  }
}

void remove_last(Value& target, const PathStep& step) {
  if (step.kind == PathStep::Kind::kKey) {
    if (Object* object = target.as_object()) erase_member(*object, step.key);
  } else if (step.kind == PathStep::Kind::kEach) {
    if (Array* array = target.as_array()) array->clear();
  }
}

void remove_below(Value& target, Steps steps) {
  const PathStep& step = steps.front();
  const Steps rest = steps.subspan(1);
  if (rest.empty()) {
    remove_last(target, step);
  } else if (step.kind == PathStep::Kind::kKey) {
    Object* object = target.as_object();
    Value* member = object == nullptr ? nullptr : find_member(*object, step.key);
    if (member != nullptr) remove_below(*member, rest);
  } else if (Array* array = target.as_array()) {
    if (step.kind == PathStep::Kind::kEach) {
      for (Value& element : *array) remove_below(element, rest);
    } else if (step.index < array->size()) {
      remove_below((*array)[step.index], rest);
    }
  }
}

std::size_t depth(const Value& value) {
  std::size_t below = 0;
  if (const Array* array = value.as_array()) {
    for (const Value& element : *array) below = std::max(below, depth(element));
  } else if (const Object* object = value.as_object()) {
    for (const Member& member : *object) below = std::max(below, depth(member.value));
  } else {
    return 0;
  }
  return below + 1;
}

/// True if one path is a prefix of the other.
bool agree(Steps a, Steps b) {
  const std::size_t n = std::min(a.size(), b.size());
  return std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(n), b.begin());
}

/// Copies the selected part of a value. `place_` is the path of the current value, with array steps
/// as `[]`.
class Picker {
 public:
  explicit Picker(const Selector& selector) : selector_(selector) {}

  Value pick(const Value& value) {
    if (const Object* object = value.as_object()) return Value(pick_members(*object));
    if (const Array* array = value.as_array()) return Value(pick_elements(*array));
    return value;
  }

 private:
  Object pick_members(const Object& object) {
    Object out;
    for (const auto& [key, value] : object) {
      place_.push_back({PathStep::Kind::kKey, key, 0});
      if (keeps()) out.push_back({key, pick(value)});
      place_.pop_back();
    }
    return out;
  }
  Array pick_elements(const Array& array) {
    Array out;
    place_.push_back({PathStep::Kind::kEach, {}, 0});
    if (keeps()) {
      for (const Value& element : array) out.push_back(pick(element));
    }
    place_.pop_back();
    return out;
  }
  [[nodiscard]] bool keeps() const {
    const auto paths = selector_.paths();
    if (selector_.kind() == Selector::Kind::kInclude) {
      return std::any_of(paths.begin(), paths.end(),
                         [&](const JsonPath& path) { return agree(path.steps(), place_); });
    }
    return std::none_of(paths.begin(), paths.end(), [&](const JsonPath& path) {
      return path.steps().size() <= place_.size() && agree(path.steps(), place_);
    });
  }

  const Selector& selector_;
  std::vector<PathStep> place_;
};

}  // namespace

Result<std::string> set(std::string_view document, std::string_view patch,
                        const std::optional<JsonPath>& key) {
  QV_TRY(Value target, parse_object(document, "payload"));
  QV_TRY(const Value source, parse_object(patch, "payload to set"));
  set_below(target, key ? key->steps() : Steps(), *source.as_object());
  if (const std::size_t levels = depth(target); levels > Value::kMaxDepth) {
    return fail(Code::kInvalidArgument, fmt::format("payload would nest {} levels deep, at most {}",
                                                    levels, Value::kMaxDepth));
  }
  return to_json(target);
}

Result<std::string> overwrite(std::string_view replacement) {
  QV_TRY(const Value value, parse_object(replacement, "payload"));
  return to_json(value);
}

Result<std::string> remove_keys(std::string_view document, std::span<const JsonPath> paths) {
  QV_TRY(Value target, parse_object(document, "payload"));
  for (const JsonPath& path : paths) remove_below(target, path.steps());
  return to_json(target);
}

std::string select(std::string_view document, const Selector& selector) {
  if (document.empty() || selector.is_none()) return "{}";
  if (selector.kind() == Selector::Kind::kAll) return std::string(document);
  const auto value = parse_json(document);
  if (!value) return "{}";
  return to_json(Picker(selector).pick(*value));
}

}  // namespace quiver::payload
