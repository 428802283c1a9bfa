// Reading mapped files again: asking for it, and what came of it.
#include "service/api/scrub.h"

#include "service/handlers/common.h"
#include "service/handlers/handlers.h"

namespace quiver::service {
namespace {

Decoded<> write_status(Exchange& x, const engine::ScrubStatus& status) {
  auto out = x.begin_result();
  out.begin_object();
  out.member("status", status.is_running ? "running" : "idle");
  out.member("pass_bytes", status.n_pass_bytes);
  out.member("pass_bytes_expected", status.n_pass_bytes_total);
  out.member("bytes", status.n_bytes);
  out.member("passes", status.n_passes);
  out.member("damages", status.n_damages);
  out.key("last_pass_age_seconds");
  status.last_pass_age_s ? out.f64(*status.last_pass_age_s) : out.null();
  out.end_object();
  x.end_result();
  return {};
}

Decoded<> write_request(Exchange& x, const std::uint64_t& n_passes) {
  auto out = x.begin_result();
  out.begin_object();
  out.member("done_after_passes", n_passes);
  out.end_object();
  x.end_result();
  return {};
}

Decoded<Answer> get_scrub(Exchange& x) {
  api::scrub_status(x, answer_by<engine::ScrubStatus>(x, write_status));
  return Answer::kLater;
}

Decoded<Answer> post_scrub(Exchange& x) {
  api::request_scrub(x, answer_by<std::uint64_t>(x, write_request));
  return Answer::kLater;
}

}  // namespace

void add_scrub_routes(Routes& routes) {
  routes.push_back({Method::kGet, "/v1/scrub", Access::kGlobalRead, get_scrub});
  routes.push_back({Method::kPost, "/v1/scrub", Access::kManage, post_scrub});
}

}  // namespace quiver::service
