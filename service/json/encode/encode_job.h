// Writes jobs, their results and pictures as JSON.
#pragma once

#include <cstddef>

#include "engine/model/jobs.h"
#include "engine/model/projection.h"
#include "service/json/writer.h"

namespace quiver::service::json {

/// {id, state, request, created_at, progress, seconds, eta_seconds?, error?, points?, ...}
void write_job(Writer& out, const engine::JobStatus& job);
/// One point of a result: {id, kept?, cluster?, strength?, neighbours?, vector?}
void write_job_row(Writer& out, const engine::JobResult& result, std::size_t i);
/// {ids, x, y, shares?}
void write_projection(Writer& out, const engine::Projection& projection);

}  // namespace quiver::service::json
