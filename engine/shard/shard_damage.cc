// Files of segments that become unreadable while they are in use: base/io/mapped_region.h. What is
// damaged is noticed by a tick or by the next update, taken out, and made again: a column or an
// index from the rows of the segment, a segment from the rows in the store. Until then reads of the
// shard are refused (`SegmentSet::check`), and so are updates.
#include <algorithm>
#include <memory>
#include <utility>

#include "base/observe/failure.h"
#include "base/observe/log.h"
#include "engine/shard/shard.h"

namespace quiver::engine {

bool Shard::has_damage() const {
  const auto set = snapshot_.load();
  return !set->check();
}

void Shard::mend() noexcept {
  const bool has_failed = lost_rows_;
  const auto mended = guarded([&]() -> Result<> {
    if (!has_damage() || (has_failed && Clock::now() < retry_after_)) return {};
    for (State& state : segments_) drop_damaged_parts(state);
    take_out_damaged();
    if (lost_rows_) QV_TRY(read_lost_rows());
    publish();
    build_columns();
    start_due_jobs();
    return {};
  });
  if (!mended && !closed_) note_failure(JobKind::kReadLostSegment, mended.error());
}

/// Of a segment whose rows are sound.
void Shard::drop_damaged_parts(State& state) {
  const auto& now = *state.view.data;
  if (now.are_rows_damaged() || now.check_files()) return;
  auto data = std::make_shared<SegmentData>(now);
  std::erase_if(data->columns, [](const auto& entry) {
    const auto& file = entry.second.file;
    return file != nullptr && file->is_damaged();
  });
  bool lost_index = false;
  for (std::size_t field = 0; field < data->fields.size(); ++field) {
    if (data->index_files[field] == nullptr || data->index_files[field]->check()) continue;
    uninstall_index(*data, field);
    lost_index = lost_index || lacks_index(*data, field, index_policy());
  }
  log_error(
      "shard {}: segment {}: a column or an index could not be read any more; it is built "
      "again",
      path_, data->id);
  state.view.data = std::move(data);
  state.index_damaged = state.index_damaged || lost_index;
}

void Shard::take_out_damaged() {
  damaged_.reserve(damaged_.size() + segments_.size());
  std::erase_if(segments_, [this](const State& state) {
    if (!state.view.data->are_rows_damaged()) return false;
    log_error(
        "shard {}: segment {} could not be read any more; its rows are rebuilt from the store",
        path_, state.view.data->id);
    damaged_.push_back(state.view.data->id);
    lost_rows_ = true;
    return true;
  });
}

/// Rows that are read in part cannot be gone on from: then the process ends, and the next start
/// reads them again.
Result<> Shard::read_lost_rows() {
  QV_TRY(run_whole("reading a damaged segment again", [this] { return rebuild_from_rows(); }));
  lost_rows_ = false;
  return {};
}

/// Whether what a job made of its inputs counts.
Result<> Shard::check_inputs(const RewriteJob& job) const {
  for (const auto& input : job.inputs) {
    QV_TRY(input.data->check_files());
    if (has_segment(input.data->id)) continue;
    return fail(Code::kUnavailable, "a segment it reads could not be read any more");
  }
  return job.output ? job.output->check_files() : Result<>();
}

}  // namespace quiver::engine
