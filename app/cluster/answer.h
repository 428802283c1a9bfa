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

/// Of a row of `placements`: "docs", or "docs/0" for a shard with nodes of its own.
[[nodiscard]] inline std::string placed_name(const payload::Value& row) {
  const auto shard = row.find_unsigned("shard_id");
  const std::string name = text_member(row, "collection");
  return shard ? name + "/" + std::to_string(*shard) : name;
}

}  // namespace quiver::app
