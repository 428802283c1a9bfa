// The server itself: version and health.
#include <fmt/format.h>

#include <algorithm>

#include "proto/health.pb.h"
#include "proto/server.pb.h"
#include "service/grpc/methods/methods.h"
#include "service/grpc/methods/services.h"

namespace quiver::service::rpc {
namespace {

Decoded<> version(Rpc& rpc) {
  QV_TRY(rpc.request<qdrant::HealthCheckRequest>());
  const api::Identity& identity = rpc.runtime().options().identity;
  auto* response = rpc.create<qdrant::HealthCheckReply>();
  response->set_title(identity.title);
  response->set_version(identity.version);
  if (!identity.commit.empty()) response->set_commit(identity.commit);
  rpc.answer(*response);
  return {};
}

Decoded<> check_health(Rpc& rpc) {
  using Response = grpc::health::v1::HealthCheckResponse;
  QV_TRY(const auto* request, rpc.request<grpc::health::v1::HealthCheckRequest>());
  const std::string& service = request->service();
  const bool is_known =
      service.empty() || std::find(kServices.begin(), kServices.end(), service) != kServices.end();
  if (!is_known) {
    return fail(ApiError(404, fmt::format("Not found: there is no service `{}`", service)));
  }
  auto* response = rpc.create<Response>();
  response->set_status(Response::SERVING);
  rpc.answer(*response);
  return {};
}

}  // namespace

void add_server_methods(Methods& methods) {
  methods.push_back({"/qdrant.Qdrant/HealthCheck", Callers::kAll, version, {}});
  methods.push_back({"/grpc.health.v1.Health/Check", Callers::kAll, check_health, {}});
}

}  // namespace quiver::service::rpc
