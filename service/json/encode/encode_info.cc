// Collection info: the creator's configuration, with defaults for what it leaves out.
#include <fmt/format.h>

#include <cassert>
#include <span>
#include <string>
#include <vector>

#include "base/hash.h"
#include "payload/scalar/datetime.h"
#include "service/json/collection_parts.h"
#include "service/json/element.h"
#include "service/json/encode/encode.h"

namespace quiver::service::json {
namespace {

using engine::CollectionInfo;

struct Default {
  std::string_view name;
  std::string_view json;
};
constexpr Default kHnsw[] = {{"m", "16"},
                             {"ef_construct", "100"},
                             {"full_scan_threshold", "10000"},
                             {"max_indexing_threads", "0"},
                             {"on_disk", "false"}};
constexpr Default kOptimizer[] = {
    {"deleted_threshold", "0.2"},    {"vacuum_min_vector_number", "1000"},
    {"default_segment_number", "0"}, {"max_segment_size", "null"},
    {"memmap_threshold", "null"},    {"indexing_threshold", "10000"},
    {"flush_interval_sec", "5"},     {"max_optimization_threads", "null"}};
constexpr Default kWal[] = {
    {"wal_capacity_mb", "32"}, {"wal_segments_ahead", "0"}, {"wal_retain_closed", "1"}};

void write_element(Writer& out, Element element) { out.raw(to_json(element)); }

void write_member(Writer& out, Object object, std::string_view name, std::string_view otherwise) {
  out.key(name);
  if (const auto value = find(object, name)) {
    write_element(out, *value);
  } else {
    out.raw(otherwise);
  }
}

void write_if_given(Writer& out, Object object, std::string_view name) {
  const auto value = find(object, name);
  if (!value) return;
  out.key(name);
  write_element(out, *value);
}

bool is_default(std::span<const Default> defaults, std::string_view name) {
  for (const auto& entry : defaults) {
    if (entry.name == name) return true;
  }
  return false;
}

/// Writes the given members over the defaults. A member without a default appears only if given.
void write_completed(Writer& out, std::optional<Element> given, std::span<const Default> defaults) {
  Object object;
  const bool has = given && given->get(object) == simdjson::SUCCESS;
  out.begin_object();
  for (const auto& [name, json] : defaults) {
    const auto value = has ? find(object, name) : std::nullopt;
    out.key(name);
    if (value) {
      write_element(out, *value);
    } else {
      out.raw(json);
    }
  }
  if (has) {
    for (const auto [name, value] : object) {
      if (is_default(defaults, name)) continue;
      out.escaped_key(name);
      write_element(out, value);
    }
  }
  out.end_object();
}

/// The configuration as the collection's creator wrote it, parsed; {} if that text is not valid.
class Wire {
 public:
  explicit Wire(const engine::CollectionConfig& config) {
    if (parser_.parse(config.client_settings).get(object_) == simdjson::SUCCESS) return;
    [[maybe_unused]] const auto error = parser_.parse(kEmpty).get(object_);
    assert(error == simdjson::SUCCESS);
  }
  [[nodiscard]] Object object() const { return object_; }

 private:
  inline static const std::string kEmpty = "{}";

  simdjson::dom::parser parser_;
  Object object_;
};

/// Writes an object of field names and parameters, or only the parameters of the unnamed field.
void write_fields(Writer& out, Element fields, Names names) {
  if (names == Names::kShown || !fields.is_object() || is_unnamed(as_object(fields))) {
    return write_element(out, fields);
  }
  out.begin_object();
  for (const auto [name, value] : as_object(fields)) {
    out.escaped_key(shown_name(name, names));
    write_element(out, value);
  }
  out.end_object();
}

void write_params(Writer& out, Object wire, const engine::CollectionConfig& config, Names names) {
  out.begin_object();
  out.key("vectors");
  if (const auto vectors = find(wire, "vectors")) {
    write_fields(out, *vectors, names);
  } else {
    out.raw("{}");
  }
  out.member("shard_number", std::uint64_t{config.shard_number});
  write_if_given(out, wire, "sharding_method");
  write_member(out, wire, "replication_factor", "1");
  write_member(out, wire, "write_consistency_factor", "1");
  write_if_given(out, wire, "read_fan_out_factor");
  write_if_given(out, wire, "read_fan_out_delay_ms");
  write_member(out, wire, "on_disk_payload", "true");
  write_if_given(out, wire, "payload");
  write_if_given(out, wire, "id_tracker");
  if (const auto sparse = find(wire, "sparse_vectors")) {
    out.key("sparse_vectors");
    write_fields(out, *sparse, names);
  }
  out.end_object();
}

void write_config(Writer& out, Object wire, const engine::CollectionConfig& config, Names names) {
  out.begin_object();
  out.key("params");
  write_params(out, wire, config, names);
  out.key("hnsw_config");
  write_completed(out, find(wire, "hnsw_config"), kHnsw);
  out.key("optimizer_config");
  write_completed(out, find(wire, "optimizers_config"), kOptimizer);
  out.key("wal_config");
  write_completed(out, find(wire, "wal_config"), kWal);
  write_member(out, wire, "quantization_config", "null");
  if (names == Names::kShown) {
    write_if_given(out, wire, "strict_mode_config");
    write_if_given(out, wire, "metadata");
  }
  out.end_object();
}

void write_indexes(Writer& out, std::span<const engine::IndexInfo> indexes) {
  out.begin_object();
  for (const auto& [index, n_points] : indexes) {
    out.escaped_key(index.key);
    out.begin_object();
    out.member("data_type", kind_name(index.kind));
    if (index.client_settings.starts_with('{')) {
      out.key("params");
      out.raw(index.client_settings);
    }
    out.member("points", n_points);
    out.end_object();
  }
  out.end_object();
}

std::optional<Object> object_in(Object parent, std::string_view name) {
  const auto value = find(parent, name);
  return value && value->is_object() ? std::optional(as_object(*value)) : std::nullopt;
}

bool asks_for_inline_storage(Object wire, Object params) {
  for (const auto& hnsw : {object_in(params, "hnsw_config"), object_in(wire, "hnsw_config")}) {
    const auto value = hnsw ? find(*hnsw, "inline_storage") : std::nullopt;
    if (value && value->is_bool()) return as_bool(*value);
  }
  return false;
}

/// Settings of a field that contradict each other.
void add_field_warnings(std::vector<std::string>& texts, Object wire, std::string_view name,
                        Object params) {
  if (!asks_for_inline_storage(wire, params)) return;
  const bool is_multi = find(params, "multivector_config").has_value();
  const bool is_quantized = find(params, "quantization_config").has_value() ||
                            find(wire, "quantization_config").has_value();
  if (!is_multi && is_quantized) return;
  texts.push_back(fmt::format(
      "`hnsw_config.inline_storage` of the vector '{}' has no effect: {}", name,
      is_multi ? "multivectors cannot have it" : "it would need quantization, and there is none"));
}

void add_setting_warnings(std::vector<std::string>& texts, Object wire) {
  const auto vectors = find(wire, "vectors");
  if (!vectors || !vectors->is_object()) return;
  const Object fields = as_object(*vectors);
  if (is_unnamed(fields)) return add_field_warnings(texts, wire, "", fields);
  for (const auto [name, params] : fields) {
    if (params.is_object()) add_field_warnings(texts, wire, name, as_object(params));
  }
}

void write_warnings(Writer& out, const CollectionInfo& info) {
  std::vector<std::string> texts;
  const Wire wire(info.config);
  add_setting_warnings(texts, wire.object());
  if (info.n_damaged_segments != 0) {
    texts.push_back(fmt::format(
        "{} segments were found damaged; their rows are taken from the store and sealed again",
        info.n_damaged_segments));
  }
  if (info.n_damaged_indexes != 0) {
    texts.push_back(fmt::format(
        "the vector indexes of {} segments were found damaged; they are built again, and until "
        "then these segments are searched exactly",
        info.n_damaged_indexes));
  }
  if (!info.memory_warning.empty()) texts.push_back(info.memory_warning);
  if (texts.empty()) return;
  out.key("warnings");
  out.begin_array();
  for (const auto& text : texts) {
    out.begin_object();
    out.member("message", std::string_view(text));
    out.end_object();
  }
  out.end_array();
}

}  // namespace

std::string_view kind_name(payload::IndexKind kind) {
  return payload::kIndexKindNames[static_cast<std::size_t>(kind)];
}

std::string_view health_name(engine::Health health) {
  switch (health) {
    case engine::Health::kGreen:
      return "green";
    case engine::Health::kYellow:
      return "yellow";
    case engine::Health::kGrey:
      return "grey";
    case engine::Health::kRed:
      break;
  }
  return "red";
}

void write_optimizer_status(Writer& out, const std::string& error) {
  if (error.empty()) return out.string("ok");
  out.begin_object();
  out.member("error", std::string_view(error));
  out.end_object();
}

std::string shown_name(std::string_view name, Names names) {
  if (names == Names::kShown) return std::string(name);
  return std::to_string(hash_text(name));
}

void write_collection_params(Writer& out, const engine::CollectionConfig& config, Names names) {
  const Wire wire(config);
  write_params(out, wire.object(), config, names);
}

void write_collection_config(Writer& out, const engine::CollectionConfig& config, Names names) {
  const Wire wire(config);
  write_config(out, wire.object(), config, names);
}

void write_hnsw_config(Writer& out, const engine::CollectionConfig& config) {
  const Wire wire(config);
  write_completed(out, find(wire.object(), "hnsw_config"), kHnsw);
}

void write_tenant_quota(Writer& out, const std::optional<engine::TenantQuota>& quota) {
  out.begin_object();
  out.key("tenant");
  if (quota) {
    out.begin_object();
    out.member("key", std::string_view(quota->key));
    out.member("max_points", quota->max_points);
    out.end_object();
  } else {
    out.null();
  }
  out.end_object();
}

void write_ttl(Writer& out, const std::optional<engine::Ttl>& ttl) {
  if (!ttl) return out.raw("null");
  out.begin_object();
  out.member("key", std::string_view(ttl->key));
  out.member("seconds", ttl->seconds);
  out.end_object();
}

void write_collection_info(Writer& out, const CollectionInfo& info) {
  out.begin_object();
  out.member("status", health_name(info.health));
  out.key("optimizer_status");
  write_optimizer_status(out, info.optimizer_error);
  write_warnings(out, info);
  out.member("indexed_vectors_count", info.n_indexed_vectors);
  out.member("points_count", info.n_points);
  out.member("segments_count", info.n_segments);
  out.key("config");
  write_collection_config(out, info.config, Names::kShown);
  out.key("payload_schema");
  write_indexes(out, info.indexes);
  out.key("update_queue");
  out.begin_object();
  out.member("length", info.n_queued_updates);
  out.end_object();
  if (const auto created_at_ms = info.config.created_at_ms) {
    const auto created_at_us = static_cast<std::int64_t>(*created_at_ms) * 1000;
    out.member("created_at", payload::format_datetime(created_at_us));
  }
  out.end_object();
}

}  // namespace quiver::service::json
