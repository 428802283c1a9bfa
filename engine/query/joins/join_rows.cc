#include "engine/query/joins/join_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "engine/model/row.h"
#include "engine/query/stages/field_query.h"
#include "payload/filter/predicate.h"

namespace quiver::engine {

Result<> JoinRows::check(const FieldSchema& schema) {
  if (schema.modifier == SparseModifier::kNone) return {};
  return fail(Code::kUnimplemented,
              fmt::format("{} is not joined: with the `idf` modifier a score is not the same both "
                          "ways",
                          quoted_name(schema)));
}

Result<JoinRows> JoinRows::gather(const SearchEnvironment& environment,
                                  const std::string& using_field,
                                  const std::optional<payload::Filter>& filter) {
  JoinRows rows;
  QV_TRY(rows.field_, environment.config.field(using_field));
  rows.schema_ = &environment.config.fields[rows.field_];
  QV_TRY(check(*rows.schema_));
  std::shared_ptr<const payload::Predicate> predicate;
  if (filter) {
    QV_TRY(predicate, payload::compile(*filter, environment.config.indexes));
  }
  struct Found {
    PointId id;
    Place place;
  };
  std::vector<Found> found;
  for (const Segment* segment : environment.snapshot.segments()) {
    if (segment->data->fields[rows.field_].n_present == 0) continue;
    QV_TRY(auto allowed,
           SegmentFilter::make(*segment, rows.field_, predicate.get(), environment.cancel));
    const auto part = static_cast<std::uint32_t>(rows.parts_.size());
    const std::size_t n_before = found.size();
    allowed.view().for_each(0, [&](std::uint32_t row) {
      found.push_back({segment->data->ids[row], {part, row}});
    });
    if (found.size() == n_before) continue;
    rows.parts_.push_back(
        {segment, std::move(allowed), std::vector<std::uint32_t>(segment->n_rows())});
  }
  if (found.size() >= std::numeric_limits<std::uint32_t>::max()) {
    return fail(Code::kUnimplemented, fmt::format("{} points are too many to join", found.size()));
  }
  std::ranges::sort(found, {}, &Found::id);
  rows.ids_.reserve(found.size());
  rows.places_.reserve(found.size());
  for (const auto& [id, place] : found) {
    rows.parts_[place.part].positions[place.row] = static_cast<std::uint32_t>(rows.ids_.size());
    rows.ids_.push_back(id);
    rows.places_.push_back(place);
  }
  return rows;
}

std::vector<std::uint32_t> JoinRows::similar_first() const {
  std::vector<std::uint32_t> order;
  order.reserve(size());
  for (const Part& part : parts_) {
    const auto allowed = part.rows.view();
    const auto& searcher = part.segment->data->searchers[field_];
    const auto known =
        searcher == nullptr ? std::vector<std::uint32_t>() : searcher->rows_by_nearness();
    if (known.empty()) {
      allowed.for_each(0, [&](std::uint32_t row) { order.push_back(part.positions[row]); });
      continue;
    }
    for (const std::uint32_t row : known) {
      if (allowed.allows(row)) order.push_back(part.positions[row]);
    }
  }
  return order;
}

Result<index::PreparedQuery> JoinRows::query(std::uint32_t position) const {
  const auto& [part, row] = places_[position];
  const auto value = to_value(*schema_, parts_[part].segment->vector(field_, row));
  return prepare_value(*schema_, value, {});
}

}  // namespace quiver::engine
