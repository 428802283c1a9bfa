#include "engine/write/staging.h"

#include <fmt/format.h>

#include "engine/segment/segment_rows.h"
#include "engine/write/text_vector_rows.h"
#include "payload/json/document.h"
#include "payload/json/edit.h"

namespace quiver::engine {
namespace {

using Kind = PreparedChange::Kind;

Seq take(Seq& next) {
  const Seq seq = next;
  next = Seq{to_number(next) + 1};
  return seq;
}

tl::unexpected<Error> no_such_point(const PointId& id) {
  return fail(Code::kNotFound, fmt::format("No point with id {} found", id.to_string()));
}

/// True if naming an unknown point is an error. Deleting one is none.
bool must_exist(Kind kind) { return kind != Kind::kDelete; }

/// A request may have been checked before fields were added or dropped.
void follow_fields(Row& row, const CollectionConfig& config) {
  row.vectors.resize(config.fields.size());
  for (std::size_t i = 0; i < row.vectors.size(); ++i) {
    if (is_dropped(config.fields[i])) row.vectors[i] = {};
  }
}

Result<std::string> changed_payload(const PreparedChange& change, const std::string& payload) {
  switch (change.kind) {
    case Kind::kSetPayload:
      return payload::set(payload, change.payload, change.key);
    case Kind::kOverwritePayload:
      return change.payload;
    case Kind::kDeleteKeys:
      return payload::remove_keys(payload, change.keys);
    case Kind::kClearPayload:
      return std::string("{}");
    case Kind::kDelete:
    case Kind::kDeleteVectors:
      break;
  }
  return payload;
}

Result<Staging::RowPtr> changed_row(const PreparedChange& change, const CollectionConfig& config,
                                    const Row& old, Seq seq) {
  auto row = std::make_shared<Row>(old);
  row->seq = seq;
  QV_TRY(row->payload, changed_payload(change, old.payload));
  for (const std::size_t field : change.fields) row->vectors[field] = {};
  row->vectors.resize(std::max(row->vectors.size(), config.fields.size()));
  QV_TRY(make_text_vectors(config, *row));
  return Staging::RowPtr(std::move(row));
}

}  // namespace

Result<> Staging::apply(const PreparedOperation& operation, Seq& next) {
  if (const auto* change = std::get_if<PreparedChange>(&operation)) {
    return change_points(*change, next);
  }
  const auto& points = std::get<PreparedPoints>(operation);
  if (points.vectors_only) return put_vectors(points, next);
  return put_points(points, next, [](const Row& row) { return std::make_shared<Row>(row); });
}

Result<> Staging::apply(PreparedOperation&& operation, Seq& next) {
  auto* points = std::get_if<PreparedPoints>(&operation);
  if (points == nullptr || points->vectors_only) return apply(std::as_const(operation), next);
  return put_points(*points, next, [](Row& row) { return std::make_shared<Row>(std::move(row)); });
}

void Staging::absorb(Staging&& above) {
  for (auto& change : above.changes_) put(change.id, std::move(change.row), change.seq);
}

void Staging::apply_numbered(const std::vector<Change>& changes, Seq& next) {
  for (const auto& change : changes) {
    put(change.id, change.row, change.seq);
    next = std::max(next, Seq{to_number(change.seq) + 1});
  }
}

template <class Points, class Make>
Result<> Staging::put_points(Points& points, Seq& next, Make make) {
  for (auto& row : points.rows) {
    if (points.mode != UpsertMode::kUpsert || points.update_filter != nullptr) {
      const bool here = exists(row.id);
      if (points.mode == UpsertMode::kInsertOnly && here) continue;
      if (points.mode == UpsertMode::kUpdateOnly && !here) continue;
      if (here && points.update_filter != nullptr) {
        QV_TRY(const RowPtr old, current(row.id));
        QV_TRY(const bool passing, passes(points.update_filter.get(), *old));
        if (!passing) continue;
      }
    }
    auto numbered = make(row);
    follow_fields(*numbered, config_);
    QV_TRY(make_text_vectors(config_, *numbered));
    numbered->seq = take(next);
    const PointId id = numbered->id;
    const Seq seq = numbered->seq;
    put(id, std::move(numbered), seq);
  }
  return {};
}

Result<> Staging::put_vectors(const PreparedPoints& points, Seq& next) {
  for (const auto& update : points.rows) {
    QV_TRY(const RowPtr old, current(update.id));
    if (old == nullptr) return no_such_point(update.id);
    QV_TRY(const bool passing, passes(points.update_filter.get(), *old));
    if (!passing) continue;
    auto row = std::make_shared<Row>(*old);
    row->seq = take(next);
    row->vectors.resize(std::max(row->vectors.size(), update.vectors.size()));
    for (std::size_t i = 0; i < update.vectors.size(); ++i) {
      if (is_present(update.vectors[i])) row->vectors[i] = update.vectors[i];
    }
    follow_fields(*row, config_);
    QV_TRY(make_text_vectors(config_, *row));
    const Seq seq = row->seq;
    QV_TRY(put_changed(update.id, std::move(row), seq));
  }
  return {};
}

Result<> Staging::change_points(const PreparedChange& change, Seq& next) {
  QV_TRY(const auto ids, select(change));
  for (const auto& id : ids) {
    if (change.kind == Kind::kDelete) {
      if (exists(id)) put(id, nullptr, take(next));
      continue;
    }
    QV_TRY(const RowPtr old, current(id));
    if (old == nullptr) {
      if (must_exist(change.kind)) return no_such_point(id);
      continue;
    }
    const Seq seq = take(next);
    QV_TRY(auto row, changed_row(change, config_, *old, seq));
    QV_TRY(put_changed(id, std::move(row), seq));
  }
  return {};
}

Result<std::vector<PointId>> Staging::select(const PreparedChange& change) const {
  if (const auto* ids = std::get_if<std::vector<PointId>>(&change.points)) return *ids;
  return matching(*std::get<PredicatePtr>(change.points));
}

Result<std::vector<PointId>> Staging::matching(const payload::Predicate& predicate) const {
  std::vector<PointId> ids;
  for (const auto& segment : base_.segments) {
    QV_TRY(const Bitset rows, matching_rows(segment, &predicate, Cancel()));
    rows.for_each([&](std::size_t row) {
      const PointId& id = segment.data->ids[row];
      if (!staged(id)) ids.push_back(id);
    });
  }
  std::unordered_map<PointId, bool> seen;
  for (const Staging* layer = this; layer != nullptr; layer = layer->below_) {
    for (const auto& change : layer->changes_) {
      if (!seen.emplace(change.id, true).second || change.row == nullptr) continue;
      QV_TRY(const bool passing, passes(&predicate, *change.row));
      if (passing) ids.push_back(change.id);
    }
  }
  std::sort(ids.begin(), ids.end());  // the same operation gives the same numbers on every replica
  return ids;
}

std::optional<Staging::RowPtr> Staging::staged(const PointId& id) const {
  for (const Staging* layer = this; layer != nullptr; layer = layer->below_) {
    const auto found = layer->by_id_.find(id);
    if (found != layer->by_id_.end()) return layer->changes_[found->second].row;
  }
  return std::nullopt;
}

bool Staging::exists(const PointId& id) const {
  if (const auto row = staged(id)) return *row != nullptr;
  return base_.find(id).has_value();
}

const Staging::StoredRow& Staging::stored() const {
  return below_ == nullptr ? stored_ : below_->stored();
}

Result<Staging::RowPtr> Staging::current(const PointId& id) const {
  if (auto row = staged(id)) return *std::move(row);
  const auto place = base_.find(id);
  if (!place) return RowPtr();
  const Segment& segment = base_.segments[place->segment];
  if (!segment.data->sealed || !stored()) {
    return std::make_shared<const Row>(segment.row(place->row));
  }
  QV_TRY(const auto bytes, stored()(id));
  const Seq seq = segment.data->seqs[place->row];
  if (bytes) {
    QV_TRY(Row row, decode_row(id, *bytes, config_.fields));
    if (row.seq == seq) return std::make_shared<const Row>(std::move(row));
  }
  return fail(Code::kUnavailable,
              fmt::format("point {} is not the same in segment {} and in the store; the segment is "
                          "damaged, try again later",
                          id.to_string(), segment.data->id));
}

Result<bool> Staging::passes(const payload::Predicate* filter, const Row& row) const {
  if (filter == nullptr) return true;
  QV_TRY(const auto document, payload::parse_json(row.payload));
  return filter->matches(document, row.id, [&](std::string_view name) {
    const auto field = config_.field(name);
    return field && *field < row.vectors.size() && is_present(row.vectors[*field]);
  });
}

Result<> Staging::put_changed(const PointId& id, RowPtr row, Seq seq) {
  QV_TRY(memory_.add(size_bytes(*row)));
  put(id, std::move(row), seq);
  return {};
}

void Staging::put(const PointId& id, RowPtr row, Seq seq) {
  const auto [found, is_new] = by_id_.try_emplace(id, changes_.size());
  if (is_new) {
    changes_.push_back({id, seq, std::move(row)});
  } else {
    changes_[found->second] = {id, seq, std::move(row)};
  }
}

}  // namespace quiver::engine
