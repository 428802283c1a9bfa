// An even sample of the queries of a vector field.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/io/file.h"
#include "base/io/section_file.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/schema.h"
#include "base/views.h"
#include "engine/model/vector.h"
#include "index/index.h"

namespace quiver::engine {

/// Reservoir sampling (Vitter 1985, algorithm R): each query is kept with the same probability.
/// Which are kept depends on their numbers and the seed alone.
///
/// Thread-safe. An atomic counter numbers queries; most are not kept, and then nothing is locked or
/// copied.
class QueryReservoir {
 public:
  /// Memory limits: 64 MiB; a multi-vector field with more than 32,768 dimensions keeps 512 tokens.
  static constexpr std::size_t kMaxQueries = 512;
  static constexpr std::size_t kMaxTokens = 256;  ///< tokens per query; the rest is cut off
  static constexpr std::size_t kMaxFloats =
      32'768;  ///< floats per query, except for the first token
  /// Entries per sparse query; longer ones are not counted and not kept.
  static constexpr std::size_t kMaxEntries = 4'096;

  /// `dim`: of dense vectors and tokens; 0 for sparse fields.
  QueryReservoir(std::uint32_t dim, std::uint64_t seed, FieldKind kind = FieldKind::kMulti);

  /// Multi: tokens `[n_tokens, dim]`; dense: the vector. As in `index::PreparedQuery::values`.
  void offer(std::span<const float> values) QV_EXCLUDES(mutex_);
  /// Sparse: as asked, before IDF; indices ascend.
  void offer(const SparseView& query) QV_EXCLUDES(mutex_);
  /// From now on the sample is of later queries: the kept ones no longer count in `recorded` and
  /// make room first.
  void renew() QV_EXCLUDES(mutex_);

  /// A copy of all kept tokens, those from before `renew` too.
  [[nodiscard]] index::QuerySample sample() const QV_EXCLUDES(mutex_);
  /// The queries kept since `renew`, by slot, each as a search would take it.
  [[nodiscard]] std::vector<VectorValue> recorded() const QV_EXCLUDES(mutex_);
  [[nodiscard]] std::size_t n_recorded() const QV_EXCLUDES(mutex_);
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
    std::uint64_t number = 0;            ///< number of the query
    std::vector<float> values;           ///< empty: no query yet
    std::vector<std::uint32_t> indices;  ///< of a sparse query
  };
  /// What a file holds.
  struct Content {
    std::uint64_t n_seen = 0;
    std::uint64_t first = 0;
    std::vector<Slot> slots;
  };

  void offer(std::span<const std::uint32_t> indices, std::span<const float> values)
      QV_EXCLUDES(mutex_);
  [[nodiscard]] std::size_t slot_of(std::uint64_t number) const;
  [[nodiscard]] std::size_t n_kept_floats(std::size_t n) const;
  [[nodiscard]] bool fits(const Slot& slot) const;
  [[nodiscard]] bool counts(const Slot& slot) const {
    return !slot.values.empty() && slot.number >= first_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] VectorValue value_of(const Slot& slot) const;
  Result<Content> read(const Directory& directory, std::string_view name) const;
  enum class Version : std::uint8_t { k1, k2 };
  Result<Content> read_head(const SectionReader& reader, Version version) const;

  const std::uint32_t dim_;
  const std::uint64_t seed_;
  const FieldKind kind_;
  const std::size_t n_slots_;  ///< at most kMaxQueries
  std::atomic<std::uint64_t> n_seen_ = 0;
  std::atomic<std::uint64_t> first_ = 0;  ///< number of the first query since `renew`
  mutable Mutex mutex_;
  std::vector<Slot> slots_ QV_GUARDED_BY(mutex_);
  std::uint64_t n_changes_ QV_GUARDED_BY(mutex_) = 0;
};

}  // namespace quiver::engine
