// The outcome of operations before any of it is durable or visible.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/observe/memory_budget.h"
#include "base/result.h"
#include "engine/segment/segment.h"
#include "engine/write/prepared.h"

namespace quiver::engine {

/// The newest version of each point that was touched, over a base state. Layers stack: a request is
/// staged over its group, so that a request that fails leaves nothing behind.
class Staging {
 public:
  /// nullptr: the point is deleted.
  using RowPtr = std::shared_ptr<const Row>;
  /// The bytes of a row in the store; nullopt: there is none.
  using StoredRow = std::function<Result<std::optional<std::string>>(const PointId&)>;

  /// All three are borrowed; `below` is nullptr for the lowest layer. If there is a `stored`, and
  /// be it that of a layer below, edits of rows in files are made of what it says: bytes of mapped
  /// files may have changed since they were verified, and an edit would store them for good.
  Staging(const SegmentSet& base, const CollectionConfig& config, const Staging* below,
          StoredRow stored = nullptr)
      : base_(base), config_(config), below_(below), stored_(std::move(stored)) {}

  struct Change {
    PointId id;
    Seq seq{};
    RowPtr row;
  };
  /// Applies the operation. Numbers its changes from `next`, which it advances. kNotFound if a
  /// point that must exist does not; this layer is of no use then.
  Result<> apply(const PreparedOperation& operation, Seq& next);
  /// The same; takes the rows of the operation instead of copying them.
  Result<> apply(PreparedOperation&& operation, Seq& next);
  /// Takes over the changes of the layer above this one.
  void absorb(Staging&& above);

  /// Adds changes that are numbered already; `next` becomes the number after the last one.
  void apply_numbered(const std::vector<Change>& changes, Seq& next);
  /// One for each point touched, in the order of first touch.
  [[nodiscard]] const std::vector<Change>& changes() const { return changes_; }
  [[nodiscard]] bool empty() const { return changes_.empty(); }

 private:
  /// `make(row)` gives the row to put of one of `points`, as a copy or the row itself.
  template <class Points, class Make>
  Result<> put_points(Points& points, Seq& next, Make make);
  Result<> put_vectors(const PreparedPoints& points, Seq& next);
  Result<> change_points(const PreparedChange& change, Seq& next);
  Result<std::vector<PointId>> select(const PreparedChange& change) const;
  Result<std::vector<PointId>> matching(const payload::Predicate& predicate) const;
  /// The row in a layer, or nullptr if it was deleted there; nullopt if no layer has the point.
  [[nodiscard]] std::optional<RowPtr> staged(const PointId& id) const;
  [[nodiscard]] bool exists(const PointId& id) const;
  /// nullptr if the point does not exist. kUnavailable if the store has another version.
  [[nodiscard]] Result<RowPtr> current(const PointId& id) const;
  [[nodiscard]] const StoredRow& stored() const;
  Result<bool> passes(const payload::Predicate* filter, const Row& row) const;
  void put(const PointId& id, RowPtr row, Seq seq);
  /// kResourceExhausted or kUnavailable without memory for the rows that are put.
  Result<> put_changed(const PointId& id, RowPtr row, Seq seq);

  const SegmentSet& base_;
  const CollectionConfig& config_;
  const Staging* below_;
  const StoredRow stored_;
  GrowingMemory memory_{"the rows of an update", 3};  ///< here, in the store, in the segment
  std::vector<Change> changes_;
  std::unordered_map<PointId, std::size_t> by_id_;
};

}  // namespace quiver::engine
