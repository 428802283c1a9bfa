// The verb that learns the weights of a linear fusion.
#pragma once

#include "engine/model/fusion_learning.h"
#include "service/api/collections.h"

namespace quiver::service::api {

/// Limits hold as for a batch of the judged queries. Nothing is stored.
void learn_fusion(Call& call, const OpenCollection& target, engine::FusionLearning learning,
                  Done<engine::LearnedFusion> done);

}  // namespace quiver::service::api
