// Decodes the start of a job and the request for a picture, as decode.h says.
#pragma once

#include <string>

#include "engine/model/joins.h"
#include "engine/model/projection.h"
#include "service/json/error.h"

namespace quiver::service::json {

struct JobStart {
  engine::JoinRequest request;
  std::string text;  ///< the body in compact form, which `decode_job` reads again
};
[[nodiscard]] Decoded<JobStart> decode_job(std::string& body);
[[nodiscard]] Decoded<engine::ProjectionRequest> decode_projection(std::string& body);

}  // namespace quiver::service::json
