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
#include "engine/model/memory_plan.h"
#include "engine/model/recall.h"
#include "engine/model/shard_key.h"
#include "engine/model/strict_mode.h"
#include "engine/model/text_vectors.h"
#include "gpu/placing.h"
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
  gpu::Placing on_gpu = gpu::Placing::kAuto;

  bool operator==(const VectorIndexConfig&) const = default;
};
/// By the name of the field.
using VectorIndexConfigs = std::map<std::string, VectorIndexConfig, std::less<>>;
/// That of a field; the usual one if it has none.
[[nodiscard]] const VectorIndexConfig& find_vector_index(const VectorIndexConfigs& configs,
                                                         std::string_view field);

/// Points expire so many seconds after the moment under `key`: a datetime, or whole seconds since
/// the epoch. Points without such a value never do.
struct Ttl {
  std::string key;            ///< has a payload index of integers or datetimes
  std::uint64_t seconds = 0;  ///< 0 to kMaxTtlSeconds

  bool operator==(const Ttl&) const = default;
};
inline constexpr std::uint64_t kMaxTtlSeconds = 100ULL * 366 * 86400;

/// How points are divided among the shards of a collection.
enum class ShardingMethod : std::uint8_t {
  kAuto,   ///< by a hash of the id
  kCustom  ///< by a key that each change names; within the key, by a hash of the id
};

/// The shards of a key.
struct ShardKeyShards {
  ShardKey key;
  std::vector<std::uint32_t> shards;  ///< numbers, at least one; a hash of the id picks a position

  bool operator==(const ShardKeyShards&) const = default;
};

/// At most so many points have the same value under `key`.
struct TenantQuota {
  std::string key;               ///< has a payload index of keywords, UUIDs or integers
  std::uint64_t max_points = 0;  ///< at least 1

  bool operator==(const TenantQuota&) const = default;
};

/// Which of the shards of a larger collection this is, each of which has nodes of its own.
struct PartOf {
  std::uint32_t number = 0;
  std::uint32_t n_parts = 0;

  bool operator==(const PartOf&) const = default;
};

struct CollectionConfig {
  /// Unique names over all kinds. A field keeps its number for good: new ones come last, and a
  /// dropped one keeps its place (`is_dropped`).
  std::vector<FieldSchema> fields;
  /// kAuto: number of shards, which are 0, 1, ... kCustom: of each key that does not say its own.
  std::uint32_t shard_number = 1;
  ShardingMethod sharding = ShardingMethod::kAuto;
  std::vector<ShardKeyShards> shard_keys;  ///< kCustom: by creation
  std::uint32_t next_shard = 0;  ///< kCustom: no shard ever had this number or a later one
  OptimizerConfig optimizer;
  std::vector<payload::FieldIndex> indexes;  ///< payload indexes, by key
  VectorIndexConfigs vector_indexes;         ///< fields that are not named are indexed as usual
  TextVectorFields text_vectors;             ///< sparse fields whose vectors are made of payloads
  /// Milliseconds since 1970, before the year 10000. nullopt: by a server that did not note it.
  std::optional<std::uint64_t> created_at_ms;
  /// Names the collection for good in a cluster; "": it is on this node only.
  std::string cluster_id;
  std::optional<PartOf> part;               ///< nullopt: a collection by itself
  std::optional<Ttl> ttl;                   ///< nullopt: points do not expire
  std::optional<TenantQuota> tenant_quota;  ///< nullopt: tenants may grow without limit
  std::vector<RecallTable> recall;          ///< of each measured field
  /// A JSON object: the settings as the client sent them. The engine stores and returns it and
  /// never interprets it; what it acts on stands above. docs/decisions/0030.
  std::string client_settings;
  /// Follows from `client_settings` and `fields`; not stored. nullopt: no limits.
  std::optional<StrictMode> strict_mode;
  /// Follows from `client_settings`, `fields` and `indexes`; not stored.
  MemoryPlan memory;

  /// nullptr if there is none of that name. Finds no dropped fields.
  [[nodiscard]] const FieldSchema* find_field(std::string_view name) const;
  /// The number of the field `name`. kInvalidArgument if there is none.
  [[nodiscard]] Result<std::size_t> field(std::string_view name) const;
  bool operator==(const CollectionConfig&) const = default;
};

/// Largest number of fields that a collection ever had, dropped ones included: rows count them in
/// 16 bits.
inline constexpr std::size_t kMaxFieldNumber = 65535;

/// nullptr if recall was not measured for this field.
[[nodiscard]] const RecallTable* find_recall(const CollectionConfig& config,
                                             std::string_view field);
/// Takes the place of an older one of the field. Does nothing if the field is gone.
void set_recall(CollectionConfig& config, RecallTable table);

/// The numbers of the shards of a collection.
[[nodiscard]] std::vector<std::uint32_t> shard_numbers(const CollectionConfig& config);
/// nullptr if there is no such key.
[[nodiscard]] const ShardKeyShards* find_shard_key(const CollectionConfig& config,
                                                   const ShardKey& key);
/// Adds a key with new shards. kFailedPrecondition if it is there, the shards would be too many,
/// or sharding is not custom.
[[nodiscard]] Result<> add_shard_key(CollectionConfig& config, const ShardKeyCreation& creation);
/// Removes a key. kFailedPrecondition if it is not there or sharding is not custom.
[[nodiscard]] Result<> remove_shard_key(CollectionConfig& config, const ShardKey& key);

/// True for the place of a dropped field. No row has a vector there, whatever its bytes say. The
/// schema but for its name stays, so that old rows can be read.
[[nodiscard]] bool is_dropped(const FieldSchema& field);
/// Adds a field with the next number. Nothing changes if the same field is there.
/// kInvalidArgument if another of its name is there; kResourceExhausted after kMaxFieldNumber
/// fields.
[[nodiscard]] Result<> add_field(CollectionConfig& config, FieldSchema field);
/// Drops the field `name` and what is configured for it. Nothing changes if there is none.
void drop_field(CollectionConfig& config, std::string_view name);

/// kFailedPrecondition, naming the difference, unless rows and segments of `now` can follow `next`:
/// shards stay, and each field keeps its place and its type, or is dropped. Names do not change.
[[nodiscard]] Result<> check_can_follow(const CollectionConfig& now, const CollectionConfig& next);

/// kInvalidArgument if points are to expire by a key that has no index of integers with ranges or
/// of datetimes.
[[nodiscard]] Result<> check_ttl(const CollectionConfig& config);
/// kInvalidArgument if tenants are limited by a key without an index of keywords, UUIDs or
/// integers.
[[nodiscard]] Result<> check_tenant_quota(const CollectionConfig& config);

/// Largest number of shards of a collection on any server.
inline constexpr std::uint32_t kMaxShardNumber = 1024;

/// Settings of the server for new collections. A collection keeps those of the time it was
/// created.
struct CreationOptions {
  OptimizerConfig optimizer;            ///< defaults for what the creator leaves out
  std::uint32_t max_shard_number = 64;  ///< 1 to kMaxShardNumber; more are refused
};

[[nodiscard]] std::string to_json(const CollectionConfig& config);
[[nodiscard]] Result<CollectionConfig> parse_config(std::string_view json);

}  // namespace quiver::engine
