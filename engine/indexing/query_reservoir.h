// An even sample of the queries that a multi-vector field was asked.
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

/// A reservoir (Vitter 1985, algorithm R): of `n` queries each is in it with the same probability.
/// Which are kept is a function of their numbers and the seed alone.
///
/// Thread-safe. Queries are numbered by an atomic counter, and most are not kept: then nothing is
/// locked or copied.
class QueryReservoir {
 public:
  /// What bounds the memory: 64 MiB, with more than 32,768 dimensions 512 tokens.
  static constexpr std::size_t kMaxQueries = 512;
  static constexpr std::size_t kMaxTokens = 256;     ///< of a query; the rest is cut off
  static constexpr std::size_t kMaxFloats = 32'768;  ///< of a query, but for the first token

  QueryReservoir(std::uint32_t dim, std::uint64_t seed) : dim_(dim), seed_(seed) {}

  /// `tokens`: `[n_tokens, dim]`, as `index::PreparedQuery::values` has them.
  void offer(std::span<const float> tokens) QV_EXCLUDES(mutex_);

  /// A copy.
  [[nodiscard]] index::QuerySample sample() const QV_EXCLUDES(mutex_);
  /// Queries seen, kept or not.
  [[nodiscard]] std::uint64_t n_seen() const { return n_seen_.load(std::memory_order_relaxed); }
  /// Grows whenever a query is kept.
  [[nodiscard]] std::uint64_t n_changes() const QV_EXCLUDES(mutex_);

  /// Replaces the file: docs/formats/queries.md. Durable on return.
  Result<> save(Directory& directory, std::string_view name) const QV_EXCLUDES(mutex_);
  /// Goes on from what was saved; before the first `offer`. kDataLoss if the file is damaged or of
  /// another field: the reservoir then stays as it is.
  Result<> load(const Directory& directory, std::string_view name) QV_EXCLUDES(mutex_);

 private:
  struct Slot {
    std::uint64_t number = 0;   ///< of the query
    std::vector<float> tokens;  ///< empty: none yet
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
