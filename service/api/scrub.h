// Verbs about the scrub, which reads mapped files again.
#pragma once

#include <cstdint>

#include "engine/model/scrub.h"
#include "service/api/call.h"

namespace quiver::service::api {

/// What the scrub did and does.
void scrub_status(Call& call, Done<engine::ScrubStatus> done);
/// Asks for a pass: the number of passes after which it is done.
void request_scrub(Call& call, Done<std::uint64_t> done);

}  // namespace quiver::service::api
