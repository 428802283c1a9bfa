#include "engine/shard/state/manifest_writer.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/observe/log.h"
#include "engine/shard/state/manifest.h"
#include "storage/rows/row_batch.h"

namespace quiver::engine {

Result<> ManifestWriter::save(const ManifestChange& change) {
  storage::RowBatch batch;
  Manifest manifest{table_.next_segment_id(),
                    table_.covered_seq(change.replaced),
                    {},
                    table_.last_seq(),
                    table_.damaged().ids};
  for (const SegmentState& state : table_.segments()) {
    const std::uint64_t id = state.id();
    if (!state.sealed() || contains(change.replaced, id)) continue;
    if (state.view.data->are_rows_damaged()) {  // its later deletes were not found
      manifest.damaged.push_back(id);
      continue;
    }
    manifest.segments.push_back(id);
    if (state.unsaved) batch.put_meta(deleted_key(id), encode_bitset(state.deleted));
  }
  if (const SegmentState* output = change.output) {
    manifest.segments.push_back(output->id());
    if (output->n_deleted != 0) {
      batch.put_meta(deleted_key(output->id()), encode_bitset(output->deleted));
    }
  }
  for (const Segment& input : change.replaced) batch.delete_meta(deleted_key(input.data->id));
  for (const std::uint64_t id : change.rebuilt) batch.delete_meta(deleted_key(id));
  if (superseded_) batch.delete_meta(*superseded_);
  batch.put_meta(kManifestKey, encode_manifest(manifest));
  batch.trim_ops(Seq{to_number(manifest.covered) + 1});
  QV_TRY(common_.store().write(batch));
  for (SegmentState& state : table_.segments()) {
    if (state.sealed()) state.unsaved = false;
  }
  superseded_.reset();
  return {};
}

bool ManifestWriter::has_unsaved_deletes() const {
  const auto segments = std::as_const(table_).segments();
  return std::any_of(segments.begin(), segments.end(),
                     [](const SegmentState& state) { return state.unsaved; });
}

void ManifestWriter::remove_directory(std::uint64_t segment) {
  const std::string name = std::to_string(segment);
  if (!common_.segments().exists(name)) return;
  if (auto removed = common_.segments().remove_subdirectory(name); !removed) {
    // A payload index may just be building a file in it: the next tick tries again.
    log_debug("shard {}: {}", common_.path, removed.error().message());
    leftovers_.push_back(segment);
    common_.wants_tick = true;
  }
}

void ManifestWriter::remove_leftovers() {
  for (const std::uint64_t id : std::exchange(leftovers_, {})) remove_directory(id);
}

}  // namespace quiver::engine
