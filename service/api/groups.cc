#include "service/api/groups.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "engine/collection.h"
#include "engine/database.h"
#include "service/api/answer.h"
#include "service/api/limits.h"
#include "service/api/queries.h"

namespace quiver::service::api {
namespace {

using engine::GroupId;
using engine::GroupsQuery;
using engine::PointGroup;
using Groups = std::vector<PointGroup>;

/// The point that a group's value names: a number, or a text that is a UUID.
std::optional<PointId> point_of(const GroupId& id) {
  if (const auto* number = std::get_if<std::uint64_t>(&id)) return PointId::number(*number);
  if (const auto* text = std::get_if<std::string>(&id)) return PointId::parse_uuid(*text);
  return std::nullopt;
}

Result<> add_lookups(engine::Database& database, const engine::GroupLookup& lookup,
                     Groups& groups) {
  QV_TRY(const auto collection, database.collection(lookup.collection));
  engine::RetrieveRequest request{{}, lookup.with_payload, lookup.with_vector};
  for (const auto& group : groups) {
    if (const auto id = point_of(group.id)) request.ids.push_back(*id);
  }
  QV_TRY(const auto records, collection->retrieve(request));
  // In the order of the groups, without those that name no point.
  auto next = records.begin();
  for (auto& group : groups) {
    const auto id = point_of(group.id);
    if (id && next != records.end() && next->id == *id) group.lookup = *next++;
  }
  return {};
}

/// The caller must be allowed to read the collection in which groups are looked up.
Result<> check_lookup(Call& call, const GroupsQuery& query) {
  if (!query.with_lookup) return {};
  const std::string& name = query.with_lookup->collection;
  QV_TRY(call.check_access(Access::kRead, name));
  if (call.runtime().database().exists(name)) return {};
  return fail(Code::kNotFound, fmt::format("Collection {} not found", name));
}

Result<Groups> search_groups(Call& call, const OpenCollection& target, GroupsQuery& query,
                             const Cancel& cancel) {
  QV_TRY(call.check_access(Access::kRead, target.name));
  QV_TRY(check_limits(call, target, query));
  QV_TRY(check_lookup(call, query));
  QV_TRY(resolve_lookups(call, target.name, query.query));
  QV_TRY(auto groups, target.collection->groups(query, cancel));
  if (query.with_lookup) {
    QV_TRY(add_lookups(call.runtime().database(), *query.with_lookup, groups));
  }
  return groups;
}

}  // namespace

void query_groups(Call& call, OpenCollection target, GroupsQuery query, Done<Groups> done) {
  call.set_operation("Search");
  const load::Work kind{load::Verb::kGroups, n_rows(target)};
  auto search = [&call, target = std::move(target),
                 query = std::move(query)](const Cancel& cancel) mutable {
    return search_groups(call, target, query, cancel);
  };
  compute(call, kind, std::move(done), std::move(search));
}

}  // namespace quiver::service::api
