// Vector fields added to a collection and taken from it. The engine's fields change, and so does
// the JSON of the collection's creator, which describes them.
#include <string>
#include <utility>

#include "service/json/collection_parts.h"
#include "service/json/decode/decode.h"
#include "service/json/decode/decode_parts.h"
#include "service/json/decode/shape.h"
#include "service/json/vector_indexes.h"
#include "service/json/writer.h"

namespace quiver::service::json {
namespace {

using engine::CollectionConfig;

constexpr std::string_view kDenseMember = "vectors";
constexpr std::string_view kSparseMember = "sparse_vectors";

constexpr std::string_view kWeightTypes[] = {"float32", "uint8", "float16"};
constexpr ShapeMember kNewSparse[] = {
    {.name = "modifier", .type = ValueType::kString},
    {.name = "datatype", .type = ValueType::kString, .values = kWeightTypes},
};
constexpr Shape kNewSparseShape = {kNewSparse};

void append_pair(std::string& out, std::string_view name, std::string_view json) {
  if (!out.ends_with('{')) out += ',';
  append_string(out, name);
  out += ':';
  out += json;
}

/// `fields` but for `name`, which is added with `json` if that is not empty.
std::string with_field(std::optional<Object> fields, std::string_view name, std::string_view json) {
  std::string out = "{";
  if (fields && is_unnamed(*fields)) {
    append_pair(out, "", to_json(*fields));
  } else if (fields) {
    for (const auto [other, value] : *fields) {
      if (other != name) append_pair(out, other, to_json(value));
    }
  }
  if (!json.empty()) append_pair(out, name, json);
  return out + "}";
}

/// The settings with another text for the fields under `member`.
Result<std::string> with_member(const std::string& settings, std::string_view member,
                                std::string_view name, std::string_view json) {
  simdjson::dom::parser parser;  // the thread's parser holds the body
  Object base;
  if (parser.parse(settings.empty() ? std::string("{}") : settings).get(base) !=
      simdjson::SUCCESS) {
    return fail(Code::kInternal, "a stored collection configuration is not a JSON object");
  }
  const auto fields = find(base, member);
  std::string out = "{";
  for (const auto [other, value] : base) {
    if (other != member) append_pair(out, other, to_json(value));
  }
  const bool has_fields = fields && fields->is_object();
  if (has_fields || !json.empty()) {
    const auto object = has_fields ? std::optional(as_object(*fields)) : std::nullopt;
    append_pair(out, member, with_field(object, name, json));
  }
  return out + "}";
}

/// A sparse field's parameters as a creation of the collection has them: the type of the weights
/// belongs to the index.
std::string sparse_settings(Object sparse) {
  std::string out = "{";
  if (const auto datatype = find(sparse, "datatype")) {
    append_pair(out, "index", "{\"datatype\":" + to_json(*datatype) + "}");
  }
  if (const auto modifier = find(sparse, "modifier")) {
    append_pair(out, "modifier", to_json(*modifier));
  }
  return out + "}";
}

}  // namespace

Decoded<VectorCreation> VectorCreation::decode(std::string_view name, std::string& body) {
  const Path root;
  QV_TRY(check_vector_name(name, root.member("vector_name")));
  QV_TRY(const Object object, parse_object_body(body));
  const auto dense = find(object, "dense");
  const auto sparse = find(object, "sparse");
  if (dense.has_value() == sparse.has_value()) {
    return format_error(root, "expected exactly one of `dense`, `sparse`");
  }
  VectorCreation creation;
  std::string checked;
  if (dense) {
    const Path path = root.member("dense");
    QV_TRY(const Object params, get_object(*dense, path));
    QV_TRY(creation.field_, decode_dense_field(name, params, path));
    QV_TRY(append_shaped(creation.json_, params, kVectorShape, path));
    return creation;
  }
  const Path path = root.member("sparse");
  QV_TRY(const Object params, get_object(*sparse, path));
  QV_TRY(append_shaped(checked, params, kNewSparseShape, path));
  QV_TRY(refuse_text_vectors(params, path, "is set when the collection is created, not later"));
  QV_TRY(creation.field_, decode_sparse_field(name, params, path));
  creation.json_ = sparse_settings(params);
  return creation;
}

Result<> VectorCreation::apply(CollectionConfig& config) const {
  const bool is_new = config.find_field(field_.name) == nullptr;
  QV_TRY(engine::add_field(config, field_));
  if (!is_new) return {};
  const auto member = field_.kind == FieldKind::kSparse ? kSparseMember : kDenseMember;
  QV_TRY(config.client_settings, with_member(config.client_settings, member, field_.name, json_));
  return apply_vector_indexes(config);
}

Result<> VectorDeletion::apply(CollectionConfig& config) const {
  const auto* field = config.find_field(name_);
  if (field == nullptr) return {};
  const auto member = field->kind == FieldKind::kSparse ? kSparseMember : kDenseMember;
  QV_TRY(config.client_settings, with_member(config.client_settings, member, name_, {}));
  engine::drop_field(config, name_);
  return apply_vector_indexes(config);
}

}  // namespace quiver::service::json
