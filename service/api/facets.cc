#include "service/api/facets.h"

#include <utility>

#include "engine/collection.h"
#include "service/api/answer.h"
#include "service/api/limits.h"

namespace quiver::service::api {

void facet(Call& call, const OpenCollection& target, engine::FacetRequest request,
           Done<std::vector<engine::FacetHit>> done) {
  call.set_operation("Facet");
  const load::Work kind{load::Verb::kFacet, n_rows(target)};
  auto count = [&call, target, request = std::move(request)](
                   const Cancel& cancel) -> Result<std::vector<engine::FacetHit>> {
    QV_TRY(call.check_access(Access::kRead, target.name));
    QV_TRY(check_limits(call, target, request));
    return target.collection->facet(request, cancel);
  };
  compute(call, kind, std::move(done), std::move(count));
}

}  // namespace quiver::service::api
