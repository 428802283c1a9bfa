// Verbs about points, except queries: reads by id, pages, counts, and all changes.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/model/operation.h"
#include "engine/model/query.h"
#include "engine/model/reports.h"
#include "service/api/collections.h"

namespace quiver::service::api {

/// Answers with the points in the order of their ids in the request; unknown ids are left out.
void retrieve(Call& call, const OpenCollection& target, engine::RetrieveRequest request,
              Done<std::vector<engine::Record>> done);
void scroll(Call& call, const OpenCollection& target, engine::ScrollRequest request,
            Done<engine::ScrollPage> done);
void count(Call& call, const OpenCollection& target, engine::CountRequest request,
           Done<std::uint64_t> done);

/// Applies the operations as one and answers with a result for each, once `ack` is true of them.
/// kResourceExhausted at once if the queue of updates is full, and if the update waits there for
/// longer than the timeout that the caller named. Then nothing of it was stored in that shard.
void update(Call& call, const OpenCollection& target, std::vector<engine::Operation> operations,
            engine::Ack ack, Done<std::vector<engine::UpdateResult>> done);

}  // namespace quiver::service::api
