// Verbs about differentially private sums of a collection.
#pragma once

#include <string>
#include <vector>

#include "engine/private_sums.h"
#include "service/api/collections.h"

namespace quiver::service::api {

/// Budget, what is spent, and all releases.
void private_report(Call& call, const OpenCollection& target, Done<engine::PrivacyReport> done);
/// Wants the right to change everything.
void set_private_budget(Call& call, const OpenCollection& target,
                        const engine::PrivacyAmount& budget, Done<> done);

/// Wants the right to change more than points, since it spends. `text`: what the client sent.
/// Answers once the release is durable. A caller that leaves before it is paid for stops it.
void make_private_sum(Call& call, const OpenCollection& target, std::string name,
                      engine::PrivateSumRequest request, std::string text,
                      Done<engine::ReleaseDetails> done);
/// kNotFound about the release, also below.
void private_sum(Call& call, const OpenCollection& target, std::string name,
                 Done<engine::ReleaseDetails> done);
/// Costs no privacy, however often it is asked.
void estimate_private_sum(Call& call, const OpenCollection& target, std::string name,
                          std::vector<std::vector<float>> vectors,
                          Done<std::vector<engine::PrivateEstimate>> done);
void forget_private_sum(Call& call, const OpenCollection& target, std::string name, Done<> done);

}  // namespace quiver::service::api
