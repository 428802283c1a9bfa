#include "engine/shard/state/segment_table.h"

#include <algorithm>
#include <utility>

#include "base/observe/log.h"
#include "engine/segment/fields.h"

namespace quiver::engine {
namespace {

constexpr std::uint32_t kMinRowsWorthSealing = 1000;
constexpr std::uint64_t kMinBytesWorthSealing = 8ULL << 20;

}  // namespace

bool contains(std::span<const Segment> inputs, std::uint64_t id) {
  return std::any_of(inputs.begin(), inputs.end(),
                     [&](const Segment& segment) { return segment.data->id == id; });
}

bool are_noted(const SealedSegments& segments,
               const std::vector<std::weak_ptr<const SegmentData>>& noted) {
  return std::equal(
      segments.begin(), segments.end(), noted.begin(), noted.end(),
      [](const auto& a, const auto& b) { return !a.owner_before(b) && !b.owner_before(a); });
}

SealedSegments SegmentTable::sealed() const {
  SealedSegments sealed;
  for (const SegmentState& state : segments_) {
    if (state.sealed()) sealed.push_back(state.view.data);
  }
  return sealed;
}

SegmentState* SegmentTable::find(std::uint64_t id) {
  const auto found = std::find_if(segments_.begin(), segments_.end(),
                                  [&](const SegmentState& state) { return state.id() == id; });
  return found == segments_.end() ? nullptr : &*found;
}

std::size_t SegmentTable::n_unsealed() const {
  return static_cast<std::size_t>(std::count_if(segments_.begin(), segments_.end(),
                                                [](const SegmentState& s) { return !s.sealed(); }));
}

std::uint64_t SegmentTable::unsealed_bytes() const {
  std::uint64_t n_bytes = 0;
  for (const SegmentState& state : segments_) {
    if (!state.sealed()) n_bytes += state.view.data->data_bytes();
  }
  return n_bytes;
}

void SegmentTable::start_mutable() {
  const auto config = common_.config.load();
  mutable_ = std::make_unique<MutableSegment>(next_segment_++, config->fields, config->indexes);
}

bool SegmentTable::is_full() const {
  const auto& optimizer = common_.config.load()->optimizer;
  return mutable_->n_rows() >= optimizer.seal_rows ||
         mutable_->data_bytes() >= optimizer.seal_bytes;
}

bool SegmentTable::is_worth_sealing() const {
  return mutable_->n_rows() >= kMinRowsWorthSealing ||
         mutable_->data_bytes() >= kMinBytesWorthSealing || wants_index();
}

/// True if a client set the size from which fields have an index, and the mutable segment has it.
bool SegmentTable::wants_index() const {
  const std::uint64_t least = common_.config.load()->optimizer.index_min_bytes.value_or(0);
  if (least == 0 || mutable_->data_bytes() < least) return false;
  const auto data = mutable_->snapshot();
  return std::any_of(data->fields.begin(), data->fields.end(),
                     [&](const auto& field) { return data_bytes(field) >= least; });
}

void SegmentTable::freeze() {
  if (mutable_->n_rows() == 0) return;
  const auto config = common_.config.load();
  auto next = std::make_unique<MutableSegment>(next_segment_, config->fields, config->indexes);
  SegmentState state;
  state.view.data = mutable_->snapshot();
  mutable_deleted_.resize(mutable_->n_rows());
  segments_.reserve(segments_.size() + 1);
  // Nothing below takes memory.
  state.deleted = std::exchange(mutable_deleted_, Bitset());
  state.n_deleted = std::exchange(n_mutable_deleted_, 0);
  state.changed = true;
  state.first_seq = mutable_->first_seq();
  segments_.push_back(std::move(state));
  mutable_ = std::move(next);
  ++next_segment_;
}

void SegmentTable::follow_fields() {
  const auto config = common_.config.load();
  if (!mutable_->follows(config->fields)) {
    if (mutable_->n_rows() != 0) {
      freeze();
    } else {
      mutable_ = std::make_unique<MutableSegment>(mutable_->id(), config->fields, config->indexes);
    }
  }
  for (SegmentState& state : segments_) {
    state.view.data = with_fields(std::move(state.view.data), config->fields);
  }
}

void SegmentTable::set_busy(std::span<const Segment> inputs, bool busy) noexcept {
  for (const Segment& input : inputs) {
    if (SegmentState* state = find(input.data->id)) state->busy = busy;
  }
}

SegmentState SegmentTable::successor(std::span<const Segment> inputs, std::span<const RowRef> rows,
                                     SegmentData data) const {
  std::vector<const SegmentState*> now;
  for (const Segment& input : inputs) {
    for (const SegmentState& state : segments_) {
      if (state.id() == input.data->id) now.push_back(&state);
    }
  }
  SegmentState output;
  output.view.data = std::make_shared<const SegmentData>(std::move(data));
  output.deleted = Bitset(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!now[rows[i].segment]->deleted.test(rows[i].row)) continue;
    output.deleted.set(i);
    ++output.n_deleted;
  }
  output.changed = output.n_deleted != 0;
  return output;
}

void SegmentTable::replace(std::span<const Segment> inputs, std::optional<SegmentState> output) {
  const auto is_input = [&](const SegmentState& state) { return contains(inputs, state.id()); };
  const auto position =
      std::find_if(segments_.begin(), segments_.end(), is_input) - segments_.begin();
  std::erase_if(segments_, is_input);
  if (output) segments_.insert(segments_.begin() + position, *std::move(output));
}

void SegmentTable::take_out_damaged() {
  damaged_.ids.reserve(damaged_.ids.size() + segments_.size());
  std::erase_if(segments_, [this](const SegmentState& state) {
    if (!state.view.data->are_rows_damaged()) return false;
    log_error(
        "shard {}: segment {} could not be read any more; its rows are rebuilt from the store",
        common_.path, state.id());
    damaged_.ids.push_back(state.id());
    damaged_.rows_missing = true;
    return true;
  });
}

void SegmentTable::remove(const PointId& id) {
  const auto place = snapshot_.load()->find(id);
  if (!place) return;
  if (place->segment < segments_.size()) {
    mark_dead(segments_[place->segment], place->row);
  } else {
    mark_mutable_dead(place->row);
  }
}

void SegmentTable::mark_dead(SegmentState& state, std::size_t row) {
  if (state.deleted.test(row)) return;
  state.deleted.set(row);
  ++state.n_deleted;
  ++n_rows_dropped_;
  state.changed = state.unsaved = true;
}

void SegmentTable::mark_mutable_dead(std::size_t row) {
  mutable_deleted_.resize(mutable_->n_rows());
  if (mutable_deleted_.test(row)) return;
  mutable_deleted_.set(row);
  ++n_mutable_deleted_;
  ++n_rows_dropped_;
}

void SegmentTable::remove_all(std::span<const PointId> ids, std::uint64_t kept) {
  for (SegmentState& state : segments_) {
    if (state.id() != kept) remove_all_in(state, ids);
  }
  remove_all_in_mutable(ids);
}

void SegmentTable::remove_all_in(SegmentState& state, std::span<const PointId> ids) {
  const auto& data = *state.view.data;
  const auto old = data.ids.span();
  if (!data.has_sorted_ids()) {
    for (std::size_t row = 0; row < old.size(); ++row) {
      if (std::binary_search(ids.begin(), ids.end(), old[row])) mark_dead(state, row);
    }
    return;
  }
  auto id = ids.begin();
  auto row = old.begin();
  while (id != ids.end() && row != old.end()) {
    if (*row < *id) {
      row = std::lower_bound(row, old.end(), *id);
    } else if (*id < *row) {
      id = std::lower_bound(id, ids.end(), *row);
    } else {
      mark_dead(state, static_cast<std::size_t>(row - old.begin()));
      ++id;
      ++row;
    }
  }
}

void SegmentTable::remove_all_in_mutable(std::span<const PointId> ids) {
  if (mutable_->n_rows() == 0) return;
  const auto data = mutable_->snapshot();
  for (std::size_t row = 0; row < data->n_rows; ++row) {
    if (std::binary_search(ids.begin(), ids.end(), data->ids[row])) mark_mutable_dead(row);
  }
}

Seq SegmentTable::covered_seq(std::span<const Segment> finished) const {
  Seq covered = applied_seq_;
  const auto hold = [&](Seq first) { covered = std::min(covered, Seq{to_number(first) - 1}); };
  if (mutable_->n_rows() != 0) hold(mutable_->first_seq());
  for (const SegmentState& state : segments_) {
    if (!state.sealed() && !contains(finished, state.id())) hold(state.first_seq);
  }
  return covered;
}

void SegmentTable::publish() {
  auto set = std::make_shared<SegmentSet>();
  set->seq = applied_seq_;
  set->is_whole = !damaged_.rows_missing;
  for (SegmentState& state : segments_) {
    if (state.changed) {
      state.view.deleted =
          state.n_deleted == 0 ? nullptr : std::make_shared<const Bitset>(state.deleted);
      state.view.n_deleted = state.n_deleted;
      state.changed = false;
    }
    set->segments.push_back(state.view);
  }
  if (mutable_->n_rows() == 0) {
    set->empty_mutable = mutable_->snapshot();
  } else {
    Segment view{mutable_->snapshot(), nullptr, n_mutable_deleted_};
    if (n_mutable_deleted_ != 0) {
      mutable_deleted_.resize(mutable_->n_rows());
      view.deleted = std::make_shared<const Bitset>(mutable_deleted_);
    }
    set->segments.push_back(std::move(view));
  }
  snapshot_.store(std::move(set));
}

}  // namespace quiver::engine
