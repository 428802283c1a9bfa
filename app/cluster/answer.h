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

}  // namespace quiver::app
