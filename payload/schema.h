// The definition of a payload index: the type of the values under one key and how they are
// prepared.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "payload/text_options.h"

namespace quiver::payload {

enum class IndexKind : std::uint8_t {
  kKeyword = 0,
  kInteger = 1,
  kFloat = 2,
  kBool = 3,
  kGeo = 4,
  kDatetime = 5,
  kUuid = 6,
  kText = 7,
};
/// Names of the types in requests, answers and stored configurations, in the order of IndexKind.
/// What else a type needs is in payload/column/kinds.cc.
inline constexpr std::array<std::string_view, 8> kIndexKindNames = {
    "keyword", "integer", "float", "bool", "geo", "datetime", "uuid", "text"};

struct FieldIndex {
  std::string key;  ///< payload path as given by the user
  IndexKind kind = IndexKind::kKeyword;
  TextOptions text;
  /// kInteger: allows ranges and `order_by`; false for "lookup only" indexes.
  bool range = true;
  /// JSON: the schema as the client sent it. Stored and returned, never interpreted here.
  std::string client_settings;
  /// kText: points can be ranked by the words of this key (BM25).
  bool scoring = false;

  bool operator==(const FieldIndex&) const = default;
};

}  // namespace quiver::payload
