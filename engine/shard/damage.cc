#include "engine/shard/damage.h"

#include <memory>
#include <utility>

#include "base/observe/failure.h"
#include "base/observe/log.h"
#include "engine/indexing/indexes.h"

namespace quiver::engine {

void Damage::mend() noexcept {
  const bool has_failed = table_.damaged().rows_missing;
  const auto mended = guarded([&]() -> Result<> {
    if (!table_.has_damage() || (has_failed && !status_.may_retry())) return {};
    for (SegmentState& state : table_.segments()) drop_damaged_parts(state);
    table_.take_out_damaged();
    if (table_.damaged().rows_missing) QV_TRY(read_lost_rows());
    status_.publish();
    columns_.build();
    mended_();
    return {};
  });
  if (!mended && !common_.closed) status_.note_failure(JobKind::kReadLostSegment, mended.error());
}

void Damage::drop_damaged_parts(SegmentState& state) {
  const auto& now = *state.view.data;
  if (now.are_rows_damaged() || now.check_files()) return;
  auto data = std::make_shared<SegmentData>(now);
  std::erase_if(data->columns, [](const auto& entry) {
    const auto& file = entry.second.file;
    return file != nullptr && file->is_damaged();
  });
  if (data->attributes != nullptr && data->attributes->file->is_damaged())
    data->attributes = nullptr;
  bool lost_index = false;
  for (std::size_t field = 0; field < data->fields.size(); ++field) {
    if (data->index_files[field] == nullptr || data->index_files[field]->check()) continue;
    uninstall_index(*data, field);
    lost_index = lost_index || lacks_index(*data, field, status_.index_policy());
  }
  log_error(
      "shard {}: segment {}: a column or an index could not be read any more; it is built "
      "again",
      common_.path, data->id);
  state.view.data = std::move(data);
  state.index_damaged = state.index_damaged || lost_index;
}

/// A shard with only a part of the rows cannot go on: an exception ends the process, and the next
/// start reads the rows again.
Result<> Damage::read_lost_rows() {
  QV_TRY(run_whole("reading a damaged segment again", [this] {
    status_.publish();
    return rows_.rebuild();
  }));
  table_.damaged().rows_missing = false;
  return {};
}

}  // namespace quiver::engine
