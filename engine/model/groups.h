// Queries whose hits are grouped by a payload value, and their answers: plain structs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/variant.h"
#include "engine/model/query.h"

namespace quiver::engine {

/// The payload value that the hits of a group share. An i64 is negative.
using GroupId = Variant<std::string, std::uint64_t, std::int64_t>;

/// The collection whose point is shown beside a group: the one whose id is the group's value.
struct GroupLookup {
  std::string collection;
  payload::Selector with_payload = payload::Selector::all();
  VectorSelector with_vector;
};

/// The best hits of each of the best groups. A point whose value is an array is in several groups;
/// one without a string or an integer under `group_by` is in none.
struct GroupsQuery {
  static constexpr std::uint64_t kDefaultGroupSize = 3;
  Query query;                                   ///< `limit`: groups; `offset` has no effect
  std::string group_by;                          ///< path of a payload value
  std::uint64_t group_size = kDefaultGroupSize;  ///< hits of a group, at most
  std::optional<GroupLookup> with_lookup;
};

struct PointGroup {
  GroupId id;
  std::vector<Record> hits;  ///< best first
  /// The point that `with_lookup` found.
  std::optional<Record> lookup;
};

}  // namespace quiver::engine
