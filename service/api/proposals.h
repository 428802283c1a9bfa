// The verb that proposes points to a scorer of the caller.
#pragma once

#include "engine/model/proposals.h"
#include "service/api/collections.h"

namespace quiver::service::api {

/// Limits hold as for a batch of the query and the prefetches. Nothing is stored.
void propose(Call& call, const OpenCollection& target, engine::ProposalRequest request,
             Done<engine::Proposals> done);

}  // namespace quiver::service::api
