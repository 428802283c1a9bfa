#include "engine/lookups.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "engine/model/query_vectors.h"

namespace quiver::engine {
namespace {

Result<VectorValue> look_up(Database& database, const LookupFrom& from, const PointId& id,
                            const std::string& field) {
  const std::string& name = from.collection;
  QV_TRY(const auto other, database.collection(name));
  // The point first, as in Qdrant: a missing one is kNotFound, even if there is no such field.
  QV_TRY(const auto points, other->retrieve({{id}, payload::Selector::none(), {}, from.shards}));
  if (points.empty()) {
    return fail(Code::kNotFound, fmt::format("No point with id {} found", id.to_string()));
  }
  QV_TRY(auto records,
         other->retrieve({{id}, payload::Selector::none(), {false, {field}}, from.shards}));
  if (records.empty()) {
    return fail(Code::kNotFound, fmt::format("No point with id {} found", id.to_string()));
  }
  if (records[0].vectors->empty()) {
    return fail(Code::kNotFound, fmt::format("Point with id {} of collection {} has no vector `{}`",
                                             id.to_string(), name, field));
  }
  return std::move(records[0].vectors->front().value);
}

std::string resolve(const Database& database, const std::string& name_or_alias) {
  const auto aliases = database.aliases();
  const auto found = std::ranges::find(aliases, name_or_alias, &Alias::alias);
  return found == aliases.end() ? name_or_alias : found->collection;
}

}  // namespace

Result<> resolve_lookups_in(Database& database, const std::string& name, Query& query) {
  for (auto& prefetch : query.prefetch) QV_TRY(resolve_lookups_in(database, name, prefetch));
  if (!query.lookup_from) return {};
  const auto& from = *query.lookup_from;
  if (!database.exists(from.collection)) {
    return fail(Code::kNotFound, fmt::format("Collection {} not found", from.collection));
  }
  const std::string field = from.vector.value_or(query.using_field);
  const bool is_own = resolve(database, from.collection) == resolve(database, name);
  for (QueryVector* vector : vectors_of(query.kind)) {
    const auto* id = std::get_if<PointId>(vector);
    if (id == nullptr) continue;
    QV_TRY(auto value, look_up(database, from, *id, field));
    if (is_own) add_own_point(query.kind, *id);
    *vector = std::move(value);
  }
  return {};
}

}  // namespace quiver::engine
