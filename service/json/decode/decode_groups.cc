// Searches for groups in both spellings, facets and distance matrices.
#include "service/json/decode/decode.h"
#include "service/json/decode/decode_parts.h"

namespace quiver::service::json {
namespace {

using engine::GroupLookup;
using engine::GroupsQuery;

/// The name of a collection, or an object with it.
Decoded<GroupLookup> decode_lookup_of_groups(Element element, const Path& path) {
  GroupLookup lookup;
  if (element.is_string()) {
    lookup.collection = as_string(element);
    return lookup;
  }
  if (!element.is_object()) return wrong_type(element, path, "a collection name or an object");
  const Object object = as_object(element);
  QV_TRY(const Element collection, require(object, "collection", path));
  QV_TRY(lookup.collection, get_string(collection, path.member("collection")));
  QV_TRY(lookup.with_payload, decode_with_payload(object, path, payload::Selector::all()));
  QV_TRY(lookup.with_vector, decode_with_vector(object, path));
  return lookup;
}

Decoded<> decode_grouping(Object object, const Path& path, GroupsQuery& groups) {
  QV_TRY(const Element group_by, require(object, "group_by", path));
  QV_TRY(groups.group_by, get_string(group_by, path.member("group_by")));
  if (const auto valid = payload::JsonPath::parse(groups.group_by); !valid) {
    return format_error(path.member("group_by"), valid.error().message());
  }
  QV_TRY(groups.group_size, decode_at_least(object, "group_size", path, 1, groups.group_size));
  if (const auto lookup = find(object, "with_lookup")) {
    QV_TRY(groups.with_lookup, decode_lookup_of_groups(*lookup, path.member("with_lookup")));
  }
  return {};
}

/// The older form has no defaults.
Decoded<GroupsQuery> decode_older_groups(std::string& body,
                                         Decoded<engine::Query> (*decode)(Element, const Path&)) {
  const Path root;
  GroupsQuery groups;
  QV_TRY(const Element element, parse_body(body));
  QV_TRY(groups.query, decode(element, root));
  const Object object = as_object(element);
  QV_TRY(require(object, "group_size", root));
  QV_TRY(decode_grouping(object, root, groups));
  return groups;
}

}  // namespace

Decoded<GroupsQuery> decode_query_groups(std::string& body) {
  const Path root;
  const Path internal = root.member("search_group_request");
  GroupsQuery groups;
  QV_TRY(const Element element, parse_body(body));
  QV_TRY(groups.query, decode_query_members(element, internal));
  const Object object = as_object(element);
  QV_TRY(decode_grouping(object, internal.member("group_request"), groups));
  return groups;
}

Decoded<GroupsQuery> decode_search_groups(std::string& body) {
  return decode_older_groups(body, decode_search_members);
}

Decoded<GroupsQuery> decode_recommend_groups(std::string& body) {
  return decode_older_groups(body, decode_recommend_members);
}

Decoded<engine::FacetRequest> decode_facet(std::string& body) {
  const Path root;
  engine::FacetRequest request;
  QV_TRY(const Object object, parse_object_body(body));
  QV_TRY(const Element key, require(object, "key", root));
  QV_TRY(request.key, get_string(key, root.member("key")));
  if (const auto valid = payload::JsonPath::parse(request.key); !valid) {
    return format_error(root.member("key"), valid.error().message());
  }
  QV_TRY(request.limit, decode_at_least(object, "limit", root, 1, request.limit));
  QV_TRY(request.filter, decode_optional_filter(object, "filter", root));
  QV_TRY(request.shards, decode_shards(object, root));
  // Counts are always exact.
  if (const auto exact = find(object, "exact")) QV_TRY(get_bool(*exact, root.member("exact")));
  return request;
}

Decoded<engine::MatrixRequest> decode_matrix(std::string& body) {
  const Path root;
  const Path inner = root.member("search_request");
  engine::MatrixRequest request;
  QV_TRY(const Object object, parse_object_body(body));
  QV_TRY(request.filter, decode_optional_filter(object, "filter", inner));
  QV_TRY(request.shards, decode_shards(object, inner));
  QV_TRY(request.sample, decode_at_least(object, "sample", inner, 2, request.sample));
  QV_TRY(request.limit, decode_at_least(object, "limit", inner, 1, request.limit));
  if (const auto name = find(object, "using")) {
    QV_TRY(request.using_field, get_string(*name, inner.member("using")));
  }
  return request;
}

}  // namespace quiver::service::json
