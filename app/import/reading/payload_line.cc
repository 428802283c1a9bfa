#include "app/import/reading/payload_line.h"

#include <fmt/format.h>

#include <algorithm>

namespace quiver::app {
namespace {

using payload::Value;

std::string shortened(std::string text) {
  constexpr std::size_t kMaxShown = 60;
  if (text.size() > kMaxShown) text = text.substr(0, kMaxShown) + "…";
  return text;
}

Result<PointId> find_id(const Value& document, const std::string& column) {
  const Value* value = document.find(column);
  if (value == nullptr) {
    return fail(Code::kInvalidArgument, fmt::format("there is no id column \"{}\"", column));
  }
  const auto id = to_point_id(*value);
  if (id) return *id;
  return fail(Code::kInvalidArgument,
              fmt::format("id column \"{}\": {}", column, id.error().message()));
}

void keep_only(Value& document, const std::vector<std::string>& keys) {
  std::erase_if(*document.as_object(), [&](const payload::Member& member) {
    return std::find(keys.begin(), keys.end(), member.key) == keys.end();
  });
}

}  // namespace

Result<PointId> to_point_id(const Value& value) {
  if (const auto number = value.as_unsigned()) return PointId::number(*number);
  if (const auto* text = value.as_string()) {
    if (const auto uuid = PointId::parse_uuid(*text)) return *uuid;
  }
  return fail(Code::kInvalidArgument, fmt::format("{} is no unsigned integer and no UUID",
                                                  shortened(payload::to_json(value))));
}

Result<PayloadLine> read_payload(std::string_view line, const PayloadRules& rules) {
  QV_TRY(Value document, payload::parse_json(line));
  PayloadLine out;
  if (document.is_null() && !rules.id_column) return out;
  if (document.as_object() == nullptr) {
    return fail(Code::kInvalidArgument,
                fmt::format("{} is no JSON object", shortened(payload::to_json(document))));
  }
  if (rules.id_column) {
    QV_TRY(out.id, find_id(document, *rules.id_column));
  }
  if (!rules.keys.empty()) keep_only(document, rules.keys);
  if (!document.as_object()->empty()) payload::write_json(document, out.payload);
  return out;
}

}  // namespace quiver::app
