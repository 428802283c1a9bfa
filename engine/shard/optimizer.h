// When to seal, merge, clean and index segments (a pure function of the facts), and what such a job
// is.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "engine/indexing/indexes.h"
#include "engine/model/config.h"
#include "engine/model/reports.h"
#include "engine/segment/segment.h"
#include "engine/segment/segment_file.h"

namespace quiver::engine {

/// What the policy needs to know of a segment.
struct SegmentFacts {
  std::uint64_t id = 0;
  bool sealed = false;
  bool busy = false;
  std::uint32_t n_rows = 0;
  std::uint32_t n_deleted = 0;
  std::uint64_t bytes = 0;
  bool lacks_index = false;   ///< a field should have an index and has none, or another
  bool has_drifted = false;   ///< a field's index is to be built anew
  bool gains_merged = false;  ///< `may_gain_by_merging`

  [[nodiscard]] std::uint32_t n_live() const { return n_rows - n_deleted; }
};

/// Rewrite the live rows of these segments as one sealed segment.
struct RewritePlan {
  JobKind kind = JobKind::kSeal;
  std::vector<std::uint64_t> segments;
};

/// The next frozen segment to be sealed, oldest first.
[[nodiscard]] std::optional<RewritePlan> plan_seal(const std::vector<SegmentFacts>& segments);
/// The most useful merge or clean-up among the sealed segments. Segments are merged in tiers, each
/// four times larger than the one before, so that a row is rewritten about log4(n) times; large
/// ones only when there are more than `max_segments`. If no tier has enough of them then, the
/// smallest are merged whatever their tier.
[[nodiscard]] std::optional<RewritePlan> plan_rewrite(const std::vector<SegmentFacts>& segments,
                                                      const OptimizerConfig& config);

/// For a time without writes. A search through an index costs about as much in a segment of 100,000
/// rows as in one of 20,000, so it pays to have few: merges the smallest of those segments as far
/// as what is written anew is not mostly one large segment, and no more than some GiB. Leaves
/// `idle_segments` at least.
[[nodiscard]] std::optional<RewritePlan> plan_idle_merge(const std::vector<SegmentFacts>& segments,
                                                         const OptimizerConfig& config);

/// The sealed segment whose missing index costs its searches most; if there is none, the largest
/// with one to be built anew.
[[nodiscard]] std::optional<std::uint64_t> plan_index(const std::vector<SegmentFacts>& segments);

[[nodiscard]] double seconds_since_epoch();

/// Background work: made in the lane, run in the background, finished in the lane.
struct Job {
  std::uint64_t number = 0;
  JobKind kind = JobKind::kSeal;
  std::vector<Segment> inputs;
  std::uint64_t n_rows = 0;  ///< live rows of the inputs at the start
  double started_at = seconds_since_epoch();
  Stopwatch clock;
  std::atomic<double> share_done = 0;

  /// Never goes back, though threads may tell of it in another order than they came to it.
  void set_done(double share) {
    double before = share_done.load(std::memory_order_relaxed);
    while (before < share &&
           !share_done.compare_exchange_weak(before, share, std::memory_order_relaxed)) {
    }
  }
};

/// Of the work of a rewrite that builds indexes too, the part that writing the rows is taken for.
inline constexpr double kShareOfRows = 0.2;

/// The live rows of its inputs become one sealed segment.
struct RewriteJob : Job {
  std::uint64_t output_id = 0;
  std::vector<payload::FieldIndex> indexes;
  std::vector<RowRef> rows;           ///< of the output, by the background thread
  std::optional<SegmentData> output;  ///< nothing if no row was left
};

/// The missing vector indexes of its one input are built, and that of the field `anew`.
struct IndexJob : Job {
  std::optional<std::size_t> anew;
  std::vector<BuiltIndex> built;
};

/// Running and finished jobs of a shard, for reports. Thread-safe.
class JobHistory {
 public:
  JobHistory() { completed_.reserve(kKept + 1); }
  // Without memory a job is missing in reports, and nothing else happens.
  void add(std::shared_ptr<const Job> job) noexcept;
  void finish(const Job& job, const Result<>& result) noexcept;
  /// `shard`: the number of the one whose jobs these are.
  void report(std::uint32_t shard, OptimizationReport& report) const;
  [[nodiscard]] WorkSummary summary() const;

 private:
  static constexpr std::size_t kKept = 16;

  mutable Mutex mutex_;
  std::vector<std::shared_ptr<const Job>> running_ QV_GUARDED_BY(mutex_);
  std::vector<OptimizationState> completed_ QV_GUARDED_BY(mutex_);
  WorkSummary summary_ QV_GUARDED_BY(mutex_);
};

}  // namespace quiver::engine
