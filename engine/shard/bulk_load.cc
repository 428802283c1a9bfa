#include "engine/shard/bulk_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>

#include "base/observe/failure.h"
#include "base/observe/log.h"
#include "engine/model/row.h"
#include "engine/segment/columns.h"
#include "engine/segment/fields.h"
#include "engine/segment/sealing.h"
#include "engine/write/bulk_rows.h"
#include "storage/rows/row_batch.h"

namespace quiver::engine {

Result<BulkStart> BulkLoad::begin() {
  return common_.in_lane([&]() -> Result<BulkStart> {
    // No update takes numbers meanwhile; these are used up only when the load counts.
    BulkStart start{table_.next_seq(), table_.take_segment_id(), common_.config.load()->indexes};
    load_ = Load{};
    load_->segment = start.segment;
    return start;
  });
}

Result<> BulkLoad::write_rows(const BulkStart& start, const SegmentData& data,
                              std::span<const RowRef> rows, std::uint64_t i) const {
  auto file = common_.store().new_row_file(row_file_name(start.segment, i));
  std::string value;
  for (const RowRef& ref : rows) {
    value.clear();
    append_row(data, ref.row, value);
    QV_TRY(file.add(data.ids[ref.row], value));
  }
  return file.finish();
}

Result<SegmentData> BulkLoad::write_segment(const BulkStart& start, const Segment& data,
                                            std::span<const RowRef> rows) const {
  const NewSegment segment{start.segment, std::span(&data, 1), rows, start.indexes};
  return engine::write_segment(segment, common_.segments(), common_.config.load()->fields,
                               common_.closing, nullptr);
}

Result<> BulkLoad::stage(const BulkIntent& intent, SegmentData output) {
  return common_.in_lane([&] {
    load_->intent = intent;
    load_->output = std::move(output);
    storage::RowBatch batch;
    batch.put_meta(kBulkIntentKey, encode_intent(intent));
    return common_.store().write(batch);
  });
}

Result<> BulkLoad::decide(const BulkDecision& decision) {
  return common_.in_lane([&]() -> Result<> {
    storage::RowBatch batch;
    batch.put_meta(kBulkLoadKey, std::to_string(decision.load));
    if (decision.cursor) batch.put_meta(kBulkCursorKey, *decision.cursor);
    QV_TRY(common_.store().write(batch));
    decided_load_ = decision.load;
    return {};
  });
}

Result<> BulkLoad::finish() {
  return common_.in_lane([&]() -> Result<> {
    if (!load_) return {};
    QV_TRY(ingest());
    if (!load_->installed) run_whole("installing a bulk load", [this] { install(); });
    QV_TRY(end());
    hooks_.finished();
    queue_.wake();
    return {};
  });
}

Result<> BulkLoad::cancel() {
  return common_.in_lane([&]() -> Result<> {
    storage::RowBatch batch;
    if (load_ && load_->intent) batch.delete_meta(kBulkIntentKey);
    // An empty batch, too, brings a store back that could not be written: as long as a decision may
    // be found at the next opening, the files must stay.
    QV_TRY(common_.store().write(batch));
    if (!load_) return {};
    QV_TRY(const auto names, common_.store().row_files());
    QV_TRY(common_.store().remove_row_files(names));
    load_->output.reset();
    manifest_.remove_directory(load_->segment);
    load_.reset();
    queue_.wake();
    return {};
  });
}

void BulkLoad::note_failure(const Error& error) {
  common_.lane.post([this, text = error.message()]() mutable {
    if (load_) load_->failure = std::move(text);
  });
}

std::string BulkLoad::describe() const {
  const auto open_s = std::chrono::duration_cast<std::chrono::seconds>(
                          std::chrono::steady_clock::now() - load_->begin)
                          .count();
  if (load_->failure.empty()) {
    return fmt::format(
        "a bulk load that began {} s ago and still runs: try again when it has ended", open_s);
  }
  return fmt::format(
      "a bulk load that began {} s ago and cannot be ended: {}. It is tried again all the time: "
      "make room on the disk, or repair it",
      open_s, load_->failure);
}

Result<std::string> BulkLoad::cursor() const {
  QV_TRY(auto cursor, common_.store().meta(kBulkCursorKey));
  return cursor ? *std::move(cursor) : std::string();
}

Result<> BulkLoad::ingest() {
  if (load_->ingested) return {};
  const auto names = row_file_names(*load_->intent);
  QV_TRY(const bool there, has_rows(*load_->intent));
  if (there) {
    QV_TRY(common_.store().remove_row_files(names));  // second names of files that were moved
  } else {
    QV_TRY(common_.store().ingest(names));
  }
  load_->ingested = true;
  return {};
}

Result<bool> BulkLoad::has_rows(const BulkIntent& intent) const {
  QV_TRY(const auto bytes, common_.store().row(intent.first_id));
  if (!bytes) return false;
  QV_TRY(const Row row, decode_row(intent.first_id, *bytes, common_.config.load()->fields));
  return row.seq == intent.first_seq;
}

void BulkLoad::install() {
  SegmentState state;
  state.view.data = with_fields(std::make_shared<const SegmentData>(*std::move(load_->output)),
                                common_.config.load()->fields);
  state.deleted = Bitset(state.view.data->n_rows);
  table_.remove_all(state.view.data->ids.span(), load_->segment);
  table_.add(std::move(state));
  table_.set_next_seq(Seq{to_number(load_->intent->last_seq) + 1});
  table_.set_applied();
  load_->output.reset();
  load_->installed = true;
  manifest_.supersede(kBulkIntentKey);
  status_.publish();
  const auto* installed = table_.find(load_->segment);
  if (lacks_columns(*installed->view.data, common_.config.load()->indexes)) hooks_.build_columns();
}

Result<> BulkLoad::end() {
  if (!load_) return {};
  QV_TRY(manifest_.save());
  load_.reset();
  return {};
}

Result<> BulkLoad::drop_intent() {
  storage::RowBatch batch;
  batch.delete_meta(kBulkIntentKey);
  return common_.store().write(batch);
}

Result<> BulkLoad::recover(Manifest& manifest, const BulkLoad* first) {
  if (first == nullptr) {
    QV_TRY(const auto load, common_.store().meta(kBulkLoadKey));
    std::uint64_t number = 0;
    if (load) std::from_chars(load->data(), load->data() + load->size(), number);
    decided_load_ = number;
  }
  const std::uint64_t decided = first == nullptr ? decided_load() : first->decided_load();
  QV_TRY(const auto text, common_.store().meta(kBulkIntentKey));
  if (text) {
    QV_TRY(const auto intent, decode_intent(*text));
    if (intent.load == decided) {
      log_info("shard {}: finishing a bulk load", common_.path);
      load_ = Load{};
      load_->segment = intent.segment;
      load_->intent = intent;
      QV_TRY(ingest());
      manifest.next_segment = std::max(manifest.next_segment, intent.segment + 1);
      manifest.last = std::max(manifest.last, intent.last_seq);
      if (std::find(manifest.segments.begin(), manifest.segments.end(), intent.segment) ==
          manifest.segments.end()) {
        manifest.segments.push_back(intent.segment);
      }
    } else {
      QV_TRY(drop_intent());
    }
  }
  QV_TRY(const auto names, common_.store().row_files());
  return common_.store().remove_row_files(names);
}

void BulkLoad::install_recovered() {
  if (!load_) return;
  load_->installed = true;
  manifest_.supersede(kBulkIntentKey);
  const SegmentState* found = table_.find(load_->segment);
  if (found == nullptr) return;
  const auto data = found->view.data;
  table_.remove_all(data->ids.span(), data->id);
}

}  // namespace quiver::engine
