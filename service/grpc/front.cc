#include "service/grpc/front.h"

namespace quiver::service::rpc {

GrpcFront::GrpcFront(const GrpcLimits& limits, api::Runtime& runtime, BodyBudget& messages)
    : limits_(limits), runtime_(runtime), messages_(messages), methods_(all_methods()) {
  for (const Method& method : methods_) {
    auto& metrics = metrics_.emplace_back(method.name, runtime.metrics(), runtime.method_answers(),
                                          runtime.options().metrics_prefix);
    routes_[method.name] = {&method, &metrics};
  }
  const auto& cluster = runtime.options().cluster;
  if (cluster.node != nullptr && cluster.peers != nullptr) forwarder_.emplace(cluster);
}

const GrpcFront::Route* GrpcFront::find(std::string_view path) const {
  const auto found = routes_.find(path);
  return found == routes_.end() ? nullptr : &found->second;
}

/// The protocol has two names and one form.
bool GrpcFront::is_reflection(std::string_view path) const {
  return limits_.has_reflection &&
         (path == "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo" ||
          path == "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo");
}

}  // namespace quiver::service::rpc
