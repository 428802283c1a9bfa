// The recorded queries of a collection: an even sample for each multi-vector field, to which
// indexes are fitted.
//
// A sample is a hint. If it is lost or damaged, it starts empty and the log says so; callers never
// see an error.
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

/// Whether queries are recorded.
enum class RecordQueries : std::uint8_t { kNo, kYes };

/// Thread-safe.
class QuerySamples {
 public:
  using Clock = std::chrono::steady_clock;
  /// Time between two saves: what a crash may lose.
  static constexpr auto kSaveInterval = std::chrono::minutes(5);

  /// Reads the samples saved in `directory`, that of the collection.
  QuerySamples(std::unique_ptr<Directory> directory, const std::vector<FieldSchema>& fields);
  /// With kNo: nullptr, and saved samples are removed.
  [[nodiscard]] static std::shared_ptr<QuerySamples> open(std::unique_ptr<Directory> directory,
                                                          const std::vector<FieldSchema>& fields,
                                                          RecordQueries record);

  /// Offers a query of a field, as searched. Ignored unless the field is a multi-vector field.
  void offer(std::size_t field, std::span<const float> tokens);
  /// Number of queries seen of all fields, kept or not.
  [[nodiscard]] std::uint64_t n_seen() const;
  /// Empty if the field is not recorded.
  [[nodiscard]] index::QuerySample sample(std::size_t field) const;

  /// True once per interval: it is time to `save`.
  [[nodiscard]] bool is_due(Clock::time_point now);
  /// Saves samples that have changed.
  void save() QV_EXCLUDES(mutex_);
  /// Saves once more; later calls write nothing.
  void close() QV_EXCLUDES(mutex_);

 private:
  struct Field {
    std::string file;
    std::unique_ptr<QueryReservoir> reservoir;  ///< nullptr: not recorded
    std::uint64_t n_saved = 0;                  ///< changes that were saved
  };

  void save_changed() QV_REQUIRES(mutex_);

  const std::unique_ptr<Directory> directory_;
  std::vector<Field> fields_;  ///< one per field; `mutex_` guards `n_saved`
  std::atomic<Clock::time_point> due_at_ = Clock::now() + kSaveInterval;
  Mutex mutex_;  ///< held while files are written
  bool closed_ QV_GUARDED_BY(mutex_) = false;
};

}  // namespace quiver::engine
