// The queries that a collection remembers: an even sample for each of its multi-vector fields,
// which indexes are fitted to.
//
// A sample is a hint, never the truth: one that is lost or damaged is an empty one, the log says
// so, and no error is ever told to a caller.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/io/file.h"
#include "base/mutex.h"
#include "base/schema.h"
#include "engine/indexing/query_reservoir.h"

namespace quiver::engine {

/// Whether the queries of searches are remembered.
enum class RecordQueries : std::uint8_t { kNo, kYes };

/// Thread-safe.
class QuerySamples {
 public:
  using Clock = std::chrono::steady_clock;
  /// Between two savings: what a crash may lose.
  static constexpr auto kSaveInterval = std::chrono::minutes(5);

  /// Reads what was saved in `directory`, that of the collection.
  QuerySamples(std::unique_ptr<Directory> directory, const std::vector<FieldSchema>& fields);
  /// With kNo: nullptr, and what was saved is removed.
  [[nodiscard]] static std::shared_ptr<QuerySamples> open(std::unique_ptr<Directory> directory,
                                                          const std::vector<FieldSchema>& fields,
                                                          RecordQueries record);

  /// A query of a field as it is searched; nothing happens for other fields than multi-vectors.
  void offer(std::size_t field, std::span<const float> tokens);
  /// Queries seen, kept or not, of all fields.
  [[nodiscard]] std::uint64_t n_seen() const;
  /// Empty if the field is not remembered.
  [[nodiscard]] index::QuerySample sample(std::size_t field) const;

  /// True once in each interval: it is time to `save`.
  [[nodiscard]] bool is_due(Clock::time_point now);
  /// What has changed since it was saved.
  void save() QV_EXCLUDES(mutex_);
  /// Saves once more; nothing is written afterwards.
  void close() QV_EXCLUDES(mutex_);

 private:
  struct Field {
    std::string file;
    std::unique_ptr<QueryReservoir> reservoir;  ///< null: not remembered
    std::uint64_t n_saved = 0;                  ///< of its changes
  };

  void save_changed() QV_REQUIRES(mutex_);

  const std::unique_ptr<Directory> directory_;
  std::vector<Field> fields_;  ///< one for each field; `mutex_` guards what `n_saved` is
  std::atomic<Clock::time_point> due_at_ = Clock::now() + kSaveInterval;
  Mutex mutex_;  ///< held while files are written, by one at a time
  bool closed_ QV_GUARDED_BY(mutex_) = false;
};

}  // namespace quiver::engine
