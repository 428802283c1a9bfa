// When to seal, merge, clean and index segments: pure functions of facts about the segments.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/model/config.h"
#include "engine/model/job_kind.h"

namespace quiver::engine {

/// The facts about a segment that decide about work.
struct SegmentFacts {
  std::uint64_t id = 0;
  bool sealed = false;
  bool busy = false;
  std::uint32_t n_rows = 0;
  std::uint32_t n_deleted = 0;
  std::uint64_t bytes = 0;
  bool lacks_index = false;    ///< a field should have an index and has none, or another
  bool has_drifted = false;    ///< a field's index has to be rebuilt
  bool gains_merged = false;   ///< `may_gain_by_merging`
  bool holds_dropped = false;  ///< its file has vectors of a dropped field

  [[nodiscard]] std::uint32_t n_live() const { return n_rows - n_deleted; }
};

/// Rewrite the live rows of these segments as one sealed segment.
struct RewritePlan {
  JobKind kind = JobKind::kSeal;
  std::vector<std::uint64_t> segments;
};

/// Seals the oldest frozen segment.
[[nodiscard]] std::optional<RewritePlan> plan_seal(const std::vector<SegmentFacts>& segments);
/// The most useful merge or vacuum of sealed segments. Segments are merged in tiers, each four
/// times larger than the one before, so that a row is rewritten about log4(n) times. Large ones are
/// merged only when there are more than `max_segments`; if then no tier has enough of them, the
/// smallest are merged whatever their tier.
[[nodiscard]] std::optional<RewritePlan> plan_rewrite(const std::vector<SegmentFacts>& segments,
                                                      const OptimizerConfig& config);

/// The merge for a time without writes. A search through an index costs about as much in a segment
/// of 100,000 rows as in one of 20,000, so few segments are better. Merges the smallest indexed
/// ones, at most 4 GiB of them, and none that is much larger than the others together. Leaves at
/// least `idle_segments`.
[[nodiscard]] std::optional<RewritePlan> plan_idle_merge(const std::vector<SegmentFacts>& segments,
                                                         const OptimizerConfig& config);

/// The largest sealed segment that lacks an index; if there is none, the largest with an index to
/// rebuild.
[[nodiscard]] std::optional<std::uint64_t> plan_index(const std::vector<SegmentFacts>& segments);

}  // namespace quiver::engine
