// Verbs about joins of a field with itself: background jobs of a collection, and pictures.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/jobs.h"
#include "service/api/collections.h"

namespace quiver::service::api {

/// Starts a job on this node and answers at once. Wants the right to change more than points of
/// the collection. `text`: what the client sent.
void start_job(Call& call, const OpenCollection& target, engine::JoinRequest request,
               std::string text, Done<engine::JobStatus> done);
/// By number, ascending.
void list_jobs(Call& call, const OpenCollection& target, Done<std::vector<engine::JobStatus>> done);
/// kNotFound about the job, also below.
void job_status(Call& call, const OpenCollection& target, std::uint64_t id,
                Done<engine::JobStatus> done);
/// Answers once the file of the result was read and checked.
void job_result(Call& call, const OpenCollection& target, std::uint64_t id,
                Done<engine::JobResult> done);
/// Cancels the job if it has not ended, and removes what is kept of it.
void forget_job(Call& call, const OpenCollection& target, std::uint64_t id, Done<> done);

/// A picture of a field. Strict mode sees a query for a sample. Takes up to some ten seconds.
void project(Call& call, const OpenCollection& target, engine::ProjectionRequest request,
             Done<engine::Projection> done);

}  // namespace quiver::service::api
