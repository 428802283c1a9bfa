#include "tests/model/collection_model.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string>

#include "index/exact/searcher.h"
#include "payload/json/document.h"
#include "tests/model/text_reference.h"

namespace quiver::model {
namespace {

using engine::testing::Model;

/// A column of one row, so that the score depends on nothing else.
index::FieldColumn column_of(const FieldSchema& field, const engine::StoredVector& vector) {
  index::FieldColumn column;
  column.schema = field;
  column.n_rows = column.n_present = 1;
  column.present = SharedSpan<std::uint8_t>::of({1});
  if (const auto* sparse = std::get_if<engine::SparseVector>(&vector)) {
    column.values = index::SparseColumn{SharedSpan<std::uint64_t>::of({0, sparse->indices.size()}),
                                        SharedSpan<std::uint32_t>::of(sparse->indices),
                                        SharedSpan<float>::of(sparse->values)};
    return column;
  }
  const auto& tokens = std::get<engine::Tokens>(vector);
  const std::size_t row_bytes = vector_bytes(field.dim, field.dtype);
  const std::size_t stride = padded_row_bytes(field.dim, field.dtype);
  std::vector<std::byte> bytes(tokens.n_tokens * stride);
  for (std::size_t t = 0; t < tokens.n_tokens; ++t) {
    std::memcpy(bytes.data() + t * stride, tokens.bytes.data() + t * row_bytes, row_bytes);
  }
  const index::DenseColumn dense{SharedBytes::of(std::move(bytes)), field.dim, field.dtype};
  if (field.kind == FieldKind::kDense) {
    column.values = dense;
  } else {
    column.values = index::MultiColumn{SharedSpan<std::uint64_t>::of({0, tokens.n_tokens}), dense};
  }
  return column;
}

index::PreparedQuery prepare_query(const FieldSchema& field, const engine::VectorValue& value) {
  if (const auto* multi = std::get_if<engine::MultiVector>(&value)) {
    return index::PreparedQuery::multi(field, multi->values);
  }
  if (const auto* dense = std::get_if<engine::DenseVector>(&value)) {
    return index::PreparedQuery::dense(field, *dense);
  }
  const auto& sparse = std::get<engine::SparseVector>(value);
  return index::PreparedQuery::sparse(field, {sparse.indices, sparse.values});
}

float shown(Metric metric, float score) {
  if (metric == Metric::kEuclid) return std::sqrt(std::abs(score));
  return metric == Metric::kManhattan ? 0.0F - score : score;
}

}  // namespace

CollectionModel::CollectionModel(engine::CollectionConfig config) : config_(std::move(config)) {
  for (std::uint32_t i = 0; i < n_shards(); ++i) shards_.emplace_back(config_.fields, Model(), 1);
}

void CollectionModel::set_fields(std::vector<FieldSchema> fields) {
  for (auto& shard : shards_) shard.set_fields(fields);
  config_.fields = std::move(fields);
}

std::vector<engine::PreparedOperation> CollectionModel::part(const Request& request,
                                                             std::uint32_t shard) const {
  std::vector<engine::PreparedOperation> operations;
  const auto elsewhere = [&](const PointId& id) { return shard_of(id) != shard; };
  for (const auto& operation : request) {
    auto prepared = engine::prepare(operation, config_).value();
    if (auto* points = std::get_if<engine::PreparedPoints>(&prepared)) {
      std::erase_if(points->rows, [&](const engine::Row& row) { return elsewhere(row.id); });
      if (points->rows.empty()) continue;
    } else {
      auto& change = std::get<engine::PreparedChange>(prepared);
      auto* ids = std::get_if<std::vector<PointId>>(&change.points);
      if (ids != nullptr) std::erase_if(*ids, elsewhere);
      if (ids != nullptr && ids->empty()) continue;
    }
    operations.push_back(std::move(prepared));
  }
  return operations;
}

std::vector<bool> CollectionModel::touched(const Request& request) const {
  std::vector<bool> touched;
  for (std::uint32_t i = 0; i < n_shards(); ++i) touched.push_back(!part(request, i).empty());
  return touched;
}

bool CollectionModel::apply_to_shard(const Request& request, std::uint32_t shard) {
  const auto before = shards_[shard];
  for (const auto& operation : part(request, shard)) {
    if (shards_[shard].apply(operation)) continue;
    shards_[shard] = before;
    return false;
  }
  return true;
}

bool CollectionModel::apply(const Request& request) {
  bool applied = true;
  for (std::uint32_t i = 0; i < n_shards(); ++i) applied = apply_to_shard(request, i) && applied;
  return applied;
}

Model CollectionModel::points() const {
  Model points;
  for (const auto& shard : shards_) points.insert(shard.model().begin(), shard.model().end());
  return points;
}

std::vector<PointId> CollectionModel::matching(const std::optional<payload::Filter>& filter) const {
  const auto predicate = payload::compile(filter.value_or(payload::Filter{}), config_.indexes);
  std::vector<PointId> ids;
  for (const auto& [id, row] : points()) {
    if (shards_[0].matches(**predicate, row)) ids.push_back(id);
  }
  return ids;
}

std::optional<engine::VectorValue> CollectionModel::query_vector(const engine::Nearest& nearest,
                                                                 std::size_t field,
                                                                 const Model& points) const {
  if (const auto* value = std::get_if<engine::VectorValue>(&nearest.vector)) return *value;
  const auto found = points.find(std::get<PointId>(nearest.vector));
  if (found == points.end() || !is_present(found->second.vectors[field])) return std::nullopt;
  return engine::to_value(config_.fields[field], found->second.vectors[field]);
}

void CollectionModel::weigh_by_idf(engine::SparseVector& query, std::size_t field,
                                   const Model& points) const {
  double n_points = 0;
  std::vector<double> counts(query.indices.size(), 0);
  for (const auto& [id, row] : points) {
    const auto* vector = std::get_if<engine::SparseVector>(&row.vectors[field]);
    if (vector == nullptr) continue;
    ++n_points;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      counts[i] += static_cast<double>(
          std::count(vector->indices.begin(), vector->indices.end(), query.indices[i]));
    }
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double idf = std::log((n_points - counts[i] + 0.5) / (counts[i] + 0.5) + 1);
    query.values[i] = static_cast<float>(query.values[i] * idf);
  }
}

std::optional<std::vector<CollectionModel::Hit>> CollectionModel::texts(
    const engine::Query& query) const {
  const auto& match = std::get<engine::TextMatch>(query.kind);
  auto named = match.keys;
  if (named.empty()) named.push_back({query.using_field, 1});
  std::vector<KeyReference> keys;
  for (const auto& [key, boost] : named) {
    const auto index =
        std::find_if(config_.indexes.begin(), config_.indexes.end(),
                     [&key = key](const auto& one) { return one.key == key && one.scoring; });
    if (index == config_.indexes.end()) return std::nullopt;
    keys.emplace_back(*index, match, boost);
  }
  for (const auto& [id, row] : points()) {
    const auto document = payload::parse_json(row.payload).value();
    for (auto& key : keys) key.add(id, document);
  }
  for (auto& key : keys) key.expand();
  std::vector<Hit> hits;
  for (const PointId& id : matching(query.filter)) {
    if (!is_allowed(keys, match.rules, id)) continue;
    double score = 0;
    for (const auto& key : keys) score += key.score(id);
    if (score > 0) hits.push_back({id, static_cast<float>(score)});
  }
  std::sort(hits.begin(), hits.end(), [](const Hit& x, const Hit& y) {
    return x.score != y.score ? x.score > y.score : x.id < y.id;
  });
  return hits;
}

std::optional<std::vector<CollectionModel::Hit>> CollectionModel::nearest(
    const engine::Query& query) const {
  std::size_t f = 0;
  while (config_.fields[f].name != query.using_field) ++f;
  const FieldSchema& field = config_.fields[f];
  const Model all = points();
  const auto& nearest = std::get<engine::Nearest>(query.kind);
  auto value = query_vector(nearest, f, all);
  if (!value) return std::nullopt;
  if (field.kind == FieldKind::kSparse) {
    value = engine::to_value(field, engine::to_stored(field, *value).value());  // sorted
    auto& sparse = std::get<engine::SparseVector>(*value);
    if (field.modifier == SparseModifier::kIdf) weigh_by_idf(sparse, f, all);
  }
  const auto* excluded = std::get_if<PointId>(&nearest.vector);
  const index::PreparedQuery prepared = prepare_query(field, *value);
  std::vector<Hit> hits;
  for (const PointId& id : matching(query.filter)) {
    const auto& vector = all.at(id).vectors[f];
    if (!is_present(vector) || (excluded != nullptr && id == *excluded)) continue;
    if (const auto score = index::score_row(prepared, column_of(field, vector), 0)) {
      hits.push_back({id, *score});
    }
  }
  std::sort(hits.begin(), hits.end(), [](const Hit& a, const Hit& b) {
    return a.score != b.score ? a.score > b.score : a.id < b.id;
  });
  if (hits.size() > query.limit) hits.resize(query.limit);
  for (Hit& hit : hits) hit.score = shown(field.metric, hit.score);
  return hits;
}

}  // namespace quiver::model
