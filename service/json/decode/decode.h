// Decodes JSON bodies to requests. Every function parses `body` whole. Errors are 400 for a
// malformed body or a wrong type, 422 for a value out of its range.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/model/aggregates.h"
#include "engine/model/alias.h"
#include "engine/model/config.h"
#include "engine/model/facets.h"
#include "engine/model/fusion_learning.h"
#include "engine/model/groups.h"
#include "engine/model/matrix.h"
#include "engine/model/operation.h"
#include "engine/model/proposals.h"
#include "engine/model/query.h"
#include "engine/model/recall.h"
#include "payload/text/analyzer.h"
#include "service/api/audit.h"
#include "service/api/cluster_info.h"
#include "service/api/shard_keys.h"
#include "service/api/snapshots.h"
#include "service/json/error.h"

namespace quiver::service::json {

/// The sparse vector of a text by the model `qdrant/bm25`, of which `options` are those of stock
/// clients: a JSON object. 400 for another model.
[[nodiscard]] Decoded<engine::VectorValue> vector_of_text(std::string_view text,
                                                          std::string_view model,
                                                          std::string& options, const Path& path,
                                                          payload::TokenUse use);

// Reads.
[[nodiscard]] Decoded<engine::Query> decode_query(std::string& body);
[[nodiscard]] Decoded<std::vector<engine::Query>> decode_query_batch(std::string& body);
/// The older form: `vector` instead of `query`.
[[nodiscard]] Decoded<engine::Query> decode_search(std::string& body);
[[nodiscard]] Decoded<std::vector<engine::Query>> decode_search_batch(std::string& body);
/// The older forms, whose examples are members of the body.
[[nodiscard]] Decoded<engine::Query> decode_recommend(std::string& body);
[[nodiscard]] Decoded<std::vector<engine::Query>> decode_recommend_batch(std::string& body);
[[nodiscard]] Decoded<engine::Query> decode_discover(std::string& body);
[[nodiscard]] Decoded<std::vector<engine::Query>> decode_discover_batch(std::string& body);
[[nodiscard]] Decoded<engine::RetrieveRequest> decode_retrieve(std::string& body);
[[nodiscard]] Decoded<engine::ScrollRequest> decode_scroll(std::string& body);
/// Takes 1 to 1000 ids.
[[nodiscard]] Decoded<engine::ExplainRequest> decode_explain(std::string& body);
[[nodiscard]] Decoded<engine::GroupsQuery> decode_query_groups(std::string& body);
/// The older form: `vector` instead of `query`.
[[nodiscard]] Decoded<engine::GroupsQuery> decode_search_groups(std::string& body);
[[nodiscard]] Decoded<engine::GroupsQuery> decode_recommend_groups(std::string& body);
[[nodiscard]] Decoded<engine::FacetRequest> decode_facet(std::string& body);
/// Takes 1 to 100 aggregations, and their limits and intervals.
[[nodiscard]] Decoded<engine::AggregateRequest> decode_aggregate(std::string& body);
[[nodiscard]] Decoded<engine::MatrixRequest> decode_matrix(std::string& body);
/// Takes 10 to 10,000 judged queries with equally many prefetches, 2 to 16.
[[nodiscard]] Decoded<engine::FusionLearning> decode_fusion_learning(std::string& body);
/// Takes 16 to 2,000 queries, or the number of those to be made.
[[nodiscard]] Decoded<engine::RecallRequest> decode_recall_request(std::string& body);
/// Takes up to 4,096 scored points, each once, and up to 8 prefetches.
[[nodiscard]] Decoded<engine::ProposalRequest> decode_proposals(std::string& body);
[[nodiscard]] Decoded<engine::CountRequest> decode_count(std::string& body);

// Changes of points.
[[nodiscard]] Decoded<engine::Operation> decode_upsert(std::string& body);
[[nodiscard]] Decoded<engine::Operation> decode_delete_points(std::string& body);
[[nodiscard]] Decoded<engine::Operation> decode_set_payload(std::string& body);
[[nodiscard]] Decoded<engine::Operation> decode_overwrite_payload(std::string& body);
[[nodiscard]] Decoded<engine::Operation> decode_delete_payload(std::string& body);
[[nodiscard]] Decoded<engine::Operation> decode_clear_payload(std::string& body);
[[nodiscard]] Decoded<engine::Operation> decode_update_vectors(std::string& body);
[[nodiscard]] Decoded<engine::Operation> decode_delete_vectors(std::string& body);
[[nodiscard]] Decoded<std::vector<engine::Operation>> decode_operations(std::string& body);

/// Returns a payload as canonical JSON.
[[nodiscard]] Decoded<std::string> decode_payload(std::string& text);

/// A point on one line of a file: as in an upsert, but each part may be missing, and other members
/// are errors.
struct PointLine {
  std::optional<PointId> id;
  std::vector<engine::NamedVector> vectors;
  std::string payload;  ///< canonical JSON object; empty means {}
};
[[nodiscard]] Decoded<PointLine> decode_point_line(std::string& line);

/// The answer to a scroll, as a client reads it.
[[nodiscard]] Decoded<engine::ScrollPage> decode_scroll_page(std::string& body);

// Collections.
[[nodiscard]] Decoded<engine::CollectionConfig> decode_collection(
    std::string& body, const engine::CreationOptions& options);
/// A strict mode, as in `strict_mode_config`, as canonical JSON. 400 for an unknown member.
[[nodiscard]] Decoded<std::string> decode_strict_mode(std::string& text);
/// A change of a configuration, checked as far as possible without the configuration.
class CollectionPatch {
 public:
  [[nodiscard]] static Decoded<CollectionPatch> decode(std::string& body);
  /// kInvalidArgument if it names a field that `config` lacks.
  [[nodiscard]] Result<> apply(engine::CollectionConfig& config) const;

 private:
  std::string json_;  ///< known members only
};
/// A vector field added to a collection: `{"dense": {…}}` or `{"sparse": {…}}`.
class VectorCreation {
 public:
  /// 422 if no field can have this name.
  [[nodiscard]] static Decoded<VectorCreation> decode(std::string_view name, std::string& body);
  /// Changes nothing if the same field is there. kInvalidArgument if another has its name.
  [[nodiscard]] Result<> apply(engine::CollectionConfig& config) const;

 private:
  FieldSchema field_;
  std::string json_;  ///< its parameters, as a creation of the collection has them
};
/// A vector field taken from a collection.
class VectorDeletion {
 public:
  explicit VectorDeletion(std::string_view name) : name_(name) {}
  /// Changes nothing if there is no such field.
  [[nodiscard]] Result<> apply(engine::CollectionConfig& config) const;

 private:
  std::string name_;
};
// Shard keys.
[[nodiscard]] Decoded<api::ShardKeyRequest> decode_shard_key_creation(
    std::string& body, const engine::CreationOptions& options);
[[nodiscard]] Decoded<engine::ShardKey> decode_shard_key_deletion(std::string& body);
/// The creation or the deletion of a shard key, or of a copy; nothing if it is neither.
using ClusterChange =
    std::variant<std::monostate, api::ShardKeyRequest, engine::ShardKey, api::ReplicaRequest>;
[[nodiscard]] Decoded<ClusterChange> decode_cluster_change(std::string& body,
                                                           const engine::CreationOptions& options);

/// When points expire: `{"key": …, "seconds": …}`.
[[nodiscard]] Decoded<engine::Ttl> decode_ttl(std::string& body);
/// `{"time_from", "time_to", "limit", "filters"}`, all optional.
[[nodiscard]] Decoded<access::AuditQuery> decode_audit_query(std::string& body);
/// `{"tenant": {"key", "max_points"}}`; nullopt for `{"tenant": null}`.
[[nodiscard]] Decoded<std::optional<engine::TenantQuota>> decode_tenant_quota(std::string& body);
/// A change of the parameters that vector indexes are built with, and of what devices hold:
/// `{"build": {field: {name: value}}, "on_gpu": {field: "auto", "always" or "never"}}`, at least
/// one of them; null restores the default.
class VectorIndexPatch {
 public:
  [[nodiscard]] static Decoded<VectorIndexPatch> decode(std::string& body);
  /// kInvalidArgument if it names a field that `config` lacks, or a value that the field's index
  /// cannot be built with.
  [[nodiscard]] Result<> apply(engine::CollectionConfig& config) const;

 private:
  struct Change {
    std::map<std::string, std::optional<ParamValue>> build;
    std::optional<gpu::Placing> on_gpu;
  };
  std::map<std::string, Change> fields_;
};
[[nodiscard]] Decoded<payload::FieldIndex> decode_index(std::string& body);
[[nodiscard]] Decoded<std::vector<engine::AliasAction>> decode_alias_actions(std::string& body);

[[nodiscard]] Decoded<api::SnapshotRecovery> decode_snapshot_recovery(std::string& body);
/// 400 for an unknown name, without a prefix.
[[nodiscard]] Decoded<api::SnapshotPriority> parse_priority(std::string_view text);
/// True for 64 hexadecimal digits.
[[nodiscard]] bool is_sha256(std::string_view text);
/// The error for a text that is not.
[[nodiscard]] std::string bad_sha256(std::string_view text);

/// An id in a path: a number, else a UUID. 400 "Can not recognize \"x\" as point id".
[[nodiscard]] Decoded<PointId> parse_path_id(std::string_view text);
/// 422 unless the length of `name`, from a path, is one that a collection's name may have.
[[nodiscard]] Decoded<> check_name_length(std::string_view name);
/// 422 unless `name`, from a path, may be the name of a collection.
[[nodiscard]] Decoded<> check_collection_name(std::string_view name);

}  // namespace quiver::service::json
