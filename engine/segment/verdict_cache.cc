#include "engine/segment/verdict_cache.h"

#include <algorithm>
#include <utility>

namespace quiver::engine {

VerdictCache::Entry& VerdictCache::entry_of(const payload::FilterIdentity& filter, bool& is_new) {
  const auto known = std::ranges::find(entries_, filter, &Entry::filter);
  is_new = known == entries_.end();
  if (!is_new) return *known;
  if (entries_.size() < kMaxAsked) return entries_.emplace_back(Entry{filter, nullptr, 0});
  auto& oldest = *std::ranges::min_element(entries_, {}, &Entry::last_asked);
  oldest = {filter, nullptr, 0};
  return oldest;
}

VerdictCache::Found VerdictCache::find(const payload::FilterIdentity& filter) {
  const MutexLock lock(mutex_);
  bool is_new = false;
  Entry& entry = entry_of(filter, is_new);
  entry.last_asked = ++n_asked_;
  return {entry.rows, !is_new};
}

void VerdictCache::keep(const payload::FilterIdentity& filter, RowsPtr rows) {
  const MutexLock lock(mutex_);
  bool is_new = false;
  Entry& entry = entry_of(filter, is_new);
  entry.last_asked = ++n_asked_;
  entry.rows = std::move(rows);
  Entry* oldest = &entry;
  std::size_t n_kept = 0;
  for (auto& other : entries_) {
    if (other.rows == nullptr) continue;
    ++n_kept;
    if (other.last_asked < oldest->last_asked) oldest = &other;
  }
  if (n_kept > kMaxKept) oldest->rows = nullptr;
}

}  // namespace quiver::engine
