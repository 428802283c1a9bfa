#include "engine/collections/collection_reports.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/indexing/segment_info.h"
#include "engine/indexing/vector_index_info.h"
#include "engine/segment/attributes.h"
#include "engine/shard/work_status.h"

namespace quiver::engine {
namespace {

std::uint64_t n_indexed_points(const Snapshot& snapshot, const payload::FieldIndex& index) {
  std::uint64_t n = 0;
  for (const Segment* segment : snapshot.segments()) {
    const auto column = segment->data->columns.find(index.key);
    if (column == segment->data->columns.end()) continue;
    n += column->second.count_rows_with_values(segment->live());
  }
  return n;
}

std::uint64_t n_indexed_vectors(const SegmentData& data, const IndexPolicy& policy) {
  std::uint64_t n = 0;
  for (std::size_t field = 0; data.sealed && field < data.fields.size(); ++field) {
    if (!lacks_index(data, field, policy)) n += data.fields[field].n_present;
  }
  return n;
}

/// True if work on the segment is due.
bool is_queued(const SegmentData& data, const OptimizerConfig& optimizer,
               const IndexPolicy& policy) {
  if (data.sealed) return !missing_indexes(data, policy).empty();
  return data.n_rows >= optimizer.seal_rows || data.data_bytes() >= optimizer.seal_bytes;
}

Health health_of(const std::string& error, bool is_busy) {
  if (!error.empty()) return Health::kRed;
  return is_busy ? Health::kYellow : Health::kGreen;
}

/// True if running work reads the segment.
bool is_worked_on(const WorkSegment& segment, const std::vector<OptimizationState>& running) {
  const auto is_same = [&](const WorkSegment& other) {
    return other.shard == segment.shard && other.id == segment.id;
  };
  return std::any_of(running.begin(), running.end(), [&](const OptimizationState& work) {
    return std::any_of(work.segments.begin(), work.segments.end(), is_same);
  });
}

}  // namespace

CollectionInfo collection_info(const Shards& shards, const Snapshot& snapshot,
                               const CollectionConfig& config, const IndexPolicy& policy) {
  CollectionInfo info;
  info.config = config;
  bool optimizing = false;
  for (const auto& listed : shards) {
    const auto& shard = listed.shard;
    const ShardStatus status = shard->status();
    info.n_segments += status.n_segments;
    info.n_queued_updates += shard->n_queued();
    info.n_damaged_segments += status.n_damaged;
    info.n_damaged_indexes += status.n_damaged_indexes;
    optimizing = optimizing || status.optimizing;
    if (info.optimizer_error.empty()) info.optimizer_error = status.error;
    if (info.memory_warning.empty()) info.memory_warning = shard->memory_warning();
    if (info.memory_warning.empty()) info.memory_warning = status.waits;
  }
  for (const Segment* segment : snapshot.segments()) {
    info.n_points += segment->n_live();
    info.n_indexed_vectors += n_indexed_vectors(*segment->data, policy);
  }
  for (const auto& index : config.indexes) {
    info.indexes.push_back({index, n_indexed_points(snapshot, index)});
  }
  info.vector_indexes = vector_index_info(snapshot);
  info.health = health_of(info.optimizer_error, optimizing || info.n_queued_updates != 0);
  return info;
}

std::vector<ShardInfo> shard_infos(const Shards& shards, const IndexPolicy& policy) {
  std::vector<ShardInfo> infos;
  for (const auto& listed : shards) {
    const auto& shard = listed.shard;
    const ShardStatus status = shard->status();
    ShardInfo info;
    info.number = listed.number;
    info.key = listed.key;
    info.n_queued_updates = shard->n_queued();
    info.health = health_of(status.error, status.optimizing || info.n_queued_updates != 0);
    info.optimizer_error = status.error;
    info.work = shard->work();
    const auto now = shard->snapshot();
    info.last_seq = now->seq;
    info.segments = segment_infos(*now, policy);
    infos.push_back(std::move(info));
  }
  return infos;
}

std::vector<SegmentIndexInfo> segment_index_infos(const Shards& shards) {
  std::vector<SegmentIndexInfo> infos;
  for (const auto& listed : shards) {
    add_segment_indexes(*listed.shard->snapshot(), listed.number, infos);
  }
  return infos;
}

std::vector<SegmentAttributesInfo> segment_attribute_infos(const Shards& shards) {
  std::vector<SegmentAttributesInfo> infos;
  for (const auto& listed : shards) {
    for (const Segment& segment : listed.shard->snapshot()->segments) {
      if (!segment.data->sealed) continue;
      infos.push_back({listed.number, segment.data->id, attribute_infos(*segment.data), {}});
      if (segment.data->attributes == nullptr) continue;
      infos.back().left_out = segment.data->attributes->set.left_out;
    }
  }
  return infos;
}

OptimizationReport optimization_report(const Shards& shards, const OptimizerConfig& optimizer,
                                       const IndexPolicy& policy) {
  OptimizationReport report;
  for (const auto& listed : shards) {
    const std::uint32_t shard = listed.number;
    listed.shard->report(shard, report);
    const auto now = listed.shard->snapshot();  // outlives the loop
    for (const Segment& segment : now->segments) {
      const SegmentData& data = *segment.data;
      const WorkSegment about{shard, data.id, segment.n_live()};
      if (is_worked_on(about, report.running)) continue;
      if (is_queued(data, optimizer, policy)) {
        report.queued.push_back({data.sealed ? JobKind::kIndex : JobKind::kSeal, about});
      } else {
        report.idle.push_back(about);
      }
    }
  }
  std::stable_sort(report.completed.begin(), report.completed.end(),
                   [](const auto& a, const auto& b) { return a.finished_at > b.finished_at; });
  return report;
}

}  // namespace quiver::engine
