#include "engine/indexing/vector_index_info.h"

#include <map>
#include <utility>

#include "engine/indexing/indexes.h"

namespace quiver::engine {

std::vector<VectorIndexInfo> vector_index_info(const Snapshot& snapshot) {
  std::map<std::pair<std::string, std::string>, VectorIndexInfo> by_name;
  for (const Segment* segment : snapshot.segments()) {
    const auto& data = *segment->data;
    for (std::size_t field = 0; field < data.fields.size(); ++field) {
      if (is_dropped(data.fields[field].schema)) continue;
      const std::string& name = data.fields[field].schema.name;
      const std::string index = to_string(data.indexes[field]);
      auto& info = by_name[{name, index}];
      info.field = name;
      info.index = index;
      info.n_vectors += data.fields[field].n_present;
      info.n_bytes += data.searchers[field]->memory().mapped_bytes;
    }
  }
  std::vector<VectorIndexInfo> infos;
  for (auto& [key, info] : by_name) infos.push_back(std::move(info));
  return infos;
}

void add_segment_indexes(const SegmentSet& set, std::uint32_t shard,
                         std::vector<SegmentIndexInfo>& infos) {
  for (const Segment& segment : set.segments) {
    const auto& data = *segment.data;
    for (std::size_t field = 0; field < data.fields.size(); ++field) {
      if (is_dropped(data.fields[field].schema)) continue;
      const auto& searcher = *data.searchers[field];
      infos.push_back({shard, data.id, data.sealed, data.fields[field].schema.name,
                       to_string(data.indexes[field]), data.fields[field].n_present,
                       searcher.memory().mapped_bytes, searcher.describe()});
    }
  }
}

}  // namespace quiver::engine
