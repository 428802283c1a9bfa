#include "service/json/decode/shape.h"

#include <fmt/format.h>

#include <algorithm>

#include "service/json/decode/decode_parts.h"
#include "service/json/writer.h"

namespace quiver::service::json {
namespace {

using enum ValueType;

constexpr std::string_view kMemories[] = {"cold", "cached", "pinned"};
constexpr std::string_view kScalarTypes[] = {"int8"};
constexpr std::string_view kCompressions[] = {"x4", "x8", "x16", "x32", "x64"};
constexpr std::string_view kEncodings[] = {"one_bit", "two_bits", "one_and_half_bits"};
constexpr std::string_view kQueryEncodings[] = {"default", "binary", "scalar4bits", "scalar8bits"};
constexpr std::string_view kBits[] = {"bits1", "bits1_5", "bits2", "bits4", "bits8"};
constexpr std::string_view kDatatypes[] = {"float32", "uint8", "float16"};
constexpr std::string_view kModifiers[] = {"none", "idf", "bm25"};

constexpr ShapeMember kHnsw[] = {
    {.name = "m", .type = kUnsigned},
    {.name = "ef_construct", .type = kUnsigned, .min = 4},
    {.name = "full_scan_threshold", .type = kUnsigned, .alias = "full_scan_threshold_kb"},
    {.name = "max_indexing_threads", .type = kUnsigned},
    {.name = "on_disk", .type = kBool},
    {.name = "payload_m", .type = kUnsigned},
    {.name = "inline_storage", .type = kBool},
    {.name = "memory", .type = kString, .values = kMemories},
};
constexpr ShapeMember kScalar[] = {
    {.name = "type", .type = kString, .values = kScalarTypes, .required = true},
    {.name = "quantile", .type = kNumber, .min = 0.5, .max = 1},
    {.name = "always_ram", .type = kBool},
    {.name = "memory", .type = kString, .values = kMemories},
};
constexpr Shape kScalarShape = {kScalar};
constexpr ShapeMember kProduct[] = {
    {.name = "compression", .type = kString, .values = kCompressions, .required = true},
    {.name = "always_ram", .type = kBool},
    {.name = "memory", .type = kString, .values = kMemories},
};
constexpr Shape kProductShape = {kProduct};
constexpr ShapeMember kBinary[] = {
    {.name = "always_ram", .type = kBool},
    {.name = "encoding", .type = kString, .values = kEncodings},
    {.name = "query_encoding", .type = kString, .values = kQueryEncodings},
    {.name = "memory", .type = kString, .values = kMemories},
};
constexpr Shape kBinaryShape = {kBinary};
constexpr ShapeMember kTurbo[] = {
    {.name = "bits", .type = kString, .values = kBits},
    {.name = "always_ram", .type = kBool},
    {.name = "memory", .type = kString, .values = kMemories},
};
constexpr Shape kTurboShape = {kTurbo};
constexpr ShapeMember kQuantization[] = {
    {.name = "scalar", .type = kObject, .shape = &kScalarShape},
    {.name = "product", .type = kObject, .shape = &kProductShape},
    {.name = "binary", .type = kObject, .shape = &kBinaryShape},
    {.name = "turbo", .type = kObject, .shape = &kTurboShape},
};
constexpr ShapeMember kOptimizers[] = {
    {.name = "deleted_threshold", .type = kNumber, .min = 0, .max = 1},
    {.name = "vacuum_min_vector_number", .type = kUnsigned},
    {.name = "default_segment_number", .type = kUnsigned},
    {.name = "max_segment_size", .type = kUnsigned, .alias = "max_segment_size_kb"},
    {.name = "memmap_threshold", .type = kUnsigned, .alias = "memmap_threshold_kb"},
    {.name = "indexing_threshold", .type = kUnsigned, .alias = "indexing_threshold_kb"},
    {.name = "flush_interval_sec", .type = kUnsigned},
    {.name = "max_optimization_threads"},
    {.name = "prevent_unoptimized", .type = kBool},
};
constexpr ShapeMember kWal[] = {
    {.name = "wal_capacity_mb", .type = kUnsigned, .min = 1},
    {.name = "wal_segments_ahead", .type = kUnsigned},
    {.name = "wal_retain_closed", .type = kUnsigned, .min = 1},
};
constexpr ShapeMember kMultivector[] = {{.name = "comparator", .type = kString}};
constexpr Shape kMultivectorShape = {kMultivector};
constexpr ShapeMember kVector[] = {
    {.name = "size", .type = kUnsigned, .min = 1, .max = 65536},
    {.name = "distance", .type = kString},
    {.name = "hnsw_config", .type = kObject, .shape = &kHnswShape},
    {.name = "quantization_config",
     .type = kObject,
     .shape = &kQuantizationShape,
     .alias = "quantization"},
    {.name = "on_disk", .type = kBool},
    {.name = "datatype", .type = kString},
    {.name = "multivector_config", .type = kObject, .shape = &kMultivectorShape},
    {.name = "memory", .type = kString, .values = kMemories, .never = "pinned"},
};
constexpr ShapeMember kVectorPatch[] = {
    {.name = "hnsw_config", .type = kObject, .shape = &kHnswShape},
    {.name = "quantization_config",
     .type = kObject,
     .shape = &kQuantizationShape,
     .alias = "quantization",
     .or_text = "Disabled"},
    {.name = "on_disk", .type = kBool},
    {.name = "memory", .type = kString, .values = kMemories, .never = "pinned"},
};
constexpr ShapeMember kSparseIndex[] = {
    {.name = "full_scan_threshold", .type = kUnsigned},
    {.name = "on_disk", .type = kBool},
    {.name = "datatype", .type = kString, .values = kDatatypes},
    {.name = "memory", .type = kString, .values = kMemories},
};
constexpr Shape kSparseIndexShape = {kSparseIndex};
constexpr ShapeMember kSparseVector[] = {
    {.name = "index", .type = kObject, .shape = &kSparseIndexShape},
    {.name = "modifier", .type = kString, .values = kModifiers},
    // Of our own, with the modifier `bm25`.
    {.name = "source"},
    {.name = "analyzer", .type = kObject},
    {.name = "k1", .type = kNumber},
    {.name = "b", .type = kNumber},
    {.name = "avg_len", .type = kNumber},
};
constexpr ShapeMember kStrictMultivector[] = {
    {.name = "max_vectors", .type = kUnsigned, .min = 1},
};
constexpr Shape kStrictMultivectorShape = {kStrictMultivector};
constexpr ShapeMember kStrictSparse[] = {
    {.name = "max_length", .type = kUnsigned, .min = 1},
};
constexpr Shape kStrictSparseShape = {kStrictSparse};
constexpr ShapeMember kStrictMode[] = {
    {.name = "enabled", .type = kBool},
    {.name = "max_query_limit", .type = kUnsigned, .min = 1},
    {.name = "max_timeout", .type = kUnsigned, .min = 1},
    {.name = "unindexed_filtering_retrieve", .type = kBool},
    {.name = "unindexed_filtering_update", .type = kBool},
    {.name = "search_max_hnsw_ef", .type = kUnsigned},
    {.name = "search_allow_exact", .type = kBool},
    {.name = "search_max_oversampling", .type = kNumber},
    {.name = "upsert_max_batchsize", .type = kUnsigned},
    {.name = "search_max_batchsize", .type = kUnsigned},
    {.name = "max_collection_vector_size_bytes", .type = kUnsigned},
    {.name = "max_collection_payload_size_bytes", .type = kUnsigned},
    {.name = "max_points_count", .type = kUnsigned, .min = 1},
    {.name = "read_rate_limit", .type = kUnsigned, .min = 1},
    {.name = "write_rate_limit", .type = kUnsigned, .min = 1},
    {.name = "filter_max_conditions", .type = kUnsigned},
    {.name = "condition_max_size", .type = kUnsigned},
    {.name = "multivector_config", .type = kObject, .each = &kStrictMultivectorShape},
    {.name = "sparse_config", .type = kObject, .each = &kStrictSparseShape},
    {.name = "max_payload_index_count", .type = kUnsigned},
    {.name = "max_resident_memory_percent", .type = kUnsigned, .min = 1, .max = 100},
};
constexpr ShapeMember kPayloadStorage[] = {
    {.name = "memory", .type = kString, .values = kMemories, .never = "pinned"},
};
constexpr Shape kPayloadStorageShape = {kPayloadStorage};
constexpr ShapeMember kIdTracker[] = {
    {.name = "memory", .type = kString, .values = kMemories},
};
constexpr Shape kIdTrackerShape = {kIdTracker};
constexpr ShapeMember kCollection[] = {
    {.name = "shard_number", .type = kUnsigned, .min = 1},
    {.name = "sharding_method", .type = kString},
    {.name = "replication_factor", .type = kUnsigned, .min = 1},
    {.name = "write_consistency_factor", .type = kUnsigned, .min = 1},
    {.name = "shards_together", .type = kBool},
    {.name = "on_disk_payload", .type = kBool},
    {.name = "payload", .type = kObject, .shape = &kPayloadStorageShape},
    {.name = "id_tracker", .type = kObject, .shape = &kIdTrackerShape},
    {.name = "hnsw_config", .type = kObject, .shape = &kHnswShape},
    {.name = "optimizers_config", .type = kObject, .shape = &kOptimizersShape},
    {.name = "wal_config", .type = kObject, .shape = &kWalShape},
    {.name = "quantization_config",
     .type = kObject,
     .shape = &kQuantizationShape,
     .alias = "quantization"},
    {.name = "strict_mode_config", .type = kObject, .shape = &kStrictModeShape},
    {.name = "metadata", .type = kObject},
};
constexpr ShapeMember kCollectionParams[] = {
    {.name = "replication_factor", .type = kUnsigned, .min = 1},
    {.name = "write_consistency_factor", .type = kUnsigned, .min = 1},
    {.name = "read_fan_out_factor", .type = kUnsigned},
    {.name = "read_fan_out_delay_ms", .type = kUnsigned},
    {.name = "on_disk_payload", .type = kBool},
    {.name = "payload", .type = kObject, .shape = &kPayloadStorageShape},
    {.name = "id_tracker", .type = kObject, .shape = &kIdTrackerShape},
};

std::string wanted_range(const ShapeMember& member) {
  if (member.max == std::numeric_limits<double>::infinity()) {
    return fmt::format("{} or larger", member.min);
  }
  return fmt::format("from {} to {}", member.min, member.max);
}

Decoded<> check_range(double value, Element element, const ShapeMember& member, const Path& path) {
  if (value >= member.min && value <= member.max) return {};
  return out_of_range(path, to_json(element), wanted_range(member));
}

Decoded<> check_text(Element element, const ShapeMember& member, const Path& path) {
  QV_TRY(const auto text, get_string(element, path));
  if (!member.never.empty() && text == member.never) {
    return out_of_range(path, to_json(element), fmt::format("another than `{}`", member.never));
  }
  const auto& values = member.values;
  if (values.empty() || std::find(values.begin(), values.end(), text) != values.end()) return {};
  return format_error(path, fmt::format("unknown variant `{}`, expected one of `{}`", text,
                                        fmt::join(values, "`, `")));
}

/// Checks what `append_members` cannot see: missing members.
Decoded<> check_present(Object object, const Shape& shape, const Path& path) {
  std::size_t n_members = 0;
  std::string names;
  for (const auto& member : shape.members) {
    const bool is_there = find(object, member.name).has_value();
    if (member.required && !is_there) return missing_field(path, member.name);
    n_members += is_there ? 1 : 0;
    names += fmt::format("{}`{}`", names.empty() ? "" : ", ", member.name);
  }
  if (!shape.is_choice || n_members == 1) return {};
  return format_error(path, fmt::format("expected exactly one of {}", names));
}

Decoded<> check_type(Element element, const ShapeMember& member, const Path& path) {
  switch (member.type) {
    case kBool:
      QV_TRY(get_bool(element, path));
      return {};
    case kString:
      return check_text(element, member, path);
    case kUnsigned: {
      QV_TRY(const auto value, get_u64(element, path));
      return check_range(static_cast<double>(value), element, member, path);
    }
    case kNumber: {
      QV_TRY(const auto value, get_f64(element, path));
      return check_range(value, element, member, path);
    }
    case kObject:
      QV_TRY(get_object(element, path));
      return {};
    case kAny:
      break;
  }
  return {};
}

Decoded<> check_refused(Element element, const ShapeMember& member, const Path& path) {
  if (member.refused.empty() || (element.is_bool() && !as_bool(element))) return {};
  return wrong_input(fmt::format("{}: {}", path.to_string(), member.refused));
}

Decoded<> append_each(std::string& out, Object object, const Shape& shape, const Path& path) {
  out += '{';
  for (const auto [name, value] : object) {
    const Path here = path.member(name);
    QV_TRY(const Object members, get_object(value, here));
    if (!out.ends_with('{')) out += ',';
    append_string(out, name);
    out += ':';
    QV_TRY(append_shaped(out, members, shape, here));
  }
  out += '}';
  return {};
}

Decoded<> append_member(std::string& out, Element element, const ShapeMember& member,
                        const Path& path) {
  QV_TRY(check_refused(element, member, path));
  const bool is_text =
      !member.or_text.empty() && element.is_string() && as_string(element) == member.or_text;
  if (!is_text) {
    QV_TRY(check_type(element, member, path));
  }
  if (!out.ends_with('{')) out += ',';
  append_string(out, member.name);
  out += ':';
  if (member.each != nullptr) return append_each(out, as_object(element), *member.each, path);
  if (member.shape == nullptr || is_text) {
    append_element(out, element);
    return {};
  }
  return append_shaped(out, as_object(element), *member.shape, path);
}

const ShapeMember* find_member(const Shape& shape, std::string_view name) {
  for (const auto& member : shape.members) {
    if (member.name == name || (!member.alias.empty() && member.alias == name)) return &member;
  }
  return nullptr;
}

}  // namespace

const Shape kHnswShape = {kHnsw};
const Shape kQuantizationShape = {.members = kQuantization, .is_choice = true};
const Shape kOptimizersShape = {kOptimizers};
const Shape kWalShape = {kWal};
const Shape kVectorShape = {kVector};
const Shape kSparseVectorShape = {kSparseVector};
const Shape kVectorPatchShape = {kVectorPatch};
const Shape kStrictModeShape = {kStrictMode};
const Shape kCollectionShape = {kCollection};
const Shape kCollectionParamsShape = {kCollectionParams};

Decoded<> append_members(std::string& out, Object object, const Shape& shape, const Path& path) {
  for (const auto [name, value] : object) {
    const ShapeMember* member = value.is_null() ? nullptr : find_member(shape, name);
    if (member == nullptr) continue;
    QV_TRY(append_member(out, value, *member, path.member(member->name)));
  }
  return {};
}

Decoded<> append_shaped(std::string& out, Object object, const Shape& shape, const Path& path) {
  QV_TRY(check_present(object, shape, path));
  out += '{';
  QV_TRY(append_members(out, object, shape, path));
  out += '}';
  return {};
}

}  // namespace quiver::service::json
