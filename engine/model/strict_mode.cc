#include "engine/model/strict_mode.h"

#include "engine/model/client_settings.h"
#include "payload/json/document.h"

namespace quiver::engine {
namespace {

using payload::Value;

bool flag(const Value& config, std::string_view name, bool otherwise) {
  const Value* member = config.find(name);
  const bool* value = member == nullptr ? nullptr : member->as_bool();
  return value == nullptr ? otherwise : *value;
}

std::optional<double> number(const Value& config, std::string_view name) {
  const Value* member = config.find(name);
  if (member == nullptr) return std::nullopt;
  if (const double* real = member->as_double()) return *real;
  const auto integer = member->as_unsigned();
  return integer ? std::optional(static_cast<double>(*integer)) : std::nullopt;
}

/// Reads `{"field": {member: 5}}`.
StrictMode::FieldLimits field_limits(const Value* fields, std::string_view member) {
  StrictMode::FieldLimits limits;
  if (fields == nullptr || fields->as_object() == nullptr) return limits;
  for (const auto& [name, config] : *fields->as_object()) {
    if (const auto limit = config.find_unsigned(member)) limits[name] = *limit;
  }
  return limits;
}

/// A number of `hnsw_config`: the field's own, otherwise the collection's.
std::optional<std::uint64_t> hnsw_number(const Value& settings, const Value* field,
                                         std::string_view name) {
  for (const Value* object : {field, &settings}) {
    const Value* hnsw = object == nullptr ? nullptr : object->find("hnsw_config");
    const auto number = hnsw == nullptr ? std::nullopt : hnsw->find_unsigned(name);
    if (number) return number;
  }
  return std::nullopt;
}

std::vector<std::string> fields_indexed_by_tenant(const Value& settings,
                                                  const std::vector<FieldSchema>& fields) {
  std::vector<std::string> names;
  for (const auto& field : fields) {
    if (field.kind == FieldKind::kSparse) continue;
    const Value* params = vector_params(settings, field.name);
    const bool has_index = hnsw_number(settings, params, "m") != 0U;
    const bool has_tenants = hnsw_number(settings, params, "payload_m").value_or(0) != 0;
    if (!has_index && has_tenants) names.push_back(field.name);
  }
  return names;
}

void read_limits(const Value& config, StrictMode& out) {
  const auto limit = [&](std::string_view name) { return config.find_unsigned(name); };
  out.max_query_limit = limit("max_query_limit");
  out.max_timeout_s = limit("max_timeout");
  out.max_hnsw_ef = limit("search_max_hnsw_ef");
  out.max_upsert_points = limit("upsert_max_batchsize");
  out.max_batch_searches = limit("search_max_batchsize");
  out.max_vector_bytes = limit("max_collection_vector_size_bytes");
  out.max_payload_bytes = limit("max_collection_payload_size_bytes");
  out.max_points = limit("max_points_count");
  out.reads_per_minute = limit("read_rate_limit");
  out.writes_per_minute = limit("write_rate_limit");
  out.max_filter_conditions = limit("filter_max_conditions");
  out.max_condition_size = limit("condition_max_size");
  out.max_payload_indexes = limit("max_payload_index_count");
  out.max_resident_memory_percent = limit("max_resident_memory_percent");
}

}  // namespace

std::optional<StrictMode> strict_mode_of(std::string_view client_settings,
                                         const std::vector<FieldSchema>& fields) {
  constexpr std::string_view kMember = "strict_mode_config";
  if (client_settings.find(kMember) == std::string_view::npos) return std::nullopt;
  const auto settings = payload::parse_json(client_settings);
  const Value* config = settings ? settings->find(kMember) : nullptr;
  if (config == nullptr || !flag(*config, "enabled", false)) return std::nullopt;
  StrictMode mode;
  read_limits(*config, mode);
  mode.allows_unindexed_reads = flag(*config, "unindexed_filtering_retrieve", true);
  mode.allows_unindexed_updates = flag(*config, "unindexed_filtering_update", true);
  mode.allows_exact_search = flag(*config, "search_allow_exact", true);
  mode.max_oversampling = number(*config, "search_max_oversampling");
  mode.max_tokens = field_limits(config->find("multivector_config"), "max_vectors");
  mode.max_nonzeros = field_limits(config->find("sparse_config"), "max_length");
  mode.fields_indexed_by_tenant = fields_indexed_by_tenant(*settings, fields);
  return mode;
}

}  // namespace quiver::engine
