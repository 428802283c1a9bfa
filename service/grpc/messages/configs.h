// Configurations travel through their JSON form, so that the JSON decoders and encoders stay the
// one place of their rules.
#pragma once

#include <string>

#include "proto/changes.pb.h"
#include "proto/collections.pb.h"
#include "service/json/error.h"

namespace quiver::service::rpc {

/// The REST body that asks for the same.
[[nodiscard]] Decoded<std::string> json_of(const qdrant::CreateCollection& request);
[[nodiscard]] Decoded<std::string> json_of(const qdrant::UpdateCollection& request);
[[nodiscard]] Decoded<std::string> json_of(const qdrant::CreateFieldIndexCollection& request);
[[nodiscard]] Decoded<std::string> json_of(const qdrant::CreateVectorNameRequest& request);

/// Fills the message from the result of `GET /collections/{name}`, which is parsed in place.
/// Members that the message lacks are left out.
[[nodiscard]] Decoded<> set_info(std::string& json, qdrant::CollectionInfo& out);

}  // namespace quiver::service::rpc
