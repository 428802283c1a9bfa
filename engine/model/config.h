// What a collection is made of, as stored in the catalog.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/params.h"
#include "base/result.h"
#include "base/schema.h"
#include "engine/model/strict_mode.h"
#include "payload/schema.h"

namespace quiver::engine {

/// When segments are sealed, merged and cleaned. Sizes in bytes of vectors and payload.
struct OptimizerConfig {
  /// Share of deleted rows from which a segment is rewritten.
  double deleted_threshold = 0.2;
  /// Segments with fewer deleted rows are not rewritten for those alone.
  std::uint64_t vacuum_min_rows = 1000;
  /// The mutable segment is sealed at this size.
  std::uint64_t seal_bytes = 64ULL << 20;
  std::uint64_t seal_rows = 1ULL << 20;
  /// A merge never makes a segment larger than this.
  std::uint64_t max_segment_rows = 1ULL << 26;
  /// More sealed segments than this are merged, smallest first.
  std::uint32_t max_segments = 8;
  /// Seconds without writes after which the mutable segment is sealed and segments with vector
  /// indexes are merged.
  double idle_seal_s = 1;
  /// Number of segments that an idle merge aims at, if they are not too large (`plan_idle_merge`).
  std::uint32_t idle_segments = 1;
  /// Vectors of a field that take less than this in a segment have no index: searching them exactly
  /// is as fast, and nothing is to be built. Nothing: as is usual for the kind of field
  /// (`usual_min_bytes` of engine/indexing/indexes.h).
  std::optional<std::uint64_t> index_min_bytes;
  /// Largest number of threads for background work. 0: no optimisation until it is raised.
  std::optional<std::uint64_t> max_threads;

  bool operator==(const OptimizerConfig&) const = default;
};

/// How the segments of a field are indexed, where it differs from the default.
struct VectorIndexConfig {
  bool enabled = true;                     ///< false: they are searched exactly
  std::optional<std::uint64_t> min_bytes;  ///< replaces `OptimizerConfig::index_min_bytes`
  KeyValues build;                         ///< build parameters of the field's index type
  KeyValues given;  ///< parameters set by name; they take precedence over `build`

  bool operator==(const VectorIndexConfig&) const = default;
};
/// By the name of the field.
using VectorIndexConfigs = std::map<std::string, VectorIndexConfig, std::less<>>;

struct CollectionConfig {
  std::vector<FieldSchema> fields;  ///< unique names over all kinds
  std::uint32_t shard_number = 1;
  OptimizerConfig optimizer;
  std::vector<payload::FieldIndex> indexes;  ///< payload indexes, by key
  VectorIndexConfigs vector_indexes;         ///< fields that are not named are indexed as usual
  /// A JSON object: the settings as the client sent them. The engine stores and returns it and
  /// never interprets it; what it acts on stands above. docs/decisions/0030.
  std::string client_settings;
  /// Follows from `client_settings` and `fields`; not stored. nullopt: no limits.
  std::optional<StrictMode> strict_mode;

  /// nullptr if there is none of that name.
  [[nodiscard]] const FieldSchema* find_field(std::string_view name) const;
  /// The number of the field `name`. kInvalidArgument if there is none.
  [[nodiscard]] Result<std::size_t> field(std::string_view name) const;
  bool operator==(const CollectionConfig&) const = default;
};

/// Largest number of shards of a collection on any server.
inline constexpr std::uint32_t kMaxShardNumber = 1024;

/// Settings of the server for new collections. A collection keeps those of the time it was created.
struct CreationOptions {
  OptimizerConfig optimizer;            ///< defaults for what the creator leaves out
  std::uint32_t max_shard_number = 64;  ///< 1 to kMaxShardNumber; more are refused
};

[[nodiscard]] std::string to_json(const CollectionConfig& config);
[[nodiscard]] Result<CollectionConfig> parse_config(std::string_view json);

}  // namespace quiver::engine
