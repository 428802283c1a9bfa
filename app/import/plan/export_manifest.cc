#include "app/import/plan/export_manifest.h"

#include <fmt/format.h>

#include <utility>

#include "base/schema_names.h"
#include "payload/json/document.h"
#include "service/json/writer.h"

namespace quiver::app {
namespace {

using payload::Value;
using service::json::Writer;

constexpr std::uint64_t kVersion = 1;

void write_vectors(Writer& json, const SourceSpec& spec) {
  json.begin_object();
  json.member("name", std::string_view(spec.name));
  json.member("kind", kind_name(spec.kind));
  json.member("source", std::string_view(spec.source));
  if (!spec.present.empty()) json.member("present", std::string_view(spec.present));
  json.end_object();
}

Result<const Value*> member(const Value& object, std::string_view name) {
  if (const Value* value = object.find(name)) return value;
  return fail(Code::kDataLoss, fmt::format("\"{}\" is missing", name));
}

Result<std::string> text(const Value& object, std::string_view name) {
  QV_TRY(const Value* value, member(object, name));
  if (value->as_string() != nullptr) return *value->as_string();
  return fail(Code::kDataLoss, fmt::format("\"{}\" is not a string", name));
}

Result<const payload::Array*> array(const Value& object, std::string_view name) {
  QV_TRY(const Value* value, member(object, name));
  if (value->as_array() != nullptr) return value->as_array();
  return fail(Code::kDataLoss, fmt::format("\"{}\" is not a list", name));
}

Result<SourceSpec> parse_vectors(const Value& value) {
  QV_TRY(const std::string kind, text(value, "kind"));
  QV_TRY(const std::string source, text(value, "source"));
  QV_TRY(SourceSpec spec, parse_source(fmt::format("{}:x={}", kind, source)));
  QV_TRY(spec.name, text(value, "name"));
  if (value.find("present") != nullptr) {
    QV_TRY(spec.present, text(value, "present"));
  }
  return spec;
}

}  // namespace

std::string to_json(const ExportManifest& manifest) {
  std::string out;
  Writer json(out);
  json.begin_object();
  json.member("quiver_export", kVersion);
  json.member("points", manifest.n_points);
  json.member("ids", std::string_view(manifest.ids));
  json.member("payload", std::string_view(manifest.payload));
  json.key("vectors");
  json.begin_array();
  for (const SourceSpec& spec : manifest.vectors) write_vectors(json, spec);
  json.end_array();
  json.key("create");
  json.raw(manifest.create);
  json.key("indexes");
  json.begin_array();
  for (const std::string& index : manifest.indexes) json.raw(index);
  json.end_array();
  json.end_object();
  return out;
}

Result<ExportManifest> parse_manifest(const std::string& json) {
  QV_TRY(const Value value, payload::parse_json(json));
  QV_TRY(const Value* version, member(value, "quiver_export"));
  if (version->as_i64() == nullptr || *version->as_i64() != kVersion) {
    return fail(Code::kDataLoss,
                fmt::format("version {}, wanted {}", payload::to_json(*version), kVersion));
  }
  ExportManifest manifest;
  QV_TRY(manifest.ids, text(value, "ids"));
  QV_TRY(manifest.payload, text(value, "payload"));
  QV_TRY(const auto* vectors, array(value, "vectors"));
  for (const Value& entry : *vectors) {
    QV_TRY(SourceSpec spec, parse_vectors(entry));
    manifest.vectors.push_back(std::move(spec));
  }
  QV_TRY(const Value* create, member(value, "create"));
  manifest.create = payload::to_json(*create);
  QV_TRY(const auto* indexes, array(value, "indexes"));
  for (const Value& index : *indexes) manifest.indexes.push_back(payload::to_json(index));
  return manifest;
}

}  // namespace quiver::app
