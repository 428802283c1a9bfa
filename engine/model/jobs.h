// Background jobs of a collection: plain structs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/threads/executor.h"
#include "base/threads/lane.h"
#include "engine/model/joins.h"

namespace quiver::engine {

/// Jobs that a collection keeps: waiting, running and ended ones.
inline constexpr std::size_t kMaxJobs = 32;

/// Numbers never change: they are in files.
enum class JobState : std::uint32_t {
  kWaiting = 0,  ///< for its turn: one job runs at a time, for all collections
  kRunning = 1,  ///< compares points
  kWriting = 2,  ///< the result is there and is being written into the collection
  kDone = 3,
  kFailed = 4,
};
/// "waiting", "running", "writing", "done", "failed".
[[nodiscard]] std::string_view to_string(JobState state);

/// What the result of a job holds.
struct JobFacts {
  std::uint64_t n_points = 0;
  std::uint64_t n_neighbours = 0;  ///< entries in all lists; pairs count twice
  std::uint64_t n_groups = 0;      ///< groups of duplicates, clusters
  std::optional<TranslationFacts> translation = std::nullopt;
};

struct JobStatus {
  std::uint64_t id = 0;
  std::string request;  ///< as the client sent it; "" if its file is damaged
  JobState state = JobState::kWaiting;
  std::string error;                ///< why it failed
  double progress = 0;              ///< share of the steps that are done, 0 to 1
  std::optional<double> eta_s;      ///< seconds until its end if it goes on as so far
  double seconds = 0;               ///< for which it has run, since the last start of the server
  std::uint64_t created_at_ms = 0;  ///< since 1970
  JobFacts facts;                   ///< once the result is there
};

struct JobResult {
  JoinRequest request;
  JoinTable table;
};

/// Reads the request that a client sent before the server was started again.
using DecodeJob = std::function<Result<JoinRequest>(std::string_view request)>;

/// Where the jobs of all collections run. Everything outlives the collections.
struct JobContext {
  Executor* executor = nullptr;  ///< threads of low priority
  SerialLane* turns = nullptr;   ///< one job at a time
  DecodeJob decode;              ///< empty: there are no jobs
};

}  // namespace quiver::engine
