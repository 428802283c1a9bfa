// Changes of a collection's configuration, merged into the JSON of its creator.
#include <fmt/format.h>

#include <algorithm>

#include "service/json/collection_parts.h"
#include "service/json/decode/decode.h"
#include "service/json/decode/decode_parts.h"
#include "service/json/decode/shape.h"
#include "service/json/vector_indexes.h"
#include "service/json/writer.h"

namespace quiver::service::json {
namespace {

using engine::CollectionConfig;

/// A parser for texts other than the body.
struct Parsed {
  simdjson::dom::parser parser;
  Object object;
};

Result<> parse_stored(const std::string& json, Parsed& out) {
  if (out.parser.parse(json).get(out.object) != simdjson::SUCCESS) {
    return fail(Code::kInternal, "a stored collection configuration is not a JSON object");
  }
  return {};
}

bool is_disabled(Element value) { return value.is_string() && as_string(value) == "Disabled"; }

void append_merged(std::string& out, Element base, Element patch);

void append_named(std::string& out, std::string_view name, std::string_view json) {
  if (!out.ends_with('{')) out += ',';
  append_string(out, name);
  out += ':';
  out += json;
}

/// Metadata is free JSON, unlike the rest of a configuration. A member of the patch replaces the
/// old one as a whole; null removes it.
void append_patched_metadata(std::string& out, Object base, Object patch) {
  out += '{';
  for (const auto [name, value] : base) {
    const bool is_patched = patch.at_key(name).error() == simdjson::SUCCESS;
    if (!is_patched) append_named(out, name, to_json(value));
  }
  for (const auto [name, value] : patch) {
    if (!value.is_null()) append_named(out, name, to_json(value));
  }
  out += '}';
}

/// Writes the members of `base` as changed by `patch`. Quantization is replaced as a whole, or
/// removed by "Disabled". Everything else is merged; metadata follows its own rules.
void append_merged_objects(std::string& out, Object base, Object patch) {
  out += '{';
  for (const auto [name, value] : base) {
    const auto change = find(patch, name);
    std::string json;
    if (!change) {
      append_element(json, value);
    } else if (name == "metadata") {
      append_patched_metadata(json, as_object(value), as_object(*change));
    } else if (name != "quantization_config") {
      append_merged(json, value, *change);
    } else if (!is_disabled(*change)) {
      append_element(json, *change);
    } else {
      continue;
    }
    append_named(out, name, json);
  }
  for (const auto [name, value] : patch) {
    if (value.is_null() || find(base, name) || is_disabled(value)) continue;
    append_named(out, name, to_json(value));
  }
  out += '}';
}

void append_merged(std::string& out, Element base, Element patch) {
  if (base.is_object() && patch.is_object()) {
    append_merged_objects(out, as_object(base), as_object(patch));
  } else {
    append_element(out, patch);
  }
}

/// As `decode_named_fields`, for the fields of a patch, which are only echoed.
Decoded<> copy_named(Object body, std::string_view member, const Shape& shape, std::string& wire) {
  const Path root;
  const Path path = root.member(member);
  const auto element = find(body, member);
  if (!element) return {};
  QV_TRY(const Object object, get_object(*element, path));
  std::string fields = "{";
  for (const auto [name, value] : object) {
    const Path here = path.member(name);
    QV_TRY(const Object params, get_object(value, here));
    std::string json;
    QV_TRY(append_shaped(json, params, shape, here));
    QV_TRY(refuse_text_vectors(params, here, "is set when the collection is created, not later"));
    append_named(fields, name, json);
  }
  append_named(wire, member, fields + "}");
  return {};
}

/// Modifiers take effect when a query runs, so a change also applies to stored points.
void apply_modifiers(Object patch, CollectionConfig& config) {
  const auto fields = find(patch, "sparse_vectors");
  if (!fields) return;
  for (FieldSchema& field : config.fields) {
    const auto params = find(as_object(*fields), field.name);
    const auto modifier = params ? find(as_object(*params), "modifier") : std::nullopt;
    if (!modifier) continue;
    field.modifier = as_string(*modifier) == "idf" ? SparseModifier::kIdf : SparseModifier::kNone;
  }
}

/// kInvalidArgument for a field that the patch names and the collection lacks, and for the modifier
/// of a field whose vectors the server makes.
Result<> check_patched_fields(Object patch, std::string_view member,
                              const CollectionConfig& config) {
  const auto fields = find(patch, member);
  if (!fields) return {};
  const bool is_sparse = member == "sparse_vectors";
  for (const auto [name, value] : as_object(*fields)) {
    const auto same = [&, n = name](const FieldSchema& field) {
      return field.name == n && !engine::is_dropped(field) &&
             (field.kind == FieldKind::kSparse) == is_sparse;
    };
    if (std::none_of(config.fields.begin(), config.fields.end(), same)) {
      return fail(Code::kInvalidArgument, Subject::kVectorField, name, std::string());
    }
    if (is_sparse && config.text_vectors.contains(name) && find(as_object(value), "modifier")) {
      return fail(
          Code::kInvalidArgument,
          fmt::format("the modifier of vector `{}` is `bm25`, which does not change", name));
    }
  }
  return {};
}

/// A patch calls the unnamed field "". In a configuration its parameters have no name around them.
std::string unwrap_unnamed(Object base, const std::string& patch_json) {
  const auto vectors = find(base, "vectors");
  constexpr std::string_view kWrapped = "\"vectors\":{\"\":";
  const auto at = patch_json.find(kWrapped);
  if (!vectors || !vectors->is_object() || !is_unnamed(as_object(*vectors)) ||
      at == std::string::npos) {
    return patch_json;
  }
  Parsed patch;
  if (!parse_stored(patch_json, patch)) return patch_json;
  std::string out = "{";
  for (const auto [name, value] : patch.object) {
    const auto unnamed = name == "vectors" ? find(as_object(value), "") : std::nullopt;
    append_named(out, name, to_json(unnamed.value_or(value)));
  }
  return out + "}";
}

}  // namespace

Decoded<CollectionPatch> CollectionPatch::decode(std::string& body) {
  const Path root;
  CollectionPatch patch;
  QV_TRY(const Object object, parse_object_body(body));
  patch.json_ = "{";
  QV_TRY(copy_named(object, "vectors", kVectorPatchShape, patch.json_));
  QV_TRY(copy_named(object, "sparse_vectors", kSparseVectorShape, patch.json_));
  const auto add = [&](std::string_view name, const Shape* shape) -> Decoded<> {
    const auto value = find(object, name);
    if (!value) return {};
    QV_TRY(const Object member, get_object(*value, root.member(name)));
    std::string json;
    if (shape == nullptr) {
      append_element(json, *value);
    } else {
      QV_TRY(append_shaped(json, member, *shape, root.member(name)));
    }
    append_named(patch.json_, name, json);
    return {};
  };
  QV_TRY(add("hnsw_config", &kHnswShape));
  QV_TRY(add("optimizers_config", &kOptimizersShape));
  QV_TRY(check_optimization_threads(object));
  QV_TRY(add("strict_mode_config", &kStrictModeShape));
  QV_TRY(add("metadata", nullptr));
  const auto quantization = find(object, "quantization_config");
  if (quantization && is_disabled(*quantization)) {
    append_named(patch.json_, "quantization_config", "\"Disabled\"");
  } else {
    QV_TRY(add("quantization_config", &kQuantizationShape));
  }
  if (const auto params = find(object, "params")) {
    QV_TRY(const Object members, get_object(*params, root.member("params")));
    QV_TRY(append_members(patch.json_, members, kCollectionParamsShape, root.member("params")));
  }
  patch.json_ += '}';
  return patch;
}

Result<> CollectionPatch::apply(CollectionConfig& config) const {
  Parsed base;
  Parsed patch;
  QV_TRY(parse_stored(json_, patch));
  QV_TRY(check_patched_fields(patch.object, "vectors", config));
  QV_TRY(check_patched_fields(patch.object, "sparse_vectors", config));
  QV_TRY(parse_stored(config.client_settings.empty() ? std::string("{}") : config.client_settings,
                      base));
  Parsed unwrapped;
  QV_TRY(parse_stored(unwrap_unnamed(base.object, json_), unwrapped));
  std::string merged;
  append_merged_objects(merged, base.object, unwrapped.object);
  config.client_settings = std::move(merged);
  apply_modifiers(patch.object, config);
  if (const auto optimizers = find(patch.object, "optimizers_config")) {
    apply_optimizer(as_object(*optimizers), config, config.optimizer);
  }
  return apply_vector_indexes(config);
}

}  // namespace quiver::service::json
