// Creating collections. The configuration is kept twice: what the engine needs, typed,
// and what the creator wrote (known members, no nulls) as JSON, to be echoed.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "base/schema_names.h"
#include "service/json/collection_parts.h"
#include "service/json/decode/decode.h"
#include "service/json/decode/decode_parts.h"
#include "service/json/decode/shape.h"
#include "service/json/vector_indexes.h"
#include "service/json/writer.h"

namespace quiver::service::json {
namespace {

using engine::CollectionConfig;
using engine::CreationOptions;

constexpr std::size_t kMaxVectorNameBytes = 200;
constexpr std::string_view kForbiddenInNames = "<>:\"/\\|?*";

template <class T>
struct Named {
  std::string_view name;
  T value;
};
constexpr Named<Metric> kMetrics[] = {{"Cosine", Metric::kCosine},
                                      {"Euclid", Metric::kEuclid},
                                      {"Dot", Metric::kDot},
                                      {"Manhattan", Metric::kManhattan}};
/// In the order of `DType`.
constexpr auto kTypes = [] {
  std::array<Named<DType>, kDatatypeNames.size()> types{};
  for (std::size_t i = 0; i < types.size(); ++i) {
    types[i] = {kDatatypeNames[i], static_cast<DType>(i)};
  }
  return types;
}();
constexpr Named<SparseModifier> kModifiers[] = {
    {"none", SparseModifier::kNone}, {"idf", SparseModifier::kIdf}, {"bm25", SparseModifier::kIdf}};

/// `table`: of `Named`.
template <class Table, class T = decltype(std::begin(std::declval<const Table&>())->value)>
Decoded<T> decode_variant(Element element, const Path& path, const Table& table) {
  QV_TRY(const auto text, get_string(element, path));
  std::string known;
  for (const auto& [name, value] : table) {
    if (name == text) return value;
    known += fmt::format("{}`{}`", known.empty() ? "" : ", ", name);
  }
  return format_error(path, fmt::format("unknown variant `{}`, expected one of {}", text, known));
}

/// Refuses types that only dense vectors have. Shapes tell unknown types.
Decoded<> check_sparse_datatype(Object object, const Path& path) {
  const auto index = find(object, "index");
  if (!index || !index->is_object()) return {};
  QV_TRY(const Object members, get_object(*index, path.member("index")));
  const auto datatype = find(members, "datatype");
  if (!datatype || !datatype->is_string()) return {};
  const Path parent = path.member("index");
  const Path here = parent.member("datatype");
  QV_TRY(const auto text, get_string(*datatype, here));
  const auto type = parse_datatype(text);
  if (!type || *type <= DType::kU8) return {};
  return validation_error(here,
                          fmt::format("sparse vectors do not support the `{}` datatype", text));
}

Decoded<> add_field(FieldSchema field, std::vector<FieldSchema>& fields) {
  const auto clashes = [&](const FieldSchema& other) { return other.name == field.name; };
  if (std::any_of(fields.begin(), fields.end(), clashes)) {
    return wrong_input(fmt::format(
        "Dense and sparse vector names must be unique - duplicate found with '{}'", field.name));
  }
  fields.push_back(std::move(field));
  return {};
}

using FieldDecoder = Decoded<FieldSchema> (*)(std::string_view, Object, const Path&);

/// An object of fields by name; echoed into `wire`.
Decoded<> decode_named_fields(Object object, const Path& path, FieldDecoder decode,
                              const Shape& shape, CollectionConfig& config, std::string& wire) {
  wire += '{';
  const Path any_name = path.member("?");
  for (const auto [name, value] : object) {
    QV_TRY(check_vector_name(name, any_name));
    QV_TRY(const Object params, get_object(value, any_name));
    QV_TRY(auto field, decode(name, params, any_name));
    QV_TRY(add_field(std::move(field), config.fields));
    if (!wire.ends_with('{')) wire += ',';
    append_string(wire, name);
    wire += ':';
    QV_TRY(append_shaped(wire, params, shape, any_name));
  }
  wire += '}';
  return {};
}

Decoded<> decode_dense_fields(Element element, CollectionConfig& config, std::string& wire) {
  const Path root;
  const Path path = root.member("vectors");
  QV_TRY(const Object object, get_object(element, path));
  wire += "\"vectors\":";
  if (!is_unnamed(object)) {
    return decode_named_fields(object, path, decode_dense_field, kVectorShape, config, wire);
  }
  QV_TRY(auto field, decode_dense_field("", object, path));
  config.fields.push_back(std::move(field));
  return append_shaped(wire, object, kVectorShape, path);
}

Decoded<> decode_sparse_fields(Element element, CollectionConfig& config, std::string& wire) {
  const Path root;
  const Path path = root.member("sparse_vectors");
  QV_TRY(const Object object, get_object(element, path));
  for (const auto [name, value] : object) {
    if (name.empty()) return wrong_input("Sparse vector name cannot be empty");
  }
  if (!wire.ends_with('{')) wire += ',';
  wire += "\"sparse_vectors\":";
  QV_TRY(decode_named_fields(object, path, decode_sparse_field, kSparseVectorShape, config, wire));
  for (const auto [name, value] : object) {
    QV_TRY(auto made, decode_text_vectors(as_object(value), path.member(name)));
    if (made) config.text_vectors.emplace(name, std::move(*made));
  }
  return {};
}

Decoded<engine::ShardingMethod> decode_sharding(Object object) {
  using engine::ShardingMethod;
  constexpr Named<ShardingMethod> kMethods[] = {{"auto", ShardingMethod::kAuto},
                                                {"custom", ShardingMethod::kCustom}};
  const auto method = find(object, "sharding_method");
  if (!method) return ShardingMethod::kAuto;
  const Path root;
  return decode_variant(*method, root.member("sharding_method"), kMethods);
}

Decoded<std::uint32_t> check_shard_number(std::uint64_t n, std::uint32_t max) {
  if (n <= max) return static_cast<std::uint32_t>(n);
  const Path root;
  return out_of_range(root.member("shard_number"), std::to_string(n),
                      fmt::format("from 1 to {}; `storage.max_shard_number` sets the limit", max));
}

}  // namespace

Decoded<> check_vector_name(std::string_view name, const Path& path) {
  if (name.size() > kMaxVectorNameBytes) {
    return validation_error(path, "vector name must be at most 200 bytes long");
  }
  for (const char c : name) {
    if (static_cast<unsigned char>(c) < 0x20 ||
        kForbiddenInNames.find(c) != std::string_view::npos) {
      return validation_error(path, fmt::format("vector name cannot contain \"{}\" char",
                                                static_cast<unsigned char>(c) < 0x20 ? '?' : c));
    }
  }
  return {};
}

Decoded<FieldSchema> decode_dense_field(std::string_view name, Object object, const Path& path) {
  FieldSchema field;
  field.name = name;
  QV_TRY(const Element size, require(object, "size", path));
  QV_TRY(const auto dim, get_u64(size, path.member("size")));
  if (dim < 1 || dim > 65536) {
    return out_of_range(path.member("size"), std::to_string(dim), "from 1 to 65536");
  }
  field.dim = static_cast<std::uint32_t>(dim);
  QV_TRY(const Element distance, require(object, "distance", path));
  QV_TRY(field.metric, decode_variant(distance, path.member("distance"), kMetrics));
  if (const auto datatype = find(object, "datatype")) {
    QV_TRY(field.dtype, decode_variant(*datatype, path.member("datatype"), kTypes));
  }
  if (const auto multi = find(object, "multivector_config")) {
    const Path here = path.member("multivector_config");
    QV_TRY(const Object config, get_object(*multi, here));
    QV_TRY(const Element comparator, require(config, "comparator", here));
    constexpr Named<FieldKind> kComparators[] = {{"max_sim", FieldKind::kMulti}};
    QV_TRY(field.kind, decode_variant(comparator, here.member("comparator"), kComparators));
  }
  return field;
}

Decoded<FieldSchema> decode_sparse_field(std::string_view name, Object object, const Path& path) {
  FieldSchema field;
  field.name = name;
  field.kind = FieldKind::kSparse;
  field.metric = Metric::kDot;
  QV_TRY(check_sparse_datatype(object, path));
  if (const auto modifier = find(object, "modifier")) {
    QV_TRY(field.modifier, decode_variant(*modifier, path.member("modifier"), kModifiers));
  }
  return field;
}

Decoded<std::string> decode_strict_mode(std::string& text) {
  const Path root;
  QV_TRY(const Object object, parse_object_body(text));
  for (const auto [name, value] : object) {
    const auto is_same = [&, given = name](const ShapeMember& m) { return m.name == given; };
    const auto& members = kStrictModeShape.members;
    if (std::none_of(members.begin(), members.end(), is_same)) {
      return format_error(root, fmt::format("unknown field `{}`", name));
    }
  }
  std::string json;
  QV_TRY(append_shaped(json, object, kStrictModeShape, root.member("strict_mode_config")));
  return json;
}

Decoded<CollectionConfig> decode_collection(std::string& body, const CreationOptions& options) {
  const Path root;
  CollectionConfig config;
  config.optimizer = options.optimizer;
  QV_TRY(const Object object, parse_object_body(body));
  std::string wire = "{";
  if (const auto vectors = find(object, "vectors")) {
    QV_TRY(decode_dense_fields(*vectors, config, wire));
  }
  if (const auto sparse = find(object, "sparse_vectors")) {
    QV_TRY(decode_sparse_fields(*sparse, config, wire));
  }
  QV_TRY(append_members(wire, object, kCollectionShape, root));
  QV_TRY(check_optimization_threads(object));
  QV_TRY(config.sharding, decode_sharding(object));
  config.client_settings = wire + "}";
  if (const auto n = unsigned_member(object, "shard_number")) {
    QV_TRY(config.shard_number, check_shard_number(*n, options.max_shard_number));
  }
  if (const auto optimizers = find(object, "optimizers_config")) {
    apply_optimizer(as_object(*optimizers), config, config.optimizer);
  }
  QV_TRY(apply_vector_indexes(config));
  return config;
}

}  // namespace quiver::service::json
