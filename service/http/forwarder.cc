#include "service/http/forwarder.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "service/api/leader_wait.h"
#include "service/http/exchange/on_executor.h"
#include "service/http/router.h"

namespace quiver::service {
namespace {

using Leader = Result<std::optional<cluster::NodeAddress>>;

/// Requests that wait for the leader at a time; they mostly sleep.
constexpr std::size_t kThreads = 32;
/// Building a payload index may take long. A leader whose machine is gone is noticed sooner.
constexpr client::CallLimits kLimits = {.connect = std::chrono::milliseconds(500),
                                        .answer = std::chrono::minutes(10)};
constexpr auto kSilence = std::chrono::seconds(4);
/// Marks the refusal of a node that does not lead.
constexpr std::string_view kNotLeading = "x-quiver-not-leading";

ApiError unavailable(std::string text) {
  return ApiError(Error(Code::kUnavailable, std::move(text)));
}

void add_header(std::string& head, std::string_view name, std::string_view value) {
  if (!value.empty()) head += fmt::format("{}: {}\r\n", name, value);
}

/// The answer is compressed here, if at all, so the leader is not asked for it.
std::string head_for(Exchange& exchange, const client::Endpoint& leader, const std::string& self) {
  const Request& request = exchange.request;
  std::string head =
      client::request_text(to_string(request.method), request.target, leader, request.api_key, "");
  head.resize(head.size() - 2);  // the empty line comes last
  add_header(head, "authorization", request.authorization);
  add_header(head, "content-type", request.content_type);
  add_header(head, "content-encoding", request.content_encoding);
  add_header(head, "x-request-id", request.request_id);
  add_header(head, "traceparent", exchange.trace().to_pass_on(request.traceparent));
  if (!request.traceparent.empty()) add_header(head, "tracestate", request.tracestate);
  add_header(head, "x-quiver-forwarded", self);
  add_header(head, "content-length", std::to_string(request.body.size()));
  return head += "\r\n";
}

/// A text that lives forever, as the response wants one.
std::string_view static_content_type(std::string_view type) {
  constexpr std::string_view kJson = "application/json";
  return type == kJson ? kJson : "text/plain; charset=utf-8";
}

void copy_answer(client::HttpResponse& from, Response& to) {
  to.status = from.status;
  to.content_type =
      static_content_type(client::find_header(from.head, "content-type").value_or(""));
  if (const auto seconds = client::find_header(from.head, "retry-after")) {
    to.extra_headers += fmt::format("\r\nretry-after: {}", *seconds);
  }
  to.body = std::move(from.body);
}

}  // namespace

Forwarder::Forwarder(const api::ClusterOptions& options, AnswerHere answer_here)
    : options_(options),
      answer_here_(std::move(answer_here)),
      self_(std::to_string(options.node->view().self)),
      connections_(kLimits),
      executor_(kThreads, "http-forward") {}

double Forwarder::stale_s() {
  constexpr std::chrono::nanoseconds kInterval = std::chrono::milliseconds(250);
  const std::int64_t now = std::chrono::steady_clock::now().time_since_epoch().count();
  std::int64_t due = look_again_at_;
  if (now >= due && look_again_at_.compare_exchange_strong(due, now + kInterval.count())) {
    const double stale_s = options_.node->view().stale_s;
    const bool is_stale = stale_s > std::chrono::duration<double>(options_.lease).count();
    stale_s_ = is_stale ? stale_s : 0;
  }
  return stale_s_;
}

Decoded<std::optional<Answer>> Forwarder::answer_elsewhere(Exchange& exchange) {
  if (exchange.route->declaration().effect == api::Effect::kLocal) return std::nullopt;
  const Leader leader = options_.node->leader();
  if (leader && !*leader) return std::nullopt;
  if (!exchange.request.forwarded_by.empty()) {
    QV_TRY(const Answer refused, refuse_forwarded(exchange, leader));
    return refused;
  }
  QV_TRY(const Answer later,
         on_executor(exchange, executor_, [this](Exchange& x) { return answer_by_leader(x); }));
  return later;
}

Decoded<Answer> Forwarder::refuse_forwarded(Exchange& exchange, const Leader& leader) const {
  exchange.response.retry_after_s = api::kLeaderRetryS;
  exchange.response.extra_headers += fmt::format("\r\n{}: 1", kNotLeading);
  return fail(unavailable(
      fmt::format("node {} does not lead now, {}", self_,
                  leader ? "the leader is " + (*leader)->http : leader.error().message())));
}

Decoded<Answer> Forwarder::answer_by_leader(Exchange& exchange) {
  std::string reason;
  auto answer = api::until_answered(exchange, options_.leader_patience,
                                    [&] { return attempt(exchange, reason); });
  if (answer) return *std::move(answer);
  exchange.response.retry_after_s = api::kLeaderRetryS;
  return fail(unavailable("the change was not made: " + reason));
}

Forwarder::Attempt Forwarder::attempt(Exchange& exchange, std::string& reason) {
  const Leader leader = options_.node->leader();
  if (leader && *leader) return send(exchange, **leader, reason);
  if (leader) return answer_here_(exchange);
  reason = leader.error().message();
  return std::nullopt;
}

Forwarder::Attempt Forwarder::send(Exchange& exchange, const cluster::NodeAddress& leader,
                                   std::string& reason) {
  QV_TRY(client::Endpoint endpoint, client::parse_url(leader.http));
  endpoint.ca_file = options_.ca_file;
  endpoint.silence = kSilence;
  const tracing::StageScope stage(exchange.trace(), "Forward", tracing::SpanKind::kClient);
  const std::string head = head_for(exchange, endpoint, self_);
  auto answer = connections_.exchange(endpoint, head, exchange.request.body);
  if (!answer && answer.error().code() == Code::kUnavailable) {
    reason = answer.error().message();
    return std::nullopt;
  }
  if (!answer) {
    exchange.response.retry_after_s = api::kLeaderRetryS;
    return fail(unavailable(answer.error().message() + "; the operation may be sent again"));
  }
  if (client::find_header(answer->head, kNotLeading)) {
    reason = client::error_text(*answer);
    return std::nullopt;
  }
  copy_answer(*answer, exchange.response);
  return Answer::kReady;
}

}  // namespace quiver::service
