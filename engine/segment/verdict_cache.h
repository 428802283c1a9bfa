// The rows that match a filter, kept for filters that are asked again and again.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/bitset.h"
#include "base/mutex.h"
#include "payload/filter/identity.h"

namespace quiver::engine {

/// Of one sealed segment, whose documents never change. Any number of threads. A copy is empty: it
/// belongs to other data.
class VerdictCache {
 public:
  /// Filters whose rows are kept: a bit per row each.
  static constexpr std::size_t kMaxKept = 16;
  /// Filters that are remembered.
  static constexpr std::size_t kMaxAsked = 128;

  using RowsPtr = std::shared_ptr<const Bitset>;
  struct Found {
    RowsPtr rows;            ///< nullptr: not known
    bool is_wanted = false;  ///< the filter was asked before: its rows should be kept
  };

  VerdictCache() = default;
  VerdictCache(const VerdictCache& /*other*/) {}
  VerdictCache& operator=(const VerdictCache& /*other*/) { return *this; }
  ~VerdictCache() = default;

  /// Remembers that the filter was asked.
  [[nodiscard]] Found find(const payload::FilterIdentity& filter);
  /// Keeps all rows that match, dead ones included, in place of those of the filter that was asked
  /// longest ago.
  void keep(const payload::FilterIdentity& filter, RowsPtr rows);

 private:
  struct Entry {
    payload::FilterIdentity filter;
    RowsPtr rows;  ///< nullptr: asked once
    std::uint64_t last_asked = 0;
  };
  [[nodiscard]] Entry& entry_of(const payload::FilterIdentity& filter, bool& is_new)
      QV_REQUIRES(mutex_);

  Mutex mutex_;
  std::vector<Entry> entries_ QV_GUARDED_BY(mutex_);
  std::uint64_t n_asked_ QV_GUARDED_BY(mutex_) = 0;
};

}  // namespace quiver::engine
