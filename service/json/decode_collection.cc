// Creating and changing collections. The configuration is kept twice: what the engine needs, typed,
// and what the creator wrote (known members, no nulls) as JSON, to be echoed.
#include <fmt/format.h>

#include <algorithm>

#include "service/json/decode.h"
#include "service/json/decode_parts.h"
#include "service/json/shape.h"
#include "service/json/writer.h"

namespace quiver::service::json {
namespace {

using engine::CollectionConfig;
using engine::OptimizerConfig;

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
constexpr Named<DType> kTypes[] = {
    {"float32", DType::kF32}, {"uint8", DType::kU8}, {"float16", DType::kF16}};
constexpr Named<SparseModifier> kModifiers[] = {{"none", SparseModifier::kNone},
                                                {"idf", SparseModifier::kIdf}};

template <class T, std::size_t n>
Decoded<T> decode_variant(Element element, const Path& path, const Named<T> (&table)[n]) {
  QV_TRY(const auto text, get_string(element, path));
  std::string known;
  for (const auto& [name, value] : table) {
    if (name == text) return value;
    known += fmt::format("{}`{}`", known.empty() ? "" : ", ", name);
  }
  return format_error(path, fmt::format("unknown variant `{}`, expected one of {}", text, known));
}

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
  if (const auto modifier = find(object, "modifier")) {
    QV_TRY(field.modifier, decode_variant(*modifier, path.member("modifier"), kModifiers));
  }
  return field;
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

/// One set of parameters rather than an object of them by name.
bool is_unnamed(Object vectors) {
  for (const auto name : {"size", "distance"}) {
    const auto value = find(vectors, name);
    if (value && !value->is_object()) return true;
  }
  return false;
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
  return decode_named_fields(object, path, decode_sparse_field, kSparseVectorShape, config, wire);
}

std::uint64_t bytes_per_row(const CollectionConfig& config) {
  std::uint64_t bytes = 0;
  for (const auto& field : config.fields) {
    bytes += std::uint64_t{field.dim} * bytes_per_value(field.dtype);
  }
  return std::max<std::uint64_t>(bytes, 1);
}

std::optional<std::uint64_t> unsigned_member(Object object, std::string_view name) {
  std::uint64_t value = 0;
  const auto element = find(object, name);
  if (!element || element->get(value) != simdjson::SUCCESS) return std::nullopt;
  return value;
}

/// Takes what has a counterpart in the engine. Types are checked already.
void apply_optimizer(Object object, const CollectionConfig& config, OptimizerConfig& out) {
  constexpr std::uint64_t kBytesPerKb = 1024;
  if (const auto threshold = find(object, "deleted_threshold")) {
    out.deleted_threshold = as_double(*threshold);
  }
  out.vacuum_min_rows =
      unsigned_member(object, "vacuum_min_vector_number").value_or(out.vacuum_min_rows);
  if (const auto n = unsigned_member(object, "default_segment_number"); n && *n > 0) {
    out.max_segments = static_cast<std::uint32_t>(std::min<std::uint64_t>(*n, 1U << 16));
  }
  if (const auto kb = find(object, {"max_segment_size", "max_segment_size_kb"})) {
    const double bytes = static_cast<double>(as_uint64(*kb)) * static_cast<double>(kBytesPerKb);
    const double rows = bytes / static_cast<double>(bytes_per_row(config));
    const auto limit = static_cast<double>(OptimizerConfig().max_segment_rows);
    out.max_segment_rows = static_cast<std::uint64_t>(std::clamp(rows, 1.0, limit));
  }
  if (const auto threads = find(object, "max_optimization_threads")) {
    out.max_threads = unsigned_member(object, "max_optimization_threads");
  }
}

Decoded<> check_optimization_threads(Object body) {
  const Path root;
  const auto optimizers = find(body, "optimizers_config");
  if (!optimizers || !optimizers->is_object()) return {};
  const auto threads = find(as_object(*optimizers), "max_optimization_threads");
  if (!threads || threads->is_uint64() || threads->is_int64()) return {};
  const Path path = root.member("optimizers_config");
  if (threads->is_string() && as_string(*threads) == "auto") return {};
  return wrong_type(*threads, path.member("max_optimization_threads"),
                    "an unsigned integer or \"auto\"");
}

Decoded<> check_sharding(Object object) {
  const auto method = find(object, "sharding_method");
  if (!method || !method->is_string() || as_string(*method) == "auto") return {};
  return bad_request("only `sharding_method` `auto` is supported");
}

/// A parser of its own, for texts other than the body.
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

/// Members of `base`, changed by those of `patch`. Quantization is replaced as a whole, or removed
/// by "Disabled"; everything else is merged.
void append_merged_objects(std::string& out, Object base, Object patch) {
  out += '{';
  for (const auto [name, value] : base) {
    const auto change = find(patch, name);
    std::string json;
    if (!change) {
      append_element(json, value);
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

/// As `decode_named_fields` for the fields of a patch, which are only echoed.
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
    std::string json = "{";
    const auto quantization = find(params, "quantization_config");
    const bool disabled = quantization && is_disabled(*quantization);
    if (disabled) {
      json += R"("quantization_config":"Disabled")";
    }
    for (const auto& known : shape.members) {
      const auto change = find(params, known.name);
      if (!change || (disabled && known.name == "quantization_config")) continue;
      if (known.shape == nullptr) {
        append_named(json, known.name, to_json(*change));
        continue;
      }
      std::string inner;
      QV_TRY(const Object object_member, get_object(*change, here.member(known.name)));
      QV_TRY(append_shaped(inner, object_member, *known.shape, here.member(known.name)));
      append_named(json, known.name, inner);
    }
    append_named(fields, name, json + "}");
  }
  append_named(wire, member, fields + "}");
  return {};
}

/// A field that the patch names and the collection does not have.
Result<> check_patched_fields(Object patch, std::string_view member,
                              const CollectionConfig& config) {
  const auto fields = find(patch, member);
  if (!fields) return {};
  for (const auto [name, value] : as_object(*fields)) {
    const auto same = [&, n = name](const FieldSchema& field) { return field.name == n; };
    if (std::none_of(config.fields.begin(), config.fields.end(), same)) {
      return fail(Code::kInvalidArgument, fmt::format("Not existing vector name error: {}", name));
    }
  }
  return {};
}

/// In a patch the unnamed field is called ""; in a configuration its parameters stand alone.
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

Decoded<CollectionConfig> decode_collection(std::string& body, const OptimizerConfig& defaults) {
  const Path root;
  CollectionConfig config;
  config.optimizer = defaults;
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
  QV_TRY(check_sharding(object));
  config.wire_json = wire + "}";
  if (const auto n = unsigned_member(object, "shard_number")) {
    constexpr std::uint64_t kMaxShards = 1024;
    if (*n > kMaxShards) {
      return out_of_range(root.member("shard_number"), std::to_string(*n), "from 1 to 1024");
    }
    config.shard_number = static_cast<std::uint32_t>(*n);
  }
  if (const auto optimizers = find(object, "optimizers_config")) {
    apply_optimizer(as_object(*optimizers), config, config.optimizer);
  }
  return config;
}

Decoded<CollectionPatch> CollectionPatch::decode(std::string& body) {
  const Path root;
  CollectionPatch patch;
  QV_TRY(const Object object, parse_object_body(body));
  patch.json_ = "{";
  QV_TRY(copy_named(object, "vectors", kVectorShape, patch.json_));
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
  QV_TRY(add("strict_mode_config", nullptr));
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
  QV_TRY(parse_stored(config.wire_json.empty() ? std::string("{}") : config.wire_json, base));
  Parsed unwrapped;
  QV_TRY(parse_stored(unwrap_unnamed(base.object, json_), unwrapped));
  std::string merged;
  append_merged_objects(merged, base.object, unwrapped.object);
  config.wire_json = std::move(merged);
  if (const auto optimizers = find(patch.object, "optimizers_config")) {
    apply_optimizer(as_object(*optimizers), config, config.optimizer);
  }
  return {};
}

}  // namespace quiver::service::json
