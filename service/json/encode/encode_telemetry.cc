#include "service/json/encode/encode_telemetry.h"

#include <algorithm>
#include <map>
#include <span>
#include <string>

#include "base/schema_names.h"

namespace quiver::service::json {
namespace {

using engine::CollectionConfig;
using engine::SegmentFieldInfo;
using engine::SegmentInfo;
using engine::ShardInfo;

constexpr double kMicrosPerSecond = 1e6;
constexpr std::uint64_t kSegmentsLevel = 4;
constexpr std::uint64_t kShardsLevel = 3;
constexpr std::uint64_t kConfigLevel = 2;

template <class Value>
std::uint64_t sum_over_fields(const SegmentInfo& segment, Value SegmentFieldInfo::*value) {
  std::uint64_t sum = 0;
  for (const auto& field : segment.fields) sum += field.*value;
  return sum;
}

std::uint64_t n_indexed_vectors(const SegmentInfo& segment) {
  std::uint64_t n = 0;
  for (const auto& field : segment.fields) n += field.is_indexed ? field.n_vectors : 0;
  return n;
}

/// Bytes of payloads and vectors: in files if the segment is sealed, otherwise in memory.
std::uint64_t n_data_bytes(const SegmentInfo& segment) {
  return segment.n_payload_bytes + sum_over_fields(segment, &SegmentFieldInfo::n_bytes);
}

void write_index_schema(Writer& out, const SegmentInfo& segment, Names names) {
  out.begin_object();
  for (const auto& column : segment.columns) {
    out.escaped_key(shown_name(column.index.key, names));
    out.begin_object();
    out.member("data_type", kind_name(column.index.kind));
    if (names == Names::kShown && column.index.client_settings.starts_with('{')) {
      out.key("params");
      out.raw(column.index.client_settings);
    }
    out.member("points", column.n_points);
    out.end_object();
  }
  out.end_object();
}

void write_vector_data_info(Writer& out, const SegmentInfo& segment, Names names) {
  out.begin_object();
  for (const auto& field : segment.fields) {
    out.escaped_key(shown_name(field.field, names));
    out.begin_object();
    out.member("num_vectors", field.n_vectors);
    out.member("num_indexed_vectors", field.is_indexed ? field.n_vectors : 0);
    out.member("num_deleted_vectors", field.n_deleted_vectors);
    out.end_object();
  }
  out.end_object();
}

void write_segment_info(Writer& out, std::uint32_t shard, const SegmentInfo& segment, Names names) {
  const bool has_index = std::any_of(segment.fields.begin(), segment.fields.end(),
                                     [](const auto& field) { return !field.is_exact; });
  const std::uint64_t n_bytes = n_data_bytes(segment);
  out.begin_object();
  out.member("uuid", PointId::uuid(shard, segment.id).to_string());
  out.member("segment_type", has_index ? "indexed" : "plain");
  out.member("num_vectors", sum_over_fields(segment, &SegmentFieldInfo::n_vectors));
  out.member("num_points", segment.n_points);
  out.member("num_deferred_points", std::uint64_t{0});  // every point is visible
  out.member("num_deleted_deferred_points", std::uint64_t{0});
  out.member("num_indexed_vectors", n_indexed_vectors(segment));
  out.member("num_deleted_vectors", sum_over_fields(segment, &SegmentFieldInfo::n_deleted_vectors));
  out.member("vectors_size_bytes", sum_over_fields(segment, &SegmentFieldInfo::n_bytes));
  out.member("payloads_size_bytes", segment.n_payload_bytes);
  out.member("ram_usage_bytes", sum_over_fields(segment, &SegmentFieldInfo::n_heap_bytes) +
                                    (segment.sealed ? 0 : n_bytes));
  out.member("disk_usage_bytes", sum_over_fields(segment, &SegmentFieldInfo::n_index_bytes) +
                                     (segment.sealed ? n_bytes : 0));
  out.member("is_appendable", !segment.sealed);
  out.key("index_schema");
  write_index_schema(out, segment, names);
  out.key("vector_data");
  write_vector_data_info(out, segment, names);
  out.end_object();
}

/// Clients know two words: `plain`, and `hnsw` for whatever is not.
void write_dense_config(Writer& out, const FieldSchema& schema, const SegmentInfo& segment,
                        bool is_exact, const CollectionConfig& config) {
  out.begin_object();
  out.member("size", std::uint64_t{schema.dim});
  out.member("distance", distance_name(schema.metric));
  out.member("storage_type", segment.sealed ? "Mmap" : "Memory");
  out.key("index");
  out.begin_object();
  out.member("type", is_exact ? "plain" : "hnsw");
  out.key("options");
  if (is_exact) {
    out.raw("{}");
  } else {
    write_hnsw_config(out, config);
  }
  out.end_object();
  if (schema.kind == FieldKind::kMulti) {
    out.key("multivector_config");
    out.raw(R"({"comparator":"max_sim"})");
  }
  out.member("datatype", datatype_name(schema.dtype));
  out.end_object();
}

void write_sparse_config(Writer& out, const FieldSchema& schema, const SegmentInfo& segment) {
  out.begin_object();
  out.key("index");
  out.begin_object();
  out.member("index_type", segment.sealed ? "Mmap" : "MutableRam");
  out.end_object();
  if (schema.modifier == SparseModifier::kIdf) out.member("modifier", "idf");
  out.end_object();
}

void write_fields_config(Writer& out, const SegmentInfo& segment, const CollectionConfig& config,
                         Names names, FieldKind sparse_or_not) {
  out.begin_object();
  for (const auto& field : segment.fields) {
    const FieldSchema* schema = config.find_field(field.field);
    const bool wants_sparse = sparse_or_not == FieldKind::kSparse;
    if (schema == nullptr || (schema->kind == FieldKind::kSparse) != wants_sparse) continue;
    out.escaped_key(shown_name(field.field, names));
    if (wants_sparse) {
      write_sparse_config(out, *schema, segment);
    } else {
      write_dense_config(out, *schema, segment, field.is_exact, config);
    }
  }
  out.end_object();
}

void write_segment_config(Writer& out, const SegmentInfo& segment, const CollectionConfig& config,
                          Names names) {
  out.begin_object();
  out.key("vector_data");
  write_fields_config(out, segment, config, names, FieldKind::kDense);
  out.key("sparse_vector_data");
  write_fields_config(out, segment, config, names, FieldKind::kSparse);
  out.key("payload_storage_type");
  out.raw(segment.sealed ? R"({"type":"mmap"})" : R"({"type":"in_ram_mmap"})");
  out.end_object();
}

void write_payload_indexes(Writer& out, const SegmentInfo& segment, Names names) {
  out.begin_array();
  for (const auto& column : segment.columns) {
    out.begin_object();
    out.member("field_name", shown_name(column.index.key, names));
    out.member("index_type", kind_name(column.index.kind));
    out.member("points_values_count", column.n_values);
    out.member("points_count", column.n_points);
    out.end_object();
  }
  out.end_array();
}

void write_segments(Writer& out, std::uint32_t number, const ShardInfo& shard,
                    const CollectionConfig& config, Names names) {
  out.begin_array();
  for (const auto& segment : shard.segments) {
    out.begin_object();
    out.key("info");
    write_segment_info(out, number, segment, names);
    out.key("config");
    write_segment_config(out, segment, config, names);
    out.key("vector_index_searches");  // they are not counted by segment
    out.raw("[]");
    out.key("payload_field_indices");
    write_payload_indexes(out, segment, names);
    out.end_object();
  }
  out.end_array();
}

void write_counts(Writer& out, const std::map<std::string, std::uint64_t>& counts, Names names) {
  out.begin_object();
  for (const auto& [name, n] : counts) {
    out.escaped_key(shown_name(name, names));
    out.u64(n);
  }
  out.end_object();
}

/// Sums over all segments.
struct ShardSums {
  std::uint64_t n_points = 0, n_vectors = 0, n_vector_bytes = 0, n_payload_bytes = 0;
  std::map<std::string, std::uint64_t> vectors;  ///< by field
  std::map<std::string, std::uint64_t>
      not_indexed;  ///< vectors that a search of indexes alone leaves out
};

ShardSums sums_of(const ShardInfo& shard) {
  ShardSums sums;
  for (const auto& segment : shard.segments) {
    sums.n_points += segment.n_points;
    sums.n_payload_bytes += segment.n_payload_bytes;
    for (const auto& field : segment.fields) {
      sums.n_vectors += field.n_vectors;
      sums.n_vector_bytes += field.n_bytes;
      sums.vectors[field.field] += field.n_vectors;
      if (segment.sealed && !field.is_indexed) sums.not_indexed[field.field] += field.n_vectors;
    }
  }
  return sums;
}

OperationTimes times_of(const engine::WorkSummary& work) {
  return {work.n_done,
          work.n_failed,
          work.total_s * kMicrosPerSecond,
          work.min_s * kMicrosPerSecond,
          work.max_s * kMicrosPerSecond,
          work.last_at};
}

void write_optimizations(Writer& out, const ShardInfo& shard, const TelemetryDetail& detail) {
  out.begin_object();
  out.key("status");
  write_optimizer_status(out, shard.optimizer_error);
  out.key("optimizations");
  write_operation_times(out, times_of(shard.work), detail.level);
  out.end_object();
}

void write_local_shard(Writer& out, std::uint32_t number, const ShardInfo& shard,
                       const CollectionConfig& config, const TelemetryDetail& detail) {
  const ShardSums sums = sums_of(shard);
  out.begin_object();
  out.member("variant_name", "local shard");
  out.member("status", health_name(shard.health));
  out.member("total_optimized_points", shard.work.n_rows);
  out.member("vectors_size_bytes", sums.n_vector_bytes);
  out.member("payloads_size_bytes", sums.n_payload_bytes);
  out.member("num_points", sums.n_points);
  out.member("num_vectors", sums.n_vectors);
  out.key("num_vectors_by_name");
  write_counts(out, sums.vectors, detail.names);
  if (detail.level >= kSegmentsLevel) {
    out.key("segments");
    write_segments(out, number, shard, config, detail.names);
  }
  out.key("optimizations");
  write_optimizations(out, shard, detail);
  out.member("async_scorer", false);
  if (detail.level >= kSegmentsLevel) {
    out.key("indexed_only_excluded_vectors");
    write_counts(out, sums.not_indexed, detail.names);
  }
  out.key("update_queue");
  out.begin_object();
  out.member("length", shard.n_queued_updates);
  out.member("op_num", to_number(shard.last_seq));
  out.end_object();
  out.end_object();
}

void write_key(Writer& out, const std::optional<engine::ShardKey>& key, Names names) {
  if (!key) return out.null();
  if (const auto* text = std::get_if<std::string>(&*key))
    return out.string(shown_name(*text, names));
  write_shard_key(out, *key);
}

/// There is one process, so no shard is remote, moves, or has a replica.
void write_shards(Writer& out, std::span<const ShardInfo> shards, const CollectionConfig& config,
                  const TelemetryDetail& detail) {
  out.key("shards");
  out.begin_array();
  for (const auto& shard : shards) {
    out.begin_object();
    out.member("id", std::uint64_t{shard.number});
    out.key("key");
    write_key(out, shard.key, detail.names);
    out.key("local");
    write_local_shard(out, shard.number, shard, config, detail);
    out.key("remote");
    out.raw("[]");
    out.key("replicate_states");
    out.raw("{}");
    out.key("partial_snapshot");
    out.raw(
        R"({"ongoing_create_snapshot_requests":0,"is_recovering":false,"recovery_timestamp":0})");
    out.end_object();
  }
  out.end_array();
  out.key("transfers");
  out.raw("[]");
  out.key("resharding");
  out.raw("[]");
}

std::uint64_t n_vectors(std::span<const ShardInfo> shards) {
  std::uint64_t n = 0;
  for (const auto& shard : shards) n += sums_of(shard).n_vectors;
  return n;
}

}  // namespace

void write_operation_times(Writer& out, const OperationTimes& times, std::uint64_t level) {
  out.begin_object();
  out.member("count", times.n);
  if (times.n_failed > 0) out.member("fail_count", times.n_failed);
  if (times.n > 0) {
    out.member("avg_duration_micros", times.total_us / static_cast<double>(times.n));
  }
  if (times.n > 0 && level > 0) {
    out.member("min_duration_micros", times.min_us);
    out.member("max_duration_micros", times.max_us);
    out.member("total_duration_micros", static_cast<std::uint64_t>(times.total_us));
    out.member("last_responded", timestamp(times.last_at));
  }
  out.end_object();
}

bool needs_shards(const TelemetryDetail& detail) {
  return detail.level < kConfigLevel || detail.level >= kShardsLevel;
}

void write_collection_telemetry(Writer& out, std::string_view name,
                                const engine::CollectionInfo& info,
                                std::span<const ShardInfo> shards, const TelemetryDetail& detail) {
  constexpr double kMillisPerSecond = 1e3;
  out.begin_object();
  if (detail.level < kConfigLevel) {
    out.member("vectors", n_vectors(shards));
    out.key("optimizers_status");
    write_optimizer_status(out, info.optimizer_error);
    out.key("params");
    write_collection_params(out, info.config, detail.names);
  } else {
    out.member("id", shown_name(name, detail.names));
    out.member("init_time_ms", static_cast<std::uint64_t>(info.opening_s * kMillisPerSecond));
    out.key("config");
    write_collection_config(out, info.config, detail.names);
  }
  if (detail.level >= kShardsLevel) write_shards(out, shards, info.config, detail);
  out.end_object();
}

}  // namespace quiver::service::json
