// Search by a scorer of the caller.
#include "service/api/proposals.h"

#include "service/handlers/common.h"
#include "service/handlers/handlers.h"
#include "service/json/decode/decode.h"
#include "service/json/encode/encode.h"

namespace quiver::service {
namespace {

Decoded<> write_proposals(Exchange& x, const engine::Proposals& proposals) {
  auto out = x.begin_result();
  json::write_proposals(out, proposals);
  x.end_result();
  return {};
}

Decoded<Answer> run_proposals(Exchange& x, OpenCollection collection) {
  QV_TRY(read_params(x));
  QV_TRY(auto request, json::decode_proposals(x.request.body));
  api::propose(x, collection, std::move(request), answer_by<engine::Proposals>(x, write_proposals));
  return Answer::kLater;
}

}  // namespace

void add_proposal_routes(Routes& routes) {
  routes.push_back({Method::kPost, "/v1/collections/{collection_name}/points/propose",
                    Access::kRead, with_body<run_proposals>});
}

}  // namespace quiver::service
