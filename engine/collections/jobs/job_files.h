// The files of jobs, in a directory `jobs` of their collection (docs/formats/jobs.md).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/io/file.h"
#include "base/result.h"
#include "engine/model/jobs.h"

namespace quiver::engine {

/// What is on disk of a job beside its result.
struct JobRecord {
  std::uint64_t created_at_ms = 0;
  JobState state = JobState::kWaiting;  ///< kWaiting also while it runs
  JobFacts facts;
  std::string request;
  std::string error;
};

/// Thread-safe for calls about different jobs. Makes the directory with the first job.
class JobFiles {
 public:
  /// `collection`: the directory of the collection.
  explicit JobFiles(std::unique_ptr<Directory> collection) : collection_(std::move(collection)) {}

  /// Removes drafts and results without a job. Returns the numbers of jobs, ascending.
  Result<std::vector<std::uint64_t>> open();

  Result<> save(std::uint64_t id, const JobRecord& record);
  /// kDataLoss, naming the file, if it is damaged.
  [[nodiscard]] Result<JobRecord> load(std::uint64_t id) const;
  Result<> save_result(std::uint64_t id, const JoinTable& table);
  [[nodiscard]] bool has_result(std::uint64_t id) const;
  /// kDataLoss as above.
  [[nodiscard]] Result<JoinTable> load_result(std::uint64_t id) const;
  /// Removes both files, where they are there.
  Result<> remove(std::uint64_t id);

 private:
  Result<> make_directory();

  const std::unique_ptr<Directory> collection_;
  std::unique_ptr<Directory> directory_;  ///< nullptr: there has been no job; set before jobs run
};

}  // namespace quiver::engine
