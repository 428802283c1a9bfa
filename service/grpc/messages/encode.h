// Answers of the engine as messages.
#pragma once

#include <vector>

#include "engine/model/operation.h"
#include "engine/model/query.h"
#include "proto/answers.pb.h"
#include "service/json/error.h"

namespace quiver::service::rpc {

void set_id(const PointId& id, qdrant::PointId& out);
void set_shard_key(const engine::ShardKey& key, qdrant::ShardKey& out);
/// Takes apart the payload, which is parsed in place.
[[nodiscard]] Decoded<> set_scored(engine::Record& record, qdrant::ScoredPoint& out);
[[nodiscard]] Decoded<> set_retrieved(engine::Record& record, qdrant::RetrievedPoint& out);
void set_result(const engine::UpdateResult& result, qdrant::UpdateResult& out);

}  // namespace quiver::service::rpc
