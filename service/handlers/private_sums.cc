#include "service/handlers/private_sums.h"

#include <utility>

#include "service/api/private_sums.h"
#include "service/handlers/common.h"
#include "service/json/decode/decode_private.h"
#include "service/json/encode/encode_private.h"

namespace quiver::service {
namespace {

using Estimates = std::vector<engine::PrivateEstimate>;

Decoded<> send_privacy_report(Exchange& x, const engine::PrivacyReport& report) {
  auto out = x.begin_result();
  json::write_privacy_report(out, report);
  x.end_result();
  return {};
}

Decoded<> send_private_sum(Exchange& x, const engine::ReleaseDetails& details) {
  auto out = x.begin_result();
  json::write_private_sum(out, details);
  x.end_result();
  return {};
}

Decoded<> send_private_estimates(Exchange& x, const Estimates& estimates) {
  auto out = x.begin_result();
  json::write_private_estimates(out, estimates);
  x.end_result();
  return {};
}

Decoded<Answer> answer_privacy_report(Exchange& x, OpenCollection collection) {
  api::private_report(x, collection, answer_by<engine::PrivacyReport>(x, send_privacy_report));
  return Answer::kLater;
}

Decoded<Answer> answer_private_budget(Exchange& x, OpenCollection collection) {
  QV_TRY(const auto budget, json::decode_private_budget(x.request.body));
  api::set_private_budget(x, collection, budget, answer_true(x));
  return Answer::kLater;
}

Decoded<Answer> answer_private_release(Exchange& x, OpenCollection collection) {
  QV_TRY(read_params(x));
  QV_TRY(json::check_private_name(x.captures[1]));
  QV_TRY(auto start, json::decode_private_sum(x.request.body));
  api::make_private_sum(x, collection, x.captures[1], std::move(start.request),
                        std::move(start.text),
                        answer_by<engine::ReleaseDetails>(x, send_private_sum));
  return Answer::kLater;
}

Decoded<Answer> answer_private_sum(Exchange& x, OpenCollection collection) {
  api::private_sum(x, collection, x.captures[1],
                   answer_by<engine::ReleaseDetails>(x, send_private_sum));
  return Answer::kLater;
}

Decoded<Answer> answer_private_estimates(Exchange& x, OpenCollection collection) {
  QV_TRY(read_params(x));
  QV_TRY(auto vectors, json::decode_private_queries(x.request.body));
  api::estimate_private_sum(x, collection, x.captures[1], std::move(vectors),
                            answer_by<Estimates>(x, send_private_estimates));
  return Answer::kLater;
}

Decoded<Answer> answer_private_forget(Exchange& x, OpenCollection collection) {
  api::forget_private_sum(x, collection, x.captures[1], answer_true(x));
  return Answer::kLater;
}

}  // namespace

void add_private_sum_routes(Routes& routes) {
  constexpr std::string_view kAll = "/v1/collections/{collection_name}/private";
  constexpr std::string_view kOne = "/v1/collections/{collection_name}/private/{release_name}";
  constexpr std::string_view kDensity =
      "/v1/collections/{collection_name}/private/{release_name}/density";
  routes.push_back({Method::kGet, kAll, Access::kRead, on_collection<answer_privacy_report>});
  routes.push_back(
      {Method::kPut, kAll, Access::kManage, with_body<answer_private_budget>, Effect::kChange});
  routes.push_back({Method::kPut, kOne, Access::kWriteExtras, with_body<answer_private_release>,
                    Effect::kChange});
  routes.push_back({Method::kGet, kOne, Access::kRead, on_collection<answer_private_sum>});
  routes.push_back({Method::kDelete, kOne, Access::kWriteExtras,
                    on_collection<answer_private_forget>, Effect::kChange});
  routes.push_back({Method::kPost, kDensity, Access::kRead, with_body<answer_private_estimates>});
}

}  // namespace quiver::service
