#include "service/api/strict/defaults.h"

#include <algorithm>
#include <utility>

#include "payload/json/document.h"

namespace quiver::service::api::strict {
namespace {

using payload::Object;
using payload::Value;

/// The member `name` of `object`, made as an empty object if it is missing.
Object& object_member(Object& object, std::string_view name) {
  auto found = std::find_if(object.begin(), object.end(),
                            [&](const auto& member) { return member.key == name; });
  if (found == object.end()) {
    found = object.insert(object.end(), {std::string(name), Value(Object())});
  }
  if (found->value.as_object() == nullptr) found->value = Value(Object());
  return *found->value.as_object();
}

}  // namespace

std::string with_default_strict_mode(const std::string& client_settings,
                                     std::string_view defaults) {
  auto given = payload::parse_json(client_settings.empty() ? "{}" : client_settings);
  const auto wanted = payload::parse_json(defaults);
  if (!given || !wanted || given->as_object() == nullptr || wanted->as_object() == nullptr) {
    return client_settings;
  }
  Object& mode = object_member(*given->as_object(), "strict_mode_config");
  for (const auto& [name, value] : *wanted->as_object()) {
    const auto is_same = [&, &key = name](const auto& member) { return member.key == key; };
    if (std::none_of(mode.begin(), mode.end(), is_same)) mode.push_back({name, value});
  }
  return payload::to_json(*given);
}

}  // namespace quiver::service::api::strict
