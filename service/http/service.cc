#include "service/http/service.h"

#include <fmt/format.h>

#include <random>
#include <utility>

#include "base/clock.h"
#include "base/ids.h"
#include "service/handlers/handlers.h"
#include "service/http/content_encoding.h"

namespace quiver::service {
namespace {

constexpr std::size_t kBlockingThreads = 2;
constexpr std::size_t kMaxRememberedNames = 4096;

/// Takes the same time wherever the texts differ.
bool equal_constant_time(std::string_view given, std::string_view expected) {
  unsigned difference = given.size() == expected.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const char other = expected.empty() ? '\0' : expected[i % expected.size()];
    difference |= static_cast<unsigned char>(given[i] ^ other);
  }
  return difference == 0;
}

bool is_key(std::string_view given, std::string_view key) {
  return !key.empty() && equal_constant_time(given, key);
}

/// Version 4 of RFC 9562.
std::string random_uuid() {
  std::random_device device;
  const auto bits = [&] { return std::uint64_t{device()} << 32 | device(); };
  constexpr std::uint64_t kVersion = 0xF000;
  constexpr std::uint64_t kVariant = 0xC000'0000'0000'0000;
  const std::uint64_t high = (bits() & ~kVersion) | 0x4000;
  const std::uint64_t low = (bits() & ~kVariant) | 0x8000'0000'0000'0000;
  return PointId::uuid(high, low).to_string();
}

constexpr std::string_view kBearer = "Bearer ";

std::optional<std::string_view> key_of(const Request& request) {
  if (request.has_api_key) return request.api_key;
  const std::string_view authorization = request.authorization;
  if (!request.has_authorization || !authorization.starts_with(kBearer)) return std::nullopt;
  return authorization.substr(kBearer.size());
}

}  // namespace

Service::Service(ServerOptions options, engine::Database& database, MetricsRegistry& metrics)
    : options_(std::move(options)),
      database_(database),
      metrics_(metrics),
      router_(all_routes(), unbuilt_endpoints(), metrics, options_.metrics_prefix),
      process_id_(random_uuid()),
      started_at_ms_(unix_time_ms()),
      shared_passes_(std::make_shared<SharedPasses>(database.compute())),
      blocking_(kBlockingThreads, "http-block"),
      telling_(1, "http-tell"),
      long_running_(kBlockingThreads, "http-long") {
  metrics
      .gauge(options_.metrics_prefix + "app_info", "Name and version of the server",
             {{"name", options_.identity.name}, {"version", options_.identity.version}})
      .set(1);
}

void Service::handle(Exchange& exchange) {
  auto work = [this](Exchange& x) { return dispatch(x); };
  exchange.run(work);
}

Decoded<Answer> Service::dispatch(Exchange& exchange) {
  const auto target = split_target(exchange.request.target);
  if (!target) return bad_request("the request target is not a path");
  exchange.target = *target;
  const auto match = router_.find(exchange.request.method, *target);
  exchange.route = match.route;
  const bool is_built = match.unbuilt.empty();
  if (exchange.request.method == Method::kOptions && is_built && !match.allowed.empty()) {
    return answer_options(exchange, match.allowed);
  }
  const bool known = match.route != nullptr;
  if (!authorize(exchange, known ? match.route->declaration().access : Access::kRead)) {
    return Answer::kReady;
  }
  if (!is_built) return answer_unbuilt(exchange, match.unbuilt);
  if (!known) return answer_unknown(exchange, match.allowed);
  if (!match.route->pattern().capture(*target, exchange.captures)) {
    return fail(ApiError(400, "Deserialize error in path parameters: not percent-encoded UTF-8"));
  }
  if (is_compressed(exchange.request)) return decompress_and_handle(exchange);
  return match.route->declaration().handler(exchange);
}

/// In one task: bodies that wait for a thread are small still.
Answer Service::decompress_and_handle(Exchange& exchange) {
  return exchange.run_on(database_.compute(), [this](Exchange& x) -> Decoded<Answer> {
    QV_TRY(decompress_body(x));
    return x.route->declaration().handler(x);
  });
}

Decoded<Answer> Service::answer_unbuilt(Exchange& exchange, std::string_view feature) const {
  return fail(
      ApiError(501, fmt::format("Not implemented: {}: {} {} is not supported", feature,
                                to_string(exchange.request.method), exchange.request.target)));
}

Decoded<Answer> Service::answer_unknown(Exchange& exchange, std::string_view allowed) const {
  const auto method = to_string(exchange.request.method);
  const auto& target = exchange.request.target;
  if (allowed.empty()) {
    return fail(
        ApiError(404, fmt::format("Not found: there is no endpoint {} {}", method, target)));
  }
  exchange.response.allow = allowed;
  return fail(ApiError(
      405, fmt::format("Method not allowed: {} {}, the endpoint has {}", method, target, allowed)));
}

Decoded<Answer> Service::answer_options(Exchange& exchange, std::string_view allowed) const {
  exchange.response.status = 204;
  exchange.response.allow = allowed;
  return Answer::kReady;
}

bool Service::is_open(const std::string& name) {
  MutexLock lock(open_mutex_);
  const auto found = open_.find(name);
  return found != open_.end() && !found->second.expired();
}

void Service::remember_open(const std::string& name,
                            const std::shared_ptr<engine::Collection>& collection) {
  MutexLock lock(open_mutex_);
  const auto found = open_.find(name);
  if (found != open_.end() && found->second.lock() == collection) return;
  if (open_.size() >= kMaxRememberedNames) open_.clear();
  open_[name] = collection;
}

bool Service::authorize(Exchange& exchange, Access access) const {
  if (access == Access::kOpen) return true;
  if (options_.api_key.empty() && options_.read_only_api_key.empty()) return true;
  const auto key = key_of(exchange.request);
  if (!key) {
    exchange.text(401, "Must provide an API key or an Authorization bearer token");
    return false;
  }
  if (is_key(*key, options_.api_key)) return true;
  if (!is_key(*key, options_.read_only_api_key)) {
    exchange.text(401, "Invalid API key or JWT");
    return false;
  }
  if (access == Access::kRead) return true;
  exchange.error(ApiError(403, "Forbidden: the read-only API key does not allow this request"));
  return false;
}

}  // namespace quiver::service
