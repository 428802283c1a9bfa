// Learning how to fuse prefetches.
#include "service/api/fusions.h"

#include "service/handlers/common.h"
#include "service/handlers/handlers.h"
#include "service/json/decode/decode.h"
#include "service/json/encode/encode.h"

namespace quiver::service {
namespace {

Decoded<> write_learned(Exchange& x, const engine::LearnedFusion& learned) {
  auto out = x.begin_result();
  json::write_learned_fusion(out, learned);
  x.end_result();
  return {};
}

Decoded<Answer> run_learning(Exchange& x, OpenCollection collection) {
  QV_TRY(read_params(x));
  QV_TRY(auto learning, json::decode_fusion_learning(x.request.body));
  api::learn_fusion(x, collection, std::move(learning),
                    answer_by<engine::LearnedFusion>(x, write_learned));
  return Answer::kLater;
}

}  // namespace

void add_fusion_routes(Routes& routes) {
  routes.push_back({Method::kPost, "/v1/collections/{collection_name}/fusions/learn", Access::kRead,
                    with_body<run_learning>});
}

}  // namespace quiver::service
