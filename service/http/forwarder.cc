#include "service/http/forwarder.h"

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <utility>

#include "cluster/first_answer.h"
#include "service/api/leader_wait.h"
#include "service/http/exchange/on_executor.h"
#include "service/http/router.h"

namespace quiver::service {
namespace {

/// Changes that wait for a leader at a time, and reads that wait for another node; they mostly
/// sleep.
constexpr std::size_t kThreads = 32;
/// Building a payload index may take long. A leader whose machine is gone is noticed sooner.
constexpr client::CallLimits kLimits = {.connect = std::chrono::milliseconds(500),
                                        .answer = std::chrono::minutes(10)};
constexpr auto kSilence = std::chrono::seconds(4);
/// Marks the refusal of a node that does not lead, or does not have the collection.
constexpr std::string_view kNotLeading = "x-quiver-not-leading";

ApiError unavailable(std::string text) {
  return ApiError(Error(Code::kUnavailable, std::move(text)));
}

/// Of what is not one, as the creation of a job, nothing may be done twice.
bool is_read(const Exchange& exchange) {
  const RouteDeclaration& route = exchange.route->declaration();
  const bool only_reads = route.access == Access::kRead || route.access == Access::kReadExtras;
  return only_reads && route.effect == api::Effect::kLocal;
}

void add_header(std::string& head, std::string_view name, std::string_view value) {
  if (!value.empty()) head += fmt::format("{}: {}\r\n", name, value);
}

/// The answer is compressed here, if at all, so the leader is not asked for it.
std::string head_for(Exchange& exchange, const client::Endpoint& leader, const std::string& self) {
  const Request& request = exchange.request;
  // This node leaves the body of an answer to HEAD away.
  const Method method = request.method == Method::kHead ? Method::kGet : request.method;
  std::string head =
      client::request_text(to_string(method), request.target, leader, request.api_key, "");
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
  for (const std::string_view name : {"retry-after", "x-quiver-stale-seconds"}) {
    if (const auto value = client::find_header(from.head, name)) {
      to.extra_headers += fmt::format("\r\n{}: {}", name, *value);
    }
  }
  to.body = std::move(from.body);
}

/// False: an error of the node, not of the request.
bool is_answered(const Result<client::HttpResponse>& answer) {
  constexpr int kTooManyRequests = 429;
  constexpr int kServerError = 500;
  return answer && answer->status < kServerError && answer->status != kTooManyRequests;
}

}  // namespace

Forwarder::Forwarder(const api::ClusterOptions& options, AnswerHere answer_here)
    : options_(options),
      answer_here_(std::move(answer_here)),
      self_(std::to_string(options.node->view().self)),
      connections_(std::make_shared<client::ConnectionPool>(kLimits)),
      executor_(kThreads, "http-forward"),
      readers_(kThreads, "http-read-away") {}

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
  switch (exchange.route->declaration().effect) {
    case api::Effect::kHere:
      return std::nullopt;
    case api::Effect::kLocal:
      return read_elsewhere(exchange);
    case api::Effect::kChange:
    case api::Effect::kCatalog:
      break;
  }
  return change_elsewhere(exchange);
}

Forwarder::Leader Forwarder::leader_for(const Exchange& exchange) const {
  const bool is_of_collection = exchange.route->is_of_collection() &&
                                exchange.route->declaration().effect == api::Effect::kChange;
  return is_of_collection ? options_.node->leader_of(exchange.captures[0])
                          : options_.node->leader();
}

Decoded<std::optional<Answer>> Forwarder::change_elsewhere(Exchange& exchange) {
  const Leader leader = leader_for(exchange);
  if (leader && !*leader) return std::nullopt;
  if (!exchange.request.forwarded_by.empty()) {
    QV_TRY(const Answer refused,
           refuse_forwarded(exchange, fmt::format("node {} does not lead now, {}", self_,
                                                  leader ? "the leader is " + (*leader)->http
                                                         : leader.error().message())));
    return refused;
  }
  QV_TRY(const Answer later,
         on_executor(exchange, executor_, [this](Exchange& x) { return answer_by_leader(x); }));
  return later;
}

Decoded<std::optional<Answer>> Forwarder::read_elsewhere(Exchange& exchange) {
  if (!exchange.route->is_of_collection()) return std::nullopt;
  const auto holders = options_.node->holders(exchange.captures[0]);
  if (!holders || holders->is_here) return std::nullopt;
  if (!exchange.request.forwarded_by.empty()) {
    QV_TRY(const Answer refused,
           refuse_forwarded(exchange, fmt::format("node {} does not have collection `{}` now",
                                                  self_, exchange.captures[0])));
    return refused;
  }
  QV_TRY(const Answer later,
         on_executor(exchange, readers_, [this](Exchange& x) { return answer_by_holder(x); }));
  return later;
}

Decoded<Answer> Forwarder::refuse_forwarded(Exchange& exchange, std::string text) const {
  exchange.response.retry_after_s = api::kLeaderRetryS;
  exchange.response.extra_headers += fmt::format("\r\n{}: 1", kNotLeading);
  return fail(unavailable(std::move(text)));
}

Decoded<Answer> Forwarder::answer_by_leader(Exchange& exchange) {
  std::string reason;
  auto answer = api::until_answered(exchange, options_.leader_patience,
                                    [&] { return attempt_change(exchange, reason); });
  if (answer) return *std::move(answer);
  exchange.response.retry_after_s = api::kLeaderRetryS;
  return fail(unavailable("the change was not made: " + reason));
}

Decoded<Answer> Forwarder::answer_by_holder(Exchange& exchange) {
  std::string reason = "no node has it";
  auto answer = api::until_answered(exchange, options_.leader_patience,
                                    [&] { return attempt_read(exchange, reason); });
  if (answer) return *std::move(answer);
  exchange.response.retry_after_s = api::kLeaderRetryS;
  return fail(unavailable(
      fmt::format("no node with collection `{}` answers: {}", exchange.captures[0], reason)));
}

Forwarder::Attempt Forwarder::attempt_change(Exchange& exchange, std::string& reason) {
  const Leader leader = leader_for(exchange);
  if (leader && *leader) return send(exchange, **leader, reason);
  if (leader) return answer_here_(exchange);
  reason = leader.error().message();
  return std::nullopt;
}

/// Who answers is asked anew each time: the collection may move meanwhile.
Forwarder::Attempt Forwarder::attempt_read(Exchange& exchange, std::string& reason) {
  const auto holders = options_.node->holders(exchange.captures[0]);
  if (!holders || holders->is_here) return answer_here_(exchange);
  if (is_read(exchange)) return read_from(*holders, exchange, reason);
  for (const auto& node : holders->others) {
    auto answer = send(exchange, node, reason);
    if (answer) return answer;
  }
  return std::nullopt;
}

/// A node that is late may get its answer after the exchange is over: what it needs is copied.
Forwarder::Attempt Forwarder::read_from(const cluster::Holders& holders, Exchange& exchange,
                                        std::string& reason) {
  struct Parcel {
    client::Endpoint endpoint;
    std::string head;
  };
  std::map<std::string, Parcel> parcels;
  for (const auto& node : holders.others) {
    QV_TRY(auto endpoint, endpoint_of(node));
    auto head = head_for(exchange, endpoint, self_);
    parcels[node.http] = {std::move(endpoint), std::move(head)};
  }
  const tracing::StageScope stage(exchange.trace(), "Forward", tracing::SpanKind::kClient);
  const auto answers = std::make_shared<cluster::FirstAnswer<client::HttpResponse>>();
  const auto ask = [answers, parcels = std::move(parcels), body = exchange.request.body,
                    connections = connections_,
                    node = options_.node](const cluster::NodeAddress& holder) {
    const Parcel& parcel = parcels.at(holder.http);
    cluster::ReadTimer timer(*node, holder);
    auto answer = connections->exchange(parcel.endpoint, parcel.head, body);
    timer.end(is_answered(answer));
    if (!answer) return answers->miss(answer.error().message());
    if (client::find_header(answer->head, kNotLeading)) {
      return answers->miss(client::error_text(*answer));
    }
    return is_answered(answer) ? answers->keep(*std::move(answer))
                               : answers->spare(*std::move(answer));
  };
  (void)options_.node->ask_holders(holders, ask);
  auto answer = answers->take();
  if (!answer) {
    reason = answers->trouble(reason);
    return std::nullopt;
  }
  copy_answer(*answer, exchange.response);
  return Answer::kReady;
}

Result<client::Endpoint> Forwarder::endpoint_of(const cluster::NodeAddress& node) const {
  QV_TRY(client::Endpoint endpoint, client::parse_url(node.http));
  endpoint.ca_file = options_.ca_file;
  endpoint.silence = kSilence;
  return endpoint;
}

Forwarder::Attempt Forwarder::send(Exchange& exchange, const cluster::NodeAddress& node,
                                   std::string& reason) {
  QV_TRY(const client::Endpoint endpoint, endpoint_of(node));
  const tracing::StageScope stage(exchange.trace(), "Forward", tracing::SpanKind::kClient);
  const std::string head = head_for(exchange, endpoint, self_);
  auto answer = connections_->exchange(endpoint, head, exchange.request.body);
  const bool may_be_done = !answer && answer.error().code() != Code::kUnavailable;
  if (!answer && !may_be_done) {
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
