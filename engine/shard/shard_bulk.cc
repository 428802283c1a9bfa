// A shard's part of a bulk load: docs/decisions/0011.
//
// Order: files written and synced, the intent, the decision (in the first shard), the rows into the
// store, the segment into the snapshot, the manifest without the intent. Until the decision nothing
// of it counts; from there on it is only carried forward, at the next opening if need be. In
// between no update is applied, so no row can be newer than those of the load.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <future>

#include "base/observe/failure.h"
#include "base/observe/log.h"
#include "engine/segment/columns.h"
#include "engine/segment/sealing.h"
#include "engine/shard/shard.h"

namespace quiver::engine {

/// Runs `fn` in the lane and waits for what it returns.
template <class F>
std::invoke_result_t<F> Shard::in_lane(F fn) {
  using Answer = std::invoke_result_t<F>;
  return guarded([&]() -> Answer {
    std::promise<Answer> promise;
    auto answer = promise.get_future();
    if (closed_ || !lane_->post([&] { promise.set_value(guarded(fn)); })) {
      return fail(Code::kUnavailable, "the collection is closed");
    }
    return answer.get();
  });
}

Result<BulkStart> Shard::begin_bulk() {
  return in_lane([&]() -> Result<BulkStart> {
    // Nobody else takes numbers meanwhile; they are used up only when the load counts.
    BulkStart start{next_seq_, next_segment_++, config_.load()->indexes};
    bulk_ = BulkLoad{};
    bulk_->segment = start.segment;
    return start;
  });
}

Result<> Shard::write_bulk_rows(const BulkStart& start, const SegmentData& data,
                                std::span<const RowRef> rows, std::uint64_t i) const {
  auto file = store_->new_row_file(row_file_name(start.segment, i));
  std::string value;
  for (const RowRef& ref : rows) {
    value.clear();
    append_row(data, ref.row, value);
    QV_TRY(file.add(data.ids[ref.row], value));
  }
  return file.finish();
}

Result<SegmentData> Shard::write_bulk_segment(const BulkStart& start, const Segment& data,
                                              std::span<const RowRef> rows) const {
  const NewSegment segment{start.segment, std::span(&data, 1), rows, start.indexes};
  return write_segment(segment, *segments_directory_, config_.load()->fields, closing_, nullptr);
}

Result<> Shard::stage_bulk(const BulkIntent& intent, SegmentData output) {
  return in_lane([&] {
    bulk_->intent = intent;
    bulk_->output = std::move(output);
    storage::RowBatch batch;
    batch.put_meta(kBulkIntentKey, encode_intent(intent));
    return store_->write(batch);
  });
}

Result<> Shard::decide_bulk(const BulkDecision& decision) {
  return in_lane([&]() -> Result<> {
    storage::RowBatch batch;
    batch.put_meta(kBulkLoadKey, std::to_string(decision.load));
    if (decision.cursor) batch.put_meta(kBulkCursorKey, *decision.cursor);
    QV_TRY(store_->write(batch));
    decided_bulk_load_ = decision.load;
    return {};
  });
}

Result<> Shard::finish_bulk() {
  return in_lane([&]() -> Result<> {
    if (!bulk_) return {};
    QV_TRY(ingest_bulk());
    if (!bulk_->installed) run_whole("installing a bulk load", [this] { install_bulk(); });
    QV_TRY(end_bulk());
    last_write_ = Clock::now();
    wants_tick_ = true;
    start_due_jobs();
    wake_writers();
    return {};
  });
}

Result<> Shard::cancel_bulk() {
  return in_lane([&]() -> Result<> {
    storage::RowBatch batch;
    if (bulk_ && bulk_->intent) batch.delete_meta(kBulkIntentKey);
    // An empty batch too brings a store back that could not be written: as long as a decision may
    // be found at the next opening, the files must stay.
    QV_TRY(store_->write(batch));
    if (!bulk_) return {};
    QV_TRY(const auto names, store_->row_files());
    QV_TRY(store_->remove_row_files(names));
    bulk_->output.reset();
    remove_segment_directory(bulk_->segment);
    bulk_.reset();
    wake_writers();
    return {};
  });
}

Result<std::string> Shard::bulk_cursor() const {
  QV_TRY(auto cursor, store_->meta(kBulkCursorKey));
  return cursor ? *std::move(cursor) : std::string();
}

Result<> Shard::ingest_bulk() {
  if (bulk_->ingested) return {};
  const auto names = row_file_names(*bulk_->intent);
  QV_TRY(const bool there, has_bulk_rows(*bulk_->intent));
  if (there) {
    QV_TRY(store_->remove_row_files(names));  // second names of files that were moved
  } else {
    QV_TRY(store_->ingest(names));
  }
  bulk_->ingested = true;
  return {};
}

Result<bool> Shard::has_bulk_rows(const BulkIntent& intent) const {
  QV_TRY(const auto bytes, store_->row(intent.first_id));
  if (!bytes) return false;
  QV_TRY(const Row row, decode_row(intent.first_id, *bytes, config_.load()->fields));
  return row.seq == intent.first_seq;
}

void Shard::install_bulk() {
  State state;
  state.view.data = std::make_shared<const SegmentData>(*std::move(bulk_->output));
  state.deleted = Bitset(state.view.data->n_rows);
  delete_older(state.view.data->ids.span());
  segments_.push_back(std::move(state));
  applied_seq_ = bulk_->intent->last_seq;
  next_seq_ = Seq{to_number(applied_seq_) + 1};
  bulk_->output.reset();
  bulk_->installed = true;
  publish();
  // An index may have been created while the files were written.
  if (lacks_columns(*segments_.back().view.data, config_.load()->indexes)) {
    build_columns();
  }
}

/// `ids` ascend.
void Shard::delete_older(std::span<const PointId> ids) {
  for (State& state : segments_) delete_in_segment(state, ids);
  delete_in_mutable(ids);
}

void Shard::delete_in_segment(State& state, std::span<const PointId> ids) {
  const auto& data = *state.view.data;
  const auto old = data.ids.span();
  if (!data.sealed) {
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

void Shard::delete_in_mutable(std::span<const PointId> ids) {
  if (mutable_->n_rows() == 0) return;
  const auto data = mutable_->snapshot();
  for (std::size_t row = 0; row < data->n_rows; ++row) {
    if (std::binary_search(ids.begin(), ids.end(), data->ids[row])) mark_mutable_dead(row);
  }
}

/// The manifest takes over from the intent.
Result<> Shard::end_bulk() {
  QV_TRY(save_manifest(nullptr));
  bulk_.reset();
  return {};
}

/// Drops a load that was not decided; of one that was, brings the rows into the store and the
/// segment into the manifest.
Result<> Shard::recover_bulk(Manifest& manifest, const Shard* first) {
  if (first == nullptr) {
    QV_TRY(const auto load, store_->meta(kBulkLoadKey));
    std::uint64_t number = 0;
    if (load) std::from_chars(load->data(), load->data() + load->size(), number);
    decided_bulk_load_ = number;
  }
  const std::uint64_t decided = first == nullptr ? decided_bulk_load() : first->decided_bulk_load();
  QV_TRY(const auto text, store_->meta(kBulkIntentKey));
  if (text) {
    QV_TRY(const auto intent, decode_intent(*text));
    if (intent.load == decided) {
      log_info("shard {}: finishing a bulk load", path_);
      bulk_ = BulkLoad{};
      bulk_->segment = intent.segment;
      bulk_->intent = intent;
      QV_TRY(ingest_bulk());
      manifest.next_segment = std::max(manifest.next_segment, intent.segment + 1);
      manifest.last = std::max(manifest.last, intent.last_seq);
      if (std::find(manifest.segments.begin(), manifest.segments.end(), intent.segment) ==
          manifest.segments.end()) {
        manifest.segments.push_back(intent.segment);
      }
    } else {
      storage::RowBatch batch;
      batch.delete_meta(kBulkIntentKey);
      QV_TRY(store_->write(batch));
    }
  }
  QV_TRY(const auto names, store_->row_files());
  return store_->remove_row_files(names);
}

/// If its segment is damaged the rows are rebuilt from the store, as those of any other.
void Shard::install_recovered_bulk() {
  if (!bulk_) return;
  bulk_->installed = true;
  const auto found = std::find_if(segments_.begin(), segments_.end(), [&](const State& state) {
    return state.view.data->id == bulk_->segment;
  });
  if (found == segments_.end()) return;
  const auto data = found->view.data;
  for (State& state : segments_) {
    if (state.view.data != data) delete_in_segment(state, data->ids.span());
  }
}

}  // namespace quiver::engine
