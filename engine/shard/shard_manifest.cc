// What a shard records of its segments: which there are, the rows that died in them, and up to
// which operation they hold everything. docs/formats/shard-store.md.
#include <algorithm>

#include "engine/shard/shard.h"

namespace quiver::engine {

Seq Shard::covered_seq(const RewriteJob* finished) const {
  Seq covered = applied_seq_;
  const auto hold = [&](Seq first) { covered = std::min(covered, Seq{to_number(first) - 1}); };
  if (mutable_->n_rows() != 0) hold(mutable_->first_seq());
  for (const State& state : segments_) {
    if (!state.view.data->sealed && !is_input(finished, state.view.data->id)) hold(state.first_seq);
  }
  return covered;
}

bool Shard::is_input(const RewriteJob* job, std::uint64_t segment) {
  return job != nullptr && std::any_of(job->inputs.begin(), job->inputs.end(),
                                       [&](const Segment& s) { return s.data->id == segment; });
}

Result<> Shard::save_manifest(const RewriteJob* finished, const State* output,
                              std::span<const std::uint64_t> forgotten) {
  storage::RowBatch batch;
  Manifest manifest{
      next_segment_, covered_seq(finished), {}, Seq{to_number(next_seq_) - 1}, damaged_};
  for (State& state : segments_) {
    const std::uint64_t id = state.view.data->id;
    if (!state.view.data->sealed || is_input(finished, id)) continue;
    if (state.view.data->are_rows_damaged()) {  // and which of its rows died was not found
      manifest.damaged.push_back(id);
      continue;
    }
    manifest.segments.push_back(id);
    if (state.unsaved) batch.put_meta(deleted_key(id), encode_bitset(state.deleted));
  }
  if (output != nullptr) {
    manifest.segments.push_back(output->view.data->id);
    if (output->n_deleted != 0) {
      batch.put_meta(deleted_key(output->view.data->id), encode_bitset(output->deleted));
    }
  }
  if (finished != nullptr) {
    for (const auto& input : finished->inputs) batch.delete_meta(deleted_key(input.data->id));
  }
  for (const std::uint64_t id : forgotten) batch.delete_meta(deleted_key(id));
  if (bulk_ && bulk_->installed) batch.delete_meta(kBulkIntentKey);
  batch.put_meta(kManifestKey, encode_manifest(manifest));
  batch.trim_ops(Seq{to_number(manifest.covered) + 1});
  QV_TRY(store_->write(batch));
  for (State& state : segments_) {
    if (state.view.data->sealed) state.unsaved = false;
  }
  return {};
}

void Shard::save_deletes() {
  const bool unsaved = std::any_of(segments_.begin(), segments_.end(),
                                   [](const State& state) { return state.unsaved; });
  if (!unsaved) return;
  if (auto saved = save_manifest(nullptr); !saved) {
    note_failure(JobKind::kSaveDeletes, saved.error());
  } else {
    note_success(JobKind::kSaveDeletes);
  }
}

}  // namespace quiver::engine
