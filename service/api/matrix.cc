#include "service/api/matrix.h"

#include <utility>

#include "engine/collection.h"
#include "service/api/answer.h"
#include "service/api/limits.h"

namespace quiver::service::api {

void distance_matrix(Call& call, const OpenCollection& target, engine::MatrixRequest request,
                     Done<engine::DistanceMatrix> done) {
  call.set_operation("Search");
  auto compare = [&call, target, request = std::move(request)](
                     const Cancel& cancel) -> Result<engine::DistanceMatrix> {
    QV_TRY(call.check_access(Access::kRead, target.name));
    QV_TRY(check_limits(call, target, request));
    return target.collection->distance_matrix(request, cancel);
  };
  compute(call, {load::Verb::kLong}, std::move(done), std::move(compare));
}

}  // namespace quiver::service::api
