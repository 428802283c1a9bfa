#include "service/api/fusions.h"

#include <utility>
#include <vector>

#include "engine/collection.h"
#include "service/api/answer.h"
#include "service/api/limits.h"
#include "service/api/queries.h"

namespace quiver::service::api {
namespace {

Result<> check_judged(Call& call, const OpenCollection& target,
                      const engine::FusionLearning& learning) {
  if (!target.collection->config()->strict_mode) return {};
  std::vector<engine::Query> queries;
  for (const auto& judged : learning.judged) queries.push_back(judged.query);
  return check_limits(call, target, queries);
}

}  // namespace

void learn_fusion(Call& call, const OpenCollection& target, engine::FusionLearning learning,
                  Done<engine::LearnedFusion> done) {
  call.set_operation("Search");
  auto learn = [&call, target, learning = std::move(learning)](
                   const Cancel& cancel) mutable -> Result<engine::LearnedFusion> {
    QV_TRY(call.check_access(Access::kRead, target.name));
    QV_TRY(check_judged(call, target, learning));
    for (auto& judged : learning.judged) {
      QV_TRY(resolve_lookups(call, target.name, judged.query));
    }
    return target.collection->learn_fusion(learning, cancel);
  };
  compute(call, {load::Verb::kLong}, std::move(done), std::move(learn));
}

}  // namespace quiver::service::api
