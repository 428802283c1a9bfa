// An update's parts, one for each shard that it concerns, and their answers as one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/mutex.h"
#include "base/result.h"
#include "engine/model/operation.h"
#include "engine/model/reports.h"
#include "engine/write/prepared.h"

namespace quiver::engine {

/// The operations of a request that one shard gets.
struct UpdatePart {
  std::size_t shard = 0;
  std::vector<std::size_t> numbers;  ///< positions of the operations in the request
  std::vector<PreparedOperation> operations;
};

/// Waits for the parts of one request and calls `done` once: with an error if a part failed, else
/// with the last sequence number of each operation. Thread-safe.
class UpdateJoin {
 public:
  using Done = std::function<void(Result<std::vector<UpdateResult>>)>;

  UpdateJoin(std::size_t n_parts, std::size_t n_operations, Ack ack, Done done);

  /// `numbers`: as of the part that ended; `seqs`: one for each of its operations.
  void part_done(const std::vector<std::size_t>& numbers, const Result<std::vector<Seq>>& seqs)
      QV_EXCLUDES(mutex_);

 private:
  void finish() QV_NO_THREAD_SAFETY_ANALYSIS;

  Mutex mutex_;
  std::size_t n_open_ QV_GUARDED_BY(mutex_);
  std::optional<Error> error_ QV_GUARDED_BY(mutex_);
  std::vector<UpdateResult> results_ QV_GUARDED_BY(mutex_);
  Done done_;
};

}  // namespace quiver::engine
