// Search by a black-box scorer, in rounds: the caller scores what is proposed, and the scores so
// far say what to propose next (Yadav et al.: ADACUR, Findings of EMNLP 2023; AXN, ICLR 2024).
#pragma once

#include "base/result.h"
#include "engine/model/proposals.h"
#include "engine/query/stages/environment.h"

namespace quiver::engine {

/// As Collection::propose.
[[nodiscard]] Result<Proposals> propose(const SearchEnvironment& environment,
                                        const ProposalRequest& request);

}  // namespace quiver::engine
