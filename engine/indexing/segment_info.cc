#include "engine/indexing/segment_info.h"

#include "engine/model/config.h"

namespace quiver::engine {
namespace {

/// Rows that are deleted and have the vector.
std::uint64_t n_deleted_vectors(const Segment& segment, const index::FieldColumn& field) {
  if (segment.deleted == nullptr) return 0;
  std::uint64_t n = 0;
  segment.deleted->for_each([&](std::size_t row) { n += field.present[row]; });
  return n;
}

SegmentFieldInfo field_info(const Segment& segment, std::size_t field, const IndexPolicy& policy) {
  const auto& data = *segment.data;
  const auto& column = data.fields[field];
  SegmentFieldInfo info;
  info.field = column.schema.name;
  info.n_deleted_vectors = n_deleted_vectors(segment, column);
  info.n_vectors = column.n_present - info.n_deleted_vectors;
  info.n_bytes = data_bytes(column);
  info.index = to_string(data.indexes[field]);
  const auto memory = data.searchers[field]->memory();
  info.n_index_bytes = memory.mapped_bytes;
  info.n_heap_bytes = memory.heap_bytes;
  info.is_exact = data.indexes[field].type == flat_index();
  info.is_indexed = data.sealed && !lacks_index(data, field, policy);
  return info;
}

SegmentInfo segment_info(const Segment& segment, const IndexPolicy& policy) {
  const auto& data = *segment.data;
  SegmentInfo info;
  info.id = data.id;
  info.sealed = data.sealed;
  info.n_points = segment.n_live();
  info.n_payload_bytes = data.documents.bytes.size();
  for (std::size_t field = 0; field < data.fields.size(); ++field) {
    if (is_dropped(data.fields[field].schema)) continue;
    info.fields.push_back(field_info(segment, field, policy));
  }
  const Bitset live = data.columns.empty() ? Bitset() : segment.live();
  for (const auto& [key, column] : data.columns) {
    info.columns.push_back({*column.index, column.count_rows_with_values(live),
                            column.offsets.empty() ? 0 : column.offsets[column.n_rows]});
  }
  return info;
}

}  // namespace

std::vector<SegmentInfo> segment_infos(const SegmentSet& set, const IndexPolicy& policy) {
  std::vector<SegmentInfo> infos;
  for (const Segment& segment : set.segments) infos.push_back(segment_info(segment, policy));
  if (set.empty_mutable != nullptr) {
    infos.push_back(segment_info(Segment{set.empty_mutable, nullptr, 0}, policy));
  }
  return infos;
}

}  // namespace quiver::engine
