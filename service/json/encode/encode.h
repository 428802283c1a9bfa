// Writes answers of the engine as JSON.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/aggregates.h"
#include "engine/model/facets.h"
#include "engine/model/fusion_learning.h"
#include "engine/model/groups.h"
#include "engine/model/matrix.h"
#include "engine/model/operation.h"
#include "engine/model/proposals.h"
#include "engine/model/query.h"
#include "engine/model/recall.h"
#include "engine/model/reports.h"
#include "service/json/writer.h"

namespace quiver::service::json {

void write_id(Writer& out, const PointId& id);
void write_shard_key(Writer& out, const engine::ShardKey& key);
/// {field: [{text, element?, offset, matches: [[begin, end]]}]}
void write_highlights(Writer& out, std::span<const engine::FieldHighlights> highlights);
/// {id, version, score, payload?, vector?, order_value?, highlights?}
void write_scored_points(Writer& out, std::span<const engine::Record> records);
/// {id, payload?, vector?, order_value?, highlights?}
void write_record(Writer& out, const engine::Record& record);
void write_records(Writer& out, std::span<const engine::Record> records);
/// {id, hits, lookup?}
void write_group(Writer& out, const engine::PointGroup& group);
/// {hits: [{value, count}]}
void write_facet_hits(Writer& out, std::span<const engine::FacetHit> hits);
/// By kind: {count}, {buckets: [{value, count}], distinct, missing}, {distinct}, {count, missing,
/// min, max, sum, avg} or {buckets: [{from, count}], missing}
void write_aggregate(Writer& out, const engine::Aggregate& aggregate);
/// {pairs: [{a, b, score}]}
void write_matrix_pairs(Writer& out, const engine::DistanceMatrix& matrix);
/// {offsets_row, offsets_col, scores, ids}
void write_matrix_offsets(Writer& out, const engine::DistanceMatrix& matrix);
/// {query: {linear}, ndcg: {learned, rrf, prefetches}, judged}
void write_learned_fusion(Writer& out, const engine::LearnedFusion& learned);
void write_recall_table(Writer& out, const engine::RecallTable& table);
/// The tables, and what is known of the searches of these and other fields.
void write_recall_fields(Writer& out, const std::vector<engine::RecallTable>& tables,
                         const std::vector<engine::RecallStatus>& statuses);
void write_recall_report(Writer& out, const engine::RecallReport::Facts& facts);
void write_proposals(Writer& out, const engine::Proposals& proposals);
/// {us, estimated_bytes, parallel, stage: {kind, using, limit, hits, us, segments, prefetch}}
void write_query_report(Writer& out, const engine::QueryReport& report);
/// [{id, score, tokens: [{query, document, score}]}]
void write_explanations(Writer& out, std::span<const engine::Explanation> explanations);
void write_update_result(Writer& out, const engine::UpdateResult& result);
/// `configs`: those of fields that are not indexed by default. Shows parameters that were set by
/// name. `attributes` tells what segments know of payload paths without declared indexes.
void write_segment_indexes(Writer& out, std::span<const engine::SegmentIndexInfo> infos,
                           const engine::VectorIndexConfigs& configs,
                           std::span<const engine::SegmentAttributesInfo> attributes);
/// Which lists are written besides the running optimizations.
struct OptimizationParts {
  bool queued = false, completed = false, idle_segments = false;
  std::uint64_t completed_limit = 16;
};
void write_optimizations(Writer& out, const engine::OptimizationReport& report,
                         const OptimizationParts& parts);
/// RFC 3339, UTC, milliseconds.
[[nodiscard]] std::string timestamp(double seconds);
[[nodiscard]] std::string_view health_name(engine::Health health);
[[nodiscard]] std::string_view kind_name(payload::IndexKind kind);
/// "ok", or the error as an object.
void write_optimizer_status(Writer& out, const std::string& error);

/// How names that users chose are written: as they are, or as hashes.
enum class Names : std::uint8_t { kShown, kHashed };
[[nodiscard]] std::string shown_name(std::string_view name, Names names);

// Configurations as their creator wrote them, completed by defaults. These never fail: a stored
// configuration that cannot be read is written as an empty one.
void write_collection_params(Writer& out, const engine::CollectionConfig& config, Names names);
/// With kHashed, leaves out free text that may hold names.
void write_collection_config(Writer& out, const engine::CollectionConfig& config, Names names);
void write_hnsw_config(Writer& out, const engine::CollectionConfig& config);
/// null if points do not expire.
void write_ttl(Writer& out, const std::optional<engine::Ttl>& ttl);
/// `{"tenant": …}`, null without a limit.
void write_tenant_quota(Writer& out, const std::optional<engine::TenantQuota>& quota);
void write_collection_info(Writer& out, const engine::CollectionInfo& info);

}  // namespace quiver::service::json
