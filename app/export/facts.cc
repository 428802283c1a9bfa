#include <fmt/format.h>

#include <algorithm>

#include "app/export/point_source.h"
#include "app/import/plan/schema.h"
#include "payload/json/document.h"
#include "service/json/writer.h"

namespace quiver::app {
namespace {

using payload::Value;
using service::json::Writer;

Result<const Value*> member(const Value& object, std::string_view name) {
  if (const Value* value = object.find(name)) return value;
  return fail(Code::kInvalidArgument,
              fmt::format("the collection's description has no \"{}\"", name));
}

void copy_member(Writer& json, const Value& config, std::string_view from, std::string_view to) {
  const Value* value = config.find(from);
  if (value == nullptr || value->is_null()) return;
  json.key(to);
  json.raw(payload::to_json(*value));
}

/// Makes the body of PUT /collections/{name} from a collection's description. The body has the
/// members of `params` at the top, and "optimizers_config" for "optimizer_config".
Result<std::string> creation_of(const Value& config) {
  QV_TRY(const Value* params, member(config, "params"));
  std::string body;
  Writer json(body);
  json.begin_object();
  if (const auto* members = params->as_object()) {
    for (const auto& [name, value] : *members) {
      json.escaped_key(name);
      json.raw(payload::to_json(value));
    }
  }
  copy_member(json, config, "hnsw_config", "hnsw_config");
  copy_member(json, config, "optimizer_config", "optimizers_config");
  copy_member(json, config, "wal_config", "wal_config");
  copy_member(json, config, "quantization_config", "quantization_config");
  copy_member(json, config, "strict_mode_config", "strict_mode_config");
  copy_member(json, config, "metadata", "metadata");
  json.end_object();
  return body;
}

/// `schema.params` if the index has parameters, else its type alone.
Result<std::string> index_body(const std::string& field, const Value& schema) {
  const Value* params = schema.find("params");
  QV_TRY(const Value* type, member(schema, "data_type"));
  std::string body;
  Writer json(body);
  json.begin_object();
  json.member("field_name", std::string_view(field));
  json.key("field_schema");
  json.raw(payload::to_json(params == nullptr ? *type : *params));
  json.end_object();
  return body;
}

}  // namespace

Result<CollectionFacts> parse_facts(const std::string& info) {
  QV_TRY(const Value value, payload::parse_json(info));
  QV_TRY(const Value* config, member(value, "config"));
  CollectionFacts facts;
  QV_TRY(facts.create, creation_of(*config));
  QV_TRY(facts.fields, parse_fields(facts.create));
  QV_TRY(const Value* points, member(value, "points_count"));
  if (points->as_i64() != nullptr) facts.n_points = static_cast<std::uint64_t>(*points->as_i64());
  QV_TRY(const Value* indexes, member(value, "payload_schema"));
  if (indexes->as_object() == nullptr) return facts;
  for (const auto& [field, schema] : *indexes->as_object()) {
    QV_TRY(std::string body, index_body(field, schema));
    facts.indexes.push_back(std::move(body));
  }
  return facts;
}

}  // namespace quiver::app
