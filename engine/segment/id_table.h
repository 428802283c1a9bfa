// PointId → row of a mutable segment, for one writer and any number of readers. A point that is
// written again has several rows; a reader keeps the one that is alive in its snapshot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/ids.h"
#include "base/threads/slot_table.h"

namespace quiver::engine {

class IdTable {
 public:
  explicit IdTable(std::size_t n_rows) : slots_(n_rows) {}

  [[nodiscard]] std::size_t capacity() const { return slots_.capacity(); }
  [[nodiscard]] std::size_t memory_bytes() const { return slots_.memory_bytes(); }

  /// The writer only; fewer than `capacity()` rows so far.
  void insert(const PointId& id, std::uint32_t row) { slots_.add(id.hash(), row); }

  /// Calls `visit(row)` for the rows of `id` among `ids` until it returns true; true if it did.
  template <class Visit>
  bool find(const PointId& id, std::span<const PointId> ids, Visit&& visit) const {
    const std::uint32_t found = slots_.find(id.hash(), [&](std::uint32_t row) {
      return row < ids.size() && ids[row] == id && visit(row);
    });
    return found != SlotTable::kNone;
  }

 private:
  SlotTable slots_;
};

}  // namespace quiver::engine
