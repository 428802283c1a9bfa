#include "engine/segment/snapshot.h"

#include <algorithm>
#include <functional>

namespace quiver::engine {

Snapshot::Snapshot(std::vector<std::shared_ptr<const SegmentSet>> shards,
                   std::vector<ShardKey> keys)
    : shards_(std::move(shards)), keys_(std::move(keys)) {
  for (const auto& shard : shards_) {
    for (const auto& segment : shard->segments) segments_.push_back(&segment);
  }
}

std::optional<Snapshot::Place> Snapshot::find(const PointId& id) const {
  for (const auto& shard : shards_) {
    if (const auto place = shard->find(id)) {
      return Place{&shard->segments[place->segment], place->row};
    }
  }
  return std::nullopt;
}

std::uint64_t Snapshot::n_live() const {
  std::uint64_t n = 0;
  for (const auto& shard : shards_) n += shard->n_live();
  return n;
}

std::optional<ShardKey> Snapshot::key_of(const Segment& segment) const {
  const std::less<const Segment*> is_before;
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    const Segment* first = shards_[i]->segments.data();
    if (is_before(&segment, first)) continue;
    if (is_before(&segment, first + shards_[i]->segments.size())) return keys_[i];
  }
  return std::nullopt;
}

bool Snapshot::may_repeat_ids() const {
  return std::ranges::any_of(keys_, [&](const ShardKey& key) { return key != keys_.front(); });
}

Result<> Snapshot::check() const {
  for (const auto& shard : shards_) QV_TRY(shard->check());
  return {};
}

Result<std::vector<std::size_t>> selected_fields(const VectorSelector& selector,
                                                 const CollectionConfig& config) {
  std::vector<std::size_t> numbers;
  if (selector.all) {
    for (std::size_t i = 0; i < config.fields.size(); ++i) {
      if (!is_dropped(config.fields[i])) numbers.push_back(i);
    }
    return numbers;
  }
  for (const auto& name : selector.names) {
    QV_TRY(const std::size_t number, config.field(name));
    numbers.push_back(number);
  }
  return numbers;
}

Record make_record(const Segment& segment, std::uint32_t row, const payload::Selector& with_payload,
                   const std::vector<std::size_t>* fields) {
  const auto& data = *segment.data;
  Record record;
  record.id = data.ids[row];
  record.version = data.seqs[row];
  if (with_payload.kind() == payload::Selector::Kind::kAll) {
    record.payload = std::string(data.documents[row]);
  } else if (!with_payload.is_none()) {
    record.payload = payload::select(data.documents[row], with_payload);
  }
  if (fields != nullptr) {
    record.vectors.emplace();
    for (const std::size_t field : *fields) {
      // Read once: a mapped file may become unreadable at any moment.
      const auto vector = segment.vector(field, row);
      if (!is_present(vector)) continue;
      const auto& schema = data.fields[field].schema;
      record.vectors->push_back({schema.name, to_value(schema, vector)});
    }
  }
  return record;
}

}  // namespace quiver::engine
