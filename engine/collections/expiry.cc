#include "engine/collections/expiry.h"

#include <algorithm>
#include <utility>

#include "base/observe/failure.h"
#include "base/observe/log.h"
#include "engine/segment/columns.h"
#include "engine/segment/segment_rows.h"

namespace quiver::engine {
namespace {

constexpr std::int64_t kMicrosPerSecond = 1'000'000;
/// Deletions of one operation: so many rows go into one synced batch.
constexpr std::size_t kMaxDeletions = 10'000;

using PredicatePtr = std::shared_ptr<const payload::Predicate>;

payload::IndexKind kind_of(const CollectionConfig& config) {
  const auto* index = find_index(config.indexes, config.ttl->key);
  return index == nullptr ? payload::IndexKind::kInteger : index->kind;
}

Result<Segment> without_matching(const Segment& segment, const payload::Predicate& predicate) {
  if (predicate.estimate(SegmentRows(*segment.data)).max == 0) return segment;
  QV_TRY(const Bitset expired, matching_rows(segment, &predicate, Cancel()));
  const std::size_t n = expired.count();
  if (n == 0) return segment;
  auto deleted = std::make_shared<Bitset>(segment.n_rows(), true);
  Bitset living = segment.live();
  living.subtract(expired);
  deleted->subtract(living);
  return Segment{segment.data, std::move(deleted),
                 segment.n_deleted + static_cast<std::uint32_t>(n)};
}

Result<std::shared_ptr<const SegmentSet>> without_expired(const SegmentSet& set,
                                                          const CollectionConfig& config,
                                                          std::int64_t now_s) {
  QV_TRY(const PredicatePtr predicate,
         payload::compile(expired_filter(*config.ttl, kind_of(config), now_s), config.indexes));
  auto living = std::make_shared<SegmentSet>(set);
  for (Segment& segment : living->segments) {
    QV_TRY(segment, without_matching(segment, *predicate));
  }
  return std::shared_ptr<const SegmentSet>(std::move(living));
}

/// Nothing is answered from it.
std::shared_ptr<const SegmentSet> unreadable(const SegmentSet& set, const Error& error) {
  log_error("expired points cannot be told from others: {}", error.message());
  auto broken = std::make_shared<SegmentSet>(set);
  broken->is_whole = false;
  return broken;
}

}  // namespace

payload::Filter expired_filter(const Ttl& ttl, payload::IndexKind kind, std::int64_t now_s) {
  const std::int64_t latest_s = now_s - static_cast<std::int64_t>(ttl.seconds);
  payload::FieldCondition condition{ttl.key, payload::ValueCondition()};
  if (kind == payload::IndexKind::kDatetime) {
    payload::DatetimeRange range;
    range.lte = latest_s * kMicrosPerSecond;
    condition.condition = range;
  } else {
    payload::Range range;
    range.lte = payload::Number{latest_s};
    condition.condition = range;
  }
  payload::Filter filter;
  filter.must.emplace_back(std::move(condition));
  return filter;
}

Expiry::Sets Expiry::hide(Sets sets, const CollectionConfig& config, std::int64_t now_s) {
  std::vector<Entry> entries;
  {
    MutexLock lock(mutex_);
    entries = entries_;
  }
  entries.resize(sets.size());
  bool changed = false;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    Entry& entry = entries[i];
    if (entry.all != sets[i] || entry.now_s != now_s || entry.ttl != config.ttl) {
      auto living = guarded([&] { return without_expired(*sets[i], config, now_s); });
      if (!living) living = unreadable(*sets[i], living.error());
      entry = {sets[i], *std::move(living), now_s, config.ttl};
      changed = true;
    }
    sets[i] = entry.living;
  }
  if (changed) {
    MutexLock lock(mutex_);
    entries_ = std::move(entries);
  }
  return sets;
}

std::optional<DeletePoints> Expiry::deletion(const Sets& sets, const CollectionConfig& config,
                                             std::int64_t now_s) {
  const Sets living = hide(sets, config, now_s);
  payload::HasId expired;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    for (std::size_t s = 0; s < sets[i]->segments.size(); ++s) {
      const Segment& all = sets[i]->segments[s];
      if (living[i]->segments[s].n_deleted == all.n_deleted) continue;
      Bitset gone = all.live();
      gone.subtract(living[i]->segments[s].live());
      gone.for_each([&](std::size_t row) {
        if (expired.ids.size() < kMaxDeletions) expired.ids.push_back(all.data->ids[row]);
      });
    }
  }
  if (expired.ids.empty()) return std::nullopt;
  payload::Filter filter = expired_filter(*config.ttl, kind_of(config), now_s);
  filter.must.emplace_back(std::move(expired));
  return DeletePoints{std::move(filter)};
}

}  // namespace quiver::engine
