// Verbs that search.
#pragma once

#include <string_view>
#include <vector>

#include "engine/model/query.h"
#include "service/api/collections.h"

namespace quiver::service::api {

using Records = std::vector<engine::Record>;

/// A small query runs on the calling thread, since a hop to another one would cost more than the
/// search, unless other requests wait for that thread. Others run on a thread that computes, where
/// they may share a pass over the vectors. kResourceExhausted if they would wait too long for one.
void query(Call& call, OpenCollection target, engine::Query query, Done<Records> done);

/// Answers all queries from one snapshot, on the compute executor. An error names its search.
void query_batch(Call& call, OpenCollection target, std::vector<engine::Query> queries,
                 Done<std::vector<Records>> done);

void explain(Call& call, const OpenCollection& target, engine::ExplainRequest request,
             Done<std::vector<engine::Explanation>> done);

/// Replaces the ids that a query looks up elsewhere by their vectors. kPermissionDenied if the
/// caller may not read one of the collections.
[[nodiscard]] Result<> resolve_lookups(Call& call, std::string_view collection,
                                       engine::Query& query);

}  // namespace quiver::service::api
