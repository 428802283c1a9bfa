#include "service/api/aggregates.h"

#include <utility>

#include "engine/collection.h"
#include "service/api/answer.h"
#include "service/api/limits.h"

namespace quiver::service::api {

void aggregate(Call& call, const OpenCollection& target, engine::AggregateRequest request,
               Done<std::vector<engine::Aggregate>> done) {
  call.set_operation("Aggregate");
  const load::Work kind{load::Verb::kAggregate, n_rows(target)};
  auto work = [&call, target, request = std::move(request)](
                  const Cancel& cancel) -> Result<std::vector<engine::Aggregate>> {
    QV_TRY(call.check_access(Access::kRead, target.name));
    QV_TRY(check_limits(call, target, request));
    return target.collection->aggregate(request, cancel);
  };
  compute(call, kind, std::move(done), std::move(work));
}

}  // namespace quiver::service::api
