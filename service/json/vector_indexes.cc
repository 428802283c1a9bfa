#include "service/json/vector_indexes.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "service/json/collection_parts.h"

namespace quiver::service::json {
namespace {

using engine::CollectionConfig;
using engine::VectorIndexConfig;

struct Bits {
  std::string_view method;
  std::string_view variant;
  std::int64_t bits;  ///< 0: the default, codes of one bit, and of a byte for re-ranking
};
/// Bits per dimension of the codes, chosen to take about the memory that the variant asks for. Rows
/// are re-ranked by their vectors then. The first variant of a method is its default.
constexpr Bits kBits[] = {
    {"scalar", "int8", 0},    {"product", "x4", 0},      {"product", "x8", 4},
    {"product", "x16", 2},    {"product", "x32", 1},     {"product", "x64", 1},
    {"binary", "one_bit", 1}, {"binary", "two_bits", 2}, {"binary", "one_and_half_bits", 2},
    {"turbo", "bits4", 4},    {"turbo", "bits1", 1},     {"turbo", "bits1_5", 2},
    {"turbo", "bits2", 2},    {"turbo", "bits8", 0},
};
/// The member that names the variant of a method.
constexpr std::string_view kVariants[][2] = {
    {"scalar", "type"}, {"product", "compression"}, {"binary", "encoding"}, {"turbo", "bits"}};

std::optional<std::int64_t> bits_of(std::string_view method, std::string_view variant) {
  for (const auto& row : kBits) {
    if (row.method == method && (variant.empty() || row.variant == variant)) return row.bits;
  }
  return std::nullopt;
}

std::optional<Object> object_member(std::optional<Object> object, std::string_view name) {
  const auto value = object ? find(*object, name) : std::nullopt;
  if (!value || !value->is_object()) return std::nullopt;
  return as_object(*value);
}

std::optional<std::int64_t> bits_of(Object quantization) {
  for (const auto& [method, member] : kVariants) {
    const auto config = object_member(quantization, method);
    if (!config) continue;
    const auto variant = find(*config, member);
    return bits_of(method, variant && variant->is_string() ? as_string(*variant) : "");
  }
  return std::nullopt;
}

/// Returns the parameters of a dense field: `vectors` itself, or its member of that name.
std::optional<Object> field_params(Object wire, const std::string& name) {
  const auto vectors = object_member(wire, "vectors");
  if (!vectors || is_unnamed(*vectors)) return vectors;
  return object_member(vectors, name);
}

/// Returns a number of `hnsw_config`: the field's own, otherwise the collection's.
std::optional<std::uint64_t> hnsw_number(Object wire, std::optional<Object> field,
                                         std::string_view name) {
  for (const auto& object : {field, std::optional(wire)}) {
    const auto hnsw = object_member(object, "hnsw_config");
    const auto number = hnsw ? unsigned_member(*hnsw, name) : std::nullopt;
    if (number) return number;
  }
  return std::nullopt;
}

std::optional<Object> quantization_of(Object wire, std::optional<Object> field) {
  const auto own = object_member(field, "quantization_config");
  return own ? own : object_member(wire, "quantization_config");
}

/// Codes of tokens have two bits at least.
KeyValues build_with(std::int64_t bits, FieldKind kind) {
  if (kind == FieldKind::kMulti) return {{"token_bits", std::max<std::int64_t>(bits, 2)}};
  // One bit that is scanned plus four for re-ranking take half the time of four bits that are
  // scanned, and less memory.
  constexpr std::int64_t kHalfByte = 4;
  if (bits == kHalfByte) return {{"bits", std::int64_t{1}}, {"refine_bits", kHalfByte}};
  return {{"bits", bits}, {"refine_bits", std::int64_t{0}}};
}

VectorIndexConfig index_config(Object wire, const FieldSchema& field,
                               const engine::OptimizerConfig& optimizer) {
  VectorIndexConfig config;
  const auto params = field_params(wire, field.name);
  config.enabled = hnsw_number(wire, params, "m") != 0;
  if (const auto kb = hnsw_number(wire, params, "full_scan_threshold")) {
    // Where both are given, a segment must reach both.
    config.min_bytes = std::max(bytes_of_kb(*kb), optimizer.index_min_bytes.value_or(0));
  }
  const auto quantization = quantization_of(wire, params);
  const auto bits = quantization ? bits_of(*quantization) : std::nullopt;
  if (bits.value_or(0) != 0) config.build = build_with(*bits, field.kind);
  return config;
}

}  // namespace

Result<> apply_vector_indexes(CollectionConfig& config) {
  simdjson::dom::parser parser;  // the thread's parser holds the body
  Object wire;
  if (parser.parse(config.client_settings).get(wire) != simdjson::SUCCESS) {
    return fail(Code::kInternal, "a collection configuration is not a JSON object");
  }
  auto before = std::exchange(config.vector_indexes, {});
  for (const auto& field : config.fields) {
    if (engine::is_dropped(field)) continue;
    VectorIndexConfig index;
    if (field.kind != FieldKind::kSparse) index = index_config(wire, field, config.optimizer);
    auto& old = before[field.name];
    index.given = std::move(old.given);
    index.on_gpu = old.on_gpu;
    if (index != VectorIndexConfig()) config.vector_indexes[field.name] = std::move(index);
  }
  return {};
}

}  // namespace quiver::service::json
