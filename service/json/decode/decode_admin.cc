// Aliases, times to live, limits of tenants, searches of the audit log, and the names and ids of
// paths.
#include <fmt/format.h>

#include <algorithm>

#include "payload/scalar/datetime.h"
#include "service/api/names.h"
#include "service/json/decode/decode.h"
#include "service/json/decode/decode_parts.h"

namespace quiver::service::json {
namespace {

using engine::AliasAction;

Decoded<std::string> decode_member_string(Object object, std::string_view name, const Path& path) {
  QV_TRY(const Element element, require(object, name, path));
  QV_TRY(const auto text, get_string(element, path.member(name)));
  return std::string(text);
}

Decoded<AliasAction> decode_alias_action(Element element, const Path& path) {
  QV_TRY(const Object object, get_object(element, path));
  if (const auto value = find(object, "create_alias")) {
    const Path here = path.member("create_alias");
    QV_TRY(const Object create, get_object(*value, here));
    engine::CreateAlias action;
    QV_TRY(action.collection, decode_member_string(create, "collection_name", here));
    QV_TRY(action.alias, decode_member_string(create, "alias_name", here));
    if (!api::is_collection_name(action.alias)) {
      return validation_error(
          here.member("alias_name"),
          fmt::format("value \"{}\" invalid, no name for an alias", action.alias));
    }
    return AliasAction(std::move(action));
  }
  if (const auto value = find(object, "delete_alias")) {
    const Path here = path.member("delete_alias");
    QV_TRY(const Object remove, get_object(*value, here));
    QV_TRY(auto alias, decode_member_string(remove, "alias_name", here));
    return AliasAction(engine::DeleteAlias{std::move(alias)});
  }
  if (const auto value = find(object, "rename_alias")) {
    const Path here = path.member("rename_alias");
    QV_TRY(const Object rename, get_object(*value, here));
    QV_TRY(auto old_alias, decode_member_string(rename, "old_alias_name", here));
    QV_TRY(auto new_alias, decode_member_string(rename, "new_alias_name", here));
    if (!api::is_collection_name(new_alias)) {
      return validation_error(here.member("new_alias_name"),
                              fmt::format("value \"{}\" invalid, no name for an alias", new_alias));
    }
    return AliasAction(engine::RenameAlias{std::move(old_alias), std::move(new_alias)});
  }
  return format_error(path,
                      "unknown action, expected one of `create_alias`, `delete_alias`, "
                      "`rename_alias`");
}

/// `named`: what is wrong with the name of a collection, if anything.
Decoded<> path_name(const Result<>& named) {
  if (named) return {};
  return fail(ApiError(422, fmt::format("Validation error in path parameters: [name: {}]",
                                        named.error().message())));
}

/// The first millisecond that is not before a moment in the body; nullopt if it names none.
Decoded<std::optional<std::int64_t>> decode_moment(Object object, std::string_view name) {
  constexpr std::int64_t kMicrosPerMs = 1000;
  const auto element = find(object, name);
  if (!element) return std::optional<std::int64_t>();
  const Path root;
  const Path here = root.member(name);
  QV_TRY(const auto text, get_string(*element, here));
  const auto micros = payload::parse_datetime(text);
  if (!micros) return format_error(here, "expected a date and time, such as 2026-11-24T17:00:00Z");
  return std::optional(std::max<std::int64_t>(0, *micros + kMicrosPerMs - 1) / kMicrosPerMs);
}

}  // namespace

Decoded<std::vector<AliasAction>> decode_alias_actions(std::string& body) {
  const Path root;
  const Path at_actions = root.member("actions");
  QV_TRY(const Object object, parse_object_body(body));
  QV_TRY(const Element element, require(object, "actions", root));
  QV_TRY(const Array array, get_array(element, at_actions));
  std::vector<AliasAction> actions;
  for (const Element item : array) {
    QV_TRY(auto action, decode_alias_action(item, at_actions.item(actions.size())));
    actions.push_back(std::move(action));
  }
  return actions;
}

Decoded<engine::Ttl> decode_ttl(std::string& body) {
  const Path root;
  QV_TRY(const Object object, parse_object_body(body));
  QV_TRY(check_members(object, root, {"key", "seconds"}));
  QV_TRY(const Element key, require(object, "key", root));
  engine::Ttl ttl;
  QV_TRY(ttl.key, get_string(key, root.member("key")));
  QV_TRY(ttl.seconds, decode_at_least(object, "seconds", root, 0, 0));
  if (ttl.seconds > engine::kMaxTtlSeconds) {
    return out_of_range(root.member("seconds"), std::to_string(ttl.seconds),
                        fmt::format("from 0 to {}", engine::kMaxTtlSeconds));
  }
  return ttl;
}

Decoded<std::optional<engine::TenantQuota>> decode_tenant_quota(std::string& body) {
  const Path root;
  const Path here = root.member("tenant");
  QV_TRY(const Object object, parse_object_body(body));
  QV_TRY(check_members(object, root, {"tenant"}));
  simdjson::dom::element tenant;
  if (object.at_key("tenant").get(tenant) != simdjson::SUCCESS)
    return missing_field(root, "tenant");
  if (tenant.is_null()) return std::optional<engine::TenantQuota>();
  QV_TRY(const Object members, get_object(tenant, here));
  QV_TRY(check_members(members, here, {"key", "max_points"}));
  QV_TRY(const Element key, require(members, "key", here));
  engine::TenantQuota quota;
  QV_TRY(quota.key, get_string(key, here.member("key")));
  QV_TRY(require(members, "max_points", here));
  QV_TRY(quota.max_points, decode_at_least(members, "max_points", here, 1, 1));
  return std::optional(std::move(quota));
}

Decoded<access::AuditQuery> decode_audit_query(std::string& body) {
  constexpr std::uint64_t kMaxLimit = 10'000;
  const Path root;
  access::AuditQuery query;
  QV_TRY(const Object object, parse_object_body(body));
  QV_TRY(query.from_ms, decode_moment(object, "time_from"));
  QV_TRY(query.to_ms, decode_moment(object, "time_to"));
  QV_TRY(query.limit, decode_at_least(object, "limit", root, 1, query.limit));
  if (query.limit > kMaxLimit) {
    return out_of_range(root.member("limit"), std::to_string(query.limit), "from 1 to 10000");
  }
  if (const auto filters = find(object, "filters")) {
    const Path here = root.member("filters");
    QV_TRY(const Object members, get_object(*filters, here));
    for (const auto [name, value] : members) {
      QV_TRY(const auto text, get_string(value, here.member(name)));
      query.filters.emplace(name, text);
    }
  }
  return query;
}

Decoded<PointId> parse_path_id(std::string_view text) {
  if (const auto id = PointId::parse(text)) return *id;
  return wrong_input(fmt::format("Can not recognize \"{}\" as point id", text));
}

Decoded<> check_name_length(std::string_view name) {
  return path_name(api::check_name_length(name));
}

Decoded<> check_collection_name(std::string_view name) {
  return path_name(api::check_collection_name(name));
}

}  // namespace quiver::service::json
