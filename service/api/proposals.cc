#include "service/api/proposals.h"

#include <utility>

#include "engine/collection.h"
#include "service/api/answer.h"
#include "service/api/limits.h"
#include "service/api/queries.h"

namespace quiver::service::api {
namespace {

/// The searches of a round, as far as limits look at them.
engine::Query searches_of(engine::ProposalRequest& request) {
  engine::Query query;
  query.prefetch = std::exchange(request.prefetch, {});
  query.filter = request.filter;
  query.params = request.params;
  query.using_field = request.basis;
  query.limit = request.n;
  return query;
}

}  // namespace

void propose(Call& call, const OpenCollection& target, engine::ProposalRequest request,
             Done<engine::Proposals> done) {
  call.set_operation("Search");
  auto work = [&call, target, request = std::move(request)](
                  const Cancel& cancel) mutable -> Result<engine::Proposals> {
    QV_TRY(call.check_access(Access::kRead, target.name));
    engine::Query searches = searches_of(request);
    QV_TRY(check_limits(call, target, searches));
    QV_TRY(resolve_lookups(call, target.name, searches));
    request.prefetch = std::move(searches.prefetch);
    return target.collection->propose(request, cancel);
  };
  compute(call, {load::Verb::kLong}, std::move(done), std::move(work));
}

}  // namespace quiver::service::api
