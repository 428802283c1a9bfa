// Limits that a collection sets for its requests.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/schema.h"

namespace quiver::engine {

/// `strict_mode_config` of a collection, typed. docs/strict-mode.md explains each limit;
/// `service/api/strict/` enforces them. nullopt: no limit.
struct StrictMode {
  using Limit = std::optional<std::uint64_t>;
  /// Largest size of the vectors of a field, by its name.
  using FieldLimits = std::map<std::string, std::uint64_t, std::less<>>;

  Limit max_query_limit;
  Limit max_timeout_s;
  bool allows_unindexed_reads = true;
  bool allows_unindexed_updates = true;
  Limit max_hnsw_ef;
  bool allows_exact_search = true;
  std::optional<double> max_oversampling;
  Limit max_upsert_points;
  Limit max_batch_searches;
  Limit max_vector_bytes;
  Limit max_payload_bytes;
  Limit max_points;
  Limit reads_per_minute;
  Limit writes_per_minute;
  Limit max_filter_conditions;
  Limit max_condition_size;
  FieldLimits max_tokens;    ///< of multi-vectors
  FieldLimits max_nonzeros;  ///< of sparse vectors
  Limit max_payload_indexes;
  Limit max_resident_memory_percent;
  /// Fields without a vector index (`m` is 0) whose tenants have one (`payload_m` is not).
  std::vector<std::string> fields_indexed_by_tenant;

  bool operator==(const StrictMode&) const = default;
};

/// The strict mode that `client_settings`, the JSON of a collection's creator, asks for. nullopt if
/// it asks for none or has it disabled.
[[nodiscard]] std::optional<StrictMode> strict_mode_of(std::string_view client_settings,
                                                       const std::vector<FieldSchema>& fields);

}  // namespace quiver::engine
