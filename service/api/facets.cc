#include "service/api/facets.h"

namespace quiver::service::api {

void facet(Call& call, const OpenCollection& target, engine::FacetRequest request,
           Done<std::vector<engine::FacetHit>> done) {
  (void)call, (void)target, (void)request;
  done(fail(Code::kUnimplemented, "facets"));
}

}  // namespace quiver::service::api
