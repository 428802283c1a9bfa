// The segments of a shard, their dead rows, and the snapshot that readers see.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/bitset.h"
#include "base/ids.h"
#include "base/threads/published.h"
#include "engine/segment/mutable_segment.h"
#include "engine/segment/segment.h"
#include "engine/segment/segment_file.h"
#include "engine/shard/state/shard_common.h"

namespace quiver::engine {

/// Sealed segments with their indexes, in the order of the table.
using SealedSegments = std::vector<std::shared_ptr<const SegmentData>>;
/// True if these are the segments that were noted before, some of which may be gone.
[[nodiscard]] bool are_noted(const SealedSegments& segments,
                             const std::vector<std::weak_ptr<const SegmentData>>& noted);

/// A sealed or frozen segment as the lane keeps it.
struct SegmentState {
  Segment view;
  Bitset deleted;  ///< `[n_rows]`, owned by the lane; newer than `view.deleted` if `changed`
  std::uint32_t n_deleted = 0;
  bool changed = false;        ///< since the last publication
  bool unsaved = false;        ///< deletes were added since they were last stored
  bool busy = false;           ///< input of a running job
  bool index_damaged = false;  ///< an index was damaged and is not rebuilt yet
  Seq first_seq{};             ///< frozen segments: the oldest change in it

  [[nodiscard]] std::uint64_t id() const { return view.data->id; }
  [[nodiscard]] bool sealed() const { return view.data->sealed; }
};

/// Segments whose files were found damaged.
struct DamagedSegments {
  /// Kept in the manifest until the rows that were read from the store are sealed again: after a
  /// crash meanwhile they are read once more.
  std::vector<std::uint64_t> ids;
  /// Rows that were read again are in segments with ids up to this one.
  std::uint64_t rebuild_barrier = 0;
  /// Rows of a segment that became unreadable are not all read again: nothing is answered.
  bool rows_missing = false;
};

/// Invariants:
///  1. Only the lane calls anything but `snapshot`, `has_damage` and the constructor. Recovery
///     counts as the lane: nothing else runs yet.
///  2. A point is live in one segment at most. Appending a row comes after `remove` of its id.
///  3. Readers see changes only after `publish`, all changes up to `applied` at once.
///  4. Until the next publication the places in the snapshot hold for `segments()` and the mutable
///     segment: segments may be pushed back, but none is removed without `publish`.
///  5. Segment ids and sequence numbers are never used twice.
class SegmentTable {
 public:
  explicit SegmentTable(ShardCommon& common) : common_(common) {}

  // Any thread.
  [[nodiscard]] std::shared_ptr<const SegmentSet> snapshot() const { return snapshot_.load(); }
  /// True if a file of a published segment could not be read any more.
  [[nodiscard]] bool has_damage() const { return !snapshot()->check(); }

  // Segments.
  /// Sealed and frozen ones, oldest first.
  [[nodiscard]] std::span<SegmentState> segments() { return segments_; }
  [[nodiscard]] std::span<const SegmentState> segments() const { return segments_; }
  [[nodiscard]] SealedSegments sealed() const;
  /// nullptr if there is none of this id.
  [[nodiscard]] SegmentState* find(std::uint64_t id);
  [[nodiscard]] const MutableSegment& mutable_segment() const { return *mutable_; }
  [[nodiscard]] std::size_t n_unsealed() const;
  /// Bytes of the rows of those segments, which are in memory.
  [[nodiscard]] std::uint64_t unsealed_bytes() const;
  [[nodiscard]] std::uint64_t take_segment_id() { return next_segment_++; }
  [[nodiscard]] std::uint64_t next_segment_id() const { return next_segment_; }
  void set_next_segment_id(std::uint64_t id) { next_segment_ = id; }
  void add(SegmentState state) { segments_.push_back(std::move(state)); }
  /// Creates the first mutable segment.
  void start_mutable();
  /// True if the mutable segment has the size at which it is sealed.
  [[nodiscard]] bool is_full() const;
  /// False for a small mutable segment: replaying it is quick, and so is an exact search. True for
  /// any whose vectors reach the size from which the client asked for an index.
  [[nodiscard]] bool is_worth_sealing() const;
  /// The mutable segment becomes a frozen one. If this throws, nothing has changed.
  void freeze();
  /// All segments get the fields of the configuration; the mutable one is frozen for that.
  void follow_fields();
  /// Payload indexes of the mutable segment.
  void set_mutable_indexes(const std::vector<payload::FieldIndex>& indexes) {
    mutable_->set_indexes(indexes);
  }
  void set_busy(std::span<const Segment> inputs, bool busy) noexcept;
  /// A segment that is to take the place of `inputs`. `rows` are its rows, as rows of `inputs`; the
  /// ones deleted since `inputs` were published are dead in it, too.
  [[nodiscard]] SegmentState successor(std::span<const Segment> inputs,
                                       std::span<const RowRef> rows, SegmentData data) const;
  void replace(std::span<const Segment> inputs, std::optional<SegmentState> output);
  /// Removes segments whose rows cannot be read and notes them as damaged.
  void take_out_damaged();
  [[nodiscard]] DamagedSegments& damaged() { return damaged_; }
  [[nodiscard]] const DamagedSegments& damaged() const { return damaged_; }

  // Rows.
  void append(const Row& row) { mutable_->append(row); }
  /// Marks the live row of `id` dead. At most once for each id between two publications.
  void remove(const PointId& id);
  /// Marks the live rows of `ids` (ascending) dead, except in segment `kept`.
  void remove_all(std::span<const PointId> ids, std::uint64_t kept);
  /// Rows deleted or overwritten since the store was compacted.
  [[nodiscard]] std::uint64_t n_rows_dropped() const { return n_rows_dropped_; }
  void forget_dropped(std::uint64_t n_rows) { n_rows_dropped_ -= n_rows; }

  // Sequence numbers.
  /// Numbers before it are used, if only by a write that failed.
  [[nodiscard]] Seq next_seq() const { return next_seq_; }
  void set_next_seq(Seq next) { next_seq_ = next; }
  [[nodiscard]] Seq last_seq() const { return Seq{to_number(next_seq_) - 1}; }
  /// All changes up to `last_seq` are in the segments now.
  void set_applied() { applied_seq_ = last_seq(); }
  /// The last change up to which sealed segments hold everything, if those of `finished`, inputs of
  /// a job, are replaced by its sealed output.
  [[nodiscard]] Seq covered_seq(std::span<const Segment> finished) const;

  /// Makes all changes visible. If this throws, readers keep the old snapshot.
  void publish();

 private:
  [[nodiscard]] bool wants_index() const;
  void mark_dead(SegmentState& state, std::size_t row);
  void mark_mutable_dead(std::size_t row);
  void remove_all_in(SegmentState& state, std::span<const PointId> ids);
  void remove_all_in_mutable(std::span<const PointId> ids);

  ShardCommon& common_;
  Published<SegmentSet> snapshot_;

  // Lane only.
  std::vector<SegmentState> segments_;
  std::unique_ptr<MutableSegment> mutable_;
  Bitset mutable_deleted_;
  std::uint32_t n_mutable_deleted_ = 0;
  Seq next_seq_{1};
  Seq applied_seq_{0};
  std::uint64_t next_segment_ = 1;
  DamagedSegments damaged_;
  std::uint64_t n_rows_dropped_ = 0;
};

/// True if `inputs` contains segment `id`.
[[nodiscard]] bool contains(std::span<const Segment> inputs, std::uint64_t id);

}  // namespace quiver::engine
