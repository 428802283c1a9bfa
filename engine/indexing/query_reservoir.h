// An even sample of the queries of a multi-vector field.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/io/file.h"
#include "base/mutex.h"
#include "base/result.h"
#include "index/index.h"

namespace quiver::engine {

/// Reservoir sampling (Vitter 1985, algorithm R): each query is kept with the same probability.
/// Which are kept depends on their numbers and the seed alone.
///
/// Thread-safe. An atomic counter numbers queries; most are not kept, and then nothing is locked or
/// copied.
class QueryReservoir {
 public:
  /// Memory limits: 64 MiB, or 512 tokens if tokens have more than 32,768 dimensions.
  static constexpr std::size_t kMaxQueries = 512;
  static constexpr std::size_t kMaxTokens = 256;  ///< tokens per query; the rest is cut off
  static constexpr std::size_t kMaxFloats =
      32'768;  ///< floats per query, except for the first token

  QueryReservoir(std::uint32_t dim, std::uint64_t seed) : dim_(dim), seed_(seed) {}

  /// `tokens`: `[n_tokens, dim]`, as in `index::PreparedQuery::values`.
  void offer(std::span<const float> tokens) QV_EXCLUDES(mutex_);

  /// A copy of the sample.
  [[nodiscard]] index::QuerySample sample() const QV_EXCLUDES(mutex_);
  /// Number of queries seen, kept or not.
  [[nodiscard]] std::uint64_t n_seen() const { return n_seen_.load(std::memory_order_relaxed); }
  /// Grows with every query that is kept.
  [[nodiscard]] std::uint64_t n_changes() const QV_EXCLUDES(mutex_);

  /// Replaces the file: docs/formats/queries.md. Durable on return.
  Result<> save(Directory& directory, std::string_view name) const QV_EXCLUDES(mutex_);
  /// Continues from a saved file; call it before the first `offer`. kDataLoss if the file is
  /// damaged or belongs to another field; the reservoir then stays as it is.
  Result<> load(const Directory& directory, std::string_view name) QV_EXCLUDES(mutex_);

 private:
  struct Slot {
    std::uint64_t number = 0;   ///< number of the query
    std::vector<float> tokens;  ///< empty: no query yet
  };

  [[nodiscard]] std::size_t slot_of(std::uint64_t number) const;
  [[nodiscard]] std::size_t n_kept_floats(std::size_t n) const;
  Result<std::vector<Slot>> read(const Directory& directory, std::string_view name,
                                 std::uint64_t& n_seen) const;

  const std::uint32_t dim_;
  const std::uint64_t seed_;
  std::atomic<std::uint64_t> n_seen_ = 0;
  mutable Mutex mutex_;
  std::vector<Slot> slots_ QV_GUARDED_BY(mutex_);  ///< at most kMaxQueries
  std::uint64_t n_changes_ QV_GUARDED_BY(mutex_) = 0;
};

}  // namespace quiver::engine
