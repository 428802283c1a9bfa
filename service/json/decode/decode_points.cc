// Changes of points.
#include <fmt/format.h>

#include "service/json/decode/decode.h"
#include "service/json/decode/decode_parts.h"

namespace quiver::service::json {
namespace {

using engine::Operation;
using engine::PointInput;
using engine::PointSelector;
using engine::Upsert;

Decoded<std::string> decode_payload(Element element, const Path& path) {
  QV_TRY(const Object object, get_object(element, path));
  return to_json(object);
}

Decoded<PointInput> decode_point(Element element, const Path& path) {
  QV_TRY(const Object object, get_object(element, path));
  PointInput point;
  QV_TRY(const Element id, require(object, "id", path));
  QV_TRY(point.id, decode_id(id, path.member("id")));
  const auto vectors = find(object, {"vector", "vectors"});
  if (!vectors) return missing_field(path, "vector");
  QV_TRY(point.vectors, decode_vectors(*vectors, path.member("vector")));
  if (const auto payload = find(object, "payload")) {
    QV_TRY(point.payload, decode_payload(*payload, path.member("payload")));
  }
  return point;
}

Decoded<std::vector<PointInput>> decode_points(Element element, const Path& path) {
  QV_TRY(const Array array, get_array(element, path));
  std::vector<PointInput> points;
  points.reserve(array.size());
  for (const Element item : array) {
    QV_TRY(auto point, decode_point(item, path.item(points.size())));
    points.push_back(std::move(point));
  }
  return points;
}

Decoded<> check_batch_size(std::size_t n_ids, std::size_t n, std::string_view what,
                           const Path& path) {
  if (n == n_ids) return {};
  return validation_error(
      path, fmt::format("number of ids and {} must be equal ({} != {})", what, n_ids, n));
}

/// The list of one field's vectors, one for each point.
Decoded<> add_batch_field(std::string_view name, Element element, const Path& path,
                          const Path& batch, std::vector<PointInput>& points) {
  QV_TRY(const Array array, get_array(element, path));
  QV_TRY(check_batch_size(points.size(), array.size(), "vectors", batch));
  std::size_t i = 0;
  for (const Element item : array) {
    auto& vector = points[i].vectors.emplace_back();
    vector.name = name;
    QV_TRY(vector.value, decode_stored_vector(item, path.item(i)));
    ++i;
  }
  return {};
}

Decoded<> add_batch_vectors(Element element, const Path& path, const Path& batch,
                            std::vector<PointInput>& points) {
  if (!element.is_object()) return add_batch_field("", element, path, batch, points);
  for (const auto [name, value] : as_object(element)) {
    QV_TRY(add_batch_field(name, value, path.member(name), batch, points));
  }
  return {};
}

Decoded<> add_batch_payloads(Element element, const Path& path, const Path& batch,
                             std::vector<PointInput>& points) {
  QV_TRY(const Array array, get_array(element, path));
  QV_TRY(check_batch_size(points.size(), array.size(), "payloads", batch));
  std::size_t i = 0;
  for (const Element item : array) {
    if (!item.is_null()) {
      QV_TRY(points[i].payload, decode_payload(item, path.item(i)));
    }
    ++i;
  }
  return {};
}

/// Decodes the columnar form: {"ids", "vectors", "payloads"}.
Decoded<std::vector<PointInput>> decode_batch(Element element, const Path& path) {
  QV_TRY(const Object object, get_object(element, path));
  QV_TRY(const Element ids_element, require(object, "ids", path));
  QV_TRY(const auto ids, decode_ids(ids_element, path.member("ids")));
  std::vector<PointInput> points(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) points[i].id = ids[i];
  const auto vectors = find(object, {"vectors", "vector"});
  if (!vectors) return missing_field(path, "vectors");
  QV_TRY(add_batch_vectors(*vectors, path.member("vectors"), path, points));
  if (const auto payloads = find(object, "payloads")) {
    QV_TRY(add_batch_payloads(*payloads, path.member("payloads"), path, points));
  }
  return points;
}

Decoded<engine::UpsertMode> decode_mode(Object object, const Path& path) {
  const auto element = find(object, "update_mode");
  if (!element) return engine::UpsertMode::kUpsert;
  const Path here = path.member("update_mode");
  QV_TRY(const auto name, get_string(*element, here));
  if (name == "upsert") return engine::UpsertMode::kUpsert;
  if (name == "insert_only") return engine::UpsertMode::kInsertOnly;
  if (name == "update_only") return engine::UpsertMode::kUpdateOnly;
  return format_error(here, fmt::format("unknown variant `{}`, expected `upsert`, `insert_only` or "
                                        "`update_only`",
                                        name));
}

Decoded<Operation> upsert(Element element, const Path& path) {
  QV_TRY(const Object object, get_object(element, path));
  Upsert operation;
  if (const auto batch = find(object, "batch")) {
    QV_TRY(operation.points, decode_batch(*batch, path.member("batch")));
  } else if (const auto points = find(object, "points")) {
    QV_TRY(operation.points, decode_points(*points, path.member("points")));
  } else {
    return missing_field(path, "points");
  }
  QV_TRY(operation.mode, decode_mode(object, path));
  QV_TRY(operation.update_filter, decode_optional_filter(object, "update_filter", path));
  return Operation(std::move(operation));
}

/// Reads `points` or `filter`; nullopt if there is neither.
Decoded<std::optional<PointSelector>> optional_selector(Object object, const Path& path) {
  if (const auto points = find(object, "points")) {
    QV_TRY(auto ids, decode_ids(*points, path.member("points")));
    return std::optional<PointSelector>(std::move(ids));
  }
  if (const auto filter = find(object, "filter")) {
    QV_TRY(auto decoded, decode_filter(*filter, path.member("filter")));
    return std::optional<PointSelector>(std::move(decoded));
  }
  return std::optional<PointSelector>();
}

/// Reads a selector that is the whole body. An unknown member is an error: it may be a misspelt
/// filter.
Decoded<PointSelector> whole_selector(Element element, const Path& path) {
  QV_TRY(const Object object, get_object(element, path));
  QV_TRY(check_members(object, path, {"points", "filter", "shard_key"}));
  QV_TRY(auto selector, optional_selector(object, path));
  if (!selector) return missing_field(path, "points` or `filter");
  return *std::move(selector);
}

Decoded<PointSelector> selector_of(Object object, const Path& path) {
  QV_TRY(auto selector, optional_selector(object, path));
  if (selector) return *std::move(selector);
  return validation_error(path.member("filter"),
                          "Either list of point ids or filter must be provided");
}

Decoded<Operation> delete_points(Element element, const Path& path) {
  QV_TRY(auto selector, whole_selector(element, path));
  return Operation(engine::DeletePoints{std::move(selector)});
}

Decoded<Operation> clear_payload(Element element, const Path& path) {
  QV_TRY(auto selector, whole_selector(element, path));
  return Operation(engine::ClearPayload{std::move(selector)});
}

/// Decodes SetPayload or OverwritePayload, which have the same members.
template <class Change>
Decoded<Operation> change_payload(Element element, const Path& path) {
  QV_TRY(const Object object, get_object(element, path));
  Change change;
  QV_TRY(const Element payload, require(object, "payload", path));
  QV_TRY(change.payload, decode_payload(payload, path.member("payload")));
  if (const auto key = find(object, "key")) {
    QV_TRY(change.key, get_string(*key, path.member("key")));
    if (auto parsed = payload::JsonPath::parse(*change.key); !parsed) {
      return format_error(path.member("key"), parsed.error().message());
    }
  }
  QV_TRY(change.points, selector_of(object, path));
  return Operation(std::move(change));
}

Decoded<Operation> delete_payload(Element element, const Path& path) {
  QV_TRY(const Object object, get_object(element, path));
  engine::DeletePayload change;
  const Path at_keys = path.member("keys");
  QV_TRY(const Element keys, require(object, "keys", path));
  QV_TRY(change.keys, decode_strings(keys, at_keys));
  for (std::size_t i = 0; i < change.keys.size(); ++i) {
    if (auto parsed = payload::JsonPath::parse(change.keys[i]); !parsed) {
      return format_error(at_keys.item(i), parsed.error().message());
    }
  }
  QV_TRY(change.points, selector_of(object, path));
  return Operation(std::move(change));
}

Decoded<Operation> update_vectors(Element element, const Path& path) {
  QV_TRY(const Object object, get_object(element, path));
  engine::UpdateVectors change;
  const Path at_points = path.member("points");
  QV_TRY(const Element points, require(object, "points", path));
  QV_TRY(change.points, decode_points(points, at_points));
  if (change.points.empty()) {
    return validation_error(at_points, "must specify points to update");
  }
  for (std::size_t i = 0; i < change.points.size(); ++i) {
    change.points[i].payload.clear();
    if (change.points[i].vectors.empty()) {
      const Path here = at_points.item(i);
      return validation_error(here.member("vector"), "must specify vectors to update for point");
    }
  }
  QV_TRY(change.update_filter, decode_optional_filter(object, "update_filter", path));
  return Operation(std::move(change));
}

Decoded<Operation> delete_vectors(Element element, const Path& path) {
  QV_TRY(const Object object, get_object(element, path));
  engine::DeleteVectors change;
  const Path at_names = path.member("vector");
  const auto names = find(object, {"vector", "vectors"});
  if (!names) return missing_field(path, "vector");
  QV_TRY(change.names, decode_strings(*names, at_names));
  if (change.names.empty())
    return validation_error(at_names, "must specify vector names to delete");
  QV_TRY(change.points, selector_of(object, path));
  return Operation(std::move(change));
}

using OperationDecoder = Decoded<Operation> (*)(Element, const Path&);
struct NamedOperation {
  std::string_view name;
  OperationDecoder decode;
};
constexpr NamedOperation kOperations[] = {
    {"upsert", upsert},
    {"delete", delete_points},
    {"set_payload", change_payload<engine::SetPayload>},
    {"overwrite_payload", change_payload<engine::OverwritePayload>},
    {"delete_payload", delete_payload},
    {"clear_payload", clear_payload},
    {"update_vectors", update_vectors},
    {"delete_vectors", delete_vectors},
};

Decoded<Operation> decode_with_shards(Element element, const Path& path, OperationDecoder decode) {
  QV_TRY(auto operation, decode(element, path));
  QV_TRY(auto shards, decode_shards(as_object(element), path));
  set_shards(operation, std::move(shards));
  return operation;
}

Decoded<Operation> decode_operation(Element element, const Path& path) {
  QV_TRY(const Object object, get_object(element, path));
  for (const auto& [name, decode] : kOperations) {
    const auto value = find(object, name);
    if (!value) continue;
    return decode_with_shards(*value, path.member(name), decode);
  }
  return format_error(path,
                      "unknown operation, expected one of `upsert`, `delete`, `set_payload`, "
                      "`overwrite_payload`, `delete_payload`, `clear_payload`, `update_vectors`, "
                      "`delete_vectors`");
}

Decoded<Operation> decode_whole(std::string& body, OperationDecoder decode) {
  QV_TRY(const Element element, parse_body(body));
  return decode_with_shards(element, Path(), decode);
}

}  // namespace

Decoded<std::string> decode_payload(std::string& text) {
  QV_TRY(const Object object, parse_object_body(text));
  return to_json(object);
}

Decoded<Operation> decode_upsert(std::string& body) { return decode_whole(body, upsert); }

Decoded<Operation> decode_delete_points(std::string& body) {
  return decode_whole(body, delete_points);
}

Decoded<Operation> decode_set_payload(std::string& body) {
  return decode_whole(body, change_payload<engine::SetPayload>);
}

Decoded<Operation> decode_overwrite_payload(std::string& body) {
  return decode_whole(body, change_payload<engine::OverwritePayload>);
}

Decoded<Operation> decode_delete_payload(std::string& body) {
  return decode_whole(body, delete_payload);
}

Decoded<Operation> decode_clear_payload(std::string& body) {
  return decode_whole(body, clear_payload);
}

Decoded<Operation> decode_update_vectors(std::string& body) {
  return decode_whole(body, update_vectors);
}

Decoded<Operation> decode_delete_vectors(std::string& body) {
  return decode_whole(body, delete_vectors);
}

Decoded<std::vector<Operation>> decode_operations(std::string& body) {
  const Path root;
  const Path at_operations = root.member("operations");
  QV_TRY(const Object object, parse_object_body(body));
  QV_TRY(const Element element, require(object, "operations", root));
  QV_TRY(const Array array, get_array(element, at_operations));
  std::vector<Operation> operations;
  operations.reserve(array.size());
  for (const Element item : array) {
    QV_TRY(auto operation, decode_operation(item, at_operations.item(operations.size())));
    operations.push_back(std::move(operation));
  }
  return operations;
}

}  // namespace quiver::service::json
