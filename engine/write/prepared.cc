#include "engine/write/prepared.h"

#include <utility>

namespace quiver::engine {
namespace {

using Kind = PreparedChange::Kind;

Result<PredicatePtr> compile_optional(const std::optional<payload::Filter>& filter,
                                      const CollectionConfig& config) {
  if (!filter) return PredicatePtr();
  return payload::compile(*filter, config.indexes);
}

Result<Row> prepare_row(const PointInput& point, const CollectionConfig& config) {
  Row row;
  row.id = point.id;
  if (!point.payload.empty()) row.payload = point.payload;
  row.vectors.resize(config.fields.size());
  for (const auto& vector : point.vectors) {
    QV_TRY(const std::size_t number, config.field(vector.name));
    QV_TRY(row.vectors[number], to_stored(config.fields[number], vector.value));
  }
  return row;
}

Result<std::vector<Row>> prepare_rows(const std::vector<PointInput>& points,
                                      const CollectionConfig& config) {
  std::vector<Row> rows;
  rows.reserve(points.size());
  for (const auto& point : points) {
    QV_TRY(auto row, prepare_row(point, config));
    rows.push_back(std::move(row));
  }
  return rows;
}

struct Prepare {
  const CollectionConfig& config;

  Result<PreparedOperation> operator()(const Upsert& upsert) const {
    QV_TRY(auto rows, prepare_rows(upsert.points, config));
    QV_TRY(auto filter, compile_optional(upsert.update_filter, config));
    return PreparedPoints{std::move(rows), upsert.mode, false, std::move(filter)};
  }
  Result<PreparedOperation> operator()(const UpdateVectors& update) const {
    QV_TRY(auto rows, prepare_rows(update.points, config));
    QV_TRY(auto filter, compile_optional(update.update_filter, config));
    return PreparedPoints{std::move(rows), UpsertMode::kUpdateOnly, true, std::move(filter)};
  }
  Result<PreparedOperation> operator()(const DeletePoints& op) const {
    return change(Kind::kDelete, op.points);
  }
  Result<PreparedOperation> operator()(const ClearPayload& op) const {
    return change(Kind::kClearPayload, op.points);
  }
  Result<PreparedOperation> operator()(const SetPayload& op) const {
    return payload_change(Kind::kSetPayload, op.payload, op.key, op.points);
  }
  Result<PreparedOperation> operator()(const OverwritePayload& op) const {
    return payload_change(op.key ? Kind::kSetPayload : Kind::kOverwritePayload, op.payload, op.key,
                          op.points);
  }
  Result<PreparedOperation> operator()(const DeletePayload& op) const {
    QV_TRY(auto prepared, change(Kind::kDeleteKeys, op.points));
    for (const auto& key : op.keys) {
      QV_TRY(auto path, payload::JsonPath::parse(key));
      prepared.keys.push_back(std::move(path));
    }
    return prepared;
  }
  Result<PreparedOperation> operator()(const DeleteVectors& op) const {
    QV_TRY(auto prepared, change(Kind::kDeleteVectors, op.points));
    for (const auto& name : op.names) {
      QV_TRY(const std::size_t number, config.field(name));
      prepared.fields.push_back(number);
    }
    return prepared;
  }

 private:
  Result<PreparedChange> change(Kind kind, const PointSelector& selector) const {
    PreparedChange prepared;
    prepared.kind = kind;
    if (const auto* ids = std::get_if<std::vector<PointId>>(&selector)) {
      prepared.points = *ids;
    } else {
      QV_TRY(prepared.points,
             payload::compile(std::get<payload::Filter>(selector), config.indexes));
    }
    return prepared;
  }
  Result<PreparedOperation> payload_change(Kind kind, const std::string& text,
                                           const std::optional<std::string>& key,
                                           const PointSelector& selector) const {
    QV_TRY(auto prepared, change(kind, selector));
    prepared.payload = text;
    if (key) {
      QV_TRY(prepared.key, payload::JsonPath::parse(*key));
    }
    return prepared;
  }
};

}  // namespace

Result<PreparedOperation> prepare(const Operation& operation, const CollectionConfig& config) {
  return std::visit(Prepare{config}, operation);
}

Result<PreparedOperation> prepare_and_take(Operation& operation, const CollectionConfig& config) {
  auto* upsert = std::get_if<Upsert>(&operation);
  if (upsert == nullptr) return prepare(operation, config);
  std::vector<std::string> payloads;
  payloads.reserve(upsert->points.size());
  for (auto& point : upsert->points) payloads.push_back(std::exchange(point.payload, {}));
  QV_TRY(auto prepared, prepare(operation, config));
  auto& rows = std::get<PreparedPoints>(prepared).rows;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!payloads[i].empty()) rows[i].payload = std::move(payloads[i]);
  }
  return prepared;
}

PreparedOperation part_for_shard(const PreparedOperation& operation, std::uint32_t shard,
                                 std::uint32_t n_shards) {
  PreparedOperation part = operation;
  const auto elsewhere = [&](const PointId& id) { return shard_of(id, n_shards) != shard; };
  if (auto* points = std::get_if<PreparedPoints>(&part)) {
    std::erase_if(points->rows, [&](const Row& row) { return elsewhere(row.id); });
  } else if (auto* ids =
                 std::get_if<std::vector<PointId>>(&std::get<PreparedChange>(part).points)) {
    std::erase_if(*ids, elsewhere);
  }
  return part;
}

bool is_empty(const PreparedOperation& operation) {
  if (const auto* points = std::get_if<PreparedPoints>(&operation)) return points->rows.empty();
  const auto* ids = std::get_if<std::vector<PointId>>(&std::get<PreparedChange>(operation).points);
  return ids != nullptr && ids->empty();
}

std::uint64_t size_bytes(const PreparedOperation& operation) {
  if (const auto* points = std::get_if<PreparedPoints>(&operation)) {
    std::uint64_t bytes = 0;
    for (const auto& row : points->rows) bytes += size_bytes(row);
    return bytes;
  }
  const auto& change = std::get<PreparedChange>(operation);
  const auto* ids = std::get_if<std::vector<PointId>>(&change.points);
  return sizeof(change) + change.payload.size() + (ids ? ids->size() * sizeof(PointId) : 0);
}

}  // namespace quiver::engine
