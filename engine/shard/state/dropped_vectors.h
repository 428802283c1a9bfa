// Takes the vectors of dropped fields out of the rows in a shard's store.
#pragma once

#include <cstddef>
#include <optional>

#include "base/ids.h"
#include "base/result.h"
#include "engine/shard/state/shard_common.h"

namespace quiver::engine {

/// Lane only: no other row is written while it reads and writes some. Rows keep their numbers, so
/// nothing else changes, and a crash at any moment leaves rows that read the same.
class DroppedVectors {
 public:
  explicit DroppedVectors(ShardCommon& common) : common_(common) {}

  /// True if fields were dropped since the rows were last cleaned. Reads the store once.
  [[nodiscard]] Result<bool> is_due();
  /// Cleans the next rows, about a mebibyte. True if none are left; then `note_done` may follow.
  Result<bool> step();
  /// Records that the rows are clean. For after the store has given back the space.
  Result<> note_done();

 private:
  [[nodiscard]] std::size_t n_dropped() const;

  ShardCommon& common_;
  std::optional<std::size_t> n_cleaned_;   ///< fields whose vectors are in no row; none: not read
  std::optional<std::size_t> n_cleaning_;  ///< the same, once this pass is done; none: no pass
  std::optional<PointId> next_;            ///< the first row of the next step; none: the first
};

}  // namespace quiver::engine
