#include "engine/query/gather.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <random>
#include <unordered_map>
#include <utility>
#include <variant>

#include "base/observe/memory_budget.h"
#include "engine/query/stages/field_query.h"
#include "engine/query/stages/stages.h"
#include "engine/segment/mutable_segment.h"
#include "payload/json/document.h"

namespace quiver::engine {
namespace {

/// Fusions score what they are given by rank or score; other nodes read rows.
bool reads_rows(const Query& query) {
  if (mmr_of(query.kind) != nullptr) return true;
  if (query.prefetch.empty()) return false;
  return !is_fusion(query.kind) || std::ranges::any_of(query.prefetch, reads_rows);
}

Row row_of(const Segment& segment, std::uint32_t number, RowParts wanted) {
  Row row;
  row.id = segment.data->ids[number];
  row.seq = segment.data->seqs[number];
  const auto payload = segment.data->documents[number];
  if (wanted.payload && !payload.empty()) row.payload = payload;
  row.vectors.resize(segment.data->fields.size());
  for (std::size_t field = 0; wanted.vectors && field < row.vectors.size(); ++field) {
    row.vectors[field] = segment.vector(field, number);
  }
  return row;
}

bool is_before(const FoundPoint& a, const FoundPoint& b, const OrderBy* order) {
  if (order != nullptr && a.order_value && b.order_value && *a.order_value != *b.order_value) {
    return (*a.order_value < *b.order_value) != order->descending;
  }
  return a.score != b.score ? a.score > b.score : a.row.id < b.row.id;
}

/// A sample of all parts. Of each part comes a sample that is as large, or all that the part has,
/// in random order; so each draw only decides on a part, by the points that are left in it.
std::vector<FoundPoint> drawn_from(std::vector<FoundPoints>& parts, std::uint64_t limit) {
  std::mt19937_64 random(std::random_device{}());
  std::uint64_t n_left = 0;
  for (const auto& part : parts) n_left += part.n_matching;
  std::vector<std::size_t> n_taken(parts.size(), 0);
  std::vector<FoundPoint> points;
  while (points.size() < limit && n_left > 0) {
    std::uint64_t place = std::uniform_int_distribution<std::uint64_t>(0, n_left - 1)(random);
    std::size_t i = 0;
    for (; place >= parts[i].n_matching - n_taken[i]; ++i)
      place -= parts[i].n_matching - n_taken[i];
    --n_left;
    const std::size_t next = n_taken[i]++;
    if (next < parts[i].points.size()) points.push_back(std::move(parts[i].points[next]));
  }
  return points;
}

}  // namespace

RowParts parts_read(const Query& query) {
  const bool all = reads_rows(query);
  return {all || !query.with_payload.is_none() || query.highlight.has_value(),
          all || !query.with_vector.none()};
}

Result<CorpusCounts> count_terms_of(const SearchEnvironment& environment, const Query& node) {
  if (std::holds_alternative<TextMatch>(node.kind)) return count_texts(environment, node);
  return count_indices(environment, node);
}

Result<FoundPoints> find_points(const SearchEnvironment& environment, const Query& search,
                                RowParts wanted) {
  QV_TRY(const auto ranking, Plan(search).rank(environment));
  FoundPoints found{{}, ranking.metric, ranking.is_fused, ranking.is_listing, ranking.is_redrawn};
  found.points.reserve(ranking.candidates.size());
  GrowingMemory memory("rows for another node", 3);
  for (const auto& candidate : ranking.candidates) {
    QV_TRY(environment.cancel.check());
    Row row = row_of(*candidate.segment, candidate.row, wanted);
    QV_TRY(memory.add(size_bytes(row)));
    found.points.push_back({std::move(row), candidate.score, candidate.order_value});
  }
  return found;
}

FoundPoints merge_found(std::vector<FoundPoints> parts, const Query& search, std::uint64_t limit) {
  FoundPoints merged{{},
                     parts.front().metric,
                     parts.front().is_fused,
                     parts.front().is_listing,
                     parts.front().is_redrawn};
  if (std::holds_alternative<Sample>(search.kind)) {
    merged.points = drawn_from(parts, limit);
    return merged;
  }
  for (auto& part : parts) std::ranges::move(part.points, std::back_inserter(merged.points));
  const auto* order = std::get_if<OrderBy>(&search.kind);
  std::ranges::sort(merged.points, [order](const FoundPoint& a, const FoundPoint& b) {
    return is_before(a, b, order);
  });
  if (merged.points.size() > limit) merged.points.resize(limit);
  return merged;
}

namespace {

bool fits(const StoredVector& vector, const FieldSchema& field) {
  if (!is_present(vector) || is_dropped(field)) return true;
  if (const auto* tokens = std::get_if<Tokens>(&vector)) {
    const bool is_right_number = field.kind == FieldKind::kMulti || tokens->n_tokens == 1;
    return field.kind != FieldKind::kSparse && is_right_number &&
           tokens->bytes.size() == tokens->n_tokens * vector_bytes(field.dim, field.dtype);
  }
  const auto& sparse = std::get<SparseVector>(vector);
  return field.kind == FieldKind::kSparse && sparse.indices.size() == sparse.values.size();
}

/// `row` as the segment takes it.
Result<Row> fitted(Row row, const CollectionConfig& config) {
  if (row.vectors.size() > config.fields.size()) row.vectors.resize(config.fields.size());
  bool is_fit = config.indexes.empty() || payload::parse_json(row.payload).has_value();
  for (std::size_t i = 0; i < row.vectors.size(); ++i) {
    is_fit = is_fit && fits(row.vectors[i], config.fields[i]);
  }
  if (is_fit) return row;
  return fail(Code::kUnavailable, "a shard has another configuration than this node knows of yet");
}

}  // namespace

/// Searches are answered at different moments: the newest version of a point counts.
Result<Snapshot> snapshot_of_found(const std::vector<FoundPoints>& found,
                                   const CollectionConfig& config) {
  std::unordered_map<PointId, const Row*> newest;
  std::vector<PointId> ids;
  for (const auto& list : found) {
    for (const auto& point : list.points) {
      const auto [place, is_new] = newest.emplace(point.row.id, &point.row);
      if (is_new) ids.push_back(point.row.id);
      if (place->second->seq < point.row.seq) place->second = &point.row;
    }
  }
  MutableSegment rows(0, config.fields, config.indexes);
  for (const auto& id : ids) {
    QV_TRY(const Row row, fitted(*newest.at(id), config));
    rows.append(row);
  }
  auto set = std::make_shared<SegmentSet>();
  set->segments.push_back({rows.snapshot(), nullptr, 0});
  return Snapshot({std::move(set)});
}

Result<Gathered> rank_found(const std::vector<FoundPoints>& found, const Query& query,
                            const CollectionConfig& config, const Cancel& cancel) {
  QV_TRY(auto snapshot, snapshot_of_found(found, config));
  Gathered gathered{std::make_shared<const Snapshot>(std::move(snapshot)), {}};
  const Snapshot& rows = *gathered.rows;
  std::vector<Ranking> rankings;
  for (const auto& list : found) {
    Ranking ranking{{}, list.metric, list.is_fused, list.is_listing, list.is_redrawn};
    for (const auto& point : list.points) {
      const auto place = rows.find(point.row.id);
      ranking.candidates.push_back(
          {point.row.id, point.score, place->segment, place->row, point.order_value});
    }
    rankings.push_back(std::move(ranking));
  }
  QV_TRY(gathered.ranking, Plan(query, std::move(rankings)).rank({rows, config, cancel}));
  return gathered;
}

}  // namespace quiver::engine
