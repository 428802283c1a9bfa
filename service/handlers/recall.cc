// Recall that is asked for by number.
#include "service/api/recall.h"

#include "service/handlers/common.h"
#include "service/handlers/handlers.h"
#include "service/json/decode/decode.h"
#include "service/json/encode/encode.h"

namespace quiver::service {
namespace {

Decoded<Answer> answer_recall(Exchange& x, OpenCollection collection) {
  QV_TRY(const auto info, api::collection_info(x, collection));
  auto out = x.begin_result();
  json::write_recall_fields(out, info.config.recall, api::recall_statuses(collection));
  x.end_result();
  return Answer::kReady;
}

Decoded<> write_table(Exchange& x, const engine::RecallTable& table) {
  auto out = x.begin_result();
  json::write_recall_table(out, table);
  x.end_result();
  return {};
}

Decoded<Answer> calibrate(Exchange& x, OpenCollection collection) {
  QV_TRY(read_params(x));
  QV_TRY(auto request, json::decode_recall_request(x.request.body));
  api::calibrate_recall(x, collection, std::move(request),
                        answer_by<engine::RecallTable>(x, write_table));
  return Answer::kLater;
}

Decoded<Answer> show(Exchange& x) { return with_collection(x, answer_recall); }

}  // namespace

void add_recall_routes(Routes& routes) {
  routes.push_back({Method::kGet, "/v1/collections/{collection_name}/recall", Access::kRead, show});
  routes.push_back({Method::kPost, "/v1/collections/{collection_name}/recall/calibrate",
                    Access::kManage, with_body<calibrate>, Effect::kChange});
}

}  // namespace quiver::service
