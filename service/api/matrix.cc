#include "service/api/matrix.h"

namespace quiver::service::api {

void distance_matrix(Call& call, const OpenCollection& target, engine::MatrixRequest request,
                     Done<engine::DistanceMatrix> done) {
  (void)call, (void)target, (void)request;
  done(fail(Code::kUnimplemented, "distance matrices"));
}

}  // namespace quiver::service::api
