// Reading answers of a node.
#pragma once

#include <string>
#include <string_view>

#include "payload/json/document.h"

namespace quiver::app {

/// The text of a member; empty if it is missing or no text.
[[nodiscard]] inline std::string text_member(const payload::Value& object, std::string_view key) {
  const payload::Value* value = object.find(key);
  const std::string* text = value == nullptr ? nullptr : value->as_string();
  return text == nullptr ? std::string() : *text;
}

/// False if the member is missing or no truth value.
[[nodiscard]] inline bool is_true(const payload::Value& object, std::string_view key) {
  const payload::Value* value = object.find(key);
  return value != nullptr && value->as_bool() != nullptr && *value->as_bool();
}

}  // namespace quiver::app
