#include "service/http/front.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "base/observe/failure.h"
#include "base/observe/request_log.h"
#include "service/api/answer.h"
#include "service/api/collections.h"
#include "service/api/fresh_reads.h"
#include "service/api/leader_wait.h"
#include "service/http/content_encoding.h"
#include "service/http/exchange/on_executor.h"
#include "service/http/request_span.h"

namespace quiver::service {
namespace {

api::Credentials credentials_of(const Request& request) {
  api::Credentials credentials;
  if (request.has_api_key) credentials.api_key = request.api_key;
  if (request.has_authorization) credentials.authorization = request.authorization;
  return credentials;
}

/// The audit log names the collection that an unknown caller asked for.
void capture_for_audit(Exchange& exchange) {
  [[maybe_unused]] const bool is_utf8 =
      exchange.route->pattern().capture(exchange.target, exchange.captures);
}

/// The answer to a caller that is not known, as Qdrant writes it: a bare text.
Answer answer_unknown_caller(Exchange& exchange, const Error& error) {
  if (exchange.route != nullptr) capture_for_audit(exchange);
  if (error.code() == Code::kUnauthenticated) {
    exchange.text(401, error.message());
  } else if (error.code() == Code::kPermissionDenied) {
    exchange.text(403, error.message());
  } else {
    exchange.error(ApiError(error));
  }
  return Answer::kReady;
}

/// The collection that the path names; "" if it names none.
std::string_view collection_of(const Exchange& exchange, const Route& route) {
  const bool has_one =
      route.declaration().pattern.find("{collection_name}") != std::string_view::npos;
  return has_one ? std::string_view(exchange.captures[0]) : std::string_view();
}

/// A compressed JSON body holds about so many times its size.
constexpr std::uint64_t kExpectedInflation = 4;

access::Outcome outcome_of(int status) {
  if (status == 401 || status == 403) return access::Outcome::kDenied;
  return status >= 400 ? access::Outcome::kFailed : access::Outcome::kOk;
}

Decoded<> capture_path(Exchange& exchange, const Route& route) {
  if (route.pattern().capture(exchange.target, exchange.captures)) return {};
  return fail(ApiError(400, "Deserialize error in path parameters: not percent-encoded UTF-8"));
}

ApiError unbuilt(const Request& request, std::string_view feature) {
  return {501, fmt::format("Not implemented: {}: {} {} is not supported", feature,
                           to_string(request.method), request.target)};
}

/// There is no such endpoint, or it lacks the method; sets the allowed ones then.
ApiError no_route(Exchange& exchange, std::string_view allowed) {
  const auto method = to_string(exchange.request.method);
  const auto& target = exchange.request.target;
  if (allowed.empty()) {
    return {404, fmt::format("Not found: there is no endpoint {} {}", method, target)};
  }
  exchange.response.allow = allowed;
  return {405,
          fmt::format("Method not allowed: {} {}, the endpoint has {}", method, target, allowed)};
}

Answer answer_options(Exchange& exchange, std::string_view allowed) {
  exchange.response.status = 204;
  exchange.response.allow = allowed;
  return Answer::kReady;
}

/// A read with `consistency` that is neither 1 nor wrong, which the handler tells.
bool must_be_fresh(const Exchange& exchange) {
  if (exchange.target.query.empty() || !api::may_be_behind(exchange)) return false;
  if (!api::changes_nothing_shared(exchange.route->declaration().effect)) return false;
  const auto wanted = query_parameter(exchange.target.query, "consistency");
  if (!wanted) return false;
  if (*wanted == "majority" || *wanted == "quorum" || *wanted == "all") return true;
  std::uint64_t n = 0;
  const char* last = wanted->data() + wanted->size();
  const auto [end, error] = std::from_chars(wanted->data(), last, n);
  return error == std::errc() && end == last && n > 1;
}

/// Seconds of `timeout`; nullopt if there is none, or a wrong one, which the handler tells.
std::optional<double> asked_seconds(const Exchange& exchange) {
  const auto text = query_parameter(exchange.target.query, "timeout");
  std::uint32_t seconds = 0;
  if (!text) return std::nullopt;
  std::from_chars(text->data(), text->data() + text->size(), seconds);
  return seconds == 0 ? std::nullopt : std::optional<double>(seconds);
}

}  // namespace

Front::Front(const HttpOptions& options, api::Runtime& runtime,
             const std::vector<RouteDeclaration>& routes, std::span<const UnbuiltEndpoint> unbuilt)
    : options_(options),
      runtime_(runtime),
      router_(routes, unbuilt, runtime.metrics(), runtime.options().metrics_prefix),
      body_budget_(options.max_held_body_bytes) {
  const auto& cluster = runtime.options().cluster;
  if (cluster.node != nullptr) {
    forwarder_.emplace(cluster, [this](Exchange& exchange) {
      return must_be_fresh(exchange) ? answer_fresh(exchange) : answer_here(exchange);
    });
  }
}

/// Names are counted while their collection is open; others may not exist.
void Front::count(const Exchange& exchange) {
  const Route* route = exchange.route;
  if (route == nullptr) return;
  const double seconds = exchange.seconds();
  route->count(exchange.response.status, seconds);
  if (!route->is_of_collection() || !runtime_.is_open(exchange.captures[0])) return;
  collection_answers_.count(exchange.captures[0], route->name(), exchange.response.status, seconds);
}

void Front::handle(Exchange& exchange) {
  exchange.run([this](Exchange& x) { return dispatch(x); });
}

Decoded<Answer> Front::dispatch(Exchange& exchange) {
  const Request& request = exchange.request;
  const auto target = split_target(request.target);
  if (!target) return bad_request("the request target is not a path");
  exchange.target = *target;
  const auto match = router_.find(request.method, *target);
  exchange.route = match.route;
  const bool is_built = match.unbuilt.empty();
  if (request.method == Method::kOptions && is_built && !match.allowed.empty()) {
    return answer_options(exchange, match.allowed);
  }
  const bool is_open = match.route != nullptr && match.route->declaration().access == Access::kOpen;
  if (is_open) return answer_anybody(exchange, match);
  auto principal = api::principal_of(runtime_, credentials_of(request));
  if (!principal) return answer_unknown_caller(exchange, principal.error());
  exchange.set_principal(*principal);
  if (principal->value_exists() != nullptr) return look_up_and_answer(exchange, match);
  return answer_known_caller(exchange, match);
}

/// A caller that is known may be told more.
Decoded<Answer> Front::answer_anybody(Exchange& exchange, const Router::Match& match) {
  const auto principal = api::principal_of(runtime_, credentials_of(exchange.request));
  if (principal && principal->value_exists() == nullptr) exchange.set_principal(*principal);
  return answer_known_caller(exchange, match);
}

Decoded<Answer> Front::answer_known_caller(Exchange& exchange, const Router::Match& match) {
  if (!match.unbuilt.empty()) return fail(unbuilt(exchange.request, match.unbuilt));
  if (match.route == nullptr) return fail(no_route(exchange, match.allowed));
  QV_TRY(capture_path(exchange, *match.route));
  const RouteDeclaration& declaration = match.route->declaration();
  QV_TRY(exchange.check_access(declaration.access, collection_of(exchange, *match.route)));
  return answer_allowed(exchange);
}

Decoded<Answer> Front::answer_allowed(Exchange& exchange) {
  if (!forwarder_) return answer_here(exchange);
  QV_TRY(const auto answer, forwarder_->answer_elsewhere(exchange));
  if (answer) return *answer;
  return must_be_fresh(exchange) ? answer_fresh(exchange) : answer_here(exchange);
}

Decoded<Answer> Front::answer_fresh(Exchange& exchange) {
  api::note_waits(exchange, std::string(collection_of(exchange, *exchange.route)));
  return on_executor(exchange, runtime_.blocking(), [this](Exchange& x) -> Decoded<Answer> {
    auto fresh = api::wait_until_fresh(x, collection_of(x, *x.route), asked_seconds(x));
    if (fresh) return answer_here(x);
    x.response.retry_after_s = api::kLeaderRetryS;
    return fail(std::move(fresh).error());
  });
}

Decoded<Answer> Front::answer_here(Exchange& exchange) {
  const double stale_s =
      forwarder_ && exchange.route->is_of_collection() ? forwarder_->stale_s() : 0;
  if (stale_s > 0) {
    exchange.response.extra_headers += fmt::format("\r\nx-quiver-stale-seconds: {:.1f}", stale_s);
  }
  exchange.set_when_overloaded(exchange.route->declaration().when_overloaded);
  if (is_compressed(exchange.request)) return decompress_and_handle(exchange);
  return exchange.route->declaration().handler(exchange);
}

/// A token may be valid only while a point exists; to look for it may block.
Decoded<Answer> Front::look_up_and_answer(Exchange& exchange, const Router::Match& match) {
  auto work = [this, match](Exchange& x) -> Decoded<Answer> {
    const auto exists = api::check_value_exists(runtime_, x.principal());
    if (!exists) return answer_unknown_caller(x, exists.error());
    return answer_known_caller(x, match);
  };
  const bool is_open = runtime_.is_open(exchange.principal().value_exists()->collection);
  return on_executor(exchange, is_open ? runtime_.compute() : runtime_.blocking(), work);
}

/// In one task, so that bodies stay compressed while they wait for a thread.
Decoded<Answer> Front::decompress_and_handle(Exchange& exchange) {
  if (exchange.route->declaration().access == Access::kRead) {
    exchange.set_timeout(asked_seconds(exchange));
  }
  const api::load::Work kind{api::load::Verb::kDecode,
                             kExpectedInflation * exchange.request.body.size()};
  return on_compute(exchange, kind, [](Exchange& x) -> Decoded<Answer> {
    QV_TRY(decompress_body(x));
    return x.route->declaration().handler(x);
  });
}

void Front::log(const Exchange& exchange) const {
  if (!logs_requests()) return;
  const Route* route = exchange.route;
  RequestFacts facts;
  facts.transport = "rest";
  facts.method = to_string(exchange.request.method);
  facts.endpoint = route == nullptr ? "?" : route->declaration().pattern;
  if (route != nullptr) facts.collection = collection_of(exchange, *route);
  facts.status = exchange.response.status;
  facts.seconds = exchange.seconds();
  facts.answer_bytes = exchange.response.body.size();
  facts.request_id = exchange.request.request_id;
  const std::string trace_id = exchange.trace().logged_id(exchange.request.traceparent);
  facts.trace_id = trace_id;
  facts.remote = exchange.remote;
  log_request(facts);
}

void Front::audit(const Exchange& exchange) const {
  access::AuditLog* log = runtime_.audit();
  const Route* route = exchange.route;
  const bool is_open = route != nullptr && route->declaration().access == Access::kOpen;
  if (log == nullptr || is_open) return;
  const int status = exchange.response.status;
  const auto method = to_string(exchange.request.method);
  const std::string verb =
      fmt::format("{} {}", method, route == nullptr ? "?" : route->declaration().pattern);
  access::AuditEvent event;
  event.transport = "rest";
  event.verb = verb;
  if (route != nullptr) event.collection = collection_of(exchange, *route);
  event.outcome = outcome_of(status);
  event.status = status;
  event.request_id = exchange.request.request_id;
  const std::string trace_id = exchange.trace().logged_id(exchange.request.traceparent);
  event.trace_id = trace_id;
  event.remote = exchange.remote;
  log->write(exchange.principal(), event);
}

void Front::trace(Exchange& exchange) const noexcept {
  if (!exchange.trace().is_sampled()) return;
  run_logged("tracing", [&] {
    const Route* route = exchange.route;
    runtime_.tracer()->add(request_span(
        exchange, route == nullptr ? std::string_view() : collection_of(exchange, *route)));
  });
}

/// Blocks for a token whose validity is in the database: such a caller sends large bodies rarely.
Decoded<> Front::check_may_send_body(Exchange& exchange, const Route& route) {
  const Access needed = route.declaration().access;
  if (needed == Access::kOpen) return {};
  const auto principal = api::authenticate(runtime_, credentials_of(exchange.request));
  if (!principal && principal.error().code() == Code::kUnauthenticated) {
    return fail(ApiError(401, principal.error().message()));
  }
  QV_TRY(principal);
  exchange.set_principal(*principal);
  QV_TRY(principal->check(needed, collection_of(exchange, route)));
  return {};
}

Decoded<std::unique_ptr<BodySink>> Front::make_sink(Exchange& exchange) {
  if (!router_.has_sinks()) return nullptr;
  const auto target = split_target(exchange.request.target);
  if (!target) return nullptr;
  exchange.target = *target;
  const auto* route = router_.find(exchange.request.method, *target).route;
  if (route == nullptr || route->declaration().make_sink == nullptr) return nullptr;
  exchange.route = route;
  QV_TRY(capture_path(exchange, *route));
  QV_TRY(check_may_send_body(exchange, *route));
  if (is_compressed(exchange.request)) {
    return fail(
        ApiError(415, fmt::format("Bad request: content-encoding `{}` is not supported here",
                                  exchange.request.content_encoding)));
  }
  return route->declaration().make_sink(exchange);
}

}  // namespace quiver::service
