#include "service/http/front.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "service/api/answer.h"
#include "service/http/content_encoding.h"

namespace quiver::service {
namespace {

constexpr std::string_view kBearer = "Bearer ";

std::optional<std::string_view> key_of(const Request& request) {
  if (request.has_api_key) return request.api_key;
  const std::string_view authorization = request.authorization;
  if (!request.has_authorization || !authorization.starts_with(kBearer)) return std::nullopt;
  return authorization.substr(kBearer.size());
}

Result<> authorize(Exchange& exchange, Access access) {
  if (access == Access::kOpen) return {};
  QV_TRY(const auto principal, exchange.runtime().keys().principal_of(key_of(exchange.request)));
  exchange.set_principal(principal);
  return exchange.check_access(access);
}

/// False, with the answer written, if the request may not pass.
bool passes(Exchange& exchange, Access access) {
  const auto authorized = authorize(exchange, access);
  if (authorized) return true;
  if (authorized.error().code() == Code::kUnauthenticated) {
    exchange.text(401, authorized.error().message());
  } else {
    exchange.error(ApiError(authorized.error()));
  }
  return false;
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

}  // namespace

Front::Front(const HttpOptions& options, api::Runtime& runtime,
             const std::vector<RouteDeclaration>& routes, std::span<const UnbuiltEndpoint> unbuilt)
    : options_(options),
      runtime_(runtime),
      router_(routes, unbuilt, runtime.metrics(), runtime.options().metrics_prefix),
      body_budget_(options.max_held_body_bytes) {}

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
  const bool is_known = match.route != nullptr;
  if (!passes(exchange, is_known ? match.route->declaration().access : Access::kRead)) {
    return Answer::kReady;
  }
  if (!is_built) return fail(unbuilt(request, match.unbuilt));
  if (!is_known) return fail(no_route(exchange, match.allowed));
  QV_TRY(capture_path(exchange, *match.route));
  if (is_compressed(request)) return decompress_and_handle(exchange);
  return match.route->declaration().handler(exchange);
}

/// In one task, so that bodies stay compressed while they wait for a thread.
Answer Front::decompress_and_handle(Exchange& exchange) {
  auto work = [&exchange] {
    exchange.run([](Exchange& x) -> Decoded<Answer> {
      QV_TRY(decompress_body(x));
      return x.route->declaration().handler(x);
    });
  };
  auto refuse = [&exchange](const Error& error) {
    exchange.run([&error](Exchange&) -> Decoded<Answer> { return fail(error); });
  };
  api::run_on(runtime_.compute(), exchange, std::move(work), std::move(refuse));
  return Answer::kLater;
}

Decoded<std::unique_ptr<BodySink>> Front::make_sink(Exchange& exchange) {
  if (!router_.has_sinks()) return nullptr;
  const auto target = split_target(exchange.request.target);
  if (!target) return nullptr;
  exchange.target = *target;
  const auto* route = router_.find(exchange.request.method, *target).route;
  if (route == nullptr || route->declaration().make_sink == nullptr) return nullptr;
  // Without the right the body is kept like others, and `dispatch` answers why.
  if (!authorize(exchange, route->declaration().access)) return nullptr;
  QV_TRY(capture_path(exchange, *route));
  if (is_compressed(exchange.request)) {
    return fail(
        ApiError(415, fmt::format("Bad request: content-encoding `{}` is not supported here",
                                  exchange.request.content_encoding)));
  }
  return route->declaration().make_sink(exchange);
}

}  // namespace quiver::service
