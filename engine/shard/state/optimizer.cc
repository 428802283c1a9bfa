#include "engine/shard/state/optimizer.h"

#include <algorithm>
#include <map>
#include <utility>

namespace quiver::engine {
namespace {

constexpr std::size_t kTierFactor = 4;
constexpr std::uint64_t kSmallestTierBytes = 1 << 20;
/// Segments beyond this tier (64 MiB) are merged only when there are too many: bulk loads are not
/// rewritten, and segments of the usual sealed size wait for more of their size.
constexpr int kLastEagerTier = 3;
/// Inputs of one merge at most: bounds open files and the length of a job.
constexpr std::size_t kMaxInputs = 16;
/// Inputs of an idle merge, in bytes: keeps it to minutes.
constexpr std::uint64_t kMaxIdleBytes = 4ULL << 30;
/// The largest input of an idle merge, as a multiple of the others together: bounds how often a row
/// is rewritten.
constexpr std::uint64_t kMaxIdleShare = 8;

int tier_of(std::uint64_t bytes) {
  int tier = 0;
  for (std::uint64_t limit = kSmallestTierBytes; bytes > limit; limit *= kTierFactor) ++tier;
  return tier;
}

std::uint64_t live_bytes(const SegmentFacts& segment) {
  if (segment.n_rows == 0) return 0;
  return segment.bytes * segment.n_live() / segment.n_rows;
}

std::vector<SegmentFacts> free_sealed(const std::vector<SegmentFacts>& segments) {
  std::vector<SegmentFacts> free;
  for (const auto& segment : segments) {
    if (segment.sealed && !segment.busy) free.push_back(segment);
  }
  std::stable_sort(free.begin(), free.end(), [](const SegmentFacts& a, const SegmentFacts& b) {
    return live_bytes(a) < live_bytes(b);
  });
  return free;
}

bool wants_vacuum(const SegmentFacts& segment, const OptimizerConfig& config) {
  if (segment.n_live() == 0) return true;
  return segment.n_deleted >= std::max<std::uint64_t>(1, config.vacuum_min_rows) &&
         segment.n_deleted >= config.deleted_threshold * segment.n_rows;
}

/// Merges the first candidates, at most `n`, that fit one segment; nothing if fewer than two do.
std::optional<RewritePlan> merge_first(const std::vector<SegmentFacts>& candidates, std::size_t n,
                                       const OptimizerConfig& config) {
  RewritePlan plan{JobKind::kMerge, {}};
  std::uint64_t n_rows = 0;
  for (const auto& segment : candidates) {
    if (plan.segments.size() == std::min(n, kMaxInputs)) break;
    n_rows += segment.n_live();
    if (n_rows > config.max_segment_rows) break;
    plan.segments.push_back(segment.id);
  }
  if (plan.segments.size() < 2) return std::nullopt;
  return plan;
}

}  // namespace

std::optional<RewritePlan> plan_seal(const std::vector<SegmentFacts>& segments) {
  for (const auto& segment : segments) {
    if (!segment.sealed && !segment.busy) return RewritePlan{JobKind::kSeal, {segment.id}};
  }
  return std::nullopt;
}

std::optional<RewritePlan> plan_rewrite(const std::vector<SegmentFacts>& segments,
                                        const OptimizerConfig& config) {
  const auto free = free_sealed(segments);
  for (const auto& segment : free) {
    if (wants_vacuum(segment, config)) return RewritePlan{JobKind::kVacuum, {segment.id}};
  }
  for (const auto& segment : free) {
    if (segment.holds_dropped) return RewritePlan{JobKind::kVacuum, {segment.id}};
  }
  std::map<int, std::vector<SegmentFacts>> tiers;
  for (const auto& segment : free) tiers[tier_of(live_bytes(segment))].push_back(segment);
  for (const auto& [tier, members] : tiers) {
    if (members.size() < kTierFactor) continue;
    if (tier > kLastEagerTier && free.size() <= config.max_segments) continue;
    if (auto plan = merge_first(members, members.size(), config)) return plan;
  }
  if (free.size() > config.max_segments) {
    return merge_first(free, free.size() - config.max_segments + 1, config);
  }
  return std::nullopt;
}

std::optional<RewritePlan> plan_idle_merge(const std::vector<SegmentFacts>& segments,
                                           const OptimizerConfig& config) {
  auto free = free_sealed(segments);
  std::erase_if(free, [](const SegmentFacts& segment) { return !segment.gains_merged; });
  const std::size_t n_left = std::max<std::size_t>(1, config.idle_segments);
  std::size_t n_best = 0;
  std::uint64_t bytes_before = 0;
  for (std::size_t n = 1; n + n_left <= free.size() + 1; ++n) {
    const std::uint64_t bytes = live_bytes(free[n - 1]);
    if (bytes_before + bytes > kMaxIdleBytes) break;
    if (bytes <= kMaxIdleShare * bytes_before) n_best = n;
    bytes_before += bytes;
  }
  return n_best < 2 ? std::nullopt : merge_first(free, n_best, config);
}

std::optional<std::uint64_t> plan_index(const std::vector<SegmentFacts>& segments) {
  const SegmentFacts* first = nullptr;
  const auto rank = [](const SegmentFacts& segment) {
    return std::pair(segment.lacks_index, segment.bytes);
  };
  for (const auto& segment : segments) {
    if (!segment.sealed || segment.busy) continue;
    if (!segment.lacks_index && !segment.has_drifted) continue;
    if (first == nullptr || rank(segment) > rank(*first)) first = &segment;
  }
  if (first == nullptr) return std::nullopt;
  return first->id;
}

}  // namespace quiver::engine
