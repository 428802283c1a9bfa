// The verb that searches for groups of points.
#pragma once

#include <vector>

#include "engine/model/groups.h"
#include "service/api/collections.h"

namespace quiver::service::api {

/// Groups are ordered by their best hit. kNotFound if the collection of `with_lookup` is missing.
void query_groups(Call& call, OpenCollection target, engine::GroupsQuery query,
                  Done<std::vector<engine::PointGroup>> done);

}  // namespace quiver::service::api
