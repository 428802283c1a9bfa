// The recorded queries of a collection: an even sample for each field. Indexes of multi-vectors are
// fitted to them, and recall is measured with them. Dense and sparse fields are recorded once a
// recall was asked of them.
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
#include "base/threads/append_only.h"
#include "base/views.h"
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

  /// Fields that the collection has got since, in the same order; known ones stay as they are.
  void add_fields(const std::vector<FieldSchema>& fields);
  /// Records a field from now on: a recall was asked of it. Multi-vector fields always are.
  void begin(std::size_t field);
  /// The later queries of a field are of another kind than the recorded ones.
  void renew(std::size_t field) QV_EXCLUDES(mutex_);

  /// Offers a query of a field, as searched; dense and multi-vector fields. Ignored unless the
  /// field is recorded. An atomic increment, if it is not kept.
  void offer(std::size_t field, std::span<const float> values) QV_EXCLUDES(mutex_);
  /// Sparse fields: as asked, before IDF.
  void offer(std::size_t field, const SparseView& query) QV_EXCLUDES(mutex_);
  /// Number of queries seen of all multi-vector fields, kept or not.
  [[nodiscard]] std::uint64_t n_seen() const;
  /// For indexes: empty unless it is a multi-vector field.
  [[nodiscard]] index::QuerySample sample(std::size_t field) const;
  /// For measurements: empty if the field is not recorded.
  [[nodiscard]] std::vector<VectorValue> recorded(std::size_t field) QV_EXCLUDES(mutex_);
  [[nodiscard]] std::size_t n_recorded(std::size_t field) QV_EXCLUDES(mutex_);

  /// True once per interval: it is time to `save`.
  [[nodiscard]] bool is_due(Clock::time_point now);
  /// Saves samples that have changed.
  void save() QV_EXCLUDES(mutex_);
  /// Saves once more; later calls write nothing.
  void close() QV_EXCLUDES(mutex_);

 private:
  /// Files are read when they are first needed: a field that nobody asks takes no memory.
  enum class State : std::uint8_t { kOff, kBegun, kReady };
  struct Field {
    std::string file;
    std::unique_ptr<QueryReservoir> reservoir;  ///< nullptr: dropped
    bool is_multi = false;
    std::atomic<State> state = State::kOff;
    std::uint64_t n_saved = 0;  ///< changes that were saved; guarded by the samples' mutex
  };

  [[nodiscard]] std::unique_ptr<Field> make_field(std::size_t number, const FieldSchema& schema);
  /// The reservoir of a field that is recorded, else nullptr.
  [[nodiscard]] QueryReservoir* ready(std::size_t field) QV_EXCLUDES(mutex_);
  void load(Field& field);
  void save_changed() QV_REQUIRES(mutex_);

  const std::unique_ptr<Directory> directory_;
  AppendOnly<Field> fields_;  ///< by number
  std::atomic<Clock::time_point> due_at_ = Clock::now() + kSaveInterval;
  Mutex mutex_;  ///< held while files are read and written
  bool closed_ QV_GUARDED_BY(mutex_) = false;
};

/// The token weights of a recorded query of a multi-vector field: under Cosine, recorded tokens
/// have their weights as lengths. Else empty, which stands for 1.
[[nodiscard]] std::vector<float> recorded_weights(const FieldSchema& schema,
                                                  std::span<const float> tokens);

}  // namespace quiver::engine
