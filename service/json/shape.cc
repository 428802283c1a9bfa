#include "service/json/shape.h"

#include <fmt/format.h>

#include "service/json/decode_parts.h"
#include "service/json/writer.h"

namespace quiver::service::json {
namespace {

using enum ValueType;

constexpr ShapeMember kHnsw[] = {
    {.name = "m", .type = kUnsigned},
    {.name = "ef_construct", .type = kUnsigned, .min = 4},
    {.name = "full_scan_threshold", .type = kUnsigned, .alias = "full_scan_threshold_kb"},
    {.name = "max_indexing_threads", .type = kUnsigned},
    {.name = "on_disk", .type = kBool},
    {.name = "payload_m", .type = kUnsigned},
    {.name = "inline_storage", .type = kBool},
    {.name = "memory", .type = kString},
};
constexpr ShapeMember kScalar[] = {
    {.name = "type", .type = kString},
    {.name = "quantile", .type = kNumber, .min = 0.5, .max = 1},
    {.name = "always_ram", .type = kBool},
    {.name = "memory", .type = kString},
};
constexpr Shape kScalarShape = {kScalar};
constexpr ShapeMember kProduct[] = {
    {.name = "compression", .type = kString},
    {.name = "always_ram", .type = kBool},
    {.name = "memory", .type = kString},
};
constexpr Shape kProductShape = {kProduct};
constexpr ShapeMember kBinary[] = {
    {.name = "always_ram", .type = kBool},
    {.name = "encoding", .type = kString},
    {.name = "query_encoding", .type = kString},
    {.name = "memory", .type = kString},
};
constexpr Shape kBinaryShape = {kBinary};
constexpr ShapeMember kTurbo[] = {
    {.name = "bits", .type = kString},
    {.name = "always_ram", .type = kBool},
    {.name = "memory", .type = kString},
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
    {.name = "memory", .type = kString},
};
constexpr ShapeMember kSparseIndex[] = {
    {.name = "full_scan_threshold", .type = kUnsigned},
    {.name = "on_disk", .type = kBool},
    {.name = "datatype", .type = kString},
    {.name = "memory", .type = kString},
};
constexpr Shape kSparseIndexShape = {kSparseIndex};
constexpr ShapeMember kSparseVector[] = {
    {.name = "index", .type = kObject, .shape = &kSparseIndexShape},
    {.name = "modifier", .type = kString},
};
constexpr ShapeMember kCollection[] = {
    {.name = "shard_number", .type = kUnsigned, .min = 1},
    {.name = "sharding_method", .type = kString},
    {.name = "replication_factor", .type = kUnsigned, .min = 1},
    {.name = "write_consistency_factor", .type = kUnsigned, .min = 1},
    {.name = "on_disk_payload", .type = kBool},
    {.name = "hnsw_config", .type = kObject, .shape = &kHnswShape},
    {.name = "optimizers_config", .type = kObject, .shape = &kOptimizersShape},
    {.name = "wal_config", .type = kObject, .shape = &kWalShape},
    {.name = "quantization_config",
     .type = kObject,
     .shape = &kQuantizationShape,
     .alias = "quantization"},
    {.name = "strict_mode_config", .type = kObject},
    {.name = "metadata", .type = kObject},
};
constexpr ShapeMember kCollectionParams[] = {
    {.name = "replication_factor", .type = kUnsigned, .min = 1},
    {.name = "write_consistency_factor", .type = kUnsigned, .min = 1},
    {.name = "read_fan_out_factor", .type = kUnsigned},
    {.name = "read_fan_out_delay_ms", .type = kUnsigned},
    {.name = "on_disk_payload", .type = kBool},
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

Decoded<> check_type(Element element, const ShapeMember& member, const Path& path) {
  switch (member.type) {
    case kBool:
      QV_TRY(get_bool(element, path));
      return {};
    case kString:
      QV_TRY(get_string(element, path));
      return {};
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

Decoded<> append_member(std::string& out, Element element, const ShapeMember& member,
                        const Path& path) {
  QV_TRY(check_type(element, member, path));
  if (!out.ends_with('{')) out += ',';
  append_string(out, member.name);
  out += ':';
  if (member.shape == nullptr) {
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
const Shape kQuantizationShape = {kQuantization};
const Shape kOptimizersShape = {kOptimizers};
const Shape kWalShape = {kWal};
const Shape kVectorShape = {kVector};
const Shape kSparseVectorShape = {kSparseVector};
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
  out += '{';
  QV_TRY(append_members(out, object, shape, path));
  out += '}';
  return {};
}

}  // namespace quiver::service::json
