// The names of the services that are served.
#pragma once

#include <array>
#include <string_view>

namespace quiver::service::rpc {

inline constexpr std::array<std::string_view, 5> kServices = {"qdrant.Points", "qdrant.Collections",
                                                              "qdrant.Snapshots", "qdrant.Qdrant",
                                                              "grpc.health.v1.Health"};

}  // namespace quiver::service::rpc
