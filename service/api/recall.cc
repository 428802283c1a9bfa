#include "service/api/recall.h"

#include <utility>
#include <vector>

#include "engine/collection.h"
#include "service/api/answer.h"

namespace quiver::service::api {

void calibrate_recall(Call& call, const OpenCollection& target, engine::RecallRequest request,
                      Done<engine::RecallTable> done) {
  call.set_operation("Search");
  auto store = [&call, target, done](Result<engine::RecallTable> measured) {
    if (!measured) return done(std::move(measured));
    auto change = [table = *measured](engine::CollectionConfig& config) -> Result<> {
      engine::set_recall(config, table);
      return {};
    };
    auto answer_stored = [done, table = *measured](Result<> stored) {
      if (!stored) return done(fail(stored.error()));
      done(table);
    };
    update_collection(call, std::string(target.name), std::move(change), std::move(answer_stored));
  };
  auto measure = [&call, target, request = std::move(request)](
                     const Cancel& cancel) -> Result<engine::RecallTable> {
    QV_TRY(call.check_access(Access::kManage, target.name));
    return target.collection->measure_recall(request, cancel);
  };
  compute(call, {load::Verb::kLong}, Done<engine::RecallTable>(std::move(store)),
          std::move(measure));
}

std::vector<engine::RecallStatus> recall_statuses(const OpenCollection& target) {
  return target.collection->recall_statuses();
}

}  // namespace quiver::service::api
